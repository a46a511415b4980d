/* A selector with more arms than slots for what it has evaluated: values do not depend on which were thrown
 * out. */
#include "core/selection/selection.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ARMS = 2048, MEMBERS = 512, PICKS = 6 };

static const double lambda = 0.1, alpha = 1.5, lengthscale = 0.004;
static const uint32_t picks[PICKS] = {5, 700, 5, 1500, 2047, 701};

typedef struct problem {
    bandit_arms *arms;
    bandit_kernel kernel;
    bandit_covariance covariance;
    bandit_posterior posterior;
    double mean[ARMS], variance[ARMS];
} problem;

static void setup(problem *p)
{
    static double x[ARMS];
    static uint32_t dictionary[MEMBERS];
    static bandit_arm_sum sums[MEMBERS];
    uint64_t state = 3;
    *p = (problem){.kernel = {BANDIT_KERNEL_MATERN, 1.5, &lengthscale, 1}};
    for (size_t a = 0; a < ARMS; a++)
        x[a] = ((double)a + 0.5 * dense_uniform(&state)) / ARMS;
    for (uint32_t k = 0; k < MEMBERS; k++) {
        dictionary[k] = 4 * k;
        sums[k] = (bandit_arm_sum){.arm = 4 * k, .count = 1, .sum = dense_normal(&state)};
    }
    assert_int_equal(bandit_arms_new(&p->arms, ARMS, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, ARMS, x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&p->covariance, &p->kernel, p->arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_posterior_build(&p->posterior, &p->covariance, lambda, dictionary, MEMBERS, sums,
                                            MEMBERS, NULL),
                     BANDIT_OK);
    assert_int_equal(
        bandit_posterior_evaluate_all(&p->posterior, &bandit_executor_serial, p->mean, p->variance, NULL),
        BANDIT_OK);
}

static void teardown(problem *p)
{
    bandit_posterior_clear(&p->posterior);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

static void start(bandit_selector *s, const problem *p)
{
    assert_int_equal(bandit_selector_start(s, &p->posterior, alpha, p->mean, p->variance, NULL), BANDIT_OK);
}

static void slots_give_way(void **state)
{
    (void)state;
    static problem p;
    static double before[ARMS], after[ARMS];
    bandit_selector s = {0}, fresh = {0};
    setup(&p);
    start(&s, &p);
    assert_true(s.n_slots < ARMS);
    for (uint32_t a = 0; a < ARMS; a++) {
        before[a] = bandit_selector_value(&s, a);
        assert_true(fabs(before[a] - (p.mean[a] + alpha * sqrt(p.variance[a]))) < 1e-8);
    }
    for (uint32_t a = 0; a < ARMS; a++)
        assert_true(bandit_selector_value(&s, a) == before[a]);
    for (size_t i = 0; i < PICKS; i++)
        bandit_selector_hallucinate(&s, picks[i]);
    uint32_t best = 0, chosen;
    for (uint32_t a = ARMS; a-- > 0;) {
        after[a] = bandit_selector_value(&s, a);
        assert_true(after[a] <= before[a] + 1e-10);
        best = a == ARMS - 1 || after[a] >= after[best] ? a : best;
    }
    assert_true(after[700] < before[700] - 1e-3);
    assert_true(bandit_selector_best(&s, NULL, 0, &chosen));
    assert_true(fabs(after[chosen] - after[best]) < 1e-12);
    for (uint32_t a = 0; a < ARMS; a += 173) { /* as where nothing else has been looked at */
        start(&fresh, &p);
        for (size_t i = 0; i < PICKS; i++)
            bandit_selector_hallucinate(&fresh, picks[i]);
        assert_true(fabs(bandit_selector_value(&fresh, a) - after[a]) < 1e-10);
    }
    bandit_selector_clear(&s);
    bandit_selector_clear(&fresh);
    teardown(&p);
}

/* As many slots as there is memory for: 8 MiB, or sixteen. */
static void slots_are_as_many_as_fit(void **state)
{
    enum { BYTES = 8 << 20 };
    (void)state;
    static problem p;
    bandit_selector s = {0};
    setup(&p);
    start(&s, &p);
    /* A slot has two vectors of the dictionary's size, and something like a dozen words beside. */
    double least = 2.0 * MEMBERS * sizeof(double), most = least + 24.0 * sizeof(double);
    assert_true((double)s.n_slots * least <= BYTES);
    assert_true((double)(s.n_slots + 1) * most > BYTES);
    assert_true((double)bandit_selector_memory(&s) <
                BYTES + 3.1 * MEMBERS * MEMBERS * sizeof(double) + 64.0 * ARMS);
    bandit_selector_clear(&s);
    teardown(&p);
}

/* What stands behind the list of withheld arms is not one of them; what is on it, first or last, is. */
static void withheld_arms_are_those_on_the_list(void **state)
{
    (void)state;
    static problem p;
    bandit_selector s = {0};
    uint32_t best, second, arm;
    setup(&p);
    start(&s, &p);
    assert_true(bandit_selector_best(&s, NULL, 0, &best));
    assert_true(bandit_selector_best(&s, &best, 1, &second));
    assert_true(second != best);
    assert_true(bandit_selector_value(&s, second) <= bandit_selector_value(&s, best));
    assert_true(best > 2 && best < ARMS - 3);
    const uint32_t before[] = {0, 1, 2, best}, last[] = {0, 1, best}, first[] = {best, ARMS - 2, ARMS - 1};
    assert_true(bandit_selector_best(&s, before, 3, &arm));
    assert_int_equal(arm, best);
    assert_true(bandit_selector_best(&s, last, 3, &arm));
    assert_int_equal(arm, second);
    assert_true(bandit_selector_best(&s, first, 3, &arm));
    assert_int_equal(arm, second);
    static uint32_t all[ARMS];
    for (uint32_t a = 0; a < ARMS; a++)
        all[a] = a;
    assert_false(bandit_selector_best(&s, all, ARMS, &arm));
    assert_true(bandit_selector_best(&s, all + 1, ARMS - 1, &arm));
    assert_int_equal(arm, 0);
    assert_true(bandit_selector_best(&s, NULL, 0, &arm));
    assert_int_equal(arm, best);
    bandit_selector_clear(&s);
    teardown(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_give_way),
                                       cmocka_unit_test(slots_are_as_many_as_fit),
                                       cmocka_unit_test(withheld_arms_are_those_on_the_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
