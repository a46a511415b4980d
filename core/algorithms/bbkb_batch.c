/* The start of a batch: [BBKB] Alg. 1, l. 11–16 and 4–5; for BKB the same with the width of [BKB]. */
#include "core/algorithms/bbkb.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/selection/bless.h"
#include "core/selection/uncertainty.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_state(const bandit_engine *engine, bandit_bbkb_batch *batch)
{
    batch->state = (bandit_bbkb_state){.has_model = batch->has_model,
                                       .observations = batch->ledger.observations,
                                       .log_sum_1 = batch->log_sums.c1,
                                       .log_sum_3 = batch->log_sums.c3,
                                       .alpha = batch->alpha,
                                       .sum_squares = batch->ledger.sum_squares};
    memcpy(batch->state.magic, bandit_bbkb_rule_of(engine)->state, sizeof batch->state.magic);
    bandit_state_record_code_path(batch->state.code_path, engine);
}

size_t bandit_bbkb_left_out(const bandit_bbkb_batch *batch, size_t n)
{
    size_t left_out = 0;
    for (size_t a = 0; a < n; a++)
        left_out += batch->variance[a] < 0.0;
    return left_out;
}

/* Computes the means, and the variances of the arms that matter, screened by the reference or, if that is
 * NULL, by the first rows of R. *done is false if the reference would leave out too few arms. After each
 * screening that leaves out too few, the next one, three, seven, then fifteen batches are evaluated without
 * screening. */
static bandit_status screen(bandit_bbkb *bbkb, bandit_bbkb_batch *batch, bandit_reference *reference,
                            const bandit_executor *executor, bool *done, bandit_error *err)
{
    const unsigned most_failures = 4;
    size_t n = bandit_arms_count(bbkb->base.arms);
    /* The ratio bound limits by how much any variance shrinks within the batch. Its square root is a better
     * estimate for most arms. */
    bandit_screen screen = {.reference = reference,
                            .by_gain = !bandit_bbkb_rule_of(&bbkb->base)->has_bounds,
                            .alpha = batch->alpha,
                            .shrinkage = sqrt(bbkb->base.options.ratio_bound),
                            .pulled = batch->ledger.sums,
                            .n_pulled = batch->ledger.n};
    bandit_status status = BANDIT_OK;
    *done = false;
    if (reference)
        status = bandit_reference_compare(reference, &batch->posterior, &screen.ratio, err);
    if (status == BANDIT_OK && isfinite(screen.ratio))
        status = bandit_screening_evaluate(&batch->posterior, &screen, executor, batch->mean, batch->variance,
                                           done, err);
    if (*done && (reference || bandit_bbkb_left_out(batch, n) >= n / 4)) {
        bbkb->failures = 0;
    } else {
        bbkb->failures += bbkb->failures < most_failures;
        bbkb->batches_without = (1U << bbkb->failures) - 1;
        bbkb->reference.kept = false;
    }
    return status;
}

/* Computes means and variances: of all arms if screening does not pay or the global-local rule needs them,
 * otherwise with screening. Where screening against a reference pays, a full evaluation becomes the next
 * reference. */
static bandit_status evaluate(bandit_engine *engine, bandit_bbkb_batch *batch,
                              const bandit_executor *executor, bandit_error *err)
{
    bandit_bbkb *bbkb = (bandit_bbkb *)engine;
    bool some = !bandit_bbkb_is_global_local(engine);
    bool pays = some && bandit_screening_pays(&batch->posterior, batch->ledger.n);
    bool by_rows = some && !pays && bandit_screening_by_rows_pays(&batch->posterior, batch->ledger.n);
    bool done = false;
    bandit_status status = BANDIT_OK;
    if (pays && bbkb->reference.kept)
        status = screen(bbkb, batch, &bbkb->reference, executor, &done, err);
    else if (by_rows && bbkb->batches_without == 0)
        status = screen(bbkb, batch, NULL, executor, &done, err);
    if (status != BANDIT_OK || done)
        return status;
    status = bandit_posterior_evaluate_all(&batch->posterior, executor, batch->mean, batch->variance, err);
    if (status != BANDIT_OK)
        return status;
    if (bbkb->batches_without > 0) {
        bbkb->batches_without--;
        return BANDIT_OK;
    }
    if (!pays)
        return BANDIT_OK;
    return bandit_reference_keep(&bbkb->reference, &batch->posterior, batch->variance, err);
}

