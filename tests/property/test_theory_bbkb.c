/* What the theory promises of a run, held against dense recomputation: the bounds on the ratio of variances
 * at every pick ([BBKB] Lemmas 1 and 3), the accuracy of the sketch (Lemma 2), the size of the dictionary and
 * the number of batches (Theorem 1). Each check is shown to be able to fail, by how close the run comes to
 * the bound or by a run that is outside its assumptions. */
#include "bandit/engine.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDING (1.0 + 1e-8)

/* A study on n arms of the unit cube, and all that is known of it without asking the engine. */
typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_options options;
    double lengthscale;
    size_t n;
    double *k;        /* n x n */
    double *rewards;  /* n */
    uint64_t *counts; /* n: pulls in the model */
    uint64_t noise;   /* state of its generator */
    size_t told, batches;

    /* Of the batch in force. */
    size_t rank;
    double *z, *v;    /* embedding and V_D; NULL before the first model */
    double *variance; /* n: at the batch's start */
} study;

static void study_open(study *s, size_t n, size_t dimension, double lengthscale,
                       const bandit_options *options)
{
    uint64_t state = options->seed;
    double *points = dense_alloc(n * dimension, sizeof *points);
    bandit_error err;

    *s = (study){.options = *options, .n = n, .lengthscale = lengthscale, .noise = 77};
    for (size_t i = 0; i < n * dimension; i++)
        points[i] = dense_uniform(&state);
    s->k = dense_gaussian(points, n, dimension, lengthscale);
    s->rewards = dense_alloc(n, sizeof *s->rewards);
    s->counts = dense_alloc(n, sizeof *s->counts);
    s->variance = dense_alloc(n, sizeof *s->variance);
    for (size_t i = 0; i < n; i++)
        s->rewards[i] = 0.5 + 0.5 * sin(7.0 * points[i * dimension]);
    assert_int_equal(bandit_arms_new(&s->arms, n, dimension, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(s->arms, 0, n, points, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, n, &err), BANDIT_OK);
    s->options.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &s->lengthscale, .n_lengthscales = 1};
    assert_int_equal(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), BANDIT_OK);
    free(points);
}

static void study_close(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
    free(s->k);
    free(s->rewards);
    free(s->counts);
    free(s->variance);
    free(s->z);
    free(s->v);
}

/* Tells `picks`, begins a batch with `pending` still out, and recomputes its start densely. */
static void study_begin(study *s, const bandit_pick *picks, size_t n_picks, const bandit_pick *pending,
                        size_t n_pending)
{
    bandit_result *results = dense_alloc(n_picks, sizeof *results);
    bandit_description d;
    bandit_error err;

    for (size_t i = 0; i < n_picks; i++) {
        results[i] = (bandit_result){.arm = picks[i].arm,
                                     .repeats = 1,
                                     .reward = s->rewards[picks[i].arm] + 0.1 * dense_normal(&s->noise),
                                     .chosen = true,
                                     .variance = picks[i].variance};
        s->counts[picks[i].arm]++;
    }
    s->told += n_picks;
    if (bandit_engine_begin_batch(s->engine, results, n_picks, pending, n_pending, &bandit_executor_serial,
                                  &err) != BANDIT_OK)
        fail_msg("%s", err.message);
    free(results);
    bandit_engine_describe(s->engine, &d);
    if (d.n_dictionary == 0)
        return;
    s->batches++;
    free(s->z);
    free(s->v);
    s->z = dense_embedding(s->k, s->n, d.dictionary, d.n_dictionary, &s->rank);
    s->v = dense_design(s->z, s->rank, s->n, s->counts, s->options.lambda);
    dense_sparse_variance(s->k, s->z, s->rank, s->n, s->v, s->options.lambda, s->variance);
}

/* `picks` holds max entries. */
static bandit_selection study_select(study *s, bandit_pick *picks, size_t max)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;

    limits.max_picks = max;
    assert_int_equal(
        bandit_engine_select(s->engine, &limits, &bandit_executor_serial, picks, &selection, &err),
        BANDIT_OK);
    return selection;
}

/* ---- the ratio of variances ---------------------------------------------------------------------------- */

/* Goes through pulls that are out, one after the other, and watches max_x var_start(x) / var_now(x). */
typedef struct watch {
    double *v;         /* V, rank x rank */
    double *now;       /* n */
    double sum, ratio; /* 1 + sum of start variances; the largest ratio */
} watch;

static void watch_start(watch *w, const study *s)
{
    w->v = dense_alloc(s->rank * s->rank, sizeof *w->v);
    memcpy(w->v, s->v, s->rank * s->rank * sizeof *w->v);
    w->now = dense_alloc(s->n, sizeof *w->now);
    w->sum = w->ratio = 1.0;
}

