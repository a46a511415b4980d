/* log_ei on candidates and enumerated spaces: it picks the arm with the largest log expected gain of one more
 * measurement (gain.h), under BBKB's posterior, dictionary and batches.
 *
 * Before the first reward picks are drawn without replacement, up to FIRST_PICKS at once. With `init` spread
 * each is the one of SPREAD_DRAWS drawn arms that is least like those in flight (Mitchell's best candidate).
 * Then, up to SEQUENTIAL_RESULTS results, a batch is one pick, because a new result may still change much.
 * From there on a batch ends by BBKB's rule, when the picks in flight may have shrunk a variance by more than
 * ratio_bound.
 * If there is no noise (bandit_is_silent), arms with a result or in flight are left out while there are other
 * arms.
 *
 * The engine learns where evaluations fail from arms that failed and have no reward, and from arms with a
 * reward (feasibility.h). Arms that surely fail come last. All of this is ours. */
#include "core/algorithms/bbkb.h"
#include "core/algorithms/enumerated.h"
#include "core/algorithms/reason.h"
#include "core/algorithms/space_design.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PICKS = 2,
    SEQUENTIAL_RESULTS = 100,
    SPREAD_DRAWS = 6,  /* more of them move all picks to the rim of the set, where later picks learn less */
    SPREAD_MOST = 1024 /* with more arms in flight, picks are near some of them anyway */
};

typedef struct log_ei_list {
    bandit_bbkb bbkb;
    /* Data of the current batch, computed when picks are requested. */
    bandit_feasibility feasibility;
    bool has_feasibility; /* `feasibility` belongs to this batch and to these failures: */
    uint32_t *failed;
    size_t n_failed, capacity_failed;
    uint32_t *withheld; /* before the first reward: the arms that may not be picked */
    size_t capacity_withheld;
    double *likeness; /* of a drawn arm and each arm in flight, and scratch for covariances */
    size_t capacity_likeness;
} log_ei_list;

