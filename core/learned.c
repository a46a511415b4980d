/* An algorithm on rewards and a kernel that are learned: an engine around the algorithm's own (the inner
 * one), which sees standardized rewards, a unit kernel and numbers that do not change between fits.
 *
 * The ledger of rewards as told is kept here. At a fit (learning.h) the inner engine is made anew, with the
 * new hyper-parameters, and given all rewards so far as history; between fits it goes from batch to batch.
 * Where an algorithm follows from its sums (from_sums), those are computed from the ledger at every batch, so
 * that what is stored is the ledger, whoever fits or restores; the others store their own pulls, transformed.
 *
 * Width: what the batches of former hyper-parameters have gathered is in other units. The log-sum starts anew
 * with a fit, from log det V of all rewards under the first dictionary, and rewards that join later add
 * log det (V + dV) − log det V, as pulls do that the engine did not choose (ours). */
#include "algorithm.h"
#include "learning.h"
#include "memory.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct learned_engine {
    bandit_engine base;
    bandit_learning how;
    bandit_learned learned;
    bandit_ledger ledger, next, mapped; /* in force; prepared; the inner engine's */
    double within, within_degrees; /* squares of rewards about their arms' means, and how many are free */
    double next_within, next_degrees;
    bandit_engine *inner;
    bool stale;             /* rewards were corrected: the next batch fits */
    bandit_result *results; /* n_taken: of the batch that begins */
    size_t n_taken;
    double *lengthscales; /* the inner kernel's */
    size_t n_inner_lengthscales;
    unsigned char *state;
    size_t n_state;
    size_t capacity_results, capacity_state;
} learned_engine;

/* As stored, in the machine's own byte order: lengthscales, what is set aside and the inner state follow. */
typedef struct learned_state {
    char magic[8];
    uint64_t n_lengthscales, n_aside;
    uint64_t fitted_on, observations;
    double sum_squares, within, within_degrees;
    double offset, scale, low, high, range, signal, noise, mean;
    double norm_bound; /* the inner one */
} learned_state;

static const char STATE_MAGIC[8] = "learn 2";

/* Of the model's unit variance. What it cannot tell apart is about the root of it: on a list one candidate
 * has to be told from the next, in an open space a function without noise is followed to its optimum, to the
 * digits that the factors (surface.h) carry. */
static double smallest_lambda(const learned_engine *e)
{
    return bandit_arms_is_open_space(e->base.arms) ? 1e-9 : 1e-6;
}

bool bandit_options_learn(const bandit_options *o)
{
    return o->learn_lengthscale || o->learn_noise || o->learn_norm_bound || o->standardize_rewards;
}

static learned_engine *self(bandit_engine *engine)
{
    return (learned_engine *)engine;
}

static const learned_engine *self_const(const bandit_engine *engine)
{
    return (const learned_engine *)engine;
}

/* ---- the inner engine ---------------------------------------------------------------------------------- */

/* The options of an inner engine under *l; lengthscales are `lengthscales`, a feature's or one. */
static bandit_options inner_options(const learned_engine *e, const bandit_learned *l, double *lengthscales)
{
    bandit_options o = e->base.options;
    double unit = bandit_learned_unit(l);
    o.learn_lengthscale = o.learn_noise = o.learn_norm_bound = o.standardize_rewards = false;
    o.noise_std = e->how.learn_noise ? sqrt(l->noise / l->signal) : o.noise_std / unit;
    if (o.lambda_from_noise)
        o.lambda = fmax(smallest_lambda(e), o.noise_std * o.noise_std);
    o.lambda_from_noise = false;
    o.norm_bound = e->base.options.learn_norm_bound ? 1.0 : o.norm_bound / unit;
    o.beta /= unit;
    for (size_t j = 0; j < e->n_inner_lengthscales; j++)
        lengthscales[j] = l->lengthscales[e->how.group[j]];
    o.kernel.lengthscales = lengthscales;
    o.kernel.n_lengthscales = e->n_inner_lengthscales;
    return o;
}

