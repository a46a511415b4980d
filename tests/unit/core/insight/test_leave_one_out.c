/* Predictions without an arm's own rewards, against models that have never seen them. */
#include "core/insight/view.h"
#include "tests/support/dense_gp.h"
#include "tests/support/insight_study.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>

static double bumpy(const double *x)
{
    return sin(6.0 * x[0]) + cos(4.0 * x[1]);
}

static double *random_rows(size_t n, uint64_t random)
{
    double *rows = dense_alloc(2 * n, sizeof *rows);
    for (size_t i = 0; i < 2 * n; i++)
        rows[i] = dense_uniform(&random);
    return rows;
}

/* What an engine says of arm `left` that has the results of all others among the first n. */
static bandit_prediction without(const insight_study *s, const bandit_options *o, uint32_t left, uint32_t n)
{
    bandit_engine *engine;
    bandit_error err = {0};
    bandit_prediction p;
    bandit_result *results = dense_alloc(n, sizeof *results);
    size_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double x[2] = {bandit_arms_feature(s->arms, i, 0), bandit_arms_feature(s->arms, i, 1)};
        if (i != left)
            results[k++] = (bandit_result){.arm = i, .repeats = 1 + i % 3, .reward = bumpy(x)};
    }
    must(bandit_engine_new(&engine, s->arms, o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, results, k, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_predict_arms(engine, &left, 1, &p, &err), &err);
    p.variance += o->lambda / (1 + left % 3); /* the noise of the mean */
    bandit_engine_free(engine);
    free(results);
    return p;
}

static void compare(double lambda, uint32_t n, double tolerance, uint32_t step)
{
    static const double l[] = {0.4};
    double *rows = random_rows(n + 10, n);
    bandit_options o = insight_given(BANDIT_GP_UCB, BANDIT_KERNEL_MATERN, 2.5, lambda, l, 1);
    insight_study s;
    bandit_left_out *found;
    size_t n_found;
    bandit_error err = {0};
    insight_study_list(&s, rows, n + 10, 2, &o, bumpy, n);
    must(bandit_insight_leave_one_out(s.insight, &found, &n_found, &err), &err);
    assert_int_equal(n_found, n);
    for (uint32_t i = 0; i < n; i += step) {
        bandit_prediction p = without(&s, &o, i, n);
        double deviation = sqrt(p.variance);
        assert_int_equal(found[i].arm, i);
        assert_int_equal(found[i].count, 1 + i % 3);
        assert_equal_reals(found[i].value, bumpy(rows + (size_t)2 * i));
        assert_near(found[i].mean, p.mean, tolerance);
        assert_near(found[i].std, deviation, tolerance);
        assert_near(found[i].z, (found[i].value - p.mean) / deviation, tolerance / deviation);
        assert_false(found[i].set_aside);
    }
    free(found);
    insight_study_clear(&s);
    free(rows);
}

static void models_without_the_arm(void **state)
{
    (void)state;
    compare(0.01, 30, 1e-9, 1);
    compare(1.0, 30, 1e-9, 1);
    compare(1e-8, 30, 1e-6, 1); /* hardly any noise */
}

/* More arms than have a dense covariance, of a smooth kernel, so that few of them make a good dictionary. */
static void many_arms(void **state)
{
    enum { N = 2200 };
    (void)state;
    static const double l[] = {1.5};
    double *rows = random_rows(N, 1), squares = 0.0;
    bandit_options o = insight_given(BANDIT_BBKB, BANDIT_KERNEL_GAUSSIAN, 0.0, 0.01, l, 1);
    insight_study s;
    bandit_left_out *found;
    size_t n;
    bandit_error err = {0};
    insight_study_list(&s, rows, N, 2, &o, bumpy, N);
    must(bandit_insight_leave_one_out(s.insight, &found, &n, &err), &err);
    assert_int_equal(n, N);
    for (uint32_t i = 0; i < N; i += 1100) {
        bandit_prediction p = without(&s, &o, i, N);
        assert_near(found[i].mean, p.mean, 0.01); /* another dictionary, drawn from other results */
        assert_near(found[i].std, sqrt(p.variance), 1e-3);
    }
    for (size_t i = 0; i < n; i++)
        squares += (found[i].mean - found[i].value) * (found[i].mean - found[i].value) / N;
    assert_true(squares < 0.05);
    free(found);
    insight_study_clear(&s);
    free(rows);
}

static double with_an_outlier(const double *x)
{
    return x[0] > 0.5 && x[0] < 0.52 ? 400.0 : bumpy(x);
}

/* A learned model names the value that it leaves out, and its other errors are of the size that it says. */
static void an_outlier_is_named(void **state)
{
    enum { N = 80 };
    (void)state;
    double *rows = random_rows(N, 8);
    rows[2 * 40] = 0.51;
    for (size_t i = 0; i < N; i++)
        rows[2 * i] = i != 40 && rows[2 * i] > 0.49 && rows[2 * i] < 0.53 ? 0.3 : rows[2 * i];
    bandit_options o = insight_learning(BANDIT_LOG_EI);
    for (int warp = 0; warp < 2; warp++) {
        insight_study s;
        bandit_left_out *found;
        bandit_error err = {0};
        size_t n, within = 0;
        o.warp_rewards = warp;
        insight_study_list(&s, rows, N, 2, &o, with_an_outlier, N);
        must(bandit_insight_leave_one_out(s.insight, &found, &n, &err), &err);
        for (size_t i = 0; i < n; i++) {
            assert_true(found[i].set_aside == (i == 40));
            within += fabs(found[i].z) < 1.959964;
        }
        assert_true(found[40].z > 5.0);
        assert_true(within >= N * 8 / 10);
        free(found);
        insight_study_clear(&s);
    }
    free(rows);
}

static void ranks_with_ties(void **state)
{
    (void)state;
    static const double a[] = {1.0, 2.0, 2.0, 4.0, 5.0}, up[] = {0.1, 0.2, 0.2, 7.0, 9.0};
    static const double mixed[] = {3.0, 1.0, 4.0, 1.0, 5.0}, flat[] = {1.0, 1.0, 1.0, 1.0, 1.0};
    double found;
    bandit_error err = {0};
    must(bandit_rank_correlation(a, up, 5, &found, &err), &err);
    assert_near(found, 1.0, 1e-15);
    must(bandit_rank_correlation(a, mixed, 5, &found, &err), &err);
    /* ranks less their mean: -2 -.5 -.5 1 2 and 0 -1.5 1 -1.5 2, each with squares that sum to 9.5 */
    assert_near(found, (0.0 + 0.75 - 0.5 - 1.5 + 4.0) / 9.5, 1e-15);
    must(bandit_rank_correlation(a, flat, 5, &found, &err), &err);
    assert_true(isnan(found));
    must(bandit_rank_correlation(a, up, 0, &found, &err), &err);
    assert_true(isnan(found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_without_the_arm),
        cmocka_unit_test(many_arms),
        cmocka_unit_test(an_outlier_is_named),
        cmocka_unit_test(ranks_with_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