/* Evaluates the arms under the batch's posterior and alpha. */
static bandit_status freeze_model(bandit_engine *engine, bandit_bbkb_batch *batch,
                                  const bandit_executor *executor, bandit_error *err)
{
    size_t n = bandit_arms_count(engine->arms);
    if (!bandit_reserve((void **)&batch->mean, &batch->capacity_mean, n, sizeof(double)) ||
        !bandit_reserve((void **)&batch->variance, &batch->capacity_variance, n, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the posterior of %zu arms", n);
    return evaluate(engine, batch, executor, err);
}

/* Starts [BBKB] Algorithm 3, if options choose it. The older method makes all picks at once, and only if no
 * picks are in flight. */
static bandit_status start_first_picks(const bandit_engine *engine, bandit_bbkb_batch *batch,
                                       size_t n_pending, const bandit_executor *executor, bandit_error *err)
{
    const bandit_options *options = &engine->options;
    if (options->init == BANDIT_INIT_UNCERTAINTY && options->init_cholesky)
        return bandit_bbkb_start_first(engine, batch, n_pending, executor, err);
    if (options->init != BANDIT_INIT_UNCERTAINTY || n_pending > 0)
        return BANDIT_OK;
    size_t most = options->max_batch;
    if (options->horizon > 0 && options->horizon < most)
        most = (size_t)options->horizon;
    double room = (double)engine->memory_limit - (double)bandit_engine_memory(engine);
    return bandit_uncertainty_picks(&batch->planned, &batch->n_planned, &engine->covariance, options->lambda,
                                    options->parallelism, most, room, err);
}

bandit_status bandit_bbkb_freeze(bandit_engine *engine, bandit_bbkb_batch *batch, const bandit_pick *pending,
                                 size_t n_pending, const bandit_executor *executor, bandit_error *err)
{
    batch->n_picks = 0;
    batch->n_pending = n_pending;
    batch->total = 0.0;
    free(batch->planned);
    batch->planned = NULL;
    batch->n_planned = 0;
    if (batch->has_model) {
        bandit_exact_free(batch->prior);
        batch->prior = NULL;
    }
    const bandit_bbkb_rule *rule = bandit_bbkb_rule_of(engine);
    bandit_status status = batch->has_model ? freeze_model(engine, batch, executor, err)
                                            : start_first_picks(engine, batch, n_pending, executor, err);
    if (status == BANDIT_OK)
        status = rule->start(engine, batch, n_pending, executor, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_pending && !bandit_pause(); i++)
        rule->hallucinate(engine, batch, pending[i].arm, executor);
    write_state(engine, batch);
    return bandit_engine_check_memory(engine, (double)bandit_engine_memory(engine), err);
}

bandit_status bandit_bbkb_build_posterior(bandit_engine *engine, bandit_bbkb_batch *batch, bandit_error *err)
{
    return bandit_posterior_build(&batch->posterior, &engine->covariance, engine->options.lambda,
                                  batch->dictionary, batch->n_dictionary, batch->ledger.sums, batch->ledger.n,
                                  err);
}

/* Chooses the dictionary of the batch about to begin, from the batch that has ended. has_history: the first
 * results include some that the engine did not choose. */
static bandit_status choose_dictionary(const bandit_engine *engine, const bandit_bbkb_batch *ended,
                                       bandit_bbkb_batch *next, bool has_history, const bandit_pick *pending,
                                       size_t n_pending, bandit_error *err)
{
    bandit_offer *offers;
    size_t n_offers;
    bandit_status status = bandit_offers_new(&offers, &n_offers, &next->ledger, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, n_offers, sizeof(uint32_t))) {
        free(offers);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    const bandit_resampling how =
        bandit_resampling_of(&engine->options, bandit_engine_next_batch(engine), &engine->covariance,
                             next->ledger.observations, &ended->posterior, ended->variance);
    if (ended->has_model) {
        status =
            bandit_dictionary_resample(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else if (has_history) {
        status = bandit_dictionary_bless(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else { /* all of the first picks ([BBKB] Algorithm 3) */
        for (size_t i = 0; i < n_offers; i++)
            next->dictionary[i] = offers[i].arm;
        next->n_dictionary = n_offers;
    }
    free(offers);
    return status;
}

static double alpha_of(const bandit_engine *engine, const bandit_bbkb_batch *batch)
{
    const bandit_options *options = &engine->options;
    if (!bandit_bbkb_rule_of(engine)->has_bounds)
        return bandit_bbkb_rule_of(engine)->width * sqrt(options->lambda);
    if (options->confidence == BANDIT_CONFIDENCE_CALIBRATED && batch->has_model)
        return sqrt(options->lambda) *
               bandit_confidence_calibrated(options, bandit_engine_next_batch(engine), UINT64_MAX);
    if (options->algorithm == BANDIT_BKB && batch->has_model)
        return bandit_confidence_bkb(options, engine->covariance.kappa2, batch->ledger.observations,
                                     batch->posterior.effective_dimension);
    return bandit_confidence_alpha(options, &batch->log_sums);
}

/* The width in standard deviations of the prior. */
static double radius(const bandit_engine *engine, const void *batch)
{
    return alpha_of(engine, batch) / sqrt(engine->options.lambda);
}

bandit_status bandit_bbkb_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err)
{
    bandit_bbkb *bbkb = (bandit_bbkb *)engine;
    bandit_bbkb_batch *ended = &bbkb->batches[bbkb->in_force];
    bandit_bbkb_batch *next = &bbkb->batches[1 - bbkb->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status != BANDIT_OK)
        return status;

    bool has_history = false, bounds = bandit_bbkb_rule_of(engine)->has_bounds;
    for (size_t i = 0; i < n_results; i++)
        has_history |= !results[i].chosen;
    next->has_model = next->ledger.n > 0;
    next->log_sums = ended->log_sums;
    next->n_dictionary = 0;
    if (ended->has_model && bounds) {
        status = bandit_log_sums_add(&next->log_sums, &ended->posterior, results, n_results, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (next->has_model) {
        status = choose_dictionary(engine, ended, next, has_history, pending, n_pending, err);
        if (status == BANDIT_OK)
            status = bandit_bbkb_build_posterior(engine, next, err);
        if (status == BANDIT_OK && !ended->has_model && bounds)
            status = bandit_log_sums_start(&next->log_sums, &next->posterior, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (next->has_model && bounds)
        bandit_engine_grow_norm_bound(engine, bandit_posterior_mean_norm(&next->posterior), radius, next);
    next->alpha = alpha_of(engine, next);
    status = bandit_bbkb_freeze(engine, next, pending, n_pending, executor, err);
    if (status != BANDIT_OK)
        return status;
    bandit_exact_free(ended->prior);
    ended->prior = NULL;
    bbkb->in_force = 1 - bbkb->in_force;
    return BANDIT_OK;
}