/* A fresh one, which will begin the batch after the one in force. */
static bandit_status new_inner(bandit_engine **out, const learned_engine *e, const bandit_learned *l,
                               bandit_error *err)
{
    bandit_options o = inner_options(e, l, e->lengthscales);
    if (!isfinite(o.noise_std) || !isfinite(o.lambda) || !isfinite(o.norm_bound) || !isfinite(o.beta))
        return bandit_fail(err, BANDIT_NUMERICAL, "",
                           "the unit of the rewards, %g, is too small for the options",
                           bandit_learned_unit(l));
    bandit_status status = bandit_engine_new(out, e->base.arms, &o, e->base.memory_limit, err);
    if (status != BANDIT_OK)
        return status;
    (*out)->grows_norm_bound = e->base.options.learn_norm_bound;
    (*out)->started = e->base.started;
    (*out)->batch = e->base.batch;
    return BANDIT_OK;
}

static bandit_status learned_open(bandit_engine *engine, bandit_error *err)
{
    learned_engine *e = self(engine);
    bandit_status status = bandit_learning_init(&e->how, &engine->options, engine->arms, err);
    if (status == BANDIT_OK)
        status = bandit_learned_prior(&e->learned, &e->how, err);
    if (status != BANDIT_OK)
        return status;
    e->n_inner_lengthscales = e->how.group ? bandit_arms_dimension(engine->arms) : 0;
    e->lengthscales = bandit_alloc(e->n_inner_lengthscales, sizeof *e->lengthscales);
    if (!e->lengthscales)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return new_inner(&e->inner, e, &e->learned, err);
}

static void learned_close(bandit_engine *engine)
{
    learned_engine *e = self(engine);
    bandit_engine_free(e->inner);
    bandit_learning_clear(&e->how);
    bandit_learned_clear(&e->learned);
    bandit_ledger_clear(&e->ledger);
    bandit_ledger_clear(&e->next);
    bandit_ledger_clear(&e->mapped);
    free(e->results);
    free(e->lengthscales);
    free(e->state);
}

/* ---- rewards ------------------------------------------------------------------------------------------- */

static double standardized(const bandit_learned *l, double reward)
{
    return (bandit_learned_fold(l, reward) - bandit_learned_shift(l)) / bandit_learned_unit(l);
}

/* What the model counts of an arm: its pulls but for those set aside. */
static bandit_arm_sum counted(const bandit_learned *l, const bandit_arm_sum *sum)
{
    bandit_arm_sum left = *sum;
    const bandit_arm_sum *aside = bandit_sum_of(l->aside, l->n_aside, sum->arm);
    if (aside && aside->count <= left.count) {
        left.count -= aside->count;
        left.sum -= aside->sum;
    }
    return left;
}

/* e->mapped = `ledger` as the inner engine sees it. The capacity is there. */
static void map_ledger(learned_engine *e, const bandit_learned *l, const bandit_ledger *ledger)
{
    bandit_ledger *out = &e->mapped;
    out->n = 0;
    out->observations = 0;
    out->sum_squares = 0.0;
    for (size_t i = 0; i < ledger->n; i++) {
        bandit_arm_sum sum = counted(l, &ledger->sums[i]);
        if (sum.count == 0)
            continue;
        double mean = standardized(l, sum.sum / (double)sum.count);
        sum.sum = (double)sum.count * mean;
        out->sums[out->n++] = sum;
        out->observations += sum.count;
        out->sum_squares += (double)sum.count * mean * mean;
    }
}

static bool reserve_mapped(learned_engine *e, size_t n)
{
    return bandit_reserve((void **)&e->mapped.sums, &e->mapped.capacity, n, sizeof *e->mapped.sums);
}

/* A reward of an arm with a mean of its own so far: no further from it than the noise, or three scales. */
static double near_mean(const bandit_learned *l, double reward, double mean)
{
    double reach = fmax(6.0 * sqrt(l->noise), 3.0) * l->scale;
    return fmin(fmax(reward, mean - reach), mean + reach);
}

/* e->results = `results`, each as it joins the ledger; and the squares that they add within their arms. The
 * first few rewards have no part in those: nothing is known yet that could tell a stray. */
