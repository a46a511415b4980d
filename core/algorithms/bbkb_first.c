/* The picks before the first reward by uncertainty sampling ([BBKB] Algorithm 3), each made when it is
 * requested.
 *
 * The prior over all arms is conditioned on the picks in flight, one column for each (exact_posterior.h):
 * this is a Cholesky factor of K + lambda I whose pivots are the picks. In all, m picks among n arms cost O(n
 * m^2). Studies that were created before this method existed use that of core/selection/uncertainty.h, which
 * recomputes outdated variances and makes all picks at once. Its variances differ in rounding. */
#include "core/algorithms/bbkb.h"

#include "core/algorithms/exact_engine.h"

#include <math.h>

enum { MORE_PICKS = 64 }; /* columns for which memory is reserved at once */

/* Checks the memory for this many columns in all. */
static bandit_status check_need(const bandit_engine *engine, const bandit_bbkb_batch *batch, size_t columns,
                                size_t workers, bandit_error *err)
{
    double others = (double)bandit_engine_memory(engine);
    if (batch->prior)
        others -= (double)bandit_exact_memory(batch->prior);
    double need = others + (double)bandit_exact_need(batch->prior, &engine->covariance, 0, columns, workers);
    if (need <= (double)engine->memory_limit)
        return BANDIT_OK;
    return bandit_fail(
        err, BANDIT_MEMORY_LIMIT, "",
        "\"init\" of type \"uncertainty\" would need %.0f MB for %zu first picks; the limit is "
        "%.0f MB; use \"uniform\" or a smaller max_batch",
        ceil(need / 1e6), columns, (double)engine->memory_limit / 1e6);
}

bandit_status bandit_bbkb_start_first(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = check_need(engine, batch, n_pending, executor->workers, err);
    if (status == BANDIT_OK && !batch->prior)
        status = bandit_exact_new(&batch->prior, &engine->covariance, engine->options.lambda, err);
    if (status != BANDIT_OK)
        return status;
    bandit_exact_reset(batch->prior);
    return bandit_bbkb_reserve_first(engine, batch, n_pending, executor, err);
}

bandit_status bandit_bbkb_reserve_first(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t more,
                                        const bandit_executor *executor, bandit_error *err)
{
    if (!batch->prior || bandit_exact_has_room(batch->prior, more, executor->workers))
        return BANDIT_OK;
    size_t held = bandit_exact_hallucinated(batch->prior);
    size_t wanted = held + (more > MORE_PICKS ? more : MORE_PICKS);
    if (check_need(engine, batch, wanted, executor->workers, NULL) != BANDIT_OK)
        wanted = held + more;
    bandit_status status = check_need(engine, batch, wanted, executor->workers, err);
    return status == BANDIT_OK ? bandit_exact_reserve(batch->prior, 0, wanted, executor->workers, err)
                               : status;
}

double bandit_bbkb_take_out_first(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                                  const bandit_executor *executor)
{
    double variance = bandit_bbkb_prior_variance(engine, arm);
    batch->total += variance;
    if (batch->prior)
        bandit_exact_hallucinate(batch->prior, arm, executor);
    return variance;
}

bool bandit_bbkb_most_uncertain(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                                const bandit_select_limits *limits, uint32_t *arm)
{
    return bandit_exact_best(bandit_exact_selection_variance(batch->prior), bandit_arms_count(engine->arms),
                             limits, arm);
}

bandit_stop_rule bandit_bbkb_first_stop(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                                        const bandit_select_limits *limits)
{
    const bandit_options *o = &engine->options;
    uint32_t arm;
    if (batch->n_picks + batch->n_pending > 0 && bandit_bbkb_most_uncertain(engine, batch, limits, &arm) &&
        bandit_exact_selection_variance(batch->prior)[arm] / o->lambda < 1.0 / o->parallelism)
        return BANDIT_STOP_INITIAL;
    return batch->n_picks >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}
