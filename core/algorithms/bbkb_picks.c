/* The picks of a batch: [BBKB] Alg. 1, l. 6–10, Algorithm 3 before the first reward, and the end of the
 * batch. */
#include "core/algorithms/bbkb.h"
#include "core/algorithms/reason.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

double bandit_bbkb_prior_variance(const bandit_engine *engine, uint32_t arm)
{
    double k;
    bandit_covariance_diagonal(&engine->covariance, &arm, 1, &k);
    return k / engine->options.lambda;
}

static double total_out(const bandit_bbkb_batch *batch)
{
    return batch->has_model ? batch->selector.total : batch->total;
}

static bool past_bound(const bandit_engine *engine, const bandit_bbkb_batch *batch)
{
    return 1.0 + total_out(batch) > engine->options.ratio_bound;
}

static void note_out(bandit_bbkb_batch *batch, uint32_t arm)
{
    size_t i = batch->n_out;
    while (i > 0 && batch->out[i - 1].arm != arm)
        i--;
    if (i == 0) {
        batch->out[batch->n_out] = (bandit_offer){.arm = arm};
        i = ++batch->n_out;
    }
    batch->out[i - 1].count += 1.0;
}

/* The sums of the global-local rule cover all picks in flight, but are not needed until the global bound is
 * exceeded. Until then only the arms in flight are listed. When the bound is exceeded, these arms are added
 * to the sums, arm by arm; after that, each pick is added at once. */
static void follow_local_ratio(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
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
        bandit_local_ratio_add(&batch->local, batch->out[i].arm, (uint64_t)batch->out[i].count, executor);
}

bool bandit_bbkb_is_global_local(const bandit_engine *engine)
{
    return engine->options.algorithm == BANDIT_BBKB &&
           engine->options.batch_rule == BANDIT_BATCH_GLOBAL_LOCAL;
}

double bandit_bbkb_hallucinate(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                               const bandit_executor *executor)
{
    if (!batch->has_model)
        return bandit_bbkb_take_out_first(engine, batch, arm, executor);
    double variance = bandit_selector_hallucinate(&batch->selector, arm);
    if (bandit_bbkb_is_global_local(engine))
        follow_local_ratio(engine, batch, arm, executor);
    return variance;
}

/* Starts the sums of the global-local rule, with the batch's posterior and variances. */
static bandit_status start_local_ratio(const bandit_engine *engine, bandit_bbkb_batch *batch,
                                       size_t n_pending, const bandit_executor *executor, bandit_error *err)
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

bandit_status bandit_bbkb_start_picks(bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err)
{
    if (!batch->has_model)
        return BANDIT_OK;
    bandit_status status = bandit_selector_start(&batch->selector, &batch->posterior, batch->alpha,
                                                 batch->mean, batch->variance, err);
    if (status == BANDIT_OK && bandit_bbkb_is_global_local(engine))
        status = start_local_ratio(engine, batch, n_pending, executor, err);
    return status;
}

