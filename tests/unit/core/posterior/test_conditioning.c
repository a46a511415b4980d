/* Conditioning on pulls that are out, against the dense formula with the covariance of the sparse process. */
#include "core/posterior/conditioning.h"

#include "core/base/allocate.h"
#include "tests/support/dense_gp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 90, DIMENSION = 2, MEMBERS = 7, PULLED = 12, PICKS = 40 };

typedef struct problem {
    double x[ARMS * DIMENSION];
    bandit_arms *arms;
    bandit_kernel kernel;
    bandit_covariance covariance;
    bandit_posterior posterior;
    double lambda;
    double *process;       /* ARMS x ARMS: c(x, x'), paper's scale */
    bandit_conditioned at; /* room for one arm */
} problem;

static const double lengthscale = 0.4;

/* c of the sparse process, the dense way. */
static double *covariance_of(const double *k, const uint32_t *dictionary, const uint64_t *counts,
                             double lambda)
{
    size_t rank;
    double *z = dense_embedding(k, ARMS, dictionary, MEMBERS, &rank);
    double *v = dense_design(z, rank, ARMS, counts, lambda);
    double *out = dense_alloc((size_t)ARMS * ARMS, sizeof *out);
    dense_products(z, rank, ARMS, v, NULL, ARMS, out);
    for (size_t a = 0; a < ARMS; a++) {
        for (size_t b = 0; b < ARMS; b++) {
            double zz = 0.0;
            for (size_t i = 0; i < rank; i++)
                zz += z[a * rank + i] * z[b * rank + i];
            out[a * ARMS + b] += (k[a * ARMS + b] - zz) / lambda;
        }
    }
    free(z);
    free(v);
    return out;
}