static void watch_pull(watch *w, const study *s, uint32_t arm)
{
    const double *z = s->z + arm * s->rank;
    for (size_t j = 0; j < s->rank; j++) {
        for (size_t i = 0; i < s->rank; i++)
            w->v[j * s->rank + i] += z[i] * z[j];
    }
    dense_sparse_variance(s->k, s->z, s->rank, s->n, w->v, s->options.lambda, w->now);
    w->sum += s->variance[arm];
    w->ratio = 1.0;
    for (size_t x = 0; x < s->n; x++)
        w->ratio = fmax(w->ratio, s->variance[x] / w->now[x]);
}

static void watch_clear(watch *w)
{
    free(w->v);
    free(w->now);
}

static void global_ratio(double lambda, uint64_t seed, double *closest)
{
    enum { CAPACITY = 4096 };
    bandit_options options = BANDIT_OPTIONS_INIT;
    static bandit_pick picks[CAPACITY];
    study s;

    options.lambda = lambda;
    options.seed = seed;
    options.ratio_bound = 1.0 + 0.5 * (double)(seed % 5);
    study_open(&s, 60, 2, 0.3, &options);
    study_begin(&s, NULL, 0, NULL, 0);
    bandit_selection selection = study_select(&s, picks, CAPACITY);
    while (s.told < 150) {
        study_begin(&s, picks, selection.n_picks, NULL, 0);
        selection = study_select(&s, picks, CAPACITY);
        watch w;
        watch_start(&w, &s);
        for (size_t i = 0; i < selection.n_picks; i++) {
            if (i > 0)
                assert_true(w.sum <= options.ratio_bound); /* or the batch had ended before this pick */
            watch_pull(&w, &s, picks[i].arm);
            assert_true(w.ratio <= w.sum * ROUNDING); /* Lemma 1 */
            *closest = fmax(*closest, w.ratio / w.sum);
        }
        assert_int_equal(selection.stop_rule, BANDIT_STOP_GLOBAL);
        assert_true(w.sum > options.ratio_bound);
        assert_true(fabs(selection.ratio / w.sum - 1.0) < 1e-8);
        watch_clear(&w);
    }
    study_close(&s);
}

static void global_rule_bounds_the_ratio(void **state)
{
    double closest = 0.0;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        global_ratio(seed % 2 ? 1.0 : 0.01, seed, &closest);
    assert_true(closest > 0.95); /* the bound is nearly attained: a smaller sum would have been noticed */
}

/* max_x of the ratio with the exact update, var_fb / (var_fb - k~_xS (I + k~_SS)^{-1} k~_Sx), after n picks.
 */
static double exact_ratio(const study *s, const bandit_pick *picks, size_t n)
{
    uint32_t *columns = dense_alloc(n, sizeof *columns);
    uint64_t *once = dense_alloc(s->n + n, sizeof *once);
    double *covariance = dense_alloc(s->n * n, sizeof *covariance);
    size_t total = s->n + n;
    double *joint = dense_alloc(total * total, sizeof *joint),
           *variance = dense_alloc(total, sizeof *variance);

    for (size_t i = 0; i < n; i++)
        columns[i] = picks[i].arm;
    dense_products(s->z, s->rank, s->n, s->v, columns, n, covariance);
    for (size_t j = 0; j < n; j++) {
        for (size_t x = 0; x < s->n; x++) {
            double zz = 0.0;
            for (size_t e = 0; e < s->rank; e++)
                zz += s->z[x * s->rank + e] * s->z[columns[j] * s->rank + e];
            covariance[j * s->n + x] += (s->k[columns[j] * s->n + x] - zz) / s->options.lambda;
        }
    }
    /* A Gaussian process with k~ as its kernel and lambda = 1, whose last n "arms" are the picks. */
    for (size_t x = 0; x < s->n; x++)
        joint[x * total + x] = s->variance[x];
    for (size_t j = 0; j < n; j++) {
        once[s->n + j] = 1;
        for (size_t x = 0; x < s->n; x++)
            joint[(s->n + j) * total + x] = joint[x * total + s->n + j] = covariance[j * s->n + x];
        for (size_t i = 0; i < n; i++)
            joint[(s->n + j) * total + s->n + i] = covariance[j * s->n + columns[i]];
    }
    dense_exact_variance(joint, total, 1.0, once, variance, NULL);
    double ratio = 1.0;
    for (size_t x = 0; x < s->n; x++)
        ratio = fmax(ratio, s->variance[x] / variance[x]);
    free(columns);
    free(once);
    free(covariance);
    free(joint);
    free(variance);
    return ratio;
}

