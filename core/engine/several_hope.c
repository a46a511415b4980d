/* Whether any arm or point may keep all bounds. At a point x let
 *
 *   hope(x) = sum over bounded metrics j of min(0, inside_j(x) + 3 sigma_j(x)),
 *
 * where inside_j is the distance of the mean from the nearest bound, negative beyond it, and sigma_j the
 * deviation given the results. If hope(x) is 0, no bound is missed by more than three deviations. All
 * candidates are evaluated; in an open space the maximum of hope is searched for. † ours
 *
 * Since revision 4, an arm whose results keep all bounds may keep them, whatever the models say: they may have set
 * its results aside. */
#include "core/engine/several_engine.h"

#include "core/algorithms/enumerated.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/learning/hyperparameters.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 256, RESULTS_DECIDE = 4 /* the first revision in which they do */ };

static const double DEVIATIONS = 3.0;

static bool is_bounded(const bandit_metric *m)
{
    return m->low > -INFINITY || m->high < INFINITY;
}

/* The term of one metric. The mean's slope is *by_mean, the variance's *by_variance; both may be NULL. */
static double term(const bandit_metric *goal, double mean, double variance, double *by_mean,
                   double *by_variance)
{
    bool low_is_near = mean - goal->low < goal->high - mean;
    double deviation = sqrt(fmax(0.0, variance));
    double value = (low_is_near ? mean - goal->low : goal->high - mean) + DEVIATIONS * deviation;
    if (by_mean)
        *by_mean = value >= 0.0 ? 0.0 : low_is_near ? 1.0 : -1.0;
    if (by_variance)
        *by_variance = value < 0.0 && deviation > 0.0 ? 0.5 * DEVIATIONS / deviation : 0.0;
    return fmin(0.0, value);
}

/* ---- arms ------------------------------------------------------------------------------------------------ */

/* Whether one of n arms, at most AT_ONCE, may keep all bounds. */
static bandit_status some_may(const bandit_several_engine *e, const bandit_metric *goals,
                              const uint32_t *arms, size_t n, bool *found, bandit_error *err)
{
    bandit_prediction each[AT_ONCE];
    double sum[AT_ONCE] = {0};
    bandit_status status = bandit_pause_status(err);
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        if (!is_bounded(&goals[j]))
            continue;
        status = bandit_engine_predict_arms(bandit_several_leaf(e, j), arms, n, each, err);
        for (size_t i = 0; i < n && status == BANDIT_OK; i++)
            sum[i] += term(&goals[j], each[i].mean, each[i].variance, NULL, NULL);
    }
    for (size_t i = 0; i < n && status == BANDIT_OK; i++)
        *found |= sum[i] >= 0.0;
    return status;
}

/* Whether the results of some arm keep all bounds. */
static bool some_did(const bandit_several_engine *e)
{
    bandit_checkpoint now[BANDIT_MOST_METRICS] = {0};
    bool did = false;
    for (size_t j = 0; j < e->n; j++)
        bandit_engine_checkpoint(e->inner[j], &now[j]);
    for (size_t i = 0; i < now[0].n_sums && !did; i++) {
        did = true;
        for (size_t j = 0; j < e->n && did; j++) {
            const bandit_arm_sum *sum = &now[j].sums[i];
            did = bandit_keeps_bounds(sum->sum / (double)sum->count, e->metrics[j].low, e->metrics[j].high);
        }
    }
    return did;
}

/* Tries the arms with results first: they are few, and most often one of them keeps the bounds. */
static bandit_status look_at_results(const bandit_several_engine *e, const bandit_metric *goals, bool *found,
                                     bandit_error *err)
{
    bandit_checkpoint now;
    uint32_t arms[AT_ONCE];
    bandit_status status = BANDIT_OK;
    bandit_engine_checkpoint(e->inner[0], &now);
    for (size_t first = 0; first < now.n_sums && !*found && status == BANDIT_OK; first += AT_ONCE) {
        size_t n = now.n_sums - first < AT_ONCE ? now.n_sums - first : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            arms[i] = now.sums[first + i].arm;
        status = some_may(e, goals, arms, n, found, err);
    }
    return status;
}

static bandit_status look_at_all(const bandit_several_engine *e, const bandit_metric *goals, bool *found,
                                 bandit_error *err)
{
    size_t n_arms = bandit_arms_count(e->base.arms);
    uint32_t arms[AT_ONCE];
    bandit_status status = BANDIT_OK;
    for (size_t first = 0; first < n_arms && !*found && status == BANDIT_OK; first += AT_ONCE) {
        size_t n = n_arms - first < AT_ONCE ? n_arms - first : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            arms[i] = (uint32_t)(first + i);
        status = some_may(e, goals, arms, n, found, err);
    }
    return status;
}

/* ---- points of an open space ----------------------------------------------------------------------------- */

typedef struct hopes {
    const bandit_several_engine *e;
    bandit_metric goals[BANDIT_MOST_METRICS];
    bandit_surface surfaces[BANDIT_MOST_METRICS];
    bandit_maximizer maximizer;
    double *part, *mean, *variance; /* a gradient; BANDIT_MAXIMIZE_TRIALS each */
} hopes;

static void values(void *context, const double *features, size_t n, double *out)
{
    hopes *h = context;
    for (size_t i = 0; i < n; i++)
        out[i] = 0.0;
    for (size_t j = 0; j < h->e->n; j++) {
        if (!is_bounded(&h->goals[j]))
            continue;
        bandit_surface_values(&h->surfaces[j], features, n, h->mean, h->variance);
        for (size_t i = 0; i < n; i++)
            out[i] += term(&h->goals[j], h->mean[i], h->variance[i], NULL, NULL);
    }
}

