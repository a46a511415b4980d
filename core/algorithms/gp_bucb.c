/* GP-BUCB with adaptive batches: Desautels et al. 2014 (their GP-AUCB), as [BBKB] App. A restates it.
 *
 * Within a batch x_t = argmax mu_fb(x) + C beta_fb sigma_{t−1}(x); the batch ends after the pick at which
 * prod_s (1 + sigma^2_{s−1}(x_s) / lambda) exceeds C, the bound of its Prop. 1 on sigma^2_fb / sigma^2_t.
 * beta is IGP-UCB's. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"

static double width(const bandit_options *o, double gamma, uint64_t observations)
{
    (void)observations;
    return o->ratio_bound * bandit_confidence_improved(o, gamma, 1.0);
}

static const bandit_exact_rule rule = {
    .end = BANDIT_END_PRODUCT,
    .hallucinates = true,
    .width = width,
    .reason = BANDIT_REASON_BOUND,
    .choose = bandit_exact_choose_ucb,
};

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_PRODUCT,
    .acquire = BANDIT_ACQUIRE_UCB,
    .gain_width = width,
};

static const bandit_algorithm_table list_table = BANDIT_EXACT_ENGINE_TABLE(rule);
static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_gp_bucb_algorithm = {
    .about =
        {
            .description =
                "Exact GP, hallucinated batches that end when the information gathered passes a bound.",
            .options = BANDIT_TAKES_GAIN | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(RATIO_BOUND) |
                       BANDIT_TAKES(MAX_BATCH),
        },
    .list = &list_table,
    .space = &space_table,
};