static bandit_status take_results(learned_engine *e, const bandit_result *results, size_t n,
                                  bandit_error *err)
{
    enum { FIRST_FEW = 8 };
    bool guards = e->how.standardize, counts = !guards || e->ledger.observations >= FIRST_FEW;
    uint64_t *keys = bandit_alloc(n, sizeof *keys);
    if (!keys || n > UINT32_MAX ||
        !bandit_reserve((void **)&e->results, &e->capacity_results, n, sizeof *e->results)) {
        free(keys);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        e->results[i] = results[i];
        e->results[i].chosen = false;
    }
    bandit_order_results(keys, results, n);
    e->next_within = e->within;
    e->next_degrees = e->within_degrees;
    bandit_arm_sum had = {0};
    for (size_t i = 0; i < n && counts; i++) {
        bandit_result *r = &e->results[(uint32_t)keys[i]];
        if (i == 0 || had.arm != r->arm) {
            const bandit_arm_sum *sum = bandit_sum_of(e->ledger.sums, e->ledger.n, r->arm);
            had = sum ? counted(&e->learned, sum) : (bandit_arm_sum){.arm = r->arm};
        }
        if (had.count > 0) {
            double count = (double)had.count, mean = had.sum / count;
            if (guards)
                r->reward = near_mean(&e->learned, r->reward, mean);
            double off = r->reward - mean;
            e->next_within += off * off * r->repeats * count / (count + r->repeats);
            e->next_degrees += 1.0;
        }
        had.count += r->repeats;
        had.sum += r->repeats * r->reward;
    }
    e->next_within = fmin(e->next_within, DBL_MAX);
    free(keys);
    return BANDIT_OK;
}

/* Is a reward of an arm's first pull above all that was thought possible? Then nothing but a fit can tell
 * whether it is a peak or a stray; but not for every one of many. */
static bool is_beyond(const learned_engine *e, size_t n)
{
    bool beyond = false;
    for (size_t i = 0; i < n; i++)
        beyond |= e->results[i].reward > e->learned.high;
    return beyond && e->next.observations >= e->learned.fitted_on + e->learned.fitted_on / 20 + 1;
}

/* ---- state --------------------------------------------------------------------------------------------- */

static size_t state_bytes(const bandit_learned *l, size_t n_inner)
{
    return sizeof(learned_state) + l->n_lengthscales * sizeof(double) + l->n_aside * sizeof(bandit_arm_sum) +
           n_inner;
}

/* Room was reserved. */
static void write_state(learned_engine *e)
{
    const bandit_learned *l = &e->learned;
    bandit_checkpoint inner = {0};
    e->inner->table->checkpoint(e->inner, &inner);
    learned_state state = {.n_lengthscales = l->n_lengthscales,
                           .n_aside = l->n_aside,
                           .fitted_on = l->fitted_on,
                           .observations = e->ledger.observations,
                           .sum_squares = e->ledger.sum_squares,
                           .within = e->within,
                           .within_degrees = e->within_degrees,
                           .offset = l->offset,
                           .scale = l->scale,
                           .low = l->low,
                           .high = l->high,
                           .range = l->range,
                           .signal = l->signal,
                           .noise = l->noise,
                           .mean = l->mean,
                           .norm_bound = e->inner->options.norm_bound};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    unsigned char *at = e->state;
    memcpy(at, &state, sizeof state);
    at += sizeof state;
    if (l->n_lengthscales > 0)
        memcpy(at, l->lengthscales, l->n_lengthscales * sizeof(double));
    at += l->n_lengthscales * sizeof(double);
    for (size_t i = 0; i < l->n_aside; i++, at += sizeof(bandit_arm_sum)) {
        bandit_arm_sum sum;
        memset(&sum, 0, sizeof sum); /* padding has bits, too */
        sum.arm = l->aside[i].arm;
        sum.count = l->aside[i].count;
        sum.sum = l->aside[i].sum;
        memcpy(at, &sum, sizeof sum);
    }
    if (inner.n_state > 0)
        memcpy(at, inner.state, inner.n_state);
    e->n_state = (size_t)(at - e->state) + inner.n_state;
    assert(e->n_state <= e->capacity_state);
}

/* Room for the state of a batch that takes in n results: of all engines, the exact ones store most, an entry
 * an arm and a result. */
static bool reserve_state(learned_engine *e, const bandit_learned *l, size_t n)
{
    size_t inner = 1024 + (e->next.n + n + e->n_state / 24 + 1) * 24;
    return bandit_reserve_keep((void **)&e->state, &e->capacity_state, e->n_state, state_bytes(l, inner), 1);
}

