/* Points of an open space with local deviations from the model's function: figures from dense matrices, and properties. */
#include "bandit/insight.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS = 20, POINTS = 2 * PAIRS, AGAIN = 6 };

static const double lengthscale[] = {0.3};

/* Pairs of points that are much nearer to each other than the ripples are long. */
static double at(uint32_t i)
{
    return ((double)(i / 2) + 0.4) / PAIRS + (i % 2 ? 0.0005 : 0.0);
}

/* A slope that the lengthscale can follow, and ripples that it cannot. */
static double truth(uint32_t i, double ripple)
{
    return 0.4 * sin(3.0 * at(i)) + ripple * sin(150.0 * at(i));
}

static bandit_options options_of(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    learner_options(&o, algorithm);
    o.learn_lengthscale = o.warp_rewards = false;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    o.kernel.lengthscales = lengthscale;
    o.kernel.n_lengthscales = 1;
    return o;
}

typedef struct line {
    bandit_arms *arms;
    bandit_engine *engine;
    double sum[POINTS], count[POINTS], squares;
} line;

/* A first result of each point in one batch, and then more of the first AGAIN points, if `again`. */
static void measure(line *l, const bandit_options *o, double ripple, double noise, bool again)
{
    const bandit_parameter side = {
        .type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT};
    bandit_error err;
    bandit_result results[POINTS];
    double rows[POINTS], first[AGAIN] = {0};
    uint64_t random = 3;
    *l = (line){0};
    for (uint32_t i = 0; i < POINTS; i++)
        rows[i] = at(i);
    must(bandit_arms_new_space(&l->arms, &side, 1, &err), &err);
    must(bandit_arms_append(l->arms, rows, POINTS, &err), &err);
    must(bandit_engine_new(&l->engine, l->arms, o, 0, &err), &err);
    for (uint32_t n = POINTS; n > 0; n = n == POINTS && again ? AGAIN : 0) {
        for (uint32_t i = 0; i < n; i++) {
            double reward = truth(i, ripple) + noise * (2.0 * dense_uniform(&random) - 1.0);
            results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = reward};
            if (n == AGAIN)
                l->squares += 0.5 * (reward - first[i]) * (reward - first[i]);
            else if (i < AGAIN)
                first[i] = reward;
            l->sum[i] += reward;
            l->count[i] += 1.0;
        }
        learner_begin(l->engine, results, n);
    }
}

static void clear(line *l)
{
    bandit_engine_free(l->engine);
    bandit_arms_free(l->arms);
}

static void predict(const line *l, bandit_prediction *found, bandit_prediction *function)
{
    uint32_t arms[POINTS];
    bandit_error err;
    for (uint32_t i = 0; i < POINTS; i++)
        arms[i] = i;
    must(bandit_insight_pulled(l->engine, arms, POINTS, found, &err), &err);
    must(bandit_engine_predict_arms(l->engine, arms, POINTS, function, &err), &err);
}

/* ---- the dense way -------------------------------------------------------------------------------------------- */

typedef struct dense {
    double *k;       /* covariance of the process */
    double *inverse; /* of the covariance of the means */
    double log_det;  /* of the latter */
    double values[POINTS];
} dense;

/* Inverts the symmetric, positive definite a in place by elimination without pivots; -> log det. */
static double invert(double *a)
{
    double log_det = 0.0;
    for (size_t k = 0; k < POINTS; k++) {
        double pivot = a[k * POINTS + k];
        log_det += log(pivot);
        a[k * POINTS + k] = 1.0;
        for (size_t j = 0; j < POINTS; j++)
            a[k * POINTS + j] /= pivot;
        for (size_t i = 0; i < POINTS; i++) {
            double by = a[i * POINTS + k];
            if (i == k)
                continue;
            a[i * POINTS + k] = 0.0;
            for (size_t j = 0; j < POINTS; j++)
                a[i * POINTS + j] -= by * a[k * POINTS + j];
        }
    }
    return log_det;
}

/* The process f + u, where u has the variance w, and is seen with the variances (tau − w) / n_i. In units of rewards. */
static void prepare(dense *out, const line *l, const bandit_description *d, double ratio, double w,
                    double tau)
{
    double points[POINTS];
    for (uint32_t i = 0; i < POINTS; i++) {
        points[i] = at(i);
        out->values[i] = l->sum[i] / l->count[i] - d->shift;
    }
    double *narrow = dense_gaussian(points, POINTS, 1, ratio * lengthscale[0]);
    free(out->k);
    free(out->inverse);
    out->k = dense_gaussian(points, POINTS, 1, lengthscale[0]);
    out->inverse = dense_alloc((size_t)POINTS * POINTS, sizeof *out->inverse);
    for (size_t i = 0; i < (size_t)POINTS * POINTS; i++)
        out->k[i] = d->signal_std * d->signal_std * out->k[i] + w * narrow[i];
    memcpy(out->inverse, out->k, (size_t)POINTS * POINTS * sizeof *out->k);
    for (size_t i = 0; i < POINTS; i++)
        out->inverse[i * POINTS + i] += (tau - w) / l->count[i];
    out->log_det = invert(out->inverse);
    free(narrow);
}

