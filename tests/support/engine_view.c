#include "tests/support/engine_view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PROBES = 2,
    LISTED = 16,  /* values of a line that may be more */
    FAR = 1000000 /* number of the first probed point */
};

static void see_reals(engine_view *v, const char *name, const double *values, size_t n, double size)
{
    recording_reals(v->seen, name, values, n, v->script->relative, size);
}

static void see_arms(engine_view *v, const char *name, const uint32_t *arms, size_t n)
{
    uint64_t *wide = malloc((n + 1) * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = arms[i];
    recording_counts(v->seen, name, wide, n);
    free(wide);
}

static void see_predictions(engine_view *v, const char *name, const bandit_prediction *p, size_t n,
                            double largest)
{
    double means[PROBES], variances[PROBES], bounds[PROBES];
    char line[32];
    assert_true(n <= PROBES);
    for (size_t i = 0; i < n; i++) {
        means[i] = p[i].mean;
        variances[i] = p[i].variance;
        bounds[i] = p[i].ucb;
    }
    snprintf(line, sizeof line, "mean_%s", name);
    see_reals(v, line, means, n, largest);
    snprintf(line, sizeof line, "variance_%s", name);
    see_reals(v, line, variances, n, 0.0);
    snprintf(line, sizeof line, "ucb_%s", name);
    see_reals(v, line, bounds, n, largest);
}

void engine_view_posterior(engine_view *v)
{
    size_t n = bandit_arms_count(v->arms), n_probed = 0;
    uint32_t *every = malloc((n + 1) * sizeof *every);
    bandit_prediction *p = malloc((n + PROBES) * sizeof *p), probed[PROBES];
    double points[PROBES * SCRIPT_WIDTH], sums[3] = {0}, largest = 0.0;
    size_t width = bandit_arms_point_width(v->arms);
    bandit_error err;
    assert_true(every && p);
    for (uint32_t i = 0; i < n; i++)
        every[i] = i;
    bandit_status status = bandit_engine_predict_arms(v->engine, every, n, p, &err);
    if (status != BANDIT_OK) {
        recording_words(v->seen, "predict", bandit_status_text(status));
        free(every);
        free(p);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sums[0] += p[i].mean;
        sums[1] += p[i].variance;
        sums[2] += p[i].ucb;
        largest = fmax(largest, fmax(fabs(p[i].mean), fabs(p[i].ucb)));
    }
    for (size_t i = 0; i < PROBES && n > 0; i++)
        probed[n_probed++] = p[i * (n - 1) / (PROBES - 1)];
    see_reals(v, "sums", sums, 3, largest * (double)n);
    see_predictions(v, "arms", probed, n_probed, largest);
    for (size_t i = 0; i < PROBES; i++) {
        if (script_is_space(v->script))
            script_point(v->script, FAR + i, points + i * width);
        else if (v->script->set == SCRIPT_LIST)
            script_row(v->script, FAR + i, points + i * width);
    }
    status = bandit_engine_predict_points(v->engine, points, PROBES, p, &err);
    if (status == BANDIT_OK)
        see_predictions(v, "points", p, PROBES, largest);
    else
        recording_words(v->seen, "predict_points", bandit_status_text(status));
    free(every);
    free(p);
}

/* Few arms one by one; of more, how many they are and the sums of their numbers and squares. */
static void see_dictionary(engine_view *v, const char *name, const uint32_t *arms, size_t n)
{
    uint64_t sums[3] = {n, 0, 0};
    for (size_t i = 0; i < n; i++) {
        sums[1] += arms[i];
        sums[2] += (uint64_t)arms[i] * arms[i];
    }
    if (n <= LISTED)
        see_arms(v, name, arms, n);
    else
        recording_counts(v->seen, name, sums, 3);
}

void engine_view_model(engine_view *v)
{
    bandit_description d;
    bandit_checkpoint c;
    bandit_engine_describe(v->engine, &d);
    bandit_engine_checkpoint(v->engine, &c);
    assert_int_equal(c.batch, d.batch);
    const uint64_t counts[] = {d.batch, d.observations, d.fitted_on, d.set_aside, c.n_sums, c.n_state};
    recording_counts(v->seen, "batch", counts, sizeof counts / sizeof *counts);
    see_dictionary(v, "dictionary", d.dictionary, d.n_dictionary);
    if (c.n_dictionary != d.n_dictionary ||
        (d.n_dictionary > 0 &&
         memcmp(c.dictionary, d.dictionary, d.n_dictionary * sizeof *d.dictionary) != 0))
        see_dictionary(v, "stored", c.dictionary, c.n_dictionary);
    const double widths[] = {d.beta, d.effective_dimension, d.information_gain, d.norm_bound};
    see_reals(v, "widths", widths, 4, 0.0);
    if (d.batch == 0 || d.fitted_on != v->fitted_on) {
        const double in_force[] = {d.lambda, d.noise_std, d.signal_std, d.unit};
        see_reals(v, "in_force", in_force, 4, 0.0);
        see_reals(v, "shift", &d.shift, 1, d.unit);
        see_reals(v, "lengthscales", d.lengthscales, d.n_lengthscales < LISTED ? d.n_lengthscales : LISTED,
                  0.0);
    }
    v->fitted_on = d.fitted_on;
}

void engine_view_sums(engine_view *v)
{
    bandit_checkpoint c;
    bandit_engine_checkpoint(v->engine, &c);
    uint64_t counts[3] = {c.n_sums, 0, 0};
    double sums[2] = {0}, size = 0.0;
    for (size_t i = 0; i < c.n_sums; i++) {
        counts[1] += c.sums[i].count;
        counts[2] += c.sums[i].count * c.sums[i].arm;
        sums[0] += c.sums[i].sum;
        sums[1] += c.sums[i].sum * (double)i / (double)c.n_sums;
        size += fabs(c.sums[i].sum);
    }
    recording_counts(v->seen, "pulled", counts, 3);
    see_reals(v, "rewarded", sums, 2, size);
}

void engine_view_picks(engine_view *v, const bandit_pick *picks, const bandit_selection *selection)
{
    static const char *const stops[] = {[BANDIT_STOP_NONE] = "none",
                                        [BANDIT_STOP_INITIAL] = "initial",
                                        [BANDIT_STOP_GLOBAL] = "global",
                                        [BANDIT_STOP_GLOBAL_LOCAL] = "global_local",
                                        [BANDIT_STOP_MAX_BATCH] = "max_batch",
                                        [BANDIT_STOP_HORIZON] = "horizon",
                                        [BANDIT_STOP_SEQUENTIAL] = "sequential",
                                        [BANDIT_STOP_EXHAUSTED] = "exhausted"};
    recording_words(v->seen, "stop", stops[selection->stop_rule]);
    if (selection->n_picks == 0)
        return;
    uint32_t *arms = malloc((selection->n_picks + 1) * sizeof *arms);
    double *variances = malloc((selection->n_picks + 1) * sizeof *variances);
    assert_true(arms && variances);
    for (size_t i = 0; i < selection->n_picks; i++) {
        arms[i] = picks[i].arm;
        variances[i] = picks[i].variance;
    }
    see_arms(v, "picks", arms, selection->n_picks);
    see_reals(v, "variances", variances, selection->n_picks, 0.0);
    see_reals(v, "ratio", &selection->ratio, 1, 0.0);
    free(arms);
    free(variances);
    for (size_t i = 0; i < selection->n_picks && script_is_open(v->script); i++) {
        double coded[SCRIPT_WIDTH];
        bandit_arms_coded(v->arms, picks[i].arm, coded);
        see_reals(v, "point", coded, bandit_arms_point_width(v->arms), 0.0);
    }
}

void engine_view_memory(engine_view *v, double relative)
{
    const double bytes[] = {(double)bandit_engine_memory(v->engine), (double)bandit_arms_memory(v->arms)};
    recording_reals(v->seen, "bytes", bytes, 2, relative, 1.0);
}