static void global_local_rule_bounds_the_ratio(void **state)
{
    enum { CAPACITY = 4096 };
    static bandit_pick picks[CAPACITY];
    bandit_options options = BANDIT_OPTIONS_INIT;
    double largest = 1.0;
    size_t beyond_global = 0;
    study s;
    (void)state;

    options.lambda = 0.1;
    options.seed = 3;
    options.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
    study_open(&s, 50, 2, 0.2, &options);
    study_begin(&s, NULL, 0, NULL, 0);
    bandit_selection selection = study_select(&s, picks, CAPACITY);
    while (s.told < 250) {
        study_begin(&s, picks, selection.n_picks, NULL, 0);
        selection = study_select(&s, picks, CAPACITY);
        watch w;
        watch_start(&w, &s);
        for (size_t i = 0; i + 1 < selection.n_picks; i++) { /* the last pick may cross the bound */
            watch_pull(&w, &s, picks[i].arm);
            double exact = exact_ratio(&s, picks, i + 1);
            assert_true(w.ratio <= options.ratio_bound * ROUNDING);
            assert_true(exact <= options.ratio_bound * ROUNDING);
            beyond_global += w.sum > options.ratio_bound;
            largest = fmax(largest, fmax(w.ratio, exact));
        }
        assert_int_equal(selection.stop_rule, BANDIT_STOP_GLOBAL_LOCAL);
        watch_clear(&w);
    }
    assert_true(beyond_global > 50); /* the local rule did the work */
    assert_true(largest > 0.9 * options.ratio_bound);
    study_close(&s);
}

/* Results come in by halves: what is out counts in the bound, under V_D ([BBKB] Lemma 1 with A = V_D). */
static void asynchronous_feedback_bounds_the_ratio(void **state)
{
    enum { CAPACITY = 4096 };
    static bandit_pick out[CAPACITY], told[CAPACITY];
    bandit_options options = BANDIT_OPTIONS_INIT;
    size_t carried = 0;
    double closest = 0.0;
    study s;
    (void)state;

    options.lambda = 0.1;
    options.seed = 5;
    options.ratio_bound = 3.0;
    study_open(&s, 60, 2, 0.3, &options);
    study_begin(&s, NULL, 0, NULL, 0);
    size_t n_out = study_select(&s, out, CAPACITY).n_picks;
    while (s.told < 250) {
        size_t n_told = (n_out + 1) / 2;
        memcpy(told, out, n_told * sizeof *out);
        memmove(out, out + n_told, (n_out - n_told) * sizeof *out);
        n_out -= n_told;
        carried += n_out;
        study_begin(&s, told, n_told, out, n_out);
        bandit_selection selection = study_select(&s, out + n_out, CAPACITY - n_out);

        watch w;
        watch_start(&w, &s);
        for (size_t i = 0; i < n_out + selection.n_picks; i++) {
            if (i >= n_out)
                assert_true(w.sum <= options.ratio_bound); /* before a new pick */
            watch_pull(&w, &s, out[i].arm);
            assert_true(w.ratio <= w.sum * ROUNDING);
            closest = fmax(closest, w.ratio / w.sum);
        }
        assert_true(fabs(selection.ratio / w.sum - 1.0) < 1e-8);
        assert_true(w.sum > options.ratio_bound); /* nobody waits while the bound has room */
        watch_clear(&w);
        n_out += selection.n_picks;
    }
    assert_true(carried > 50);
    assert_true(closest > 0.9);
    study_close(&s);
}

/* ---- Lemma 2 and Theorem 1 ----------------------------------------------------------------------------- */

/* Largest max(s/e, e/s) over arms and batches of sparse variance s and exact variance e. */
static double worst_distortion(const bandit_options *options, size_t steps)
{
    enum { CAPACITY = 4096 };
    static bandit_pick picks[CAPACITY];
    double worst = 1.0;
    study s;

    study_open(&s, 80, 2, 0.35, options);
    double *exact = dense_alloc(s.n, sizeof *exact);
    uint32_t *all = dense_alloc(s.n, sizeof *all);
    bandit_prediction *sparse = dense_alloc(s.n, sizeof *sparse);
    for (uint32_t i = 0; i < s.n; i++)
        all[i] = i;
    study_begin(&s, NULL, 0, NULL, 0);
    bandit_selection selection = study_select(&s, picks, CAPACITY);
    while (s.told < steps) {
        bandit_error err;
        study_begin(&s, picks, selection.n_picks, NULL, 0);
        dense_exact_variance(s.k, s.n, options->lambda, s.counts, exact, NULL);
        assert_int_equal(bandit_engine_predict_arms(s.engine, all, s.n, sparse, &err), BANDIT_OK);
        for (size_t x = 0; x < s.n; x++) {
            double ratio = sparse[x].variance / options->lambda / exact[x];
            worst = fmax(worst, fmax(ratio, 1.0 / ratio));
        }
        selection = study_select(&s, picks, CAPACITY);
    }
    free(exact);
    free(all);
    free(sparse);
    study_close(&s);
    return worst;
}

