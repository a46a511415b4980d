/* A comparison of two equal studies never says that they differ, and never that they are equal when it could not look,
 * whichever allocation fails. */
#include "tests/support/failing_allocations.h"
#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void count_difference(void *arg, const char *text)
{
    (void)text;
    ++*(int *)arg;
}

static void a_comparison_without_memory_says_so(void **state)
{
    store *a, *b;
    int64_t here, there;
    bool failed = true;
    (void)state;
    assert_int_equal(store_open_memory(&a, NULL), STORE_OK);
    assert_int_equal(store_open_memory(&b, NULL), STORE_OK);
    store_fixture_history(a, "x", 81, 150);
    store_fixture_replay(a, b, "x");
    store_lane_close(store_fixture_lane(a, "x", &here));
    store_lane_close(store_fixture_lane(b, "x", &there));
    for (long n = 0; failed; n++) {
        int differences = 0;
        until_failure = n;
        store_status status =
            store_compare_rows(a, "x", here, b, there, count_difference, &differences, NULL);
        failed = has_failed();
        assert_int_equal(status, failed ? STORE_NO_MEMORY : STORE_OK);
        assert_int_equal(differences, 0);
    }
    store_close(a);
    store_close(b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_without_memory_says_so),
    };
    return cmocka_run_group_tests_name("compare_memory", tests, NULL, NULL);
}
