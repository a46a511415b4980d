#include "tests/support/exact_study.h"

#include "tests/support/must.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double lengthscale = 0.15;

double exact_study_point(size_t arm, bool twice)
{
    size_t n = twice ? EXACT_STUDY_ARMS / 2 : EXACT_STUDY_ARMS;
    return (double)(arm % n * 7 % n) / (double)n;
}

bandit_arms *exact_study_arms(bool twice)
{
    bandit_arms *arms;
    bandit_error err = {0};
    double x[EXACT_STUDY_ARMS];
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++)
        x[a] = exact_study_point(a, twice);
    must(bandit_arms_new(&arms, EXACT_STUDY_ARMS, 1, &err), &err);
    must(bandit_arms_set_rows(arms, 0, EXACT_STUDY_ARMS, x, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, EXACT_STUDY_ARMS, &err), &err);
    return arms;
}

double exact_study_kernel(size_t a, size_t b)
{
    double r = (exact_study_point(a, false) - exact_study_point(b, false)) / lengthscale;
    return exp(-0.5 * r * r);
}

bandit_options exact_study_options(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    o.lambda = 0.04;
    o.noise_std = 0.2;
    o.norm_bound = 1.5;
    o.delta = 0.05;
    o.zeta = 0.01;
    o.seed = 9;
    return o;
}

bandit_engine *exact_study_engine(bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err = {0};
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    return engine;
}

void exact_study_begin(bandit_engine *engine, const bandit_result *results, size_t n)
{
    bandit_error err = {0};
    must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
}

bandit_selection exact_study_pick(bandit_engine *engine, const bandit_select_limits *limits,
                                  bandit_pick *picks)
{
    bandit_selection selection;
    bandit_error err = {0};
    must(bandit_engine_select(engine, limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection;
}

size_t exact_study_history(bandit_result *results)
{
    static const uint32_t pulled[] = {3, 17, 17, 40, 52, 8, 3, 3, 29};
    size_t n = sizeof pulled / sizeof *pulled;
    for (size_t i = 0; i < n; i++)
        results[i] =
            (bandit_result){.arm = pulled[i],
                            .repeats = 1,
                            .reward = sin(6.0 * exact_study_point(pulled[i], false)) + 0.01 * (double)i};
    return n;
}

void exact_study_variances(const uint32_t *pulled, size_t n, double lambda, double out[EXACT_STUDY_ARMS])
{
    static double m[EXACT_STUDY_PULLS * EXACT_STUDY_PULLS], x[EXACT_STUDY_PULLS * EXACT_STUDY_ARMS];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            m[i * n + j] = exact_study_kernel(pulled[i], pulled[j]) + (i == j ? lambda : 0.0);
        for (size_t a = 0; a < EXACT_STUDY_ARMS; a++)
            x[i * EXACT_STUDY_ARMS + a] = exact_study_kernel(pulled[i], a);
    }
    if (n > 0)
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, EXACT_STUDY_ARMS, m,
                                       (lapack_int)n, x, EXACT_STUDY_ARMS),
                         0);
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++) {
        out[a] = exact_study_kernel(a, a);
        for (size_t i = 0; i < n; i++)
            out[a] -= x[i * EXACT_STUDY_ARMS + a] * exact_study_kernel(pulled[i], a);
    }
}