static bool is_positive(double x)
{
    return isfinite(x) && x > 0.0;
}

static bool is_at_least_0(double x)
{
    return isfinite(x) && x >= 0.0;
}

/* The learned part of a checkpoint; *inner: the rest. */
static bandit_status read_state(learned_engine *e, const bandit_checkpoint *checkpoint, learned_state *state,
                                bandit_checkpoint *inner, bandit_error *err)
{
    bandit_learned *l = &e->learned;
    const unsigned char *at = checkpoint->state;
    size_t left = checkpoint->n_state;
    if (left < sizeof *state)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state of %zu bytes is too short", left);
    memcpy(state, at, sizeof *state);
    at += sizeof *state;
    left -= sizeof *state;
    if (memcmp(state->magic, STATE_MAGIC, sizeof state->magic) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    if (state->n_lengthscales != e->how.n_lengthscales || left / sizeof(double) < state->n_lengthscales ||
        (left - state->n_lengthscales * sizeof(double)) / sizeof(bandit_arm_sum) < state->n_aside ||
        !is_positive(state->scale) || !is_positive(state->signal) || !is_positive(state->noise) ||
        !isfinite(state->offset) || !isfinite(state->mean) || !(state->low < state->high) ||
        !is_positive(state->range) || !is_at_least_0(state->within) ||
        !is_at_least_0(state->within_degrees) || !is_at_least_0(state->norm_bound) ||
        !is_at_least_0(state->sum_squares))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored hyper-parameters are not valid");
    l->offset = state->offset;
    l->scale = state->scale;
    l->low = state->low;
    l->high = state->high;
    l->range = state->range;
    l->signal = state->signal;
    l->noise = state->noise;
    l->mean = state->mean;
    l->fitted_on = state->fitted_on;
    e->within = state->within;
    e->within_degrees = state->within_degrees;
    for (size_t i = 0; i < l->n_lengthscales; i++, at += sizeof(double), left -= sizeof(double)) {
        memcpy(&l->lengthscales[i], at, sizeof(double));
        if (!is_positive(l->lengthscales[i]))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored lengthscale %zu is not valid", i);
    }
    l->n_aside = state->n_aside;
    l->aside = bandit_alloc(l->n_aside, sizeof *l->aside);
    if (!l->aside)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < l->n_aside; i++, at += sizeof *l->aside, left -= sizeof *l->aside) {
        memcpy(&l->aside[i], at, sizeof *l->aside);
        if (i > 0 && l->aside[i].arm <= l->aside[i - 1].arm)
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored outlier %zu is not valid", i);
    }
    *inner = *checkpoint;
    inner->state = at;
    inner->n_state = left;
    return BANDIT_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

/* Learns from e->next, and makes *inner begin the batch on it. */
static bandit_status begin_fitted(learned_engine *e, bandit_learned *l, bandit_engine **inner,
                                  const bandit_pick *pending, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err)
{
    bandit_result *history = NULL;
    bandit_status status =
        bandit_learn(l, &e->learned, &e->how, &e->next, e->next_within, e->next_degrees, executor, err);
    if (status == BANDIT_OK)
        status = new_inner(inner, e, l, err);
    if (status != BANDIT_OK)
        return status;
    map_ledger(e, l, &e->next);
    history = bandit_alloc(e->mapped.n, sizeof *history);
    if (!history)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < e->mapped.n; i++) {
        const bandit_arm_sum *sum = &e->mapped.sums[i];
        uint64_t most = UINT32_MAX; /* of an arm that was pulled more often, so many count */
        history[i] = (bandit_result){.arm = sum->arm,
                                     .repeats = (uint32_t)(sum->count < most ? sum->count : most),
                                     .reward = sum->sum / (double)sum->count};
    }
    (*inner)->given = (*inner)->table->from_sums ? &e->mapped : NULL;
    status = bandit_engine_begin_batch(*inner, history, e->mapped.n, pending, n_pending, executor, err);
    (*inner)->given = NULL;
    free(history);
    return status;
}

