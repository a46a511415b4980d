/* Confidence widths by their published formulas, written out again; the log-sums of BBKB's width by
 * determinants of dense matrices. */
#include "core/selection/confidence.h"

#include "core/base/allocate.h"
#include "tests/support/near.h"
#include "tests/support/random_problem.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bandit_options options(void)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.noise_std = 0.3;
    o.ratio_bound = 2.5;
    o.norm_bound = 1.7;
    o.delta = 0.02;
    o.lambda = 0.16;
    o.beta = 4.25;
    o.scale = 0.8;
    return o;
}

static void widths_of_dictionaries(void **state)
{
    const bandit_log_sums sums = {.c1 = 7.0, .c3 = 11.0};
    bandit_options o = options();
    (void)state;
    o.confidence = BANDIT_CONFIDENCE_PRACTICAL;
    assert_equal_reals(bandit_confidence_alpha(&o, &sums), 0.4 * 1.7 + 0.3 * sqrt(2.5 * 7.0 + log(50.0)));
    assert_equal_reals(bandit_confidence_bkb(&o, 2.0, 9, 5.0),
                       0.4 * 1.7 + 0.3 * sqrt(5.0 * log(9.0) + log(50.0)));
    o.confidence = BANDIT_CONFIDENCE_THEORY;
    assert_equal_reals(bandit_confidence_alpha(&o, &sums),
                       2.5 * (2.0 * 0.3 * sqrt(11.0 + log(50.0)) + (1.0 + sqrt(2.0)) * 0.4 * 1.7));
    /* eps = 1/2: (1 + eps) / (1 - eps) = 3 */
    assert_equal_reals(bandit_confidence_bkb(&o, 2.0, 9, 5.0),
                       2.0 * 0.3 * sqrt(3.0 * log(18.0) * 5.0 + log(50.0)) + (1.0 + sqrt(2.0)) * 0.4 * 1.7);
    assert_equal_reals(bandit_confidence_bkb(&o, 0.01, 9, 5.0), /* a logarithm below 0 counts as 0 */
                       2.0 * 0.3 * sqrt(log(50.0)) + (1.0 + sqrt(2.0)) * 0.4 * 1.7);
    o.confidence = BANDIT_CONFIDENCE_FIXED;
    assert_true(bandit_confidence_alpha(&o, &sums) == 4.25 && bandit_confidence_bkb(&o, 2.0, 9, 5.0) == 4.25);
    o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
    assert_equal_reals(bandit_confidence_alpha(&o, &sums), 0.4);
    assert_equal_reals(bandit_confidence_bkb(&o, 2.0, 9, 5.0), 0.4);
}

/* Three widths in turn: one that comes closer the longer nothing better was found, 1, and one that goes
 * farther. */
static void calibrated_widths(void **state)
{
    bandit_options o = options();
    (void)state;
    for (uint64_t stagnation = 0; stagnation < 100; stagnation++) {
        double closer = 12.0 / (1.0 + (double)stagnation);
        closer = closer > 1.0 ? 1.0 : closer;
        double farther = (double)stagnation / 12.0, most = 1.0 + 2.0 / 2.2;
        farther = farther > most ? most : farther < 1.0 ? 1.0 : farther;
        for (uint64_t pick = 0; pick < 9; pick += 3) {
            assert_equal_reals(bandit_confidence_calibrated(&o, pick, stagnation), closer * closer / 1.6);
            assert_true(bandit_confidence_calibrated(&o, pick + 1, stagnation) == 1.0);
            assert_equal_reals(bandit_confidence_calibrated(&o, pick + 2, stagnation), farther);
        }
    }
    assert_equal_reals(bandit_confidence_calibrated(&o, 0, UINT64_MAX),
                       1.0 / 1.6); /* before the first reward */
}

static void shares_that_are_kept(void **state)
{
    bandit_options o = options();
    (void)state;
    o.q_bar = 3.5;
    o.horizon = 1000;
    o.algorithm = BANDIT_BBKB;
    assert_true(bandit_confidence_q_bar(&o, 400) == 3.5);
    o.q_bar_theory = true;
    assert_equal_reals(bandit_confidence_q_bar(&o, 400), 72.0 * 2.5 * log(4.0 * 400.0 / 0.02));
    assert_equal_reals(bandit_confidence_q_bar(&o, 0), 72.0 * 2.5 * log(4.0 / 0.02));
    o.algorithm = BANDIT_BKB; /* the whole horizon, while it lasts */
    assert_equal_reals(bandit_confidence_q_bar(&o, 400), 72.0 * log(4.0 * 1000.0 / 0.02));
    assert_equal_reals(bandit_confidence_q_bar(&o, 4000), 72.0 * log(4.0 * 4000.0 / 0.02));
}

