/* BBKB, batch budgeted kernelized bandits ([BBKB] Algorithm 1), and BKB ([BKB] Algorithm 1), which is the
 * same algorithm with batches of one pick and another confidence width.
 *
 * [BBKB] Calandriello, Carratino, Lazaric, Valko, Rosasco: Near-linear time Gaussian process optimization
 * with adaptive batching and resparsification. ICML 2020.
 *
 * [BKB] the same authors: Gaussian process optimization with adaptive sketching: scalable and no regret. COLT
 * 2019. */
#include "core/algorithms/bbkb.h"
#include "core/algorithms/space_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bandit_bbkb *self(bandit_engine *engine)
{
    return (bandit_bbkb *)engine;
}

bandit_status bandit_bbkb_open(bandit_engine *engine, bandit_error *err)
{
    const bandit_log_sums none = {0};
    size_t n = bandit_arms_count(engine->arms);
    /* Per arm: mean, variance, heap entry and slot number for two batches, and the variance of the
     * reference. */
    double batch_bytes = (double)(2 * sizeof(double) + sizeof(bandit_heap_entry) + sizeof(uint32_t));
    double arm_bytes = 2.0 * batch_bytes + (double)sizeof(double);
    if (bandit_bbkb_rule_of(engine)->has_bounds)
        bandit_bbkb_current(engine)->alpha = bandit_confidence_alpha(&engine->options, &none);
    return bandit_engine_check_memory(engine, (double)n * arm_bytes, err);
}

void bandit_bbkb_close(bandit_engine *engine)
{
    for (int i = 0; i < 2; i++) {
        bandit_bbkb_batch *batch = &self(engine)->batches[i];
        bandit_ledger_clear(&batch->ledger);
        free(batch->dictionary);
        bandit_posterior_clear(&batch->posterior);
        free(batch->mean);
        free(batch->variance);
        bandit_selector_clear(&batch->selector);
        bandit_local_ratio_clear(&batch->local);
        bandit_gain_clear(&batch->gain);
        free(batch->planned);
        bandit_exact_free(batch->prior);
        free(batch->out);
        free(batch->first);
    }
    bandit_reference_clear(&self(engine)->reference);
}

static size_t batch_memory(const bandit_bbkb_batch *batch)
{
    return batch->ledger.capacity * sizeof(bandit_arm_sum) + batch->capacity_dictionary * sizeof(uint32_t) +
           (batch->capacity_mean + batch->capacity_variance) * sizeof(double) +
           bandit_posterior_memory(&batch->posterior) + bandit_selector_memory(&batch->selector) +
           bandit_local_ratio_memory(&batch->local) + batch->capacity_out * sizeof *batch->out +
           (batch->prior ? bandit_exact_memory(batch->prior) : 0) +
           (batch->n_planned + batch->capacity_first) * sizeof(uint32_t) + bandit_gain_memory(&batch->gain);
}

size_t bandit_bbkb_memory(const bandit_engine *engine)
{
    const bandit_bbkb *bbkb = (const bandit_bbkb *)engine;
    return batch_memory(&bbkb->batches[0]) + batch_memory(&bbkb->batches[1]) +
           bandit_reference_memory(&bbkb->reference);
}

/* The dictionary and the posterior of the current batch stay; the next batch starts from the corrected
 * ledger. */
bandit_status bandit_bbkb_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_status status = bandit_ledger_amend(&batch->ledger, amendments, n, sums, n_sums, err);
    if (status == BANDIT_OK && batch->has_model && bandit_bbkb_rule_of(engine)->has_bounds)
        status = bandit_log_sums_amend(&batch->log_sums, &batch->posterior, amendments, n, err);
    return status;
}

static bandit_status read_state(bandit_engine *engine, bandit_bbkb_batch *batch,
                                const bandit_checkpoint *checkpoint, bandit_bbkb_state *state,
                                bandit_error *err)
{
    bandit_status status =
        bandit_state_read(state, sizeof *state, bandit_bbkb_rule_of(engine)->state, checkpoint, err);
    if (status != BANDIT_OK)
        return status;
    if (state->has_model != (checkpoint->n_sums > 0) || state->has_model != (checkpoint->n_dictionary > 0) ||
        !(isfinite(state->alpha) && state->alpha >= 0.0 && isfinite(state->log_sum_1) &&
          isfinite(state->log_sum_3) && isfinite(state->sum_squares) && state->sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    bandit_state_follow_code_path(state->code_path, engine);
    batch->has_model = state->has_model;
    batch->log_sums = (bandit_log_sums){state->log_sum_1, state->log_sum_3};
    batch->alpha = state->alpha;
    return BANDIT_OK;
}

bandit_status bandit_bbkb_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                  const bandit_pick *pending, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    size_t n_arms = bandit_arms_count(engine->arms);
    bandit_bbkb_state state;
    bandit_status status = read_state(engine, batch, checkpoint, &state, err);
    if (status == BANDIT_OK)
        status = bandit_ledger_restore(&batch->ledger, n_arms, checkpoint, state.observations,
                                       state.sum_squares, err);
    if (status == BANDIT_OK)
        status = bandit_dictionary_restore(&batch->dictionary, &batch->capacity_dictionary, checkpoint,
                                           n_arms, err);
    if (status != BANDIT_OK)
        return status;
    batch->n_dictionary = checkpoint->n_dictionary;
    if (batch->has_model)
        status = bandit_bbkb_build_posterior(engine, batch, err);
    return status == BANDIT_OK ? bandit_bbkb_freeze(engine, batch, pending, n_pending, executor, err)
                               : status;
}

void bandit_bbkb_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(engine);
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    out->sums = batch->ledger.sums;
    out->n_sums = batch->ledger.n;
    out->state = (const unsigned char *)&batch->state;
    out->n_state = sizeof batch->state;
}

