#include "core/engine/several_engine.h"

#include "core/algorithms/enumerated.h"
#include "core/base/allocate.h"
#include "core/engine/refitting_engine.h"
#include "core/selection/normal.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bandit_several_engine *self(bandit_engine *engine)
{
    return (bandit_several_engine *)engine;
}

static const bandit_several_engine *self_const(const bandit_engine *engine)
{
    return (const bandit_several_engine *)engine;
}

bool bandit_several_applies(const bandit_options *o)
{
    return o->n_metrics > 0;
}

bandit_status bandit_several_check(const bandit_options *o, bandit_error *err)
{
    size_t objectives = 0, thresholds = 0;
    if (o->n_metrics == 0)
        return BANDIT_OK;
    if (o->n_metrics > BANDIT_MOST_METRICS || !o->metrics[0].objective)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "metrics", "must be 1 to %d, the first an objective",
                           BANDIT_MOST_METRICS);
    if (o->algorithm != BANDIT_LOG_EI)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name",
                           "%s takes one objective without bounds; several require log_ei (aim \"best\")",
                           bandit_algorithm_name(o->algorithm));
    for (size_t j = 0; j < o->n_metrics; j++) {
        const bandit_metric *m = &o->metrics[j];
        objectives += m->objective;
        thresholds += m->objective && m->has_threshold;
        if (!(m->low < m->high) || (m->has_threshold && !isfinite(m->threshold)))
            return bandit_fail(err, BANDIT_INVALID_OPTION, "metrics",
                               "the bounds of metric %zu are not valid", j);
    }
    if (objectives > BANDIT_MOST_OBJECTIVES || (thresholds > 0 && thresholds != objectives))
        return bandit_fail(err, BANDIT_INVALID_OPTION, "metrics",
                           "at most %d are objectives, and all or none of these have a threshold",
                           BANDIT_MOST_OBJECTIVES);
    return BANDIT_OK;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

/* The first metric has the seed itself, the others one of their own. */
static uint64_t seed_of(uint64_t seed, size_t j)
{
    return j == 0 ? seed : bandit_random_bits(seed, j, BANDIT_PURPOSE_METRIC, 0);
}

static bandit_options options_of(const bandit_several_engine *e, size_t j)
{
    bandit_options o = e->base.options;
    o.metrics = NULL;
    o.n_metrics = 0;
    o.metric = o.revision >= 2 ? &e->metrics[j] : NULL;
    o.seed = seed_of(o.seed, j);
    if (!e->metrics[j].objective)
        o.warp_rewards = false;
    return o;
}

static size_t limit_of(const bandit_several_engine *e)
{
    size_t limit = e->base.memory_limit, share = limit / e->n;
    if (limit == SIZE_MAX)
        return 0; /* no limit */
    return share > 0 ? share : 1;
}

static bandit_status several_open(bandit_engine *engine, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    const bandit_options *o = &engine->options;
    bandit_status status = bandit_several_check(o, err);
    if (status != BANDIT_OK)
        return status;
    e->n = o->n_metrics;
    memcpy(e->metrics, o->metrics, e->n * sizeof *e->metrics);
    engine->options.metrics = e->metrics;
    for (size_t j = 0; status == BANDIT_OK && j < e->n; j++) {
        bandit_options own = options_of(e, j);
        status = bandit_engine_new(&e->inner[j], engine->arms, &own, limit_of(e), err);
    }
    return status;
}

static void several_close(bandit_engine *engine)
{
    bandit_several_engine *e = self(engine);
    for (size_t j = 0; j < BANDIT_MOST_METRICS; j++)
        bandit_engine_free(e->inner[j]);
    bandit_joint_clear(&e->joint);
    bandit_several_list_clear(&e->list);
    bandit_several_space_clear(&e->space);
    free(e->results);
    free(e->out);
    free(e->state);
}

bandit_engine *bandit_several_leaf(const bandit_several_engine *e, size_t j)
{
    bandit_engine *inner = e->inner[j];
    return inner->table == &bandit_refitting_table ? ((bandit_refitting_engine *)inner)->inner : inner;
}