/* Whether and why the batch ends before another pick. */
static bandit_stop_rule stop_rule(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                                  const bandit_select_limits *limits)
{
    if (batch->prior)
        return bandit_bbkb_first_stop(engine, batch, limits);
    if (!batch->has_model) {
        uint64_t wanted = batch->n_planned > 0 ? batch->n_planned : 1;
        return batch->n_picks + batch->n_pending >= wanted ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    }
    bool single = engine->options.algorithm == BANDIT_BKB;
    if (!single && past_bound(engine, batch)) {
        if (!bandit_bbkb_is_global_local(engine))
            return BANDIT_STOP_GLOBAL;
        if (bandit_local_ratio_exceeded(&batch->local))
            return BANDIT_STOP_GLOBAL_LOCAL;
    }
    if (single)
        return batch->n_picks + batch->n_pending > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
    return batch->n_picks >= engine->options.max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

/* A pick before the first reward: the most uncertain arm or the planned one if there is one left, otherwise
 * uniform. */
static bool first_arm(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                      const bandit_select_limits *limits, uint32_t *arm)
{
    if (batch->prior)
        return bandit_bbkb_most_uncertain(engine, batch, limits, arm);
    if (batch->n_picks < batch->n_planned && !bandit_is_withheld(limits, batch->planned[batch->n_picks])) {
        *arm = batch->planned[batch->n_picks];
        return true;
    }
    return bandit_engine_uniform_arm(engine, BANDIT_PURPOSE_INITIAL_ARM, batch->n_picks, limits, arm);
}

/* Reserves the memory that `more` picks on this executor need. */
static bandit_status prepare_executor(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t more,
                                      const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = bandit_bbkb_reserve_first(engine, batch, more, executor, err);
    if (status != BANDIT_OK)
        return status;
    if (!batch->has_model || !bandit_bbkb_is_global_local(engine) ||
        executor->workers <= batch->local.workers)
        return BANDIT_OK;
    return bandit_local_ratio_prepare(&batch->local, executor->workers, err);
}

bandit_status bandit_bbkb_select(bandit_engine *engine, const bandit_select_limits *limits,
                                 const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                 bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_status status = prepare_executor(engine, batch, 0, executor, err);
    if (status != BANDIT_OK)
        return status;
    while (bandit_engine_wants_pick(limits, stop_rule(engine, batch, limits), out)) {
        uint32_t arm;
        status = bandit_bbkb_reserve_first(engine, batch, 1, executor, err);
        if (status != BANDIT_OK && out->n_picks == 0)
            return status;
        if (status != BANDIT_OK) /* keep the picks made; the next call reports the error */
            break;
        bool found = batch->has_model
                         ? bandit_selector_best(&batch->selector, limits->withheld, limits->n_withheld, &arm)
                         : first_arm(engine, batch, limits, &arm);
        if (!found) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        picks[out->n_picks++] =
            (bandit_pick){.arm = arm, .variance = bandit_bbkb_hallucinate(engine, batch, arm, executor)};
        batch->n_picks++;
    }
    out->ratio = 1.0 + total_out(batch);
    return BANDIT_OK;
}

bandit_status bandit_bbkb_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                       const bandit_executor *executor, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    bandit_status status = prepare_executor(engine, batch, n_picks, executor, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_picks && !bandit_pause(); i++)
        bandit_bbkb_hallucinate(engine, batch, picks[i].arm, executor);
    batch->n_picks += n_picks;
    return BANDIT_OK;
}

/* ---- why an arm was picked ----------------------------------------------------------------------------- */

void bandit_bbkb_explain_first(const bandit_bbkb_batch *batch, uint32_t arm, bandit_reason *out)
{
    bool planned = batch->n_picks < batch->n_planned && batch->planned[batch->n_picks] == arm;
    out->rule = batch->prior || planned ? BANDIT_REASON_UNCERTAINTY : BANDIT_REASON_FIRST;
    if (!batch->prior)
        return;
    out->score = bandit_exact_selection_variance(batch->prior)[arm];
    bandit_reason_split_variance(out);
}

/* The largest mean among the arms with a result. */
static double incumbent_of(const bandit_bbkb_batch *batch)
{
    double best = -INFINITY;
    for (size_t i = 0; i < batch->ledger.n; i++)
        best = fmax(best, batch->mean[batch->ledger.sums[i].arm]);
    return best;
}

bandit_status bandit_bbkb_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                  const bandit_executor *executor, bandit_reason *out, bandit_error *err)
{
    bandit_bbkb_batch *batch = bandit_bbkb_current(engine);
    double mean, variance, lambda = engine->options.lambda;
    (void)limits;
    (void)executor;
    (void)err;
    if (!batch->has_model) {
        bandit_bbkb_explain_first(batch, arm, out);
        return BANDIT_OK;
    }
    out->rule = BANDIT_REASON_BOUND;
    out->score = bandit_selector_look(&batch->selector, arm, &mean, &variance);
    out->width = batch->alpha / sqrt(lambda);
    bandit_reason_set_model(out, mean, lambda * variance, incumbent_of(batch));
    bandit_reason_split_value(out);
    return BANDIT_OK;
}
