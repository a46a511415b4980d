/* Why an exact engine picked an arm: calls the rule again, and reads the arm's score. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/reason.h"

/* Explains a pick before the first reward, or without a model. Returns false if the rule maximizes a
 * score. */
static bool explain_unscored(const bandit_exact_engine *e, uint32_t arm, bandit_reason *out)
{
    bool has_results = e->history.sums.n > 0;
    if (!e->posterior) {
        out->rule =
            e->rule->reason == BANDIT_REASON_RANDOM || has_results ? e->rule->reason : BANDIT_REASON_FIRST;
        return true;
    }
    if (e->initial && e->engine.options.init == BANDIT_INIT_UNCERTAINTY) {
        out->rule = BANDIT_REASON_UNCERTAINTY;
        out->score = bandit_exact_selection_variance(e->posterior)[arm];
        bandit_reason_split_variance(out);
        return true;
    }
    out->rule = BANDIT_REASON_FIRST;
    return e->initial && e->n_pending + e->n_picked == 0;
}

bandit_status bandit_exact_engine_explain(bandit_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, const bandit_executor *executor,
                                          bandit_reason *out, bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    const bandit_select_limits all = BANDIT_SELECT_LIMITS_INIT;
    uint32_t best;
    (void)limits;
    (void)err;
    if (explain_unscored(e, arm, out))
        return BANDIT_OK;
    e->drawn = false;
    e->rule->choose(e, &all, executor, &best);
    out->rule = e->drawn ? (e->initial ? BANDIT_REASON_FIRST : BANDIT_REASON_RANDOM) : e->rule->reason;
    if (e->drawn)
        return BANDIT_OK;
    const double *mean = bandit_exact_mean(e->posterior);
    const double *variance = e->rule->hallucinates ? bandit_exact_selection_variance(e->posterior)
                                                   : bandit_exact_variance(e->posterior);
    bandit_reason_set_model(out, mean[arm], variance[arm], e->incumbent);
    out->score = e->rule->reason == BANDIT_REASON_MEAN ? mean[arm] : e->score[arm];
    if (e->rule->width)
        out->width = e->width;
    if (e->rule->reason == BANDIT_REASON_IMPROVEMENT)
        bandit_reason_split_improvement(out, mean[arm] - e->incumbent - e->engine.options.zeta,
                                        sqrt(variance[arm]));
    else if (e->rule->reason != BANDIT_REASON_PROBABILITY)
        bandit_reason_split_value(out);
    return BANDIT_OK;
}