static void setup(problem *p, double lambda, bool matrix)
{
    uint64_t state = 11, counts[ARMS] = {0};
    uint32_t dictionary[MEMBERS];
    bandit_arm_sum sums[PULLED];
    *p = (problem){.kernel = {BANDIT_KERNEL_GAUSSIAN, 0.0, &lengthscale, 1}, .lambda = lambda};
    for (size_t i = 0; i < ARMS * DIMENSION; i++)
        p->x[i] = dense_uniform(&state);
    for (uint32_t i = 0; i < PULLED; i++) {
        sums[i] = (bandit_arm_sum){.arm = 5 * i, .count = 1 + i % 3, .sum = dense_normal(&state)};
        counts[5 * i] = 1 + i % 3;
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = 5 * i;
    double *k = dense_gaussian(p->x, ARMS, DIMENSION, lengthscale);
    if (matrix)
        p->kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
    assert_int_equal(matrix ? bandit_arms_new_precomputed(&p->arms, ARMS, NULL)
                            : bandit_arms_new(&p->arms, ARMS, DIMENSION, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, ARMS, matrix ? k : p->x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&p->covariance, &p->kernel, p->arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_posterior_build(&p->posterior, &p->covariance, lambda, dictionary, MEMBERS, sums,
                                            PULLED, NULL),
                     BANDIT_OK);
    p->process = covariance_of(k, dictionary, counts, lambda);
    free(k);
    p->at.z = bandit_alloc(ARMS, sizeof(double));
    p->at.w = bandit_alloc(ARMS, sizeof(double));
    p->at.c = bandit_alloc(BANDIT_CONDITIONING_MOST, sizeof(double));
}

static void teardown(problem *p)
{
    free(p->process);
    free(p->at.z);
    free(p->at.w);
    free(p->at.c);
    bandit_posterior_clear(&p->posterior);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

static void take(problem *p, bandit_conditioning *c, uint32_t arm)
{
    bandit_conditioning_embed(c, arm, &p->at);
    bandit_conditioning_add(c, arm, &p->at);
}

static double look(problem *p, bandit_conditioning *c, uint32_t arm)
{
    bandit_conditioning_embed(c, arm, &p->at);
    return bandit_conditioning_variance(c, arm, &p->at);
}

/* One pull more, in the reference: c(x, x') −= c(x, a) c(x', a) / (1 + c(a, a)). */
static void pull_densely(double *process, uint32_t arm)
{
    double column[ARMS], by = 1.0 / (1.0 + process[(size_t)arm * ARMS + arm]);
    memcpy(column, process + (size_t)arm * ARMS, sizeof column);
    for (size_t i = 0; i < ARMS; i++) {
        for (size_t j = 0; j < ARMS; j++)
            process[i * ARMS + j] -= column[i] * column[j] * by;
    }
}

static uint32_t pick_number(size_t i)
{
    static const uint32_t some[] = {3, 3, 3, 88, 5, 5, 41, 3, 42};
    return i < 9 ? some[i] : (uint32_t)(37 * i % ARMS);
}

/* k(x, x) − z(x)'z(x) is zero for a member of the dictionary. Its rounding error is some units in the last place
 * of k(x, x) = 1, eight with the worst of OpenBLAS's kernels, and is divided by lambda. */
static void agrees(problem *p)
{
    bandit_conditioning c = {0};
    double cancelled = 32.0 * DBL_EPSILON / p->lambda;
    uint32_t arms[ARMS];
    double gains[ARMS];
    for (uint32_t a = 0; a < ARMS; a++)
        arms[a] = a;
    assert_int_equal(bandit_conditioning_start(&c, &p->posterior, 2, NULL), BANDIT_OK);
    for (size_t i = 0; i < PICKS; i++) {
        assert_int_equal(bandit_conditioning_reserve(&c, c.n + 1, NULL), BANDIT_OK);
        take(p, &c, pick_number(i));
        pull_densely(p->process, pick_number(i));
        bandit_conditioning_gains(&c, arms, ARMS, gains);
        for (uint32_t a = 0; a < ARMS; a++) {
            double exact = p->process[(size_t)a * ARMS + a], variance = look(p, &c, a);
            double scale = 1.0 + p->at.variance;
            assert_true(fabs(variance - exact) < 1e-10 * scale + cancelled);
            assert_true(p->at.variance - gains[a] >= variance - 1e-15 * scale);
            assert_true(p->at.variance - gains[a] < variance + 1e-5 * scale);
        }
    }
    assert_int_equal(c.n, PICKS - 3); /* repeats in succession share a row */
    assert_true(bandit_conditioning_memory(&c) > 0);
    bandit_conditioning_clear(&c);
}

static void equals_the_dense_formula(void **state)
{
    (void)state;
    static const double lambdas[] = {0.5, 1e-2, 1e-6};
    for (size_t i = 0; i < 3; i++) {
        problem p;
        setup(&p, lambdas[i], false);
        agrees(&p);
        teardown(&p);
        setup(&p, lambdas[i], true);
        agrees(&p);
        teardown(&p);
    }
}

/* Variances do not depend on when an arm is looked at, and never grow. */
static void looking_earlier_changes_no_bit(void **state)
{
    (void)state;
    problem p;
    bandit_conditioning c = {0};
    setup(&p, 1e-3, false);
    assert_int_equal(bandit_conditioning_start(&c, &p.posterior, PICKS, NULL), BANDIT_OK);
    bandit_conditioned kept = {.z = bandit_alloc(ARMS, sizeof(double)),
                               .w = bandit_alloc(ARMS, sizeof(double)),
                               .c = bandit_alloc(PICKS, sizeof(double))};
    bandit_conditioning_embed(&c, 61, &kept);
    double last = bandit_conditioning_variance(&c, 61, &kept);
    assert_true(last == kept.variance);
    for (size_t i = 0; i < PICKS; i++) {
        take(&p, &c, pick_number(i));
        double now = i % 3 == 2 ? bandit_conditioning_variance(&c, 61, &kept) : last;
        assert_true(now <= last);
        if (i % 3 == 2)
            assert_true(now == look(&p, &c, 61));
        last = now;
    }
    assert_true(bandit_conditioning_variance(&c, 61, &kept) == look(&p, &c, 61));
    assert_true(last < kept.variance);
    free(kept.z);
    free(kept.w);
    free(kept.c);
    bandit_conditioning_clear(&c);
    teardown(&p);
}

/* An arm that the dictionary does not know, and its neighbour: both shrink, which |w|^2 alone would not. */
static void what_the_dictionary_leaves_out_shrinks(void **state)
{
    (void)state;
    problem p;
    bandit_conditioning c = {0};
    setup(&p, 1e-4, false);
    assert_int_equal(bandit_conditioning_start(&c, &p.posterior, 1, NULL), BANDIT_OK);
    uint32_t far = 0;
    double most = 0.0;
    for (uint32_t a = 0; a < ARMS; a++) {
        double variance = look(&p, &c, a);
        if (variance > most) {
            most = variance;
            far = a;
        }
    }
    assert_true(most > 100.0);
    take(&p, &c, far);
    assert_true(look(&p, &c, far) < 1.0 + 1e-9); /* as well as the noise allows */
    bandit_conditioning_clear(&c);
    teardown(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_dense_formula),
                                       cmocka_unit_test(looking_earlier_changes_no_bit),
                                       cmocka_unit_test(what_the_dictionary_leaves_out_shrinks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
