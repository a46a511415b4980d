/* GP-UCB and IGP-UCB: x_t = argmax mu_{t−1}(x) + beta_t sigma_{t−1}(x), Bayesian scale. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"

/* [CG17] Alg. 1. GP-UCB uses bandit_confidence_gp_ucb instead: sqrt(2 B^2 + 300 gamma_{t−1} ln^3(t/delta)),
 * Srinivas et al. 2010, as [CG17] section 3 restates it. */
static double igp_ucb_width(const bandit_options *o, double gamma, uint64_t observations)
{
    (void)observations;
    return bandit_confidence_improved(o, gamma, 1.0);
}

static const bandit_exact_rule gp_ucb_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .hallucinates = true,
    .width = bandit_confidence_gp_ucb,
    .reason = BANDIT_REASON_BOUND,
    .choose = bandit_exact_choose_ucb,
};

static const bandit_space_rule gp_ucb_space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_UCB,
    .gain_width = bandit_confidence_gp_ucb,
};

static const bandit_exact_rule igp_ucb_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .hallucinates = true,
    .width = igp_ucb_width,
    .reason = BANDIT_REASON_BOUND,
    .choose = bandit_exact_choose_ucb,
};

static const bandit_space_rule igp_ucb_space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_UCB,
    .gain_width = igp_ucb_width,
};

static const bandit_algorithm_table gp_ucb_list_table = BANDIT_EXACT_ENGINE_TABLE(gp_ucb_rule);
static const bandit_algorithm_table gp_ucb_space_table = BANDIT_SPACE_ENGINE_TABLE(gp_ucb_space_rule);

const bandit_algorithm_entry bandit_gp_ucb_algorithm = {
    .about =
        {
            .description = "Exact GP with the bound of Srinivas et al.",
            .options = BANDIT_TAKES_GAIN | BANDIT_TAKES(IN_FLIGHT),
        },
    .list = &gp_ucb_list_table,
    .space = &gp_ucb_space_table,
};

static const bandit_algorithm_table igp_ucb_list_table = BANDIT_EXACT_ENGINE_TABLE(igp_ucb_rule);
static const bandit_algorithm_table igp_ucb_space_table = BANDIT_SPACE_ENGINE_TABLE(igp_ucb_space_rule);

const bandit_algorithm_entry bandit_igp_ucb_algorithm = {
    .about =
        {
            .description = "Exact GP with the improved bound of Chowdhury and Gopalan.",
            .options = BANDIT_TAKES_GAIN | BANDIT_TAKES(IN_FLIGHT),
            .lambda_by_horizon = true,
        },
    .list = &igp_ucb_list_table,
    .space = &igp_ucb_space_table,
};
