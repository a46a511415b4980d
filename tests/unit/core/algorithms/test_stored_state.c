/* The head of an algorithm's stored state: its kind, and the version of the inner loops that it was computed
 * with. */
#include "core/algorithms/stored_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct example {
    char kind[BANDIT_STATE_KIND];
    double number;
} example;

static const char KIND[BANDIT_STATE_KIND] = "example";

static void a_state_is_of_its_kind_and_size(void **state)
{
    example stored = {.number = 4.5}, read = {.number = 0.0};
    bandit_checkpoint checkpoint = {.state = (const unsigned char *)&stored, .n_state = sizeof stored};
    bandit_error err;
    (void)state;
    memcpy(stored.kind, KIND, sizeof KIND);
    assert_int_equal(bandit_state_read(&read, sizeof read, KIND, &checkpoint, &err), BANDIT_OK);
    assert_true(read.number == 4.5);
    for (size_t i = 0; i < sizeof KIND; i++) {
        stored.kind[i]++;
        assert_int_equal(bandit_state_read(&read, sizeof read, KIND, &checkpoint, &err),
                         BANDIT_INVALID_STATE);
        assert_non_null(strstr(err.message, "another kind"));
        stored.kind[i]--;
    }
    for (size_t n = 0; n <= sizeof stored + 1; n++) {
        checkpoint.n_state = n;
        if (n != sizeof stored)
            assert_int_equal(bandit_state_read(&read, sizeof read, KIND, &checkpoint, &err),
                             BANDIT_INVALID_STATE);
    }
}

static void the_code_path_is_followed_where_it_is_known(void **state)
{
    char name[BANDIT_STATE_CODE_PATH], expected[BANDIT_STATE_CODE_PATH] = {0};
    bandit_engine engine = {.covariance = {.simd = &bandit_simd_portable}};
    (void)state;
    memset(name, 'x', sizeof name);
    bandit_state_record_code_path(name, &engine);
    memcpy(expected, "portable", sizeof "portable");
    assert_memory_equal(name, expected, sizeof name); /* every byte is told */
    engine.covariance.simd = &bandit_simd_plain;
    bandit_state_follow_code_path(name, &engine);
    assert_ptr_equal(engine.covariance.simd, &bandit_simd_portable);
    engine.covariance.simd = &bandit_simd_plain;
    name[0] = 'q'; /* no version is called that */
    bandit_state_follow_code_path(name, &engine);
    assert_ptr_equal(engine.covariance.simd, &bandit_simd_plain);
    memset(name, 'p', sizeof name); /* nor has it an end */
    bandit_state_follow_code_path(name, &engine);
    assert_ptr_equal(engine.covariance.simd, &bandit_simd_plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_of_its_kind_and_size),
        cmocka_unit_test(the_code_path_is_followed_where_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