static void sketch_keeps_variances(void **state)
{
    bandit_options options = BANDIT_OPTIONS_INIT;
    (void)state;

    options.lambda = 1.0;
    options.delta = 0.1;
    options.confidence = BANDIT_CONFIDENCE_THEORY;
    options.q_bar_theory = true;
    for (options.seed = 1; options.seed <= 3; options.seed++)
        assert_true(worst_distortion(&options, 400) <= 3.0);

    /* With a thousandth of the coins the sketch must be seen to fail. */
    options.q_bar_theory = false;
    options.q_bar = 0.2;
    options.seed = 1;
    assert_true(worst_distortion(&options, 400) > 3.0);
}

/* Theorem 1's expected size is at most q sum n_i var_fb(x_i); a sum of independent coins stays within four
 * deviations of that. */
static void dictionary_is_small(void **state)
{
    enum { CAPACITY = 4096 };
    static bandit_pick picks[CAPACITY];
    bandit_options options = BANDIT_OPTIONS_INIT;
    study s;
    (void)state;

    options.lambda = 1.0;
    options.seed = 11;
    options.confidence = BANDIT_CONFIDENCE_FIXED; /* wide: pulls go everywhere */
    options.beta = 100.0;
    study_open(&s, 300, 1, 0.2, &options);
    study_begin(&s, NULL, 0, NULL, 0);
    bandit_selection selection = study_select(&s, picks, CAPACITY);
    study_begin(&s, picks, selection.n_picks, NULL, 0);
    double bound = 0.0;
    while (s.told < 1500) {
        selection = study_select(&s, picks, CAPACITY);
        double mean = 0.0; /* under the old dictionary, with the counts that are told now */
        for (size_t i = 0; i < selection.n_picks; i++)
            mean += options.q_bar * s.variance[picks[i].arm];
        for (size_t x = 0; x < s.n; x++)
            mean += options.q_bar * (double)s.counts[x] * s.variance[x];
        study_begin(&s, picks, selection.n_picks, NULL, 0);
        bandit_description d;
        bandit_engine_describe(s.engine, &d);
        bound = mean + 4.0 * sqrt(mean) + 4.0;
        assert_true((double)d.n_dictionary <= bound);
    }
    size_t pulled = 0;
    for (size_t x = 0; x < s.n; x++)
        pulled += s.counts[x] > 0;
    assert_true((double)pulled > 1.5 * bound); /* a dictionary of all pulled arms would have been noticed */
    study_close(&s);
}

/* A full batch has sum var_fb > C - 1. With Lemma 2, var_fb <= 3 sigma_fb^2 and, inside a batch, Lemma 1's
 * sigma_fb^2 <= 3C sigma_{s-1}^2; sigma^2 <= (1 + kappa^2/lambda) log(1 + sigma^2) and the sum of the
 * logarithms is log det(I + K/lambda): B <= 1 + 9C/(C-1) (1 + kappa^2/lambda) log det(I + K/lambda). */
static void batches_are_few(void **state)
{
    enum { CAPACITY = 4096, STEPS = 4000 };
    static bandit_pick picks[CAPACITY];
    bandit_options options = BANDIT_OPTIONS_INIT;
    double log_det;
    study s;
    (void)state;

    options.lambda = 1.0;
    options.delta = 0.1;
    options.seed = 21;
    options.confidence = BANDIT_CONFIDENCE_THEORY;
    options.q_bar_theory = true;
    study_open(&s, 60, 1, 0.3, &options);
    study_begin(&s, NULL, 0, NULL, 0);
    bandit_selection selection = study_select(&s, picks, CAPACITY);
    while (s.told < STEPS) {
        study_begin(&s, picks, selection.n_picks, NULL, 0);
        selection = study_select(&s, picks, CAPACITY);
    }
    double *variance = dense_alloc(s.n, sizeof *variance);
    dense_exact_variance(s.k, s.n, options.lambda, s.counts, variance, &log_det);
    double C = options.ratio_bound;
    double bound = 1.0 + 9.0 * C / (C - 1.0) * 2.0 * log_det;
    assert_true(bound < STEPS); /* or batches of one would do */
    assert_true((double)s.batches <= bound);
    free(variance);
    study_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_rule_bounds_the_ratio),
        cmocka_unit_test(global_local_rule_bounds_the_ratio),
        cmocka_unit_test(asynchronous_feedback_bounds_the_ratio),
        cmocka_unit_test(sketch_keeps_variances),
        cmocka_unit_test(dictionary_is_small),
        cmocka_unit_test(batches_are_few),
    };
    return cmocka_run_group_tests_name("theory of BBKB", tests, NULL, NULL);
}