static double slopes(void *context, const double *features, double *gradient)
{
    hopes *h = context;
    size_t d = bandit_arms_dimension(h->e->base.arms);
    double sum = 0.0;
    for (size_t i = 0; i < d; i++)
        gradient[i] = 0.0;
    for (size_t j = 0; j < h->e->n; j++) {
        bandit_surface *s = &h->surfaces[j];
        double by_mean, by_variance;
        if (!is_bounded(&h->goals[j]))
            continue;
        bandit_surface_look(s, features);
        sum += term(&h->goals[j], s->mean, s->variance, &by_mean, &by_variance);
        bandit_surface_slope(s, by_mean, by_variance, h->part);
        for (size_t i = 0; i < d; i++)
            gradient[i] += h->part[i];
    }
    return sum;
}

/* Starts the surfaces of bounded metrics, and the grid. */
static bandit_status start(hopes *h, bandit_error *err)
{
    const bandit_several_engine *e = h->e;
    size_t d = bandit_arms_dimension(e->base.arms);
    bandit_status status = BANDIT_OK;
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        const bandit_space_engine *leaf = (const bandit_space_engine *)bandit_several_leaf(e, j);
        if (is_bounded(&h->goals[j]))
            status = bandit_surface_start(&h->surfaces[j], &leaf->batches[leaf->in_force].posterior, 0, err);
    }
    if (status == BANDIT_OK)
        status = bandit_maximizer_start(&h->maximizer, e->base.arms->space, NULL, e->base.options.seed,
                                        e->base.batch, err);
    h->part = bandit_alloc(d + 2 * (size_t)BANDIT_MAXIMIZE_TRIALS, sizeof *h->part);
    if (status == BANDIT_OK && !h->part)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        h->mean = h->part + d;
        h->variance = h->mean + BANDIT_MAXIMIZE_TRIALS;
    }
    return status;
}

static void clear(hopes *h)
{
    for (size_t j = 0; j < h->e->n; j++)
        bandit_surface_clear(&h->surfaces[j]);
    bandit_maximizer_clear(&h->maximizer);
    free(h->part);
}

/* Sets grid[i] to the value at point i of the grid. Returns whether one of them is 0. */
static bool values_on_grid(hopes *h, double *grid)
{
    size_t d = bandit_arms_dimension(h->e->base.arms), n = h->maximizer.n_grid;
    bool found = false;
    for (size_t first = 0; first < n && !found && !bandit_pause(); first += BANDIT_MAXIMIZE_TRIALS) {
        size_t rows = n - first < BANDIT_MAXIMIZE_TRIALS ? n - first : BANDIT_MAXIMIZE_TRIALS;
        values(h, h->maximizer.features + first * d, rows, grid + first);
        for (size_t i = first; i < first + rows; i++)
            found |= grid[i] >= 0.0;
    }
    return found;
}

static bandit_status search(hopes *h, bool *found, bandit_error *err)
{
    const bandit_objective objective = {h, values, slopes, NULL};
    double *grid = bandit_alloc(h->maximizer.n_grid, sizeof *grid), best = -INFINITY;
    double *coded = bandit_alloc(h->e->base.arms->space->n, sizeof *coded);
    double *features = bandit_alloc(bandit_arms_dimension(h->e->base.arms), sizeof *features);
    bandit_status status = BANDIT_OK;
    bool any = false;
    if (!grid || !coded || !features)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    else
        *found = values_on_grid(h, grid);
    if (status == BANDIT_OK && !*found)
        status = bandit_pause_status(err);
    if (status == BANDIT_OK && !*found)
        status = bandit_maximizer_run(&h->maximizer, &objective, grid, 0, coded, &any, err);
    if (status == BANDIT_OK && any) {
        bandit_space_encode(h->e->base.arms->space, coded, features);
        values(h, features, 1, &best);
        *found = best >= 0.0;
    }
    free(grid);
    free(coded);
    free(features);
    return status;
}

static bandit_status look_at_space(const bandit_several_engine *e, const bandit_metric *goals, bool *found,
                                   bandit_error *err)
{
    hopes h = {.e = e};
    for (size_t j = 0; j < e->n; j++)
        h.goals[j] = goals[j];
    bandit_status status = start(&h, err);
    if (status == BANDIT_OK)
        status = search(&h, found, err);
    clear(&h);
    return status;
}

bandit_status bandit_engine_may_keep_bounds(const bandit_engine *engine, bool *out, bandit_error *err)
{
    const bandit_several_engine *e = (const bandit_several_engine *)(const void *)engine;
    bandit_metric goals[BANDIT_MOST_METRICS];
    bool bounded = false;
    *out = true;
    if (engine->table != &bandit_several_table || !bandit_several_has_model(e))
        return BANDIT_OK;
    bandit_several_goals(e, goals);
    for (size_t j = 0; j < e->n; j++)
        bounded |= is_bounded(&goals[j]);
    if (!bounded || (engine->options.revision >= RESULTS_DECIDE && some_did(e)))
        return BANDIT_OK;
    bool found = false;
    bandit_status status = look_at_results(e, goals, &found, err);
    if (status == BANDIT_OK && !found)
        status = bandit_arms_is_open_space(engine->arms) ? look_at_space(e, goals, &found, err)
                                                         : look_at_all(e, goals, &found, err);
    *out = status != BANDIT_OK || found;
    return status;
}