/* The inner engine goes on with e->results. */
static bandit_status begin_as_before(learned_engine *e, const bandit_pick *pending, size_t n_pending,
                                     const bandit_executor *executor, bandit_error *err)
{
    bandit_engine *inner = e->inner;
    double norm_bound = inner->options.norm_bound;
    size_t n = e->n_taken;
    map_ledger(e, &e->learned, &e->next);
    for (size_t i = 0; i < n; i++)
        e->results[i].reward = standardized(&e->learned, e->results[i].reward);
    inner->given = inner->table->from_sums ? &e->mapped : NULL;
    bandit_status status = bandit_engine_begin_batch(inner, e->results, n, pending, n_pending, executor, err);
    inner->given = NULL;
    if (status != BANDIT_OK)
        inner->options.norm_bound = norm_bound;
    return status;
}

static bandit_status learned_begin_batch(bandit_engine *engine, const bandit_result *results,
                                         size_t n_results, const bandit_pick *pending, size_t n_pending,
                                         const bandit_executor *executor, bandit_error *err)
{
    learned_engine *e = self(engine);
    bandit_learned learned = {0};
    bandit_engine *inner = NULL;
    bandit_status status = take_results(e, results, n_results, err);
    if (status == BANDIT_OK)
        status = bandit_ledger_add(&e->next, &e->ledger, bandit_arms_count(engine->arms), e->results,
                                   n_results, err);
    if (status != BANDIT_OK)
        return status;
    e->n_taken = n_results;
    bool fits = e->next.n > 0 && (e->stale || bandit_learning_due(&e->learned, e->next.observations) ||
                                  is_beyond(e, n_results));
    if (!reserve_mapped(e, e->next.n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (fits)
        status = begin_fitted(e, &learned, &inner, pending, n_pending, executor, err);
    if (status == BANDIT_OK && !reserve_state(e, fits ? &learned : &e->learned, n_results))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK && !fits)
        status = begin_as_before(e, pending, n_pending, executor, err);
    if (status != BANDIT_OK) {
        bandit_engine_free(inner);
        bandit_learned_clear(&learned);
        return status;
    }
    if (fits) {
        bandit_engine_free(e->inner);
        bandit_learned_clear(&e->learned);
        e->inner = inner;
        e->learned = learned;
        e->stale = false;
    }
    bandit_ledger old = e->ledger;
    e->ledger = e->next;
    e->next = old;
    e->within = e->next_within;
    e->within_degrees = e->next_degrees;
    write_state(e);
    return BANDIT_OK;
}

/* Corrected rewards are in no sum of the inner engine: the next batch fits, and makes it anew. What was set
 * aside of their arms is judged again. */
static bandit_status learned_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                   const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    learned_engine *e = self(engine);
    size_t kept = 0;
    bandit_status status = bandit_ledger_amend(&e->ledger, amendments, n, sums, n_sums, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < e->learned.n_aside; i++)
        if (!bandit_sum_of(sums, n_sums, e->learned.aside[i].arm))
            e->learned.aside[kept++] = e->learned.aside[i];
    e->learned.n_aside = kept;
    e->stale = true;
    return BANDIT_OK;
}