static log_ei_list *self(bandit_engine *engine)
{
    return (log_ei_list *)engine;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static bandit_status open_list(bandit_engine *engine, bandit_error *err)
{
    /* Per arm: mean, variance, heap entry, stamp, slot number and mark for two batches, and the variance of
     * the reference. */
    double batch =
        (double)(2 * sizeof(double) + sizeof(bandit_heap_entry) + 2 * sizeof(uint32_t) + sizeof(bool));
    double arm = 2.0 * batch + (double)sizeof(double);
    bandit_bbkb_current(engine)->alpha = BANDIT_GAIN_WIDENING * sqrt(engine->options.lambda);
    return bandit_engine_check_memory(engine, (double)bandit_arms_count(engine->arms) * arm, err);
}

static void close_list(bandit_engine *engine)
{
    bandit_feasibility_clear(&self(engine)->feasibility);
    free(self(engine)->failed);
    free(self(engine)->withheld);
    free(self(engine)->likeness);
    bandit_bbkb_close(engine);
}

static size_t list_memory(const bandit_engine *engine)
{
    const log_ei_list *e = (const log_ei_list *)engine;
    return bandit_bbkb_memory(engine) + bandit_feasibility_memory(&e->feasibility) +
           (e->capacity_failed + e->capacity_withheld) * sizeof(uint32_t) +
           e->capacity_likeness * sizeof(double);
}

static bandit_status begin_list(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                                bandit_error *err)
{
    bandit_status status =
        bandit_bbkb_begin_batch(engine, results, n_results, pending, n_pending, executor, err);
    if (status == BANDIT_OK)
        self(engine)->has_feasibility = false;
    return status;
}

/* ---- a batch begins ------------------------------------------------------------------------------------ */

/* As in bandit_bbkb_rule. */
static bandit_status start(bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                           const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    batch->n_first = 0;
    if (!batch->has_model) {
        if (!bandit_reserve((void **)&batch->first, &batch->capacity_first, n_pending, sizeof(uint32_t)))
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        return BANDIT_OK;
    }
    bandit_status status =
        bandit_gain_start(&batch->gain, &batch->posterior, bandit_is_silent(engine), batch->mean,
                          batch->variance, batch->ledger.sums, batch->ledger.n, err);
    return status == BANDIT_OK ? bandit_gain_reserve(&batch->gain, n_pending, err) : status;
}

/* As in bandit_bbkb_rule; its memory must have been reserved. */
static double hallucinate(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                          const bandit_executor *executor)
{
    size_t place;
    if (batch->has_model)
        return bandit_gain_take_out(&batch->gain, arm);
    BANDIT_LOWER_BOUND(place, batch->n_first, i, batch->first[i] < arm);
    if (place == batch->n_first || batch->first[place] != arm) {
        memmove(batch->first + place + 1, batch->first + place,
                (batch->n_first - place) * sizeof *batch->first);
        batch->first[place] = arm;
        batch->n_first++;
    }
    return bandit_bbkb_take_out_first(engine, batch, arm, executor);
}

static bandit_status make_room(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t more,
                               const bandit_executor *executor, bandit_error *err)
{
    if (batch->has_model)
        return bandit_gain_reserve(&batch->gain, more, err);
    if (!bandit_reserve_keep((void **)&batch->first, &batch->capacity_first, batch->n_first,
                             batch->n_first + more, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return bandit_bbkb_reserve_first(engine, batch, more, executor, err);
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static double total_out(const bandit_bbkb_batch *batch)
{
    return batch->has_model ? batch->gain.total : batch->total;
}

/* Number of picks before the first reward. */
static uint64_t first_picks(const bandit_engine *engine, const bandit_bbkb_batch *batch)
{
    uint64_t horizon = engine->options.horizon, most = horizon > 0 ? horizon / 4 : FIRST_PICKS;
    if (batch->n_planned > 0)
        return batch->n_planned;
    uint64_t arms = bandit_arms_count(engine->arms);
    most = most < FIRST_PICKS ? most : FIRST_PICKS;
    most = most < arms ? most : arms;
    return most > 0 ? most : 1;
}

bandit_stop_rule bandit_log_ei_list_stop_rule(const bandit_engine *engine, const bandit_select_limits *limits)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(engine);
    if (batch->prior)
        return bandit_bbkb_first_stop(engine, batch, limits);
    if (!batch->has_model)
        return batch->n_picks + batch->n_pending >= first_picks(engine, batch) ? BANDIT_STOP_INITIAL
                                                                               : BANDIT_STOP_NONE;
    if (batch->ledger.observations < SEQUENTIAL_RESULTS)
        return batch->n_picks > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
    if (1.0 + total_out(batch) > engine->options.ratio_bound && batch->n_picks > 0)
        return BANDIT_STOP_GLOBAL;
    return batch->n_picks >= engine->options.max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

/* The arm that is best in the sum of the sources. */
static bool most_promising(const bandit_engine *engine, const bandit_select_limits *limits, uint32_t *arm)
{
    const bandit_sources *sources = engine->covariance.prior->sources;
    double most = -INFINITY;
    bool found = false;
    for (size_t i = 0; i < bandit_arms_count(engine->arms); i++) {
        if (bandit_is_withheld(limits, (uint32_t)i))
            continue;
        double value = bandit_sources_promise_of(sources, i);
        if (!found || value > most) {
            most = value;
            *arm = (uint32_t)i;
        }
        found = true;
    }
    return found;
}

/* Sets *arm to the one of SPREAD_DRAWS arms whose largest covariance with an arm in flight is the least.
 * *found: false if every arm is withheld. */
static bandit_status spread_arm(log_ei_list *e, const bandit_bbkb_batch *batch,
                                const bandit_select_limits *limits, uint32_t *arm, bool *found,
                                bandit_error *err)
{
    const bandit_engine *engine = &e->bbkb.base;
    size_t tiles = bandit_whole_tiles(batch->n_first);
    size_t scratch = bandit_covariance_scratch(&engine->covariance) + bandit_arms_dimension(engine->arms);
    double least = INFINITY;
    if (!bandit_reserve((void **)&e->likeness, &e->capacity_likeness, tiles + scratch, sizeof *e->likeness))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    *found = false;
    for (uint64_t draw = 0; draw < SPREAD_DRAWS; draw++) {
        uint32_t drawn;
        double most = -INFINITY;
        if (!bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, draw << 32 | batch->n_picks,
                                       limits, &drawn))
            return BANDIT_OK;
        bandit_covariance_column(&engine->covariance, batch->first, batch->n_first, drawn, e->likeness,
                                 e->likeness + tiles);
        for (size_t i = 0; i < batch->n_first; i++)
            most = fmax(most, e->likeness[i]);
        if (*found && most >= least)
            continue;
        least = most;
        *arm = drawn;
        *found = true;
    }
    return BANDIT_OK;
}

static bool spreads(const bandit_engine *engine, const bandit_bbkb_batch *batch)
{
    return engine->options.init == BANDIT_INIT_SPREAD && batch->n_first > 0 && batch->n_first <= SPREAD_MOST;
}

/* Chooses a pick before the first reward. If there are sources, the first is the arm that is best in their
 * sum. Then comes the most uncertain arm, or the planned one if one is left; otherwise an arm drawn without
 * replacement, or by spread_arm. */
static bandit_status first_arm(log_ei_list *e, const bandit_bbkb_batch *batch,
                               const bandit_select_limits *limits, uint32_t *arm, bool *found,
                               bandit_error *err)
{
    const bandit_engine *engine = &e->bbkb.base;
    size_t n = 0, i = 0, k = 0;
    bandit_select_limits others = *limits;
    if (batch->prior) {
        *found = bandit_bbkb_most_uncertain(engine, batch, limits, arm);
        return BANDIT_OK;
    }
    if (engine->covariance.prior && batch->n_first == 0) {
        *found = most_promising(engine, limits, arm);
        return BANDIT_OK;
    }
    if (batch->n_picks < batch->n_planned && !bandit_is_withheld(limits, batch->planned[batch->n_picks])) {
        *arm = batch->planned[batch->n_picks];
        *found = true;
        return BANDIT_OK;
    }
    if (!bandit_reserve((void **)&e->withheld, &e->capacity_withheld, limits->n_withheld + batch->n_first,
                        sizeof *e->withheld))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    while (i < limits->n_withheld || k < batch->n_first) { /* both lists are ascending */
        bool out = i == limits->n_withheld || (k < batch->n_first && batch->first[k] < limits->withheld[i]);
        uint32_t next = out ? batch->first[k] : limits->withheld[i];
        e->withheld[n++] = next;
        i += i < limits->n_withheld && limits->withheld[i] == next;
        k += k < batch->n_first && batch->first[k] == next;
    }
    others.withheld = e->withheld;
    others.n_withheld = n;
    if (spreads(engine, batch)) {
        bandit_status status = spread_arm(e, batch, &others, arm, found, err);
        if (status != BANDIT_OK || *found)
            return status;
    }
    *found = bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, batch->n_picks, &others, arm) ||
             bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, batch->n_picks, limits, arm);
    return BANDIT_OK;
}

static bool same_failures(const log_ei_list *e, const bandit_select_limits *limits)
{
    return e->has_feasibility && e->n_failed == limits->n_failed &&
           (e->n_failed == 0 || memcmp(e->failed, limits->failed, e->n_failed * sizeof *e->failed) == 0);
}

/* Arms that are only given by a kernel matrix have no features to learn from. */
bandit_status bandit_log_ei_list_heed(bandit_engine *engine, const bandit_select_limits *limits,
                                      bool *changed, bandit_error *err)
{
    log_ei_list *e = self(engine);
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    *changed = false;
    if (same_failures(e, limits) || bandit_arms_dimension(engine->arms) == 0)
        return BANDIT_OK;
    *changed = true;
    bandit_status status = bandit_gain_heed(&batch->gain, NULL, err);
    e->has_feasibility = false;
    if (status == BANDIT_OK &&
        !bandit_reserve((void **)&e->failed, &e->capacity_failed, limits->n_failed, sizeof *e->failed))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_feasibility_learn_arms(&e->feasibility, engine->arms, &engine->options.kernel,
                                               batch->ledger.sums, batch->ledger.n, limits->failed,
                                               limits->n_failed, true, engine->options.revision, err);
    if (status == BANDIT_OK)
        status = bandit_gain_heed(&batch->gain, e->feasibility.n > 0 ? &e->feasibility : NULL, err);
    if (status != BANDIT_OK)
        return status;
    if (limits->n_failed > 0)
        memcpy(e->failed, limits->failed, limits->n_failed * sizeof *e->failed);
    e->n_failed = limits->n_failed;
    e->has_feasibility = true;
    return BANDIT_OK;
}

bool bandit_log_ei_list_draw(bandit_engine *engine, const bandit_select_limits *limits, uint32_t *arm)
{
    enum { DRAWS = 64 };
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_gain_selector *gain = &batch->gain;
    /* every second one is the most promising of several, if there are sources */
    bool led = bandit_design_is_led(engine, batch->ledger.n + batch->n_pending + batch->n_picks);
    size_t wanted = led ? BANDIT_DESIGN_LED : 1, n = 0;
    double most = -INFINITY;
    for (uint64_t draw = 0; draw < DRAWS * wanted && n < wanted; draw++) {
        uint32_t drawn;
        if (!bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, draw << 32 | batch->n_picks,
                                       limits, &drawn) ||
            gain->met[drawn] != 0 || bandit_gain_penalty(gain, drawn) > 0.0)
            continue;
        double promise = led ? bandit_sources_promise_of(engine->covariance.prior->sources, drawn) : 0.0;
        if (n++ == 0 || promise > most) {
            most = promise;
            *arm = drawn;
        }
    }
    return n > 0;
}