static double form(const dense *g, const double *x, const double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < POINTS; j++)
            sum += x[i] * g->inverse[i * POINTS + j] * y[j];
    return sum;
}

static double likelihood(const dense *g, const line *l, double s, bool again)
{
    double degrees = again ? AGAIN : 0.0;
    return -0.5 * (form(g, g->values, g->values) + g->log_det + degrees * log(s) + l->squares / s);
}

static void compare_with_dense(bandit_algorithm algorithm, bool again)
{
    static const double ratios[] = {0.02, 0.06, 0.2}, shares[] = {0.25, 0.5, 0.75, 0.9, 0.97};
    bandit_options o = options_of(algorithm);
    bandit_prediction found[POINTS], function[POINTS];
    bandit_description d;
    dense g = {0};
    line l;
    measure(&l, &o, 0.3, 0.05, again);
    bandit_engine_describe(l.engine, &d);
    double tau = d.noise_std * d.noise_std, best = -INFINITY, ratio = 0.0, w = 0.0;
    for (size_t i = 0; i < 15; i++) {
        prepare(&g, &l, &d, ratios[i / 5], shares[i % 5] * tau, tau);
        double value = likelihood(&g, &l, tau - shares[i % 5] * tau, again);
        if (value > best) {
            best = value;
            ratio = ratios[i / 5];
            w = shares[i % 5] * tau;
        }
    }
    prepare(&g, &l, &d, ratio, w, tau);
    predict(&l, found, function);
    for (size_t i = 0; i < POINTS; i++) {
        const double *column = g.k + i * POINTS;
        assert_near(found[i].mean, d.shift + form(&g, column, g.values), 1e-6);
        assert_near(sqrt(found[i].variance), sqrt(column[i] - form(&g, column, column)), 1e-6);
    }
    free(g.k);
    free(g.inverse);
    clear(&l);
}

static void the_likeliest_deviation(void **state)
{
    (void)state;
    compare_with_dense(BANDIT_LOG_EI, false);
    compare_with_dense(BANDIT_LOG_EI, true);
    compare_with_dense(BANDIT_GP_EI, true);
}

/* ---- properties ------------------------------------------------------------------------------------------------ */

static void ripples_are_followed(void **state)
{
    bandit_options o = options_of(BANDIT_LOG_EI);
    bandit_prediction found[POINTS], function[POINTS];
    double off = 0.0, off_function = 0.0;
    line l;
    (void)state;
    measure(&l, &o, 0.3, 0.0, false);
    predict(&l, found, function);
    for (uint32_t i = 0; i < POINTS; i++) {
        off += fabs(found[i].mean - truth(i, 0.3));
        off_function += fabs(function[i].mean - truth(i, 0.3));
    }
    assert_true(off < 0.2 * off_function);
    clear(&l);
}

static void assert_function(const line *l)
{
    bandit_prediction found[POINTS], function[POINTS];
    predict(l, found, function);
    for (uint32_t i = 0; i < POINTS; i++)
        assert_true(found[i].mean == function[i].mean && found[i].variance == function[i].variance);
}

/* There is noise alone, or hardly any; the noise is given; the kernel is the linear one. */
static void without_evidence_there_is_none(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        bandit_options o = options_of(BANDIT_LOG_EI);
        line l;
        o.learn_noise = way != 2;
        o.noise_std = 0.1;
        if (way == 3) {
            o.kernel.type = BANDIT_KERNEL_LINEAR;
            o.kernel.n_lengthscales = 0;
        }
        measure(&l, &o, way < 2 ? 0.0 : 0.3, way == 0 ? 0.3 : 0.0, false);
        assert_function(&l);
        clear(&l);
    }
}

/* The same deviation for any order of magnitude of the values, and wherever they are. */
static void units_do_not_matter(void **state)
{
    bandit_options o = options_of(BANDIT_LOG_EI);
    bandit_prediction found[POINTS], function[POINTS], scaled[POINTS];
    bandit_result results[POINTS];
    bandit_error err;
    line l, large;
    (void)state;
    measure(&l, &o, 0.3, 0.05, false);
    predict(&l, found, function);
    measure(&large, &o, 0.3, 0.05, false);
    bandit_engine_free(large.engine);
    must(bandit_engine_new(&large.engine, large.arms, &o, 0, &err), &err);
    for (uint32_t i = 0; i < POINTS; i++)
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = 1024.0 * large.sum[i] + 4096.0};
    learner_begin(large.engine, results, POINTS);
    predict(&large, scaled, function);
    for (uint32_t i = 0; i < POINTS; i++)
        assert_near(scaled[i].mean / 1024.0 - 4.0, found[i].mean, 1e-5);
    clear(&l);
    clear(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_likeliest_deviation),
        cmocka_unit_test(ripples_are_followed),
        cmocka_unit_test(without_evidence_there_is_none),
        cmocka_unit_test(units_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
