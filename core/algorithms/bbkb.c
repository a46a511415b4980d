/* BBKB, batch budgeted kernelized bandits ([BBKB] Algorithm 1), and BKB ([BKB] Algorithm 1), which is the
 * same with batches of one and its own confidence width.
 *
 * [BBKB] Calandriello, Carratino, Lazaric, Valko, Rosasco: Near-linear time Gaussian process optimization
 * with adaptive batching and resparsification. ICML 2020.
 * [BKB] the same: Gaussian process optimization with adaptive sketching: scalable and no regret. COLT 2019.
 */
#include "algorithms/bbkb.h"

#include "bless.h"
#include "confidence.h"
#include "dictionary.h"
#include "ledger.h"
#include "local_ratio.h"
#include "memory.h"
#include "screening.h"
#include "selection.h"
#include "stored_state.h"
#include "uncertainty.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The frozen state of a batch. An engine holds two, so that a batch that fails to begin leaves the one in
 * force as it was. */
typedef struct bbkb_batch {
    bandit_ledger ledger;
    bool has_model; /* false: no rewards yet; the initial picks are uniform */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    bandit_posterior posterior; /* V_D: what has its rewards in */
    double *mean, *variance;    /* n arms: at the batch's start; variances below 0 are bounds (screening.h) */
    size_t capacity_mean, capacity_variance;
    bandit_selector selector; /* V: V_D and everything that is out; with a model */
    bandit_log_sums log_sums;
    double alpha;
    uint64_t n_picks;   /* of this batch */
    uint64_t n_pending; /* of former batches, still out when it began */
    double total;       /* without a model: sum of the prior variances of what is out */
    uint32_t *planned;  /* without a model: the picks of uncertainty sampling */
    size_t n_planned;
    bandit_local_ratio local; /* with a model and the global-local rule */
    bool past_global;         /* the global bound has failed: `local` is up to date */
    bandit_offer *out;        /* until then: the distinct arms that are out and their pulls */
    size_t n_out, capacity_out;
    unsigned char state[128];
    size_t n_state;
} bbkb_batch;

typedef struct bbkb_engine {
    bandit_engine base;
    bbkb_batch batches[2];
    unsigned in_force;
    bandit_reference reference; /* a former batch, whose variances bound those of the next */
    unsigned failures;          /* of screening by it, in a row */
    unsigned batches_without;   /* to be made before the next is kept */
} bbkb_engine;

/* The scalars of a batch as stored, after the magic: native byte order. */
typedef struct bbkb_state {
    char magic[BANDIT_STATE_KIND];
    char code_path[BANDIT_STATE_CODE_PATH];
    uint64_t has_model;
    uint64_t observations;
    double log_sum_1, log_sum_3;
    double alpha;
    double sum_squares;
} bbkb_state;

static const char STATE_MAGIC[BANDIT_STATE_KIND] = "bbkb  1";

static bbkb_engine *self(bandit_engine *engine)
{
    return (bbkb_engine *)engine;
}

static bbkb_batch *in_force(bandit_engine *engine)
{
    return &self(engine)->batches[self(engine)->in_force];
}

static const bbkb_batch *in_force_const(const bandit_engine *engine)
{
    const bbkb_engine *bbkb = (const bbkb_engine *)engine;
    return &bbkb->batches[bbkb->in_force];
}

static bbkb_batch *spare(bandit_engine *engine)
{
    return &self(engine)->batches[1 - self(engine)->in_force];
}

static bandit_status bbkb_open(bandit_engine *engine, bandit_error *err)
{
    const bandit_log_sums none = {0};
    size_t n = bandit_arms_count(engine->arms);
    /* Two batches of mean, variance, heap entry and slot number an arm, and the reference's variance. */
    double batch_bytes = (double)(2 * sizeof(double) + sizeof(bandit_heap_entry) + sizeof(uint32_t));
    double arm_bytes = 2.0 * batch_bytes + (double)sizeof(double);
    in_force(engine)->alpha = bandit_confidence_alpha(&engine->options, &none);
    return bandit_engine_check_memory(engine, (double)n * arm_bytes, err);
}

