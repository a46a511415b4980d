/* What all engines share: the limit of memory, the norm bound that grows, and uniform arms. */
#include "bandit/engine.h"

#include "bandit/rng.h"
#include "core/algorithms/algorithm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As much as is allowed is; a byte more is not, and the text says how much that is, in whole MB upwards. */
static void a_limit_may_be_reached(void **state)
{
    bandit_engine engine = {.options.algorithm = BANDIT_GP_EI, .memory_limit = 7000000};
    bandit_error err = {0};
    (void)state;
    assert_int_equal(bandit_engine_check_memory(&engine, 7e6, &err), BANDIT_OK);
    assert_int_equal(bandit_engine_check_memory(&engine, 7000001.0, &err), BANDIT_MEMORY_LIMIT);
    assert_string_equal(err.message,
                        "gp_ei would need 8 MB in addition to the candidates; the limit is 7 MB");
    assert_int_equal(bandit_engine_check_memory(&engine, 4e9, &err), BANDIT_MEMORY_LIMIT);
    assert_string_equal(err.message,
                        "gp_ei would need 4000 MB in addition to the candidates; the limit is 7 MB");
}

/* Half of F, and what the caller gives. */
static double radius(const bandit_engine *engine, const void *batch)
{
    return 0.5 * engine->options.norm_bound + *(const double *)batch;
}

/* The smallest F 2^k with which the norm is at most F + radius(F), where it may grow; 64 doublings at most.
 */
static void the_norm_bound_doubles(void **state)
{
    static const double norms[] = {0.0, 1.0, 1.74, 1.76, 3.25, 3.26, 100.0, 1e6, 1e300};
    const double given = 0.25;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof norms / sizeof *norms; i++) {
        double norm = norms[i / 2], expected = 1.0;
        bandit_engine engine = {.grows_norm_bound = i % 2, .options.norm_bound = 1.0};
        for (int k = 0; k < 64 && i % 2 && norm > 1.5 * expected + given; k++)
            expected = ldexp(1.0, k + 1);
        bandit_engine_grow_norm_bound(&engine, norm, radius, &given);
        assert_true(engine.options.norm_bound == expected);
    }
}

/* Every arm that is not withheld has its place: place k of them all is the k-th of those. */
static void uniform_arms_are_the_ones_left(void **state)
{
    enum { ARMS = 6 };
    bandit_engine engine = {.options.seed = 9, .batch = 4};
    (void)state;
    assert_int_equal(bandit_arms_new(&engine.arms, ARMS, 1, NULL), BANDIT_OK);
    for (unsigned mask = 0; mask < 1u << ARMS; mask++) {
        uint32_t withheld[ARMS], left[ARMS], arm;
        size_t n_withheld = 0, n_left = 0;
        for (uint32_t a = 0; a < ARMS; a++) {
            if (mask >> a & 1)
                withheld[n_withheld++] = a;
            else
                left[n_left++] = a;
        }
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.withheld = withheld;
        limits.n_withheld = n_withheld;
        for (uint64_t index = 0; index < 20; index++) {
            bool any = bandit_engine_uniform_arm(&engine, BANDIT_PURPOSE_UNIFORM, index, &limits, &arm);
            assert_int_equal(any, n_left > 0);
            if (any)
                assert_int_equal(arm, left[bandit_random_below(9, 4, BANDIT_PURPOSE_UNIFORM, index, n_left)]);
        }
    }
    bandit_arms_free(engine.arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_may_be_reached),
        cmocka_unit_test(the_norm_bound_doubles),
        cmocka_unit_test(uniform_arms_are_the_ones_left),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