static bandit_status learned_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                     const bandit_pick *pending, size_t n_pending,
                                     const bandit_executor *executor, bandit_error *err)
{
    learned_engine *e = self(engine);
    learned_state state;
    bandit_checkpoint inner;
    bandit_status status = read_state(e, checkpoint, &state, &inner, err);
    if (status == BANDIT_OK)
        status = bandit_ledger_restore(&e->ledger, bandit_arms_count(engine->arms), checkpoint,
                                       state.observations, state.sum_squares, err);
    if (status != BANDIT_OK)
        return status;
    if (!reserve_mapped(e, e->ledger.n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    map_ledger(e, &e->learned, &e->ledger);
    inner.sums = NULL;
    inner.n_sums = 0;
    if (e->inner->table->from_sums) {
        inner.sums = e->mapped.sums;
        inner.n_sums = e->mapped.n;
    }
    bandit_engine_free(e->inner);
    e->inner = NULL;
    bandit_options o = inner_options(e, &e->learned, e->lengthscales);
    o.norm_bound = state.norm_bound;
    status = bandit_engine_restore(&e->inner, engine->arms, &o, engine->memory_limit, &inner, pending,
                                   n_pending, executor, err);
    if (status != BANDIT_OK)
        return status;
    e->inner->grows_norm_bound = engine->options.learn_norm_bound;
    bandit_checkpoint again = {0};
    e->inner->table->checkpoint(e->inner, &again);
    if (!bandit_reserve((void **)&e->state, &e->capacity_state, state_bytes(&e->learned, again.n_state), 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    write_state(e);
    return BANDIT_OK;
}

/* ---- picks and reading: the inner engine's ------------------------------------------------------------- */

static bandit_status learned_select(bandit_engine *engine, const bandit_select_limits *limits,
                                    const bandit_executor *executor, bandit_pick *picks,
                                    bandit_selection *out, bandit_error *err)
{
    return bandit_engine_select(self(engine)->inner, limits, executor, picks, out, err);
}

static bandit_status learned_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                          const bandit_executor *executor, bandit_error *err)
{
    return bandit_engine_replay_picks(self(engine)->inner, picks, n_picks, executor, err);
}

static void learned_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const learned_engine *e = self_const(engine);
    e->inner->table->checkpoint(e->inner, out);
    out->sums = e->ledger.sums;
    out->n_sums = e->ledger.n;
    out->state = e->state;
    out->n_state = e->n_state;
}

/* Where values are folded, the mean and the bound are unfolded, and the deviation by the slope at the mean.
 */
static void in_reward_units(const learned_engine *e, bandit_prediction *p, size_t n)
{
    const bandit_learned *l = &e->learned;
    double shift = bandit_learned_shift(l), unit = bandit_learned_unit(l);
    for (size_t i = 0; i < n; i++) {
        double folded = shift + unit * p[i].mean, slope = 1.0;
        p[i].mean = bandit_learned_unfold(l, folded);
        if (p[i].mean < l->low)
            slope = 1.0 + (l->low - p[i].mean) / l->range;
        p[i].variance = fmin(p[i].variance * (unit * slope) * (unit * slope), DBL_MAX);
        p[i].ucb = bandit_learned_unfold(l, shift + unit * p[i].ucb);
    }
}

static bandit_status learned_predict(const bandit_engine *engine, const uint32_t *arms,
                                     const double *coordinates, size_t n, bandit_prediction *out,
                                     bandit_error *err)
{
    const learned_engine *e = self_const(engine);
    bandit_status status = e->inner->table->predict(e->inner, arms, coordinates, n, out, err);
    if (status == BANDIT_OK)
        in_reward_units(e, out, n);
    return status;
}

static void learned_describe(const bandit_engine *engine, bandit_description *out)
{
    const learned_engine *e = self_const(engine);
    const bandit_learned *l = &e->learned;
    double unit = bandit_learned_unit(l);
    uint64_t batch = out->batch;
    bandit_engine_describe(e->inner, out);
    out->batch = batch;
    out->observations = e->ledger.observations;
    out->beta *= unit;
    out->noise_std *= unit;
    out->norm_bound *= unit;
    out->signal_std = unit;
    out->shift = bandit_learned_shift(l);
    out->unit = unit;
    out->fitted_on = l->fitted_on;
    for (size_t i = 0; i < l->n_aside; i++)
        out->set_aside += l->aside[i].count;
}

static size_t learned_memory(const bandit_engine *engine)
{
    const learned_engine *e = self_const(engine);
    size_t sums = e->ledger.capacity + e->next.capacity + e->mapped.capacity + e->learned.n_aside;
    return bandit_engine_memory(e->inner) + sums * sizeof(bandit_arm_sum) +
           e->capacity_results * sizeof *e->results + e->capacity_state +
           e->n_inner_lengthscales * sizeof(double);
}

const bandit_algorithm_table bandit_learned_table = {
    .name = "a learned model",
    .size = sizeof(learned_engine),
    .has_model = false, /* the inner engine's is bound to a kernel */
    .open = learned_open,
    .close = learned_close,
    .begin_batch = learned_begin_batch,
    .amend = learned_amend,
    .restore = learned_restore,
    .select = learned_select,
    .replay_picks = learned_replay_picks,
    .checkpoint = learned_checkpoint,
    .predict = learned_predict,
    .describe = learned_describe,
    .memory = learned_memory,
};
