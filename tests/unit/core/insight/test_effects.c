/* Effects: against averages of predictions, and the deviations against a dense covariance. */
#include "core/insight/view.h"
#include "tests/support/dense_gp.h"
#include "tests/support/insight_study.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>
#include <string.h>

static const double on[] = {1.0};
/* A logarithmic number, a switch, a number that is active when it is on, and an integer. */
static const bandit_parameter parameters[] = {
    {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.1, .max = 10.0, .log = true, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_DOUBLE, .max = 2.0, .parent = 1, .parent_values = on, .n_parent_values = 1},
    {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 4.0, .parent = BANDIT_NO_PARENT}};
enum { P = 4 };

static double function(const double *x)
{
    return log(x[0]) + (x[1] == 1.0 ? x[2] * x[2] : 1.0) + 0.2 * x[3];
}

static void effects(insight_study *s, const size_t *axes, size_t n_axes, size_t points, bandit_effect **out,
                    size_t *n)
{
    bandit_error err = {0};
    must(bandit_insight_effects(s->insight, axes, n_axes, points, out, n, &err), &err);
}

/* The average prediction at random points that have these values; NaN is open. */
static double average_prediction(insight_study *s, const double *fixed)
{
    enum { N = 4000 };
    uint64_t random = 17;
    double sum = 0.0;
    for (size_t i = 0; i < N; i++) {
        double x[P] = {0.1 * exp(log(100.0) * dense_uniform(&random)), dense_uniform(&random) < 0.5,
                       2.0 * dense_uniform(&random), 1.0 + floor(4.0 * dense_uniform(&random))};
        x[0] = fmin(fmax(x[0], 0.1), 10.0);
        if (!isnan(fixed[2]))
            x[1] = 1.0;
        for (size_t j = 0; j < P; j++)
            x[j] = isnan(fixed[j]) ? x[j] : fixed[j];
        x[2] = x[1] == 1.0 ? x[2] : (double)NAN;
        bandit_prediction p;
        bandit_error err = {0};
        must(bandit_engine_predict_points(s->engine, x, 1, &p, &err), &err);
        sum += p.mean / N;
    }
    return sum;
}

static void averages_of_predictions(void **state)
{
    (void)state;
    static const double l[] = {0.8};
    static const size_t values[P] = {5, 2, 5, 4};
    bandit_options o = insight_given(BANDIT_GP_EI, BANDIT_KERNEL_MATERN, 2.5, 1e-4, l, 1);
    insight_study s;
    insight_study_space(&s, parameters, P, &o, function, 60);
    for (size_t j = 0; j < P; j++) {
        bandit_effect *found;
        size_t n;
        effects(&s, &j, 1, 5, &found, &n);
        assert_int_equal(n, values[j]);
        for (size_t k = 0; k < n; k++) {
            double fixed[P] = {NAN, NAN, NAN, NAN};
            fixed[j] = found[k].at[0];
            assert_near(found[k].mean, average_prediction(&s, fixed), 0.05);
            assert_true(found[k].std > 0.0 && found[k].std < 0.5);
        }
        free(found);
    }
    insight_study_clear(&s);
}

/* A pair of values that no point has is left out. */
static void pairs_of_values(void **state)
{
    (void)state;
    static const double l[] = {0.8};
    static const size_t axes[2] = {1, 2};
    bandit_options o = insight_given(BANDIT_GP_EI, BANDIT_KERNEL_MATERN, 2.5, 1e-4, l, 1);
    insight_study s;
    bandit_effect *found;
    size_t n;
    insight_study_space(&s, parameters, P, &o, function, 60);
    effects(&s, axes, 2, 3, &found, &n);
    assert_int_equal(n, 3); /* the switch must be on */
    for (size_t k = 0; k < n; k++) {
        const double fixed[P] = {NAN, found[k].at[0], found[k].at[1], NAN};
        assert_true(found[k].at[0] == 1.0);
        assert_near(found[k].mean, average_prediction(&s, fixed), 0.1);
    }
    free(found);
    insight_study_clear(&s);
}