static void bbkb_close(bandit_engine *engine)
{
    for (int i = 0; i < 2; i++) {
        bbkb_batch *batch = &self(engine)->batches[i];
        bandit_ledger_clear(&batch->ledger);
        free(batch->dictionary);
        bandit_posterior_clear(&batch->posterior);
        free(batch->mean);
        free(batch->variance);
        bandit_selector_clear(&batch->selector);
        bandit_local_ratio_clear(&batch->local);
        free(batch->planned);
        free(batch->out);
    }
    bandit_reference_clear(&self(engine)->reference);
}

static size_t batch_memory(const bbkb_batch *batch)
{
    return batch->ledger.capacity * sizeof(bandit_arm_sum) + batch->capacity_dictionary * sizeof(uint32_t) +
           (batch->capacity_mean + batch->capacity_variance) * sizeof(double) +
           bandit_posterior_memory(&batch->posterior) + bandit_selector_memory(&batch->selector) +
           bandit_local_ratio_memory(&batch->local) + batch->capacity_out * sizeof *batch->out +
           batch->n_planned * sizeof(uint32_t);
}

static size_t bbkb_memory(const bandit_engine *engine)
{
    const bbkb_engine *bbkb = (const bbkb_engine *)engine;
    return batch_memory(&bbkb->batches[0]) + batch_memory(&bbkb->batches[1]) +
           bandit_reference_memory(&bbkb->reference);
}

size_t bandit_bbkb_left_out(const bandit_engine *engine)
{
    const bbkb_batch *batch = in_force_const(engine);
    size_t n = 0;
    for (size_t a = 0; batch->has_model && a < bandit_arms_count(engine->arms); a++)
        n += batch->variance[a] < 0.0;
    return n;
}

static double prior_variance(const bandit_engine *engine, uint32_t arm)
{
    double k;
    bandit_covariance_diagonal(&engine->covariance, &arm, 1, &k);
    return k / engine->options.lambda;
}

static double total_out(const bbkb_batch *batch)
{
    return batch->has_model ? batch->selector.total : batch->total;
}

static bool past_bound(const bandit_engine *engine, const bbkb_batch *batch)
{
    return 1.0 + total_out(batch) > engine->options.ratio_bound;
}

static void note_out(bbkb_batch *batch, uint32_t arm)
{
    size_t i = batch->n_out;
    while (i > 0 && batch->out[i - 1].arm != arm)
        i--;
    if (i == 0) {
        batch->out[batch->n_out] = (bandit_offer){.arm = arm};
        i = ++batch->n_out;
    }
    batch->out[i - 1].count++;
}

/* The sums of the global-local rule run over all that is out, but nobody looks at them before the global
 * bound fails: then they take in what is out by arm, and from there on every pick. */
static void follow_local_ratio(const bandit_engine *engine, bbkb_batch *batch, uint32_t arm,
                               const bandit_executor *executor)
{
    if (batch->past_global) {
        bandit_local_ratio_add(&batch->local, arm, 1, executor);
        return;
    }
    note_out(batch, arm);
    if (!past_bound(engine, batch) && batch->n_out < batch->capacity_out)
        return;
    batch->past_global = true;
    for (size_t i = 0; i < batch->n_out; i++)
        bandit_local_ratio_add(&batch->local, batch->out[i].arm, batch->out[i].count, executor);
}

static bool is_global_local(const bandit_engine *engine)
{
    return engine->options.algorithm == BANDIT_BBKB &&
           engine->options.batch_rule == BANDIT_BATCH_GLOBAL_LOCAL;
}