/* Whether all results are equal. The fit has long lengthscales then, and the most uncertain arms are the most
 * extreme ones. */
static bool is_flat(const bandit_engine *engine, const bandit_bbkb_batch *batch)
{
    return engine->options.revision >= 2 && batch->has_model && bandit_ledger_is_flat(&batch->ledger);
}

/* Chooses the next arm, and reserves memory for it to be in flight. */
static bandit_status choose(log_ei_list *e, bandit_bbkb_batch *batch, const bandit_select_limits *limits,
                            const bandit_executor *executor, uint32_t *arm, bool *found, bandit_error *err)
{
    bandit_status status = make_room(&e->bbkb.base, batch, 1, executor, err);
    if (status == BANDIT_OK && !batch->has_model)
        status = first_arm(e, batch, limits, arm, found, err);
    if (status != BANDIT_OK || !batch->has_model)
        return status;
    bandit_gain_selector *gain = &batch->gain;
    bandit_gain_choice choice = gain->n_repeats < limits->most_repeats ? BANDIT_GAIN_USUAL : BANDIT_GAIN_NEW;
    *found = is_flat(&e->bbkb.base, batch) && bandit_log_ei_list_draw(&e->bbkb.base, limits, arm);
    for (; !*found && choice <= BANDIT_GAIN_ANY; choice++)
        *found = bandit_gain_best(gain, limits->withheld, limits->n_withheld, choice, arm);
    return BANDIT_OK;
}