bool bandit_several_has_model(const bandit_several_engine *e)
{
    bool open = bandit_arms_is_open_space(e->base.arms), all = true;
    for (size_t j = 0; j < e->n; j++) {
        const bandit_engine *leaf = bandit_several_leaf(e, j);
        const bandit_space_engine *s = (const bandit_space_engine *)leaf;
        all &= open ? s->batches[s->in_force].has_model : bandit_bbkb_in_force(leaf)->has_model;
    }
    return all;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static bandit_status check_whole(const bandit_several_engine *e, bandit_error *err)
{
    return e->failure == BANDIT_OK ? BANDIT_OK
                                   : bandit_fail(err, e->failure, "", "an earlier call failed half-way");
}

/* Sets e->results to the results of metric j. */
static void take_results(bandit_several_engine *e, size_t j, const bandit_result *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        e->results[i] = results[i];
        e->results[i].others = e->results[i].other_errors = NULL;
        if (j > 0) {
            e->results[i].reward = results[i].others[j - 1];
            e->results[i].error = results[i].other_errors ? results[i].other_errors[j - 1] : 0.0;
            e->results[i].chosen = false;
        }
    }
}

static bandit_status set_out(bandit_several_engine *e, const bandit_pick *pending, size_t n_pending,
                             bandit_error *err)
{
    if (!bandit_reserve((void **)&e->out, &e->capacity_out, n_pending, sizeof *e->out))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n_pending; i++)
        e->out[i] = pending[i].arm;
    e->n_out = n_pending;
    e->has_joint = e->list.ready = e->space.ready = false;
    return BANDIT_OK;
}

static bandit_status several_begin_batch(bandit_engine *engine, const bandit_result *results,
                                         size_t n_results, const bandit_pick *pending, size_t n_pending,
                                         const bandit_executor *executor, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    bandit_status status = check_whole(e, err);
    for (size_t i = 0; i < n_results && status == BANDIT_OK; i++)
        for (size_t j = 1; j < e->n; j++)
            if (!results[i].others || !isfinite(results[i].others[j - 1]))
                return bandit_fail(err, BANDIT_INVALID_STATE, "", "result %zu is not finite", i);
    if (status == BANDIT_OK &&
        !bandit_reserve((void **)&e->results, &e->capacity_results, n_results, sizeof *e->results))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        take_results(e, j, results, n_results);
        status =
            bandit_engine_begin_batch(e->inner[j], e->results, n_results, pending, n_pending, executor, err);
    }
    if (status == BANDIT_OK)
        status = set_out(e, pending, n_pending, err);
    if (status == BANDIT_OK)
        status = bandit_several_write_state(e, err);
    e->failure = status;
    return status;
}

static bandit_status several_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                   const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    bandit_amendment *own = bandit_alloc(n, sizeof *own);
    bandit_status status = check_whole(e, err);
    if (!own ||
        !bandit_reserve((void **)&e->results, &e->capacity_results, engine->n_told, sizeof *e->results)) {
        free(own);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        take_results(e, j, engine->told, engine->n_told);
        for (size_t i = 0; i < n; i++) {
            own[i] = amendments[i];
            if (j > 0) {
                own[i].was.reward = amendments[i].was.others[j - 1];
                own[i].now.reward = amendments[i].now.others[j - 1];
                own[i].chosen = false;
            }
        }
        status = bandit_engine_amend(e->inner[j], own, n, sums + j * n_sums, n_sums, e->results,
                                     engine->n_told, err);
    }
    e->failure = status;
    free(own);
    return status;
}

static bandit_status several_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                     const bandit_pick *pending, size_t n_pending,
                                     const bandit_executor *executor, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    bandit_checkpoint each[BANDIT_MOST_METRICS];
    void *memory;
    bandit_status status = bandit_several_read_state(e, checkpoint, each, &memory, err);
    for (size_t j = 0; status == BANDIT_OK && j < e->n; j++) {
        bandit_options own = options_of(e, j);
        bandit_engine_free(e->inner[j]);
        e->inner[j] = NULL;
        status = bandit_engine_restore(&e->inner[j], engine->arms, &own, limit_of(e), &each[j], pending,
                                       n_pending, executor, err);
    }
    if (memory) {
        free(((void **)memory)[0]);
        free(((void **)memory)[1]);
    }
    free(memory);
    if (status == BANDIT_OK)
        status = set_out(e, pending, n_pending, err);
    return status == BANDIT_OK ? bandit_several_write_state(e, err) : status;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