/* Predicts by arm, or by coordinates if `arms` is NULL. */
bandit_status bandit_bbkb_predict(const bandit_engine *engine, const uint32_t *arms,
                                  const double *coordinates, size_t n, bandit_prediction *out,
                                  bandit_error *err)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(engine);
    const bandit_posterior prior = {.covariance = &engine->covariance, .lambda = engine->options.lambda};
    return bandit_posterior_predict(batch->has_model ? &batch->posterior : &prior, batch->alpha, arms,
                                    coordinates, n, out, err);
}

const bandit_posterior *bandit_bbkb_posterior(const bandit_engine *engine)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(engine);
    return batch->has_model ? &batch->posterior : NULL;
}

void bandit_bbkb_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(engine);
    out->observations = batch->ledger.observations;
    out->beta = batch->alpha;
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    if (batch->has_model) {
        out->effective_dimension = batch->posterior.effective_dimension;
        out->information_gain = 0.5 * batch->posterior.log_det_ratio;
    }
}

static const bandit_bbkb_rule bounds_rule = {
    .state = "bbkb  1",
    .has_bounds = true,
    .start = bandit_bbkb_start_picks,
    .hallucinate = bandit_bbkb_hallucinate,
};

static const bandit_algorithm_table list_table = {
    .size = sizeof(bandit_bbkb),
    .rule = &bounds_rule,
    .from_sums = true,
    .open = bandit_bbkb_open,
    .close = bandit_bbkb_close,
    .begin_batch = bandit_bbkb_begin_batch,
    .amend = bandit_bbkb_amend,
    .restore = bandit_bbkb_restore,
    .select = bandit_bbkb_select,
    .replay_picks = bandit_bbkb_replay_picks,
    .explain = bandit_bbkb_explain,
    .checkpoint = bandit_bbkb_checkpoint,
    .predict = bandit_bbkb_predict,
    .posterior = bandit_bbkb_posterior,
    .describe = bandit_bbkb_describe,
    .memory = bandit_bbkb_memory,
};

/* ---- in a space ---------------------------------------------------------------------------------------- */

static double bbkb_width(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return bandit_confidence_alpha(&e->base.options, &b->log_sums) / sqrt(e->base.options.lambda);
}

static double bkb_width(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    if (!b->has_model)
        return bbkb_width(e, b);
    return bandit_confidence_bkb(o, e->base.covariance.kappa2, b->ledger.observations,
                                 b->posterior.effective_dimension) /
           sqrt(o->lambda);
}

static bandit_status refuse_global_local(bandit_space_engine *e, bandit_error *err)
{
    if (e->base.options.batch_rule == BANDIT_BATCH_GLOBAL_LOCAL)
        return bandit_fail(
            err, BANDIT_INVALID_OPTION, "batch_rule",
            "\"global_local\" requires a finite set of candidates; use \"global\" in an open space");
    return BANDIT_OK;
}

static const bandit_space_rule bbkb_space_rule = {
    .dictionary = BANDIT_SPACE_RESAMPLED,
    .end = BANDIT_SPACE_SUM,
    .acquire = BANDIT_ACQUIRE_UCB,
    .counts_log_sums = true,
    .calibrated = true,
    .width = bbkb_width,
    .open = refuse_global_local,
};

static const bandit_space_rule bkb_space_rule = {
    .dictionary = BANDIT_SPACE_RESAMPLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .waits = true,
    .acquire = BANDIT_ACQUIRE_UCB,
    .calibrated = true,
    .width = bkb_width,
};

static const bandit_algorithm_table bbkb_space_table = BANDIT_SPACE_ENGINE_TABLE(bbkb_space_rule);
static const bandit_algorithm_table bkb_space_table = BANDIT_SPACE_ENGINE_TABLE(bkb_space_rule);

/* ---- the algorithms ------------------------------------------------------------------------------------ */

const bandit_algorithm_entry bandit_bbkb_algorithm = {
    .about =
        {
            .description =
                "Batch budgeted kernel bandits, if each trial's value counts: near-linear time, batches that "
                "grow as the model learns. It is what \"aim\": \"regret\" selects.",
            .options = BANDIT_TAKES_WIDTH | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(Q_BAR) |
                       BANDIT_TAKES(RATIO_BOUND) | BANDIT_TAKES(BATCH_RULE) | BANDIT_TAKES(CONFIDENCE) |
                       BANDIT_TAKES(RESAMPLE) | BANDIT_TAKES(MAX_BATCH),
        },
    .list = &list_table,
    .space = &bbkb_space_table,
};

const bandit_algorithm_entry bandit_bkb_algorithm = {
    .about =
        {
            .description = "Budgeted kernel bandits: a new dictionary after every pull.",
            .options = BANDIT_TAKES_WIDTH | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(Q_BAR) |
                       BANDIT_TAKES(CONFIDENCE) | BANDIT_TAKES(RESAMPLE),
        },
    .list = &list_table,
    .space = &bkb_space_table,
};