static bandit_status select_list(bandit_engine *engine, const bandit_select_limits *limits,
                                 const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                 bandit_error *err)
{
    log_ei_list *e = self(engine);
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bool changed;
    bandit_status status =
        batch->has_model ? bandit_log_ei_list_heed(engine, limits, &changed, err) : BANDIT_OK;
    if (status != BANDIT_OK)
        return status;
    while (bandit_engine_wants_pick(limits, bandit_log_ei_list_stop_rule(engine, limits), out)) {
        uint32_t arm;
        bool found = false;
        status = choose(e, batch, limits, executor, &arm, &found, err);
        if (status != BANDIT_OK && out->n_picks == 0)
            return status;
        if (status != BANDIT_OK) /* keep the picks made; the next call reports the error */
            break;
        if (!found) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        picks[out->n_picks++] =
            (bandit_pick){.arm = arm, .variance = hallucinate(engine, batch, arm, executor)};
        batch->n_picks++;
    }
    out->ratio = 1.0 + total_out(batch);
    return BANDIT_OK;
}

static bandit_status replay_list(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                 const bandit_executor *executor, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_status status = make_room(engine, batch, n_picks, executor, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_picks && !bandit_pause(); i++)
        hallucinate(engine, batch, picks[i].arm, executor);
    batch->n_picks += n_picks;
    return BANDIT_OK;
}

static bandit_status explain_list(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                  const bandit_executor *executor, bandit_reason *out, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_gain_selector *gain = &batch->gain;
    double mean, start, lambda = engine->options.lambda;
    bool changed;
    (void)executor;
    if (!batch->has_model) {
        bandit_bbkb_explain_first(batch, arm, out);
        return BANDIT_OK;
    }
    if (is_flat(engine, batch)) {
        out->rule = BANDIT_REASON_FIRST;
        return BANDIT_OK;
    }
    bandit_status status = bandit_log_ei_list_heed(engine, limits, &changed, err);
    if (status != BANDIT_OK)
        return status;
    double variance = bandit_gain_look(gain, arm, &mean, &start);
    out->rule = BANDIT_REASON_IMPROVEMENT;
    out->score = bandit_gain_value(gain, arm);
    bandit_reason_set_model(out, mean, lambda * variance, gain->incumbent);
    bandit_reason_split_improvement(out, bandit_gain_gap(gain, arm, mean),
                                    bandit_gain_deviation(variance, lambda, gain->smallest));
    return BANDIT_OK;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static const bandit_bbkb_rule gain_rule = {
    .state = "log_ei1",
    .width = BANDIT_GAIN_WIDENING,
    .start = start,
    .hallucinate = hallucinate,
};

const bandit_algorithm_table bandit_log_ei_list_table = {
    .size = sizeof(log_ei_list),
    .from_sums = true,
    .rule = &gain_rule,
    .open = open_list,
    .close = close_list,
    .begin_batch = begin_list,
    .amend = bandit_bbkb_amend,
    .restore = bandit_bbkb_restore,
    .select = select_list,
    .replay_picks = replay_list,
    .explain = explain_list,
    .checkpoint = bandit_bbkb_checkpoint,
    .predict = bandit_bbkb_predict,
    .posterior = bandit_bbkb_posterior,
    .describe = bandit_bbkb_describe,
    .memory = list_memory,
};