bandit_status bandit_several_take_out(bandit_several_engine *e, const bandit_pick *pick,
                                      const bandit_executor *executor, bandit_error *err)
{
    if (!bandit_reserve_keep((void **)&e->out, &e->capacity_out, e->n_out, e->n_out + 1, sizeof *e->out))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = BANDIT_OK;
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++)
        status = bandit_engine_replay_picks(e->inner[j], pick, 1, executor, err);
    e->failure = status;
    if (status != BANDIT_OK)
        return status;
    e->out[e->n_out++] = pick->arm;
    return BANDIT_OK;
}

static bandit_status several_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                          const bandit_executor *executor, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    bandit_status status = check_whole(e, err);
    for (size_t i = 0; i < n_picks && status == BANDIT_OK; i++)
        status = bandit_several_take_out(e, &picks[i], executor, err);
    return status;
}

/* Before the first result the first metric's engine chooses. */
static bandit_status select_first(bandit_several_engine *e, const bandit_select_limits *limits,
                                  const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                  bandit_error *err)
{
    bandit_status status = bandit_engine_select(e->inner[0], limits, executor, picks, out, err);
    if (status != BANDIT_OK || out->n_picks == 0)
        return status;
    if (!bandit_reserve_keep((void **)&e->out, &e->capacity_out, e->n_out, e->n_out + out->n_picks,
                             sizeof *e->out))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 1; j < e->n && status == BANDIT_OK; j++)
        status = bandit_engine_replay_picks(e->inner[j], picks, out->n_picks, executor, err);
    e->failure = status;
    for (size_t i = 0; i < out->n_picks && status == BANDIT_OK; i++)
        e->out[e->n_out++] = picks[i].arm;
    return status;
}

/* Whether arms with a result are not picked again while there are others. */
static bool refuses_repeats(const bandit_several_engine *e)
{
    bool list = true;
    if (bandit_arms_is_open_space(e->base.arms))
        return bandit_several_is_silent(e);
    for (size_t j = 0; j < e->n; j++)
        list &= bandit_is_silent(bandit_several_leaf(e, j));
    return list;
}

static bandit_status select_modelled(bandit_several_engine *e, const bandit_select_limits *limits,
                                     const bandit_executor *executor, bandit_pick *picks,
                                     bandit_selection *out, bandit_error *err)
{
    return bandit_arms_is_open_space(e->base.arms)
               ? bandit_several_select_space(e, limits, executor, picks, out, err)
               : bandit_several_select_list(e, limits, executor, picks, out, err);
}

/* The metrics' models do not know the results that were set aside. Since revision 2, where repeats are refused, arms
 * that only have such results in some metric are withheld while there are others. */
static bandit_status select_but_aside(bandit_several_engine *e, const bandit_select_limits *limits,
                                      const bandit_executor *executor, bandit_pick *picks,
                                      bandit_selection *out, bandit_error *err)
{
    bandit_select_limits fewer = *limits;
    uint32_t *withheld[BANDIT_MOST_METRICS] = {NULL};
    bandit_status status = BANDIT_OK;
    bool any = false;
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        if (e->inner[j]->table == &bandit_refitting_table)
            status = bandit_refitting_add_aside((const bandit_refitting_engine *)(const void *)e->inner[j],
                                                &fewer, &withheld[j], err);
        any |= withheld[j] != NULL;
    }
    if (status == BANDIT_OK)
        status = select_modelled(e, &fewer, executor, picks, out, err);
    if (status == BANDIT_OK && any && out->n_picks == 0 && out->stop_rule == BANDIT_STOP_EXHAUSTED)
        status = select_modelled(e, limits, executor, picks, out, err);
    for (size_t j = 0; j < e->n; j++)
        free(withheld[j]);
    return status;
}

static bandit_status several_select(bandit_engine *engine, const bandit_select_limits *limits,
                                    const bandit_executor *executor, bandit_pick *picks,
                                    bandit_selection *out, bandit_error *err)
{
    bandit_several_engine *e = self(engine);
    bandit_status status = check_whole(e, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_several_has_model(e))
        return select_first(e, limits, executor, picks, out, err);
    if (engine->options.revision >= 2 && refuses_repeats(e))
        return select_but_aside(e, limits, executor, picks, out, err);
    return select_modelled(e, limits, executor, picks, out, err);
}