static double function_of_two(const double *x)
{
    return sin(3.0 * x[0]) * x[1];
}

/* The variance of an average, by solving with the covariance of all results. */
static void the_variance_of_an_average(void **state)
{
    enum { N = 40, PULLED = 20, SET = 7, D = 2 };
    (void)state;
    double rows[N * D], coordinates[SET * D], mean, variance, expected = 0.0;
    uint64_t random = 9;
    static const double l[] = {0.5};
    for (size_t i = 0; i < (size_t)N * D; i++)
        rows[i] = dense_uniform(&random);
    memcpy(coordinates, rows + (size_t)15 * D, sizeof coordinates);
    bandit_options o = insight_given(BANDIT_GP_UCB, BANDIT_KERNEL_GAUSSIAN, 0.0, 0.01, l, 1);
    insight_study s;
    insight_study_list(&s, rows, N, D, &o, function_of_two, PULLED);
    bandit_error err = {0};
    must(bandit_view_average(s.insight, coordinates, SET, &mean, &variance, &err), &err);
    /* c(i, j) = k_ij − z_i'z_j + lambda z_i'V^{-1}z_j, z and V as in dense_gp.h */
    double *k = dense_gaussian(rows, N, D, 0.5);
    uint32_t dictionary[PULLED];
    uint64_t counts[N] = {0};
    size_t rank;
    for (uint32_t i = 0; i < PULLED; i++) {
        dictionary[i] = i;
        counts[i] = 1 + i % 3;
    }
    double *z = dense_embedding(k, N, dictionary, PULLED, &rank);
    double *v = dense_design(z, rank, N, counts, 0.01),
           *products = dense_alloc((size_t)N * N, sizeof(double));
    dense_products(z, rank, N, v, NULL, N, products);
    for (size_t i = 15; i < 15 + SET; i++) {
        for (size_t j = 15; j < 15 + SET; j++) {
            double inner = 0.0;
            for (size_t r = 0; r < rank; r++)
                inner += z[i * rank + r] * z[j * rank + r];
            expected += (k[j * N + i] - inner + 0.01 * products[j * N + i]) / (SET * SET);
        }
    }
    assert_near(variance, expected, 1e-9);
    free(k);
    free(z);
    free(v);
    free(products);
    insight_study_clear(&s);
}

static double slope(const double *x)
{
    return 2.0 * x[0] + x[1];
}

static void bins_of_candidates(void **state)
{
    enum { N = 500, D = 2 };
    (void)state;
    double *rows = dense_alloc((size_t)N * D, sizeof *rows);
    uint64_t random = 3;
    for (size_t i = 0; i < N; i++) {
        rows[i * D] = 5.0 * dense_uniform(&random);
        rows[i * D + 1] = (double)(i % 3);
    }
    insight_study s;
    bandit_options o = insight_learning(BANDIT_BBKB);
    insight_study_list(&s, rows, N, D, &o, slope, 120);
    bandit_effect *found;
    size_t n, count = 0, axis = 0, both[2] = {0, 1};
    effects(&s, &axis, 1, 10, &found, &n);
    assert_int_equal(n, 10);
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0, members = 0.0;
        for (size_t i = 0; i < N; i++) {
            if (rows[i * D] < found[k].low[0] - 1e-9 || rows[i * D] > found[k].high[0] + 1e-9)
                continue;
            mean += slope(rows + i * D);
            members += 1.0;
        }
        assert_int_equal(found[k].count, (size_t)members);
        assert_near(found[k].mean, mean / members, 0.1);
        assert_true(found[k].low[0] <= found[k].at[0] && found[k].at[0] <= found[k].high[0]);
        count += found[k].count;
    }
    assert_int_equal(count, N);
    free(found);
    effects(&s, both, 2, 6, &found, &n); /* the second feature has three values */
    assert_int_equal(n, 18);
    free(found);
    insight_study_clear(&s);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_of_predictions),
        cmocka_unit_test(pairs_of_values),
        cmocka_unit_test(the_variance_of_an_average),
        cmocka_unit_test(bins_of_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