static void gains_and_widths_of_exact_algorithms(void **state)
{
    bandit_options o = options();
    (void)state;
    o.gamma = BANDIT_GAMMA_EXACT;
    assert_true(bandit_confidence_gamma(&o, 3, 20, 6.5) == 6.5);
    o.gamma = BANDIT_GAMMA_FIXED;
    o.gamma_value = 8.25;
    assert_true(bandit_confidence_gamma(&o, 3, 20, 6.5) == 8.25);
    o.gamma = BANDIT_GAMMA_BOUND;
    o.gamma_scale = 0.7;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    assert_equal_reals(bandit_confidence_gamma(&o, 3, 20, 6.5), 0.7 * pow(log(21.0), 4.0));
    o.kernel.type = BANDIT_KERNEL_LINEAR;
    assert_equal_reals(bandit_confidence_gamma(&o, 3, 20, 6.5), 0.7 * 3.0 * log(21.0));
    o.kernel.type = BANDIT_KERNEL_MATERN;
    o.kernel.nu = 2.5; /* d (d + 1) = 12, 2 nu = 5 */
    assert_equal_reals(bandit_confidence_gamma(&o, 3, 20, 6.5), 0.7 * pow(21.0, 12.0 / 17.0) * log(21.0));
    assert_equal_reals(bandit_confidence_gamma(&o, 3, 0, 6.5), 0.0);

    assert_equal_reals(bandit_confidence_improved(&o, 6.0, 2.0), 1.7 + 0.3 * sqrt(2.0 * (7.0 + log(100.0))));
    assert_equal_reals(bandit_confidence_gp_ucb(&o, 6.0, 9),
                       sqrt(2.0 * 1.7 * 1.7 + 300.0 * 6.0 * pow(log(500.0), 3.0)));
    assert_equal_reals(bandit_confidence_sparse_sample(&o, 9),
                       (2.7 + 0.3 * sqrt(4.0 * log(10.0) / 0.16)) / 0.8);
}

/* ---- log-sums ------------------------------------------------------------------------------------------ */

enum { ARMS = 80, PULLED = 20, MEMBERS = 9 };

typedef struct model {
    random_problem problem;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_arm_sum sums[PULLED];
} model;

static void open_model(model *x)
{
    uint32_t dictionary[MEMBERS];
    memset(x, 0, sizeof *x);
    random_problem_init(&x->problem, 6, ARMS, 2, BANDIT_KERNEL_GAUSSIAN, 0.3, 0);
    assert_int_equal(
        bandit_covariance_init(&x->covariance, &x->problem.options.kernel, x->problem.arms, NULL), BANDIT_OK);
    for (uint32_t i = 0; i < PULLED; i++)
        x->sums[i] = (bandit_arm_sum){.arm = 3 * i + 1, .count = 1 + i % 4, .sum = sin(i)};
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = x->sums[2 * i].arm;
    assert_int_equal(bandit_posterior_build(&x->posterior, &x->covariance, 0.3, dictionary, MEMBERS, x->sums,
                                            PULLED, NULL),
                     BANDIT_OK);
    assert_true(x->posterior.m > 4);
}

static void close_model(model *x)
{
    bandit_posterior_clear(&x->posterior);
    bandit_covariance_clear(&x->covariance);
    random_problem_clear(&x->problem);
}

/* log det of base + sum_i c n_i v_i v_i', v = z or w of the arm, base lambda I or I; *residuals: the sum of
 * n_i times what the dictionary leaves out, as embedding says. */
static double log_det(const model *x, const bandit_arm_sum *sums, size_t n, double c, bool of_z,
                      double *residuals)
{
    const bandit_posterior *p = &x->posterior;
    size_t m = p->m;
    double *matrix = calloc(m * m, sizeof *matrix), *v = calloc(m, sizeof *v), sum = 0.0;
    double *w = bandit_alloc(m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(p), sizeof *scratch);
    assert_true(matrix && v && w && scratch);
    *residuals = 0.0;
    for (size_t i = 0; i < m; i++)
        matrix[i * m + i] = of_z ? 0.3 : 1.0;
    for (size_t k = 0; k < n; k++) {
        bandit_embedding e = bandit_posterior_embed(p, sums[k].arm, w, scratch);
        *residuals += (double)sums[k].count * e.residual;
        for (size_t i = 0; i < m; i++) {
            v[i] = of_z ? 0.0 : w[i];
            for (size_t j = 0; of_z && j <= i; j++) /* z = L_V w */
                v[i] += p->L_V[j * m + i] * w[j];
        }
        for (size_t i = 0; i < m * m; i++)
            matrix[i] += c * (double)sums[k].count * v[i / m] * v[i % m];
    }
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)m, matrix, (lapack_int)m), 0);
    for (size_t i = 0; i < m; i++)
        sum += 2.0 * log(matrix[i * m + i]) - (of_z ? log(0.3) : 0.0);
    free(matrix);
    free(v);
    free(w);
    free(scratch);
    return sum;
}

