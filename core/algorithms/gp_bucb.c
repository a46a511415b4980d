/* GP-BUCB with adaptive batches: Desautels et al. 2014 (their GP-AUCB), as [BBKB] App. A restates it.
 *
 * Within a batch x_t = argmax mu_fb(x) + C beta_fb sigma_{t−1}(x); the batch ends after the pick at which
 * prod_s (1 + sigma^2_{s−1}(x_s) / lambda) exceeds C, the bound of its Prop. 1 on sigma^2_fb / sigma^2_t.
 * beta is IGP-UCB's. */
#include "core/algorithms/exact_engine.h"

static double gp_bucb_width(const bandit_exact_engine *e)
{
    return e->engine.options.ratio_bound * bandit_exact_improved_width(e, 1.0);
}

const bandit_exact_rule bandit_gp_bucb_rule = {
    .end = BANDIT_END_PRODUCT,
    .has_model = true,
    .hallucinates = true,
    .width = gp_bucb_width,
    .choose = bandit_exact_choose_ucb,
};

const bandit_algorithm_table bandit_gp_bucb_table = BANDIT_EXACT_ENGINE_TABLE("gp_bucb", true);
