/* Log expected improvement for the search of the best point: what `aim: best` selects. As GP-EI (gp_ei.c), but
 * over the largest posterior mean among the pulled arms itself (zeta = 0): a search that asks for a gain of one
 * hundredth of the scale never refines the digits below. The rewards that it sees are warped (hyperparameters.h).
 *
 * With gain mu - f+ and Z = (mu - f+) / sigma,  log EI = log sigma + log h(Z),  h(Z) = phi(Z) + Z Phi(Z). */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"
#include "core/selection/acquisition.h"

#include <math.h>

static double score(double gain, double sigma)
{
    if (sigma > 0.0)
        return log(sigma) + bandit_log_improvement(gain / sigma);
    return gain > 0.0 ? log(gain) : -INFINITY;
}

static bool choose(bandit_exact_engine *e, const bandit_select_limits *limits,
                   const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    const double *mean = bandit_exact_mean(e->posterior);
    const double *variance = bandit_exact_selection_variance(e->posterior);
    for (size_t a = 0; a < e->history.n_arms; a++)
        e->score[a] = score(mean[a] - e->incumbent, sqrt(variance[a]));
    return bandit_exact_best(e->score, e->history.n_arms, limits, arm);
}

static const bandit_exact_rule list_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .hallucinates = true,
    .choose = choose,
};

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_IMPROVEMENT,
    .seeks_best = true,
};

static const bandit_algorithm_table list_table = BANDIT_EXACT_ENGINE_TABLE(list_rule);
static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_log_ei_algorithm = {
    .about =
        {
            .description = "Log expected improvement, for finding the best candidate soon.",
            .options = BANDIT_TAKES_MODEL,
        },
    .list = &list_table,
    .space = &space_table,
};
