/* Inducing points of pulled arms: which residual counts as none, which arms may be chosen, and when a space's
 * are drawn anew. */
#include "core/selection/inducing.h"

#include "core/algorithms/algorithm.h"
#include "tests/support/dense_gp.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double one = 1.0;

/* Arms of two features, all pulled once, and the kernel between them. */
typedef struct pulled {
    bandit_options options;
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_ledger ledger;
} pulled;

static void open_pulled(pulled *p, bandit_kernel_type type, double lambda, const double *rows, size_t n)
{
    const bandit_kernel kernel = {
        .type = type, .lengthscales = &one, .n_lengthscales = type == BANDIT_KERNEL_LINEAR ? 0 : 1};
    bandit_error err = {0};
    *p = (pulled){.options = {.lambda = lambda}, .ledger.n = n};
    assert_int_equal(bandit_arms_new(&p->arms, n, 2, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, n, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, n, &err), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&p->covariance, &kernel, p->arms, &err), BANDIT_OK);
    p->ledger.sums = dense_alloc(n, sizeof *p->ledger.sums);
    for (uint32_t a = 0; a < n; a++)
        p->ledger.sums[a] = (bandit_arm_sum){.arm = a, .count = 1, .sum = 0.0};
}

static void close_pulled(pulled *p)
{
    free(p->ledger.sums);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

/* Of two arms of which the second has this residual, relative to the first's variance, when m are wanted. */
static size_t drawn_of_two(double residual, size_t m, double lambda, double norm)
{
    pulled p;
    bandit_error err = {0};
    uint32_t dictionary[2];
    size_t n = 0;
    if (norm > 0.0) {
        const double rows[] = {norm, 0.0, norm * sqrt(1.0 - residual), norm * sqrt(residual)};
        open_pulled(&p, BANDIT_KERNEL_LINEAR, lambda, rows, 2);
    } else { /* 1 − exp(−r^2) of the Gaussian kernel */
        const double rows[] = {0.0, 0.0, sqrt(-log1p(-residual)), 0.0};
        open_pulled(&p, BANDIT_KERNEL_GAUSSIAN, lambda, rows, 2);
    }
    assert_int_equal(bandit_inducing_draw(dictionary, &n, m, &p.options, 0, &p.covariance, &p.ledger, &err),
                     BANDIT_OK);
    close_pulled(&p);
    return n;
}

/* A residual counts from the largest of m roundings and the smaller of 1e-10 and 1e-8 lambda / kappa^2 on. */
static void what_counts_as_none(void **state)
{
    static const struct {
        size_t m;
        double lambda, norm, from; /* norm: of the linear kernel's arms; 0: Gaussian */
    } cases[] = {{2, 1.0, 0.0, 1e-10},         {2, 0.1, 0.0, 1e-10},   {2, 1e-4, 0.0, 1e-12},
                 {1000000, 1.0, 0.0, 2.2e-10}, {2, 1.0, 100.0, 1e-12}, {2, 1.0, 0.01, 1e-10},
                 {20000, 1e-9, 0.0, 4.4e-12}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(drawn_of_two(0.8 * cases[k].from, cases[k].m, cases[k].lambda, cases[k].norm), 1);
        assert_int_equal(drawn_of_two(1.25 * cases[k].from, cases[k].m, cases[k].lambda, cases[k].norm), 2);
    }
}

static void arms_of_no_variance(void **state)
{
    static const double rows[6];
    pulled p;
    bandit_error err = {0};
    uint32_t dictionary[3] = {9, 9, 9};
    size_t n = 0;
    (void)state;
    open_pulled(&p, BANDIT_KERNEL_LINEAR, 1.0, rows, 3);
    assert_int_equal(bandit_inducing_draw(dictionary, &n, 2, &p.options, 0, &p.covariance, &p.ledger, &err),
                     BANDIT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(dictionary[0], 0);
    close_pulled(&p);
}

/* Of more arms than are looked at, each is left out with the same probability: of arms ever longer (or ever
 * shorter) the one chosen is the last (the first) that is not. */
static void of_many_a_sample(void **state)
{
    enum { MANY = BANDIT_INDUCING_GROUND * 5 / 4 };
    const double draws = (double)repeats(300, 60);
    double *rows = dense_alloc(2 * (size_t)MANY, sizeof *rows);
    (void)state;
    for (int ascending = 0; ascending < 2; ascending++) {
        pulled p;
        bandit_error err = {0};
        size_t left_out = 0, at_once = 0;
        for (size_t a = 0; a < MANY; a++) {
            rows[2 * a] = 1.0 + (double)(ascending ? a : MANY - a);
            rows[2 * a + 1] = 0.0;
        }
        open_pulled(&p, BANDIT_KERNEL_LINEAR, 1.0, rows, MANY);
        for (uint64_t seed = 0; (double)seed < draws; seed++) {
            uint32_t dictionary[1];
            size_t n;
            p.options.seed = seed;
            assert_int_equal(
                bandit_inducing_draw(dictionary, &n, 1, &p.options, 0, &p.covariance, &p.ledger, &err),
                BANDIT_OK);
            assert_int_equal(n, 1);
            size_t before = ascending ? MANY - 1 - dictionary[0] : dictionary[0];
            left_out += before;
            at_once += before == 0;
        }
        /* geometric: 4/5, and on average 1/4 before it; five standard deviations */
        assert_true(fabs((double)at_once / draws - 0.8) < 5.0 * sqrt(0.8 * 0.2 / draws));
        assert_true(fabs((double)left_out / draws - 0.25) < 5.0 * sqrt(0.3125 / draws));
        close_pulled(&p);
    }
    free(rows);
}

/* In a space: all pulled points while they are few enough, then what is drawn of them, which stays until
 * there are twice the rewards. */
static void drawn_when_rewards_have_doubled(void **state)
{
    enum { BATCHES = 40, INDUCING = 4 };
    const bandit_parameter parameter = {
        .type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    const double lengthscale = 0.1;
    size_t drawn = 0, kept = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_error err = {0};
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_arm_sum sums[BATCHES];
        bandit_ledger ledger = {.sums = sums};
        uint32_t expected[BATCHES];
        size_t n_expected = 0, n;
        uint64_t random = seed, rewards = 0, drawn_at = 0;
        o.algorithm = BANDIT_S_GP_TS;
        o.kernel.lengthscales = &lengthscale;
        o.kernel.n_lengthscales = 1;
        o.inducing = INDUCING;
        o.prior_features = 16;
        o.dpp_steps = 20;
        o.seed = seed;
        assert_int_equal(bandit_arms_new_space(&arms, &parameter, 1, &err), BANDIT_OK);
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_OK);
        for (uint32_t batch = 0; batch < BATCHES; batch++) {
            double x = dense_uniform(&random);
            const bandit_result result = {
                .arm = batch,
                .repeats = 1 + (uint32_t)((1.0 + (double)(seed % 3)) * dense_uniform(&random)),
                .reward = x,
                .chosen = true};
            assert_int_equal(bandit_arms_append(arms, &x, 1, &err), BANDIT_OK);
            sums[ledger.n++] =
                (bandit_arm_sum){.arm = batch, .count = result.repeats, .sum = result.repeats * x};
            rewards += result.repeats;
            if (ledger.n <= INDUCING) {
                expected[n_expected++] = batch;
            } else if (drawn_at == 0 || rewards >= 2 * drawn_at) {
                assert_int_equal(bandit_inducing_draw(expected, &n, INDUCING, &o, batch, &engine->covariance,
                                                      &ledger, &err),
                                 BANDIT_OK);
                n_expected = n;
                drawn_at = rewards;
                drawn++;
            } else {
                kept++;
            }
            assert_int_equal(
                bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err),
                BANDIT_OK);
            bandit_description d = {0};
            bandit_engine_describe(engine, &d);
            assert_int_equal(d.n_dictionary, n_expected);
            assert_memory_equal(d.dictionary, expected, n_expected * sizeof *expected);
        }
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    assert_true(drawn >= 18 && kept > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_counts_as_none),
        cmocka_unit_test(arms_of_no_variance),
        cmocka_unit_test(of_many_a_sample),
        cmocka_unit_test(drawn_when_rewards_have_doubled),
    };
    return cmocka_run_group_tests_name("inducing points", tests, NULL, NULL);
}
