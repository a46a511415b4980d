/* S-GP-TS on candidates: the engine. [VPA21]
 *
 * A batch is one pick. Further picks are further samples of the same posterior (Kandasamy et al. 2018): picks
 * in flight are not conditioned on, because the randomness of the samples keeps them apart. No data is held
 * per arm, and a pick costs O((m + M) A) (svgp.h).
 *
 * The option `posterior` chooses the inducing points:
 *   svgp      all pulled arms while there are at most m of them. Then a sample of the k-DPP over the pulled
 *             arms, redrawn whenever the number of rewards has doubled.
 *   dtc       BBKB's dictionary: resampled for each batch by ridge leverage scores, limited by q_bar and not
 *             by m.
 *   features  none; the m eigenfunctions with the largest eigenvalues replace them (feature_posterior.h).
 * For the same points the first two give the same posterior (svgp.h); they differ only in the choice of
 * points. */
#include "core/algorithms/s_gp_ts.h"

#include "core/algorithms/stored_state.h"
#include "core/base/allocate.h"
#include "core/selection/confidence.h"
#include "core/selection/dictionary.h"
#include "core/selection/inducing.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stored scalars of a batch, in the machine's byte order. */
typedef struct ts_state {
    char magic[BANDIT_STATE_KIND];
    uint64_t observations, drawn_at;
    double sum_squares;
} ts_state;

static const char STATE_MAGIC[BANDIT_STATE_KIND] = "s_gp_ts";

static bandit_ts_engine *self(bandit_engine *engine)
{
    return (bandit_ts_engine *)engine;
}

static const bandit_ts_batch *in_force(const bandit_engine *engine)
{
    const bandit_ts_engine *ts = (const bandit_ts_engine *)engine;
    return &ts->batches[ts->in_force];
}

static bool stands_on_features(const bandit_engine *engine)
{
    return engine->options.posterior == BANDIT_POSTERIOR_FEATURES;
}

