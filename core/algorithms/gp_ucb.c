/* GP-UCB and IGP-UCB: x_t = argmax mu_{t−1}(x) + beta_t sigma_{t−1}(x), Bayesian scale. */
#include "core/algorithms/exact_engine.h"

#include "core/selection/confidence.h"

/* Srinivas et al. 2010, as [CG17] section 3 restates it: sqrt(2 B^2 + 300 gamma_{t−1} ln^3(t/delta)). */
static double gp_ucb_width(const bandit_exact_engine *e)
{
    return bandit_confidence_gp_ucb(&e->engine.options, bandit_exact_gamma(e), e->history.sums.observations);
}

/* [CG17] Alg. 1. */
static double igp_ucb_width(const bandit_exact_engine *e)
{
    return bandit_exact_improved_width(e, 1.0);
}

const bandit_exact_rule bandit_gp_ucb_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .has_model = true,
    .hallucinates = true,
    .width = gp_ucb_width,
    .choose = bandit_exact_choose_ucb,
};

const bandit_exact_rule bandit_igp_ucb_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .has_model = true,
    .hallucinates = true,
    .width = igp_ucb_width,
    .choose = bandit_exact_choose_ucb,
};

const bandit_algorithm_table bandit_gp_ucb_table = BANDIT_EXACT_ENGINE_TABLE("gp_ucb", true);
const bandit_algorithm_table bandit_igp_ucb_table = BANDIT_EXACT_ENGINE_TABLE("igp_ucb", true);