/* One more pull that is out; its start-of-batch variance. */
static double hallucinate(const bandit_engine *engine, bbkb_batch *batch, uint32_t arm,
                          const bandit_executor *executor)
{
    if (!batch->has_model) {
        double variance = prior_variance(engine, arm);
        batch->total += variance;
        return variance;
    }
    double variance = bandit_selector_hallucinate(&batch->selector, arm);
    if (is_global_local(engine))
        follow_local_ratio(engine, batch, arm, executor);
    return variance;
}

static void write_state(const bandit_engine *engine, bbkb_batch *batch)
{
    bbkb_state state = {.has_model = batch->has_model,
                        .observations = batch->ledger.observations,
                        .log_sum_1 = batch->log_sums.c1,
                        .log_sum_3 = batch->log_sums.c3,
                        .alpha = batch->alpha,
                        .sum_squares = batch->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    bandit_state_record_code_path(state.code_path, engine);
    static_assert(sizeof state <= sizeof batch->state, "the state fits");
    memcpy(batch->state, &state, sizeof state);
    batch->n_state = sizeof state;
}

static bandit_status start_local_ratio(const bandit_engine *engine, bbkb_batch *batch, size_t n_pending,
                                       const bandit_executor *executor, bandit_error *err)
{
    size_t wanted = n_pending + (engine->options.max_batch < 65536 ? engine->options.max_batch : 65536);
    batch->past_global = false;
    batch->n_out = 0;
    if (!bandit_reserve((void **)&batch->out, &batch->capacity_out, wanted, sizeof *batch->out))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_local_ratio_start(&batch->local, &batch->posterior, batch->variance,
                                                    engine->options.ratio_bound, err);
    return status == BANDIT_OK ? bandit_local_ratio_prepare(&batch->local, executor->workers, err) : status;
}

/* Means and variances of the arms that matter, by the reference's bounds. *done: false where these leave too
 * few arms out; then the next one, three, seven or fifteen batches are made without. */
static bandit_status screen(bbkb_engine *bbkb, bbkb_batch *batch, const bandit_executor *executor, bool *done,
                            bandit_error *err)
{
    const unsigned most_failures = 4;
    /* The ratio bound is what the variance of the arm that gains most from the picks shrinks by, at most; its
     * root is nearer to what the others do. */
    bandit_screen screen = {.reference = &bbkb->reference,
                            .alpha = batch->alpha,
                            .shrinkage = sqrt(bbkb->base.options.ratio_bound),
                            .pulled = batch->ledger.sums,
                            .n_pulled = batch->ledger.n};
    *done = false;
    bandit_status status = bandit_reference_compare(&bbkb->reference, &batch->posterior, &screen.ratio, err);
    if (status == BANDIT_OK && isfinite(screen.ratio))
        status = bandit_screening_evaluate(&batch->posterior, &screen, executor, batch->mean, batch->variance,
                                           done, err);
    if (*done) {
        bbkb->failures = 0;
    } else {
        bbkb->failures += bbkb->failures < most_failures;
        bbkb->batches_without = (1U << bbkb->failures) - 1;
        bbkb->reference.kept = false;
    }
    return status;
}

/* Means and variances of the arms. Of all of them where screening does not pay, or where the global-local
 * rule asks for them: these are the next reference. */
static bandit_status evaluate(bandit_engine *engine, bbkb_batch *batch, const bandit_executor *executor,
                              bandit_error *err)
{
    bbkb_engine *bbkb = self(engine);
    bool pays = !is_global_local(engine) && bandit_screening_pays(&batch->posterior, batch->ledger.n);
    bool done = false;
    bandit_status status = BANDIT_OK;
    if (pays && bbkb->reference.kept)
        status = screen(bbkb, batch, executor, &done, err);
    if (status != BANDIT_OK || done)
        return status;
    status = bandit_posterior_evaluate_all(&batch->posterior, executor, batch->mean, batch->variance, err);
    if (status != BANDIT_OK || !pays)
        return status;
    if (bbkb->batches_without > 0) {
        bbkb->batches_without--;
        return BANDIT_OK;
    }
    return bandit_reference_keep(&bbkb->reference, &batch->posterior, batch->variance, err);
}

/* The posterior of all arms under the batch's dictionary and alpha, ready to select from. */
static bandit_status freeze_model(bandit_engine *engine, bbkb_batch *batch, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err)
{
    size_t n = bandit_arms_count(engine->arms);
    if (!bandit_reserve((void **)&batch->mean, &batch->capacity_mean, n, sizeof(double)) ||
        !bandit_reserve((void **)&batch->variance, &batch->capacity_variance, n, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the posterior of %zu arms", n);
    bandit_status status = evaluate(engine, batch, executor, err);
    if (status == BANDIT_OK)
        status = bandit_selector_start(&batch->selector, &batch->posterior, batch->alpha, batch->mean,
                                       batch->variance, err);
    if (status == BANDIT_OK && is_global_local(engine))
        status = start_local_ratio(engine, batch, n_pending, executor, err);
    return status;
}

/* [BBKB] Algorithm 3, where it is asked for and nothing is out. */
static bandit_status plan_first_picks(const bandit_engine *engine, bbkb_batch *batch, size_t n_pending,
                                      bandit_error *err)
{
    const bandit_options *options = &engine->options;
    if (options->init != BANDIT_INIT_UNCERTAINTY || n_pending > 0)
        return BANDIT_OK;
    size_t most = options->max_batch;
    if (options->horizon > 0 && options->horizon < most)
        most = (size_t)options->horizon;
    return bandit_uncertainty_picks(&batch->planned, &batch->n_planned, &engine->covariance, options->lambda,
                                    options->parallelism, most, err);
}

/* From ledger, dictionary and alpha to the frozen batch, with what is out hallucinated in it: the same path
 * for a batch that begins and for one that is restored. */
static bandit_status freeze(bandit_engine *engine, bbkb_batch *batch, const bandit_pick *pending,
                            size_t n_pending, const bandit_executor *executor, bandit_error *err)
{
    batch->n_picks = 0;
    batch->n_pending = n_pending;
    batch->total = 0.0;
    free(batch->planned);
    batch->planned = NULL;
    batch->n_planned = 0;
    bandit_status status = batch->has_model ? freeze_model(engine, batch, n_pending, executor, err)
                                            : plan_first_picks(engine, batch, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_pending; i++)
        hallucinate(engine, batch, pending[i].arm, executor);
    write_state(engine, batch);
    return bandit_engine_check_memory(engine, (double)bandit_engine_memory(engine), err);
}

static bandit_status build_posterior(bandit_engine *engine, bbkb_batch *batch, bandit_error *err)
{
    return bandit_posterior_build(&batch->posterior, &engine->covariance, engine->options.lambda,
                                  batch->dictionary, batch->n_dictionary, batch->ledger.sums, batch->ledger.n,
                                  err);
}

/* The dictionary of the batch to begin, from the batch that has ended. has_history: among the first results
 * are some that the engine did not choose. */
static bandit_status choose_dictionary(const bandit_engine *engine, const bbkb_batch *ended, bbkb_batch *next,
                                       bool has_history, const bandit_pick *pending, size_t n_pending,
                                       bandit_error *err)
{
    const bandit_options *options = &engine->options;
    bandit_offer *offers;
    size_t n_offers;
    bandit_status status = bandit_offers_new(&offers, &n_offers, &next->ledger, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, n_offers, sizeof(uint32_t))) {
        free(offers);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_resampling how = {
        .q_bar = bandit_confidence_q_bar(options, next->ledger.observations),
        .seed = options->seed,
        .per_pull = options->resample == BANDIT_RESAMPLE_PER_PULL,
        .batch = options->resample == BANDIT_RESAMPLE_PERSISTENT ? 0 : bandit_engine_next_batch(engine),
        .covariance = &engine->covariance,
        .lambda = options->lambda,
        .posterior = &ended->posterior,
        .variance = ended->variance,
    };
    if (ended->has_model) {
        status =
            bandit_dictionary_resample(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else if (has_history) {
        status = bandit_dictionary_bless(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else { /* the first picks: all of them ([BBKB] Algorithm 3) */
        for (size_t i = 0; i < n_offers; i++)
            next->dictionary[i] = offers[i].arm;
        next->n_dictionary = n_offers;
    }
    free(offers);
    return status;
}

static double alpha_of(const bandit_engine *engine, const bbkb_batch *batch)
{
    const bandit_options *options = &engine->options;
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

static bandit_status bbkb_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err)
{
    const bbkb_batch *ended = in_force(engine);
    bbkb_batch *next = spare(engine);
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status != BANDIT_OK)
        return status;

    bool has_history = false;
    for (size_t i = 0; i < n_results; i++)
        has_history |= !results[i].chosen;
    next->has_model = next->ledger.n > 0;
    next->log_sums = ended->log_sums;
    next->n_dictionary = 0;
    if (ended->has_model) {
        status = bandit_log_sums_add(&next->log_sums, &ended->posterior, results, n_results, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (next->has_model) {
        status = choose_dictionary(engine, ended, next, has_history, pending, n_pending, err);
        if (status == BANDIT_OK)
            status = build_posterior(engine, next, err);
        if (status == BANDIT_OK && !ended->has_model)
            status = bandit_log_sums_start(&next->log_sums, &next->posterior, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (next->has_model)
        bandit_engine_grow_norm_bound(engine, bandit_posterior_mean_norm(&next->posterior), radius, next);
    next->alpha = alpha_of(engine, next);
    status = freeze(engine, next, pending, n_pending, executor, err);
    if (status == BANDIT_OK)
        self(engine)->in_force = 1 - self(engine)->in_force;
    return status;
}

/* The dictionary and the posterior of the batch in force stay; the next batch is made from the ledger. */
static bandit_status bbkb_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bbkb_batch *batch = in_force(engine);
    bandit_status status = bandit_ledger_amend(&batch->ledger, amendments, n, sums, n_sums, err);
    if (status == BANDIT_OK && batch->has_model)
        status = bandit_log_sums_amend(&batch->log_sums, &batch->posterior, amendments, n, err);
    return status;
}

static bandit_status read_state(bandit_engine *engine, bbkb_batch *batch, const bandit_checkpoint *checkpoint,
                                bbkb_state *state, bandit_error *err)
{
    bandit_status status = bandit_state_read(state, sizeof *state, STATE_MAGIC, checkpoint, err);
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

static bandit_status bbkb_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                  const bandit_pick *pending, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err)
{
    bbkb_batch *batch = in_force(engine);
    size_t n_arms = bandit_arms_count(engine->arms);
    bbkb_state state;
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
        status = build_posterior(engine, batch, err);
    return status == BANDIT_OK ? freeze(engine, batch, pending, n_pending, executor, err) : status;
}

/* Does the batch end before another pick? */
static bandit_stop_rule stop_rule(const bandit_engine *engine, const bbkb_batch *batch)
{
    if (!batch->has_model) {
        uint64_t wanted = batch->n_planned > 0 ? batch->n_planned : 1;
        return batch->n_picks + batch->n_pending >= wanted ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    }
    bool single = engine->options.algorithm == BANDIT_BKB;
    if (!single && past_bound(engine, batch)) {
        if (!is_global_local(engine))
            return BANDIT_STOP_GLOBAL;
        if (bandit_local_ratio_exceeded(&batch->local))
            return BANDIT_STOP_GLOBAL_LOCAL;
    }
    if (single)
        return batch->n_picks + batch->n_pending > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
    return batch->n_picks >= engine->options.max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

static bool is_withheld(const bandit_select_limits *limits, uint32_t arm)
{
    for (size_t i = 0; i < limits->n_withheld && limits->withheld[i] <= arm; i++) {
        if (limits->withheld[i] == arm)
            return true;
    }
    return false;
}

/* A pick before the first reward: as planned while the plan lasts, else uniform. */
static bool first_arm(const bandit_engine *engine, const bbkb_batch *batch,
                      const bandit_select_limits *limits, uint32_t *arm)
{
    if (batch->n_picks < batch->n_planned && !is_withheld(limits, batch->planned[batch->n_picks])) {
        *arm = batch->planned[batch->n_picks];
        return true;
    }
    return bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, batch->n_picks, limits, arm);
}

static bandit_status prepare_executor(const bandit_engine *engine, bbkb_batch *batch,
                                      const bandit_executor *executor, bandit_error *err)
{
    if (!batch->has_model || !is_global_local(engine) || executor->workers <= batch->local.workers)
        return BANDIT_OK;
    return bandit_local_ratio_prepare(&batch->local, executor->workers, err);
}

static bandit_status bbkb_select(bandit_engine *engine, const bandit_select_limits *limits,
                                 const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                 bandit_error *err)
{
    bbkb_batch *batch = in_force(engine);
    bandit_status status = prepare_executor(engine, batch, executor, err);
    if (status != BANDIT_OK)
        return status;
    while (bandit_engine_wants_pick(limits, stop_rule(engine, batch), out)) {
        uint32_t arm;
        bool found = batch->has_model
                         ? bandit_selector_best(&batch->selector, limits->withheld, limits->n_withheld, &arm)
                         : first_arm(engine, batch, limits, &arm);
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

static bandit_status bbkb_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                       const bandit_executor *executor, bandit_error *err)
{
    bbkb_batch *batch = in_force(engine);
    bandit_status status = prepare_executor(engine, batch, executor, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_picks; i++)
        hallucinate(engine, batch, picks[i].arm, executor);
    batch->n_picks += n_picks;
    return BANDIT_OK;
}

static void bbkb_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bbkb_batch *batch = in_force_const(engine);
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    out->sums = batch->ledger.sums;
    out->n_sums = batch->ledger.n;
    out->state = batch->state;
    out->n_state = batch->n_state;
}

/* By arm, or by coordinates where `arms` is NULL. */
static bandit_status bbkb_predict(const bandit_engine *engine, const uint32_t *arms,
                                  const double *coordinates, size_t n, bandit_prediction *out,
                                  bandit_error *err)
{
    const bbkb_batch *batch = in_force_const(engine);
    const bandit_posterior prior = {.covariance = &engine->covariance, .lambda = engine->options.lambda};
    return bandit_posterior_predict(batch->has_model ? &batch->posterior : &prior, batch->alpha, arms,
                                    coordinates, n, out, err);
}

static void bbkb_describe(const bandit_engine *engine, bandit_description *out)
{
    const bbkb_batch *batch = in_force_const(engine);
    out->observations = batch->ledger.observations;
    out->beta = batch->alpha;
    out->dictionary = batch->dictionary;
    out->n_dictionary = batch->n_dictionary;
    if (batch->has_model) {
        out->effective_dimension = batch->posterior.effective_dimension;
        out->information_gain = 0.5 * batch->posterior.log_det_ratio;
    }
}

#define BBKB_FUNCTIONS                                                                                       \
    .size = sizeof(bbkb_engine), .has_model = true, .from_sums = true, .open = bbkb_open,                    \
    .close = bbkb_close, .begin_batch = bbkb_begin_batch, .amend = bbkb_amend, .restore = bbkb_restore,      \
    .select = bbkb_select, .replay_picks = bbkb_replay_picks, .checkpoint = bbkb_checkpoint,                 \
    .predict = bbkb_predict, .describe = bbkb_describe, .memory = bbkb_memory

const bandit_algorithm_table bandit_bbkb_table = {.name = "bbkb", BBKB_FUNCTIONS};
const bandit_algorithm_table bandit_bkb_table = {.name = "bkb", BBKB_FUNCTIONS};
