#include "core/algorithms/space_engine.h"

#include "core/algorithms/space_design.h"
#include "core/algorithms/stored_state.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/prior_sampler.h"
#include "core/selection/dictionary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stored scalars of a batch, in the machine's byte order. */
typedef struct space_state {
    char magic[BANDIT_STATE_KIND];
    char code_path[BANDIT_STATE_CODE_PATH];
    uint64_t has_model, observations, drawn_at;
    double log_sum_1, log_sum_3, sum_squares;
} space_state;

static const char STATE_MAGIC[BANDIT_STATE_KIND] = "space 1";

static bandit_space_engine *self(bandit_engine *engine)
{
    return (bandit_space_engine *)engine;
}

static const bandit_space_batch *in_force(const bandit_engine *engine)
{
    const bandit_space_engine *e = (const bandit_space_engine *)engine;
    return &e->batches[e->in_force];
}

static const bandit_space *space_of(const bandit_space_engine *e)
{
    return e->base.arms->space;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

bandit_status bandit_space_engine_open(bandit_engine *engine, bandit_error *err)
{
    bandit_space_engine *e = self(engine);
    bool linear = engine->options.kernel.type == BANDIT_KERNEL_LINEAR;
    e->rule = engine->table->rule;
    e->dictionary = e->rule->dictionary;
    e->n_features = BANDIT_PRIOR_FEATURES;
    bandit_status status = e->rule->open ? e->rule->open(e, err) : BANDIT_OK;
    if (status != BANDIT_OK)
        return status;
    e->fixed = bandit_alloc(space_of(e)->n, sizeof *e->fixed);
    e->coded = bandit_alloc(space_of(e)->n, sizeof *e->coded);
    e->leader = bandit_alloc(e->rule->seeks_best ? space_of(e)->n : 0, sizeof *e->leader);
    e->steps = bandit_alloc(e->rule->seeks_best ? space_of(e)->n : 0, sizeof *e->steps);
    if (!e->fixed || !e->coded || !e->leader || !e->steps)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return e->rule->samples
               ? bandit_features_init(&e->features,
                                      linear ? BANDIT_EXPANSION_LINEAR : BANDIT_EXPANSION_FOURIER,
                                      &engine->covariance, e->n_features, err)
               : BANDIT_OK;
}

void bandit_space_engine_close(bandit_engine *engine)
{
    bandit_space_engine *e = self(engine);
    for (int i = 0; i < 2; i++) {
        bandit_space_batch *b = &e->batches[i];
        bandit_ledger_clear(&b->ledger);
        free(b->dictionary);
        bandit_posterior_clear(&b->posterior);
        bandit_surface_clear(&b->surface);
        free(b->w);
        free(b->scratch);
        free(b->out);
    }
    bandit_maximizer_clear(&e->maximizer);
    bandit_grid_clear(&e->grid);
    bandit_svgp_sampler_clear(&e->sampler);
    bandit_features_clear(&e->features);
    free(e->fixed);
    free(e->coded);
    free(e->leader);
    free(e->steps);
    free(e->values);
    free(e->means);
    free(e->variances);
    bandit_feasibility_clear(&e->feasibility);
    bandit_location_prior_clear(&e->prior);
    free(e->failed);
    free(e->shortfall);
}

size_t bandit_space_engine_memory(const bandit_engine *engine)
{
    const bandit_space_engine *e = (const bandit_space_engine *)engine;
    size_t bytes = bandit_maximizer_memory(&e->maximizer) + bandit_grid_memory(&e->grid) +
                   bandit_svgp_sampler_memory(&e->sampler) + bandit_features_memory(&e->features) +
                   bandit_feasibility_memory(&e->feasibility) + bandit_location_prior_memory(&e->prior) +
                   e->capacity_failed * sizeof *e->failed +
                   (e->capacity_values + e->capacity_means + e->capacity_variances + e->capacity_shortfall +
                    (e->rule->seeks_best ? 4 : 2) * space_of(e)->n) *
                       sizeof(double);
    for (int i = 0; i < 2; i++) {
        const bandit_space_batch *b = &e->batches[i];
        bytes += b->ledger.capacity * sizeof(bandit_arm_sum) +
                 (b->capacity_dictionary + b->capacity_out) * sizeof(uint32_t) +
                 bandit_posterior_memory(&b->posterior) + bandit_surface_memory(&b->surface) +
                 (b->capacity_w + b->capacity_scratch) * sizeof(double);
    }
    return bytes;
}

/* ---- beginning a batch --------------------------------------------------------------------------------- */

double bandit_space_variance(const bandit_space_engine *e, const bandit_space_batch *b, uint32_t arm)
{
    if (!b->has_model) {
        double k;
        bandit_covariance_diagonal(&e->base.covariance, &arm, 1, &k);
        return k / e->base.options.lambda;
    }
    bandit_embedding at = bandit_posterior_embed(&b->posterior, arm, b->w, b->scratch);
    return at.residual + at.norm2;
}

/* The noise variance with which a pick of this batch is hallucinated. With BANDIT_IN_FLIGHT_SURPASS it is nearly
 * none: where the model sees much noise, one measurement changes little, and the picks of a batch would all measure
 * one place. Picks of earlier batches were made with other models, and do not crowd. Without noise the improvement
 * over the picks in flight keeps picks apart, and a wider distance would only delay the last digits. */
static double noise_of_pick(bandit_space_engine *e, bandit_space_batch *b, const double *features)
{
    double noise = e->base.options.lambda;
    if (!bandit_space_keeps_apart(&e->base) || !bandit_space_improves(e->rule) || !b->has_model ||
        bandit_space_is_silent(e))
        return noise;
    bandit_surface_look(&b->surface, features);
    return fmin(noise, 0.01 * fmax(0.0, b->surface.variance));
}

/* Adds one pull in flight; its memory must have been reserved. `pending`: it was picked in an earlier batch. Returns
 * the arm's start-of-batch variance. */
static double take_out(bandit_space_engine *e, bandit_space_batch *b, uint32_t arm, bool pending)
{
    double variance = bandit_space_variance(e, b, arm), features[64], *x = features;
    size_t d = bandit_arms_dimension(e->base.arms);
    b->n_repeats += bandit_sum_of(b->ledger.sums, b->ledger.n, arm) || bandit_space_is_out(b, arm);
    b->out[b->n_out++] = arm;
    if (e->rule->samples) {
        b->ratio += variance;
        return variance;
    }
    if (d > 64)
        x = b->scratch; /* it is large enough: bandit_posterior_scratch is more than d */
    bandit_space_features_of(e->base.arms, arm, x);
    double noise = pending ? e->base.options.lambda : noise_of_pick(e, b, x);
    double before = bandit_surface_hallucinate(&b->surface, x, noise) / e->base.options.lambda;
    b->promised = fmax(b->promised, b->surface.mean); /* at the point that was just looked at */
    if (e->rule->end == BANDIT_SPACE_PRODUCT && b->has_model)
        b->ratio *= 1.0 + before;
    else
        b->ratio += variance;
    return variance;
}

/* Reserves memory for `more` points in flight. */
static bandit_status make_room(bandit_space_engine *e, bandit_space_batch *b, size_t more, bandit_error *err)
{
    if (!bandit_reserve_keep((void **)&b->out, &b->capacity_out, b->n_out, b->n_out + more, sizeof *b->out))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return e->rule->samples ? BANDIT_OK : bandit_surface_reserve(&b->surface, more, err);
}

static void write_state(const bandit_space_engine *e, bandit_space_batch *b)
{
    space_state state = {.has_model = b->has_model,
                         .observations = b->ledger.observations,
                         .drawn_at = b->drawn_at,
                         .log_sum_1 = b->log_sums.c1,
                         .log_sum_3 = b->log_sums.c3,
                         .sum_squares = b->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    bandit_state_record_code_path(state.code_path, &e->base);
    static_assert(sizeof state <= sizeof b->state, "the state fits");
    memcpy(b->state, &state, sizeof state);
    b->n_state = sizeof state;
}

/* Completes the frozen batch from its ledger, posterior and log-sums. A new batch and a restored one both
 * take this path. */
static bandit_status freeze(bandit_space_engine *e, bandit_space_batch *b, const bandit_pick *pending,
                            size_t n_pending, bandit_error *err)
{
    const bandit_posterior prior = {.covariance = &e->base.covariance, .lambda = e->base.options.lambda};
    if (!b->has_model) {
        bandit_posterior_clear(&b->posterior);
        b->posterior = prior;
    }
    size_t scratch = bandit_posterior_scratch(&b->posterior) + bandit_arms_dimension(e->base.arms);
    b->n_out = b->n_repeats = 0;
    b->promised = -INFINITY;
    if (!bandit_reserve((void **)&b->w, &b->capacity_w, b->posterior.m, sizeof(double)) ||
        !bandit_reserve((void **)&b->scratch, &b->capacity_scratch, scratch, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    b->surface.near = e->base.options.in_flight != BANDIT_IN_FLIGHT_ALL;
    bandit_status status =
        bandit_surface_start(&b->surface, &b->posterior, n_pending + BANDIT_SPACE_MORE_PICKS, err);
    if (status == BANDIT_OK)
        status = make_room(e, b, n_pending, err);
    if (status == BANDIT_OK)
        status = bandit_space_find_incumbent(e, b, err);
    if (status != BANDIT_OK)
        return status;
    b->width = bandit_space_width(e, b);
    b->n_picks = 0;
    b->ratio = 1.0;
    for (size_t i = 0; i < n_pending && !bandit_pause(); i++)
        take_out(e, b, pending[i].arm, true);
    write_state(e, b);
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

/* The width in standard deviations of the prior. */
static double radius(const bandit_engine *engine, const void *batch)
{
    return bandit_space_width((const bandit_space_engine *)engine, batch);
}

bandit_status bandit_space_engine_begin_batch(bandit_engine *engine, const bandit_result *results,
                                              size_t n_results, const bandit_pick *pending, size_t n_pending,
                                              const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    bandit_space_engine *e = self(engine);
    bandit_space_batch *ended = &e->batches[e->in_force], *next = &e->batches[1 - e->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    bool has_history = false, counts = e->rule->counts_log_sums;
    for (size_t i = 0; i < n_results; i++)
        has_history |= !results[i].chosen;
    next->has_model = next->ledger.n > 0;
    next->log_sums = ended->log_sums;
    next->n_dictionary = 0;
    next->drawn_at = 0;
    if (counts && ended->has_model)
        status = bandit_log_sums_add(&next->log_sums, &ended->posterior, results, n_results, err);
    if (status == BANDIT_OK && next->has_model) {
        status = bandit_space_choose_dictionary(e, ended, next, has_history, pending, n_pending, err);
        if (status == BANDIT_OK)
            status = bandit_space_build(e, next, err);
        if (status == BANDIT_OK && counts && !ended->has_model)
            status = bandit_log_sums_start(&next->log_sums, &next->posterior, err);
    }
    if (status == BANDIT_OK && next->has_model)
        bandit_engine_grow_norm_bound(engine, bandit_posterior_mean_norm(&next->posterior), radius, next);
    if (status == BANDIT_OK)
        status = freeze(e, next, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    e->in_force = 1 - e->in_force;
    e->has_grid = false;
    e->has_feasibility = false;
    return BANDIT_OK;
}

bandit_status bandit_space_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                        const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_space_batch *b = &self(engine)->batches[self(engine)->in_force];
    bandit_status status = bandit_ledger_amend(&b->ledger, amendments, n, sums, n_sums, err);
    bool counts = self(engine)->rule->counts_log_sums && b->has_model;
    if (b->drawn_at > b->ledger.observations)
        b->drawn_at = b->ledger.observations;
    if (status == BANDIT_OK && counts)
        status = bandit_log_sums_amend(&b->log_sums, &b->posterior, amendments, n, err);
    return status;
}

static bandit_status read_state(bandit_space_engine *e, bandit_space_batch *b,
                                const bandit_checkpoint *checkpoint, space_state *state, bandit_error *err)
{
    bandit_status status = bandit_state_read(state, sizeof *state, STATE_MAGIC, checkpoint, err);
    if (status != BANDIT_OK)
        return status;
    if (state->has_model != (checkpoint->n_sums > 0) || state->has_model != (checkpoint->n_dictionary > 0) ||
        state->drawn_at > state->observations ||
        !(isfinite(state->log_sum_1) && isfinite(state->log_sum_3) && isfinite(state->sum_squares) &&
          state->sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    bandit_state_follow_code_path(state->code_path, &e->base);
    b->has_model = state->has_model;
    b->drawn_at = state->drawn_at;
    b->log_sums = (bandit_log_sums){state->log_sum_1, state->log_sum_3};
    return BANDIT_OK;
}

bandit_status bandit_space_engine_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                          const bandit_pick *pending, size_t n_pending,
                                          const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    bandit_space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    size_t n_arms = bandit_arms_count(engine->arms);
    space_state state;
    bandit_status status = read_state(e, b, checkpoint, &state, err);
    if (status == BANDIT_OK)
        status =
            bandit_ledger_restore(&b->ledger, n_arms, checkpoint, state.observations, state.sum_squares, err);
    if (status == BANDIT_OK)
        status = bandit_dictionary_restore(&b->dictionary, &b->capacity_dictionary, checkpoint, n_arms, err);
    b->n_dictionary = checkpoint->n_dictionary;
    bool all = e->dictionary == BANDIT_SPACE_PULLED && !bandit_space_is_thinned(e, b);
    for (size_t i = 0; status == BANDIT_OK && all && i < b->ledger.n; i++) {
        if (b->n_dictionary != b->ledger.n || b->dictionary[i] != b->ledger.sums[i].arm)
            status = bandit_fail(err, BANDIT_INVALID_STATE, "",
                                 "the stored dictionary does not consist of all pulled points");
    }
    if (status == BANDIT_OK && b->has_model)
        status = bandit_space_build(e, b, err);
    return status == BANDIT_OK ? freeze(e, b, pending, n_pending, err) : status;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

bandit_stop_rule bandit_space_stop_rule(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    if (bandit_space_samples_uncertainty(e, b))
        return b->n_picks >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE; /* or choose ends it */
    if (!b->has_model)
        return b->n_out >= bandit_design_size(&e->base, e->rule->seeks_best) ? BANDIT_STOP_INITIAL
                                                                             : BANDIT_STOP_NONE;
    if (e->rule->end == BANDIT_SPACE_SEQUENTIAL) {
        /* Samples are independent, so picks in flight are no reason to wait (Kandasamy et al. 2018). */
        return (e->rule->waits ? b->n_out : b->n_picks) > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
    }
    if (b->ratio > o->ratio_bound)
        return BANDIT_STOP_GLOBAL;
    return b->n_picks >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

/* The arm of the point at e->coded, which is appended if it is new. */
static bandit_status arm_of_choice(bandit_space_engine *e, uint32_t *arm, bandit_error *err)
{
    size_t known = bandit_arms_find(e->base.arms, e->coded);
    *arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(e->base.arms) : known);
    return known == SIZE_MAX ? bandit_arms_append(e->base.arms, e->coded, 1, err) : BANDIT_OK;
}

bandit_status bandit_space_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err)
{
    (void)executor;
    bandit_space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    while (bandit_engine_wants_pick(limits, bandit_space_stop_rule(e, b), out)) {
        uint32_t arm = 0;
        bandit_stop_rule stop = BANDIT_STOP_NONE;
        status = make_room(e, b, 1, err);
        if (status == BANDIT_OK)
            status = bandit_space_choose(e, b, limits, &stop, err);
        if (status == BANDIT_OK && stop == BANDIT_STOP_NONE)
            status = arm_of_choice(e, &arm, err);
        if (status == BANDIT_OK && stop != BANDIT_STOP_NONE) {
            out->stop_rule = stop;
            break;
        }
        if (status != BANDIT_OK)
            break;
        picks[out->n_picks++] = (bandit_pick){.arm = arm, .variance = take_out(e, b, arm, false)};
        b->n_picks++;
    }
    out->ratio = b->ratio;
    /* keep the picks made; the next call reports the error */
    return out->n_picks > 0 ? BANDIT_OK : status;
}

bandit_status bandit_space_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks,
                                               size_t n_picks, const bandit_executor *executor,
                                               bandit_error *err)
{
    (void)executor;
    bandit_space_engine *e = self(engine);
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; i < n_picks && !bandit_pause(); i++) {
        status = make_room(e, b, 1, err); /* as `select` does: the surface's rounding follows from its room */
        if (status != BANDIT_OK)
            break;
        take_out(e, b, picks[i].arm, false);
        b->n_picks++;
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void bandit_space_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_space_batch *b = in_force(engine);
    out->dictionary = b->dictionary;
    out->n_dictionary = b->n_dictionary;
    out->sums = b->ledger.sums;
    out->n_sums = b->ledger.n;
    out->state = b->state;
    out->n_state = b->n_state;
}

/* Predicts by arm, or by coordinates if `arms` is NULL. */
bandit_status bandit_space_engine_predict(const bandit_engine *engine, const uint32_t *arms,
                                          const double *coordinates, size_t n, bandit_prediction *out,
                                          bandit_error *err)
{
    const bandit_space_engine *e = (const bandit_space_engine *)engine;
    const bandit_space_batch *b = in_force(engine);
    const bandit_posterior prior = {.covariance = &engine->covariance, .lambda = engine->options.lambda};
    double width = engine->started ? b->width : bandit_space_width(e, b);
    return bandit_posterior_predict(b->has_model ? &b->posterior : &prior,
                                    width * sqrt(engine->options.lambda), arms, coordinates, n, out, err);
}

const bandit_posterior *bandit_space_engine_posterior(const bandit_engine *engine)
{
    const bandit_space_batch *b = in_force(engine);
    return b->has_model ? &b->posterior : NULL;
}

void bandit_space_engine_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_space_engine *e = (const bandit_space_engine *)engine;
    const bandit_space_batch *b = in_force(engine);
    out->observations = b->ledger.observations;
    out->beta = (engine->started ? b->width : bandit_space_width(e, b)) * sqrt(engine->options.lambda);
    out->dictionary = b->dictionary;
    out->n_dictionary = b->n_dictionary;
    if (b->has_model) {
        out->effective_dimension = b->posterior.effective_dimension;
        out->information_gain = 0.5 * b->posterior.log_det_ratio;
    }
}