static bandit_status ts_open(bandit_engine *engine, bandit_error *err)
{
    bandit_ts_engine *ts = self(engine);
    const bandit_options *o = &engine->options;
    size_t n = bandit_arms_count(engine->arms), d = bandit_arms_dimension(engine->arms);

    size_t M = o->prior_features ? o->prior_features : bandit_svgp_features_for(&o->kernel, d, o->horizon);
    ts->m = o->inducing ? o->inducing : bandit_svgp_inducing_for(&o->kernel, o->posterior, d, o->horizon);
    bool dtc = o->posterior == BANDIT_POSTERIOR_DTC;
    double m = (double)ts->m, per_batch = 4.0 * m * m + m * 256.0 + (double)M * ((double)d + 2.0);
    double doubles = 2.0 * per_batch + m * fmin((double)n, BANDIT_INDUCING_GROUND) + (dtc ? (double)n : 0.0);
    bandit_status status = bandit_engine_check_memory(engine, doubles * sizeof(double), err);
    if (status != BANDIT_OK)
        return status;

    bandit_expansion expansion = o->kernel.type == BANDIT_KERNEL_LINEAR ? BANDIT_EXPANSION_LINEAR
                                 : o->features == BANDIT_FEATURES_EIGEN ? BANDIT_EXPANSION_EIGEN
                                                                        : BANDIT_EXPANSION_FOURIER;
    status = bandit_features_init(&ts->features, expansion, &engine->covariance, M, err);
    if (stands_on_features(engine) && (expansion == BANDIT_EXPANSION_LINEAR || ts->m > ts->features.n))
        ts->m = ts->features.n;
    if (status != BANDIT_OK || !dtc)
        return status;
    ts->variance = bandit_alloc(n, sizeof *ts->variance);
    return ts->variance ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

static void ts_close(bandit_engine *engine)
{
    bandit_ts_engine *ts = self(engine);
    for (int i = 0; i < 2; i++) {
        bandit_ts_batch *batch = &ts->batches[i];
        bandit_ledger_clear(&batch->ledger);
        free(batch->dictionary);
        bandit_posterior_clear(&batch->posterior);
        bandit_feature_posterior_clear(&batch->on_features);
        bandit_svgp_sampler_clear(&batch->sampler);
        free(batch->w);
        free(batch->scratch);
    }
    bandit_features_clear(&ts->features);
    free(ts->variance);
}

static size_t ts_memory(const bandit_engine *engine)
{
    const bandit_ts_engine *ts = (const bandit_ts_engine *)engine;
    size_t bytes = bandit_features_memory(&ts->features);
    if (ts->variance)
        bytes += bandit_arms_count(engine->arms) * sizeof *ts->variance;
    for (int i = 0; i < 2; i++) {
        const bandit_ts_batch *batch = &ts->batches[i];
        bytes += batch->ledger.capacity * sizeof(bandit_arm_sum) +
                 batch->capacity_dictionary * sizeof(uint32_t) + bandit_posterior_memory(&batch->posterior) +
                 bandit_feature_posterior_memory(&batch->on_features) +
                 bandit_svgp_sampler_memory(&batch->sampler) +
                 (batch->capacity_w + batch->capacity_scratch) * sizeof(double);
    }
    return bytes;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

/* Sets next->dictionary to at most m pulled arms: all of them, or a sample of the k-DPP. */
static bandit_status draw_inducing(bandit_engine *engine, bandit_ts_batch *next, bandit_error *err)
{
    bandit_status status =
        bandit_inducing_draw(next->dictionary, &next->n_dictionary, self(engine)->m, &engine->options,
                             bandit_engine_next_batch(engine), &engine->covariance, &next->ledger, err);
    next->drawn_at = next->ledger.observations;
    return status;
}

static bandit_status choose_inducing(bandit_engine *engine, const bandit_ts_batch *ended,
                                     bandit_ts_batch *next, bandit_error *err)
{
    if (next->ledger.n <= self(engine)->m) {
        next->n_dictionary = next->ledger.n;
        for (size_t i = 0; i < next->ledger.n; i++)
            next->dictionary[i] = next->ledger.sums[i].arm;
        return BANDIT_OK;
    }
    if (ended->drawn_at > 0 && next->ledger.observations / 2 < ended->drawn_at) {
        memcpy(next->dictionary, ended->dictionary, ended->n_dictionary * sizeof *next->dictionary);
        next->n_dictionary = ended->n_dictionary;
        next->drawn_at = ended->drawn_at;
        return BANDIT_OK;
    }
    return draw_inducing(engine, next, err);
}

static bandit_status build_posterior(bandit_engine *engine, bandit_ts_batch *batch, bandit_error *err)
{
    if (stands_on_features(engine)) {
        bandit_status status =
            bandit_feature_posterior_build(&batch->on_features, &self(engine)->features, self(engine)->m,
                                           engine->options.lambda, batch->ledger.sums, batch->ledger.n, err);
        if (status != BANDIT_OK)
            return status;
        return bandit_posterior_build(&batch->posterior, &engine->covariance, engine->options.lambda, NULL, 0,
                                      NULL, 0, err);
    }
    return bandit_posterior_build(&batch->posterior, &engine->covariance, engine->options.lambda,
                                  batch->dictionary, batch->n_dictionary, batch->ledger.sums, batch->ledger.n,
                                  err);
}

static bandit_status reserve_embedding(bandit_ts_batch *batch, bandit_error *err)
{
    if (bandit_reserve((void **)&batch->w, &batch->capacity_w, batch->posterior.m, sizeof(double)) &&
        bandit_reserve((void **)&batch->scratch, &batch->capacity_scratch,
                       bandit_posterior_scratch(&batch->posterior), sizeof(double)))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

bandit_embedding bandit_ts_embed(bandit_ts_batch *batch, uint32_t arm)
{
    return batch->on_features.features
               ? bandit_feature_posterior_embed(&batch->on_features, arm)
               : bandit_posterior_embed(&batch->posterior, arm, batch->w, batch->scratch);
}

/* Start-of-batch variance, paper's scale. */
static double variance_of(bandit_ts_batch *batch, uint32_t arm)
{
    bandit_embedding e = bandit_ts_embed(batch, arm);
    return e.residual + e.norm2;
}

/* Chooses the dictionary by leverage scores under the batch that has ended. If that had no model, the scores
 * are those under the posterior of a sample of the k-DPP (ours, not the paper's). */
static bandit_status resample_dictionary(bandit_engine *engine, bandit_ts_batch *ended, bandit_ts_batch *next,
                                         bandit_error *err)
{
    bandit_ts_batch *scores = ended;
    bandit_status status = BANDIT_OK;
    if (!ended->has_model) {
        scores = next;
        status = draw_inducing(engine, next, err);
        if (status == BANDIT_OK)
            status = build_posterior(engine, next, err);
        if (status == BANDIT_OK)
            status = reserve_embedding(next, err);
        next->drawn_at = 0;
    }
    bandit_offer *offers = NULL;
    size_t n_offers = 0;
    if (status == BANDIT_OK)
        status = bandit_offers_new(&offers, &n_offers, &next->ledger, NULL, 0, err);
    if (status != BANDIT_OK)
        return status;
    double *variance = self(engine)->variance;
    for (size_t i = 0; i < n_offers; i++)
        variance[offers[i].arm] = variance_of(scores, offers[i].arm);
    const bandit_resampling how =
        bandit_resampling_of(&engine->options, bandit_engine_next_batch(engine), &engine->covariance,
                             next->ledger.observations, &scores->posterior, variance);
    status = bandit_dictionary_resample(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    free(offers);
    return status;
}

/* The width in standard deviations. */
static double radius(const bandit_engine *engine, const void *batch)
{
    return bandit_confidence_sparse_sample(&engine->options,
                                           ((const bandit_ts_batch *)batch)->ledger.observations);
}

/* Completes the frozen batch from its ledger and dictionary. A new batch and a restored one both take this
 * path. */
static bandit_status freeze(bandit_engine *engine, bandit_ts_batch *batch, const bandit_pick *pending,
                            size_t n_pending, const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = build_posterior(engine, batch, err);
    if (status == BANDIT_OK)
        status = reserve_embedding(batch, err);
    if (status == BANDIT_OK)
        status = bandit_svgp_sampler_prepare(&batch->sampler, &batch->posterior, &self(engine)->features,
                                             executor, err);
    if (status == BANDIT_OK)
        status = bandit_engine_check_memory(engine, (double)bandit_engine_memory(engine), err);
    if (status != BANDIT_OK)
        return status;
    double norm = stands_on_features(engine) ? bandit_feature_posterior_mean_norm(&batch->on_features)
                                             : bandit_posterior_mean_norm(&batch->posterior);
    bandit_engine_grow_norm_bound(engine, norm, radius, batch);
    batch->alpha = bandit_confidence_sparse_sample(&engine->options, batch->ledger.observations);
    batch->n_picks = 0;
    batch->n_pending = n_pending;
    batch->total = 0.0;
    for (size_t i = 0; i < n_pending; i++)
        batch->total += variance_of(batch, pending[i].arm);

    ts_state state = {.observations = batch->ledger.observations,
                      .drawn_at = batch->drawn_at,
                      .sum_squares = batch->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    static_assert(sizeof state <= sizeof batch->state, "the state fits");
    memcpy(batch->state, &state, sizeof state);
    batch->n_state = sizeof state;
    return BANDIT_OK;
}

static bandit_status ts_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err)
{
    bandit_ts_engine *ts = self(engine);
    bandit_ts_batch *ended = &ts->batches[ts->in_force], *next = &ts->batches[1 - ts->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    next->has_model = next->ledger.n > 0;
    next->n_dictionary = 0;
    next->drawn_at = 0;
    size_t room = next->ledger.n > ts->m ? next->ledger.n : ts->m;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, room, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (next->has_model && !stands_on_features(engine))
        status = engine->options.posterior == BANDIT_POSTERIOR_DTC
                     ? resample_dictionary(engine, ended, next, err)
                     : choose_inducing(engine, ended, next, err);
    if (status == BANDIT_OK)
        status = freeze(engine, next, pending, n_pending, executor, err);
    if (status == BANDIT_OK)
        ts->in_force = 1 - ts->in_force;
    return status;
}

static bandit_status ts_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                              const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_ts_batch *batch = &self(engine)->batches[self(engine)->in_force];
    bandit_status status = bandit_ledger_amend(&batch->ledger, amendments, n, sums, n_sums, err);
    if (batch->drawn_at > batch->ledger.observations)
        batch->drawn_at = batch->ledger.observations;
    return status;
}

static bandit_status ts_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                                bandit_error *err)
{
    bandit_ts_engine *ts = self(engine);
    bandit_ts_batch *batch = &ts->batches[ts->in_force];
    size_t n_arms = bandit_arms_count(engine->arms), n = checkpoint->n_dictionary;
    ts_state state;
    bandit_status status = bandit_state_read(&state, sizeof state, STATE_MAGIC, checkpoint, err);
    if (status != BANDIT_OK)
        return status;
    if (!(isfinite(state.sum_squares) && state.sum_squares >= 0.0) || state.drawn_at > state.observations ||
        (checkpoint->n_sums > 0 && !stands_on_features(engine)) != (n > 0) || n > checkpoint->n_sums)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    status =
        bandit_ledger_restore(&batch->ledger, n_arms, checkpoint, state.observations, state.sum_squares, err);
    if (status == BANDIT_OK)
        status = bandit_dictionary_restore(&batch->dictionary, &batch->capacity_dictionary, checkpoint,
                                           n_arms, err);
    if (status != BANDIT_OK)
        return status;
    batch->n_dictionary = n;
    batch->drawn_at = state.drawn_at;
    batch->has_model = checkpoint->n_sums > 0;
    return freeze(engine, batch, pending, n_pending, executor, err);
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bandit_stop_rule stop_rule(const bandit_ts_batch *batch)
{
    if (!batch->has_model)
        return batch->n_picks + batch->n_pending > 0 ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    return batch->n_picks > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
}

void bandit_ts_draw(const bandit_engine *engine, bandit_ts_batch *batch)
{
    const uint64_t samples = (uint64_t)1 << 24; /* number of different samples in a batch */
    uint64_t seed = engine->options.seed, sample = batch->n_picks % samples;
    if (stands_on_features(engine)) {
        bandit_feature_posterior_draw(&batch->on_features, batch->alpha, seed, engine->batch, sample,
                                      &batch->sampler.draw);
        batch->sampler.alpha = 1.0; /* the weights already include alpha */
    } else {
        bandit_svgp_draw(&batch->sampler, batch->alpha, seed, engine->batch, sample);
    }
}

/* Chooses the argmax of the batch's next sample. Before the first rewards, the first pick is a uniform arm,
 * and further ones are samples of the prior. */
static bool choose(const bandit_engine *engine, bandit_ts_batch *batch, const bandit_select_limits *limits,
                   const bandit_executor *executor, uint32_t *arm)
{
    if (!batch->has_model && batch->n_picks + batch->n_pending == 0)
        return bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, 0, limits, arm);
    bandit_ts_draw(engine, batch);
    return bandit_svgp_argmax(&batch->sampler, executor, limits->withheld, limits->n_withheld, arm);
}

static bandit_status ts_select(bandit_engine *engine, const bandit_select_limits *limits,
                               const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                               bandit_error *err)
{
    bandit_ts_engine *ts = self(engine);
    bandit_ts_batch *batch = &ts->batches[ts->in_force];
    bandit_status status =
        bandit_svgp_sampler_prepare(&batch->sampler, &batch->posterior, &ts->features, executor, err);
    if (status != BANDIT_OK)
        return status;
    while (bandit_engine_wants_pick(limits, stop_rule(batch), out)) {
        uint32_t arm;
        if (!choose(engine, batch, limits, executor, &arm)) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        double variance = variance_of(batch, arm);
        picks[out->n_picks++] = (bandit_pick){.arm = arm, .variance = variance};
        batch->total += variance;
        batch->n_picks++;
    }
    out->ratio = 1.0 + batch->total;
    return BANDIT_OK;
}

static bandit_status ts_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                     const bandit_executor *executor, bandit_error *err)
{
    bandit_ts_engine *ts = self(engine);
    bandit_ts_batch *batch = &ts->batches[ts->in_force];
    (void)executor;
    (void)err;
    for (size_t i = 0; i < n_picks; i++)
        batch->total += variance_of(batch, picks[i].arm);
    batch->n_picks += n_picks;
    return BANDIT_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void ts_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_ts_batch *batch = in_force(engine);
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    out->sums = batch->ledger.sums;
    out->n_sums = batch->ledger.n;
    out->state = batch->state;
    out->n_state = batch->n_state;
}

/* alpha of the current batch; before the first batch begins, of that batch. */
static double alpha_in_force(const bandit_engine *engine)
{
    return engine->started ? in_force(engine)->alpha : bandit_confidence_sparse_sample(&engine->options, 0);
}

/* Predicts by arm, or by coordinates if `arms` is NULL. */
static bandit_status ts_predict(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                                size_t n, bandit_prediction *out, bandit_error *err)
{
    const bandit_ts_batch *batch = in_force(engine);
    const bandit_posterior *posterior = &batch->posterior;
    const bandit_posterior prior = {.covariance = &engine->covariance, .lambda = engine->options.lambda};
    if (!engine->started)
        posterior = &prior;
    double alpha = alpha_in_force(engine);
    if (engine->started && stands_on_features(engine))
        return bandit_feature_posterior_predict(&batch->on_features, alpha * sqrt(engine->options.lambda),
                                                arms, coordinates, n, out, err);
    return bandit_posterior_predict(posterior, alpha * sqrt(engine->options.lambda), arms, coordinates, n,
                                    out, err);
}

static const bandit_posterior *ts_posterior(const bandit_engine *engine)
{
    return stands_on_features(engine) ? NULL : &in_force(engine)->posterior;
}

static void ts_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_ts_batch *batch = in_force(engine);
    out->observations = batch->ledger.observations;
    out->beta = alpha_in_force(engine) * sqrt(engine->options.lambda); /* factor of the paper's deviation */
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    bool on_features = stands_on_features(engine) && engine->started;
    out->effective_dimension =
        on_features ? batch->on_features.effective_dimension : batch->posterior.effective_dimension;
    out->information_gain =
        0.5 * (on_features ? batch->on_features.log_det_ratio : batch->posterior.log_det_ratio);
}

const bandit_algorithm_table bandit_s_gp_ts_list_table = {
    .size = sizeof(bandit_ts_engine),
    .from_sums = true,
    .open = ts_open,
    .close = ts_close,
    .begin_batch = ts_begin_batch,
    .amend = ts_amend,
    .restore = ts_restore,
    .select = ts_select,
    .replay_picks = ts_replay_picks,
    .explain = bandit_ts_explain,
    .checkpoint = ts_checkpoint,
    .predict = ts_predict,
    .posterior = ts_posterior,
    .describe = ts_describe,
    .memory = ts_memory,
};