static void the_sums_start_with_all_rewards(void **state)
{
    (void)state;
    model x;
    bandit_log_sums sums;
    double residuals;
    open_model(&x);
    assert_int_equal(bandit_log_sums_start(&sums, &x.posterior, NULL), BANDIT_OK);
    double once = log_det(&x, x.sums, PULLED, 1.0, true, &residuals);
    assert_true(once > 1.0 && residuals > 0.01);
    assert_equal_reals(sums.c1, once + residuals);
    assert_equal_reals(sums.c3, log_det(&x, x.sums, PULLED, 3.0, true, &residuals) + 3.0 * residuals);
    close_model(&x);
}

/* What the engine chose adds its variance's logarithm a pull; all else at once a determinant. */
static void results_add_to_the_sums(void **state)
{
    (void)state;
    model x;
    double residuals;
    bandit_log_sums sums = {.c1 = 2.0, .c3 = 3.0};
    bandit_result results[] = {{.arm = 5, .repeats = 2, .chosen = true, .variance = 0.7},
                               {.arm = 30, .repeats = 3},
                               {.arm = 7, .repeats = 1, .chosen = true, .variance = 0.2},
                               {.arm = 71, .repeats = 1}};
    const bandit_arm_sum others[] = {{.arm = 30, .count = 3, .sum = 0.0},
                                     {.arm = 71, .count = 1, .sum = 0.0}};
    open_model(&x);
    assert_int_equal(bandit_log_sums_add(&sums, &x.posterior, results, 4, NULL), BANDIT_OK);
    double chosen_1 = 2.0 * log(1.7) + log(1.2), chosen_3 = 2.0 * log(3.1) + log(1.6);
    double once = log_det(&x, others, 2, 1.0, false, &residuals);
    assert_true(once > 0.01 && residuals > 1e-3);
    assert_equal_reals(sums.c1, 2.0 + chosen_1 + once + residuals);
    assert_equal_reals(sums.c3,
                       3.0 + chosen_3 + log_det(&x, others, 2, 3.0, false, &residuals) + 3.0 * residuals);

    sums = (bandit_log_sums){0};
    results[2].arm = 5;
    assert_int_equal(bandit_log_sums_add(&sums, &x.posterior, results + 2, 1, NULL), BANDIT_OK);
    assert_equal_reals(sums.c1, log(1.2));
    assert_equal_reals(sums.c3, log(1.6));
    assert_int_equal(bandit_log_sums_add(&sums, &x.posterior, NULL, 0, NULL), BANDIT_OK);
    assert_equal_reals(sums.c1, log(1.2));
    close_model(&x);
}

/* A correction counts as far as there are more pulls than before; what is taken back stays. */
static void corrections_only_add_to_the_sums(void **state)
{
    (void)state;
    model x;
    bandit_log_sums sums = {.c1 = 2.0, .c3 = 3.0};
    bandit_amendment amendments[] = {{.arm = 5,
                                      .was = {.repeats = 1, .reward = 0.5},
                                      .now = {.repeats = 1, .reward = 0.9},
                                      .chosen = true,
                                      .variance = 0.7}, /* another reward */
                                     {.arm = 5,
                                      .was = {.repeats = 1, .reward = 0.5},
                                      .now = {.repeats = 0, .reward = 0.0},
                                      .chosen = true,
                                      .variance = 0.7}, /* none any more */
                                     {.arm = 8,
                                      .was = {.repeats = 2, .reward = 0.5},
                                      .now = {.repeats = 5, .reward = 0.1},
                                      .chosen = true,
                                      .variance = 0.4}, /* three more */
                                     {.arm = 9,
                                      .was = {.repeats = 0, .reward = 0.0},
                                      .now = {.repeats = 1, .reward = 0.3},
                                      .chosen = true,
                                      .variance = 0.1}};
    open_model(&x);
    assert_int_equal(bandit_log_sums_amend(&sums, &x.posterior, amendments, 2, NULL), BANDIT_OK);
    assert_true(sums.c1 == 2.0 && sums.c3 == 3.0);
    assert_int_equal(bandit_log_sums_amend(&sums, &x.posterior, amendments, 4, NULL), BANDIT_OK);
    assert_equal_reals(sums.c1, 2.0 + 3.0 * log(1.4) + log(1.1));
    assert_equal_reals(sums.c3, 3.0 + 3.0 * log(2.2) + log(1.3));
    assert_int_equal(bandit_log_sums_amend(&sums, &x.posterior, amendments + 3, 1, NULL), BANDIT_OK);
    assert_equal_reals(sums.c1, 2.0 + 3.0 * log(1.4) + 2.0 * log(1.1));
    close_model(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_of_dictionaries),
        cmocka_unit_test(calibrated_widths),
        cmocka_unit_test(shares_that_are_kept),
        cmocka_unit_test(gains_and_widths_of_exact_algorithms),
        cmocka_unit_test(the_sums_start_with_all_rewards),
        cmocka_unit_test(results_add_to_the_sums),
        cmocka_unit_test(corrections_only_add_to_the_sums),
    };
    return cmocka_run_group_tests_name("confidence", tests, NULL, NULL);
}