/* Whether no metric's noise gives a reason to evaluate an arm twice. */
static bool several_is_silent(const bandit_engine *engine)
{
    const bandit_several_engine *e = self_const(engine);
    bool all = true;
    for (size_t j = 0; j < e->n; j++)
        all &= bandit_is_silent(bandit_several_leaf(e, j));
    return all;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void several_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_several_engine *e = self_const(engine);
    bandit_engine_checkpoint(e->inner[0], out);
    out->state = e->state;
    out->n_state = e->n_state;
}

static bandit_status several_predict(const bandit_engine *engine, const uint32_t *arms,
                                     const double *coordinates, size_t n, bandit_prediction *out,
                                     bandit_error *err)
{
    const bandit_engine *first = self_const(engine)->inner[0];
    return first->table->predict(first, arms, coordinates, n, out, err);
}

static void several_describe(const bandit_engine *engine, bandit_description *out)
{
    uint64_t batch = out->batch;
    bandit_engine_describe(self_const(engine)->inner[0], out);
    out->batch = batch;
}

static size_t several_memory(const bandit_engine *engine)
{
    const bandit_several_engine *e = self_const(engine);
    size_t bytes = bandit_joint_memory(&e->joint) + bandit_several_list_memory(&e->list) +
                   bandit_several_space_memory(&e->space) + e->capacity_state +
                   e->capacity_results * sizeof *e->results + e->capacity_out * sizeof *e->out;
    for (size_t j = 0; j < e->n; j++)
        bytes += bandit_engine_memory(e->inner[j]);
    return bytes;
}

const bandit_engine *bandit_engine_of_metric(const bandit_engine *engine, size_t metric)
{
    if (engine->table != &bandit_several_table)
        return engine;
    assert(metric < self_const(engine)->n);
    return self_const(engine)->inner[metric];
}

/* The log of the probability that the bounds hold, from the predictions of the metrics' models. Before the first
 * batch these are the priors. */
static bandit_status feasible(const bandit_several_engine *e, const uint32_t *arms, const double *points,
                              size_t n, double *out, bandit_error *err)
{
    bandit_metric goals[BANDIT_MOST_METRICS];
    bandit_prediction *each = bandit_alloc(n, sizeof *each);
    bandit_status status = each ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_several_goals(e, goals);
    for (size_t j = 0; j < e->n && status == BANDIT_OK; j++) {
        const bandit_engine *leaf = bandit_several_leaf(e, j);
        if (goals[j].low == -INFINITY && goals[j].high == INFINITY)
            continue;
        status = points ? bandit_engine_predict_points(leaf, points, n, each, err)
                        : bandit_engine_predict_arms(leaf, arms, n, each, err);
        for (size_t i = 0; i < n && status == BANDIT_OK; i++) {
            double known = fmax(sqrt(each[i].variance), DBL_MIN);
            out[i] += bandit_log_between(goals[j].low, goals[j].high, each[i].mean, known, NULL, NULL);
        }
    }
    free(each);
    return status;
}

static bandit_status feasible_of(const bandit_engine *engine, const uint32_t *arms, const double *points,
                                 size_t n, double *out, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; i < n; i++)
        out[i] = 0.0;
    if (engine->table == &bandit_several_table)
        status = feasible(self_const(engine), arms, points, n, out, err);
    for (size_t i = 0; i < n; i++)
        out[i] = exp(out[i]);
    return status;
}

bandit_status bandit_engine_feasible_arms(const bandit_engine *engine, const uint32_t *arms, size_t n,
                                          double *out, bandit_error *err)
{
    return feasible_of(engine, arms, NULL, n, out, err);
}

bandit_status bandit_engine_feasible_points(const bandit_engine *engine, const double *points, size_t n,
                                            double *out, bandit_error *err)
{
    return feasible_of(engine, NULL, points, n, out, err);
}

const bandit_algorithm_table bandit_several_table = {
    .size = sizeof(bandit_several_engine),
    .open = several_open,
    .close = several_close,
    .begin_batch = several_begin_batch,
    .amend = several_amend,
    .restore = several_restore,
    .select = several_select,
    .replay_picks = several_replay_picks,
    .explain = bandit_several_explain,
    .checkpoint = several_checkpoint,
    .predict = several_predict,
    .describe = several_describe,
    .memory = several_memory,
    .is_silent = several_is_silent,
};
