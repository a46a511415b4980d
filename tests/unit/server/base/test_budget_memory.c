/* Without memory for an account, a holder is not refused as if it had used up its share. */
#include "server/base/budget.h"
#include "tests/support/failing_allocations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_holder_is_not_full_for_want_of_memory(void **state)
{
    (void)state;
    budget *b = budget_new();
    assert_non_null(b);
    until_failure = 0;
    assert_true(budget_take(b, "a", 3, 100));
    assert_true(has_failed());
    assert_int_equal(budget_used(b), 0);
    budget_give(b, "a", 3);
    assert_int_equal(budget_used(b), 0);
    assert_true(budget_take_at_most(b, "a", 3, 3));
    assert_false(budget_take_at_most(b, "a", 1, 3));
    assert_int_equal(budget_used(b), 3);
    budget_give(b, "a", 3);
    budget_free(b);
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_holder_is_not_full_for_want_of_memory)};
    return cmocka_run_group_tests_name("budget_memory", tests, NULL, NULL);
}
