/* GP-EI and GP-PI: the expected improvement over f+ + zeta, and the probability of improving on it, where f+
 * is the largest posterior mean among the pulled arms. With Z = (mu − f+ − zeta) / sigma,
 *
 *   EI = sigma h(Z),  h(Z) = phi(Z) + Z Phi(Z);   PI = Phi(Z).
 *
 * Both underflow to 0 on all arms once the posterior is narrow. The algorithms therefore compare log EI, and
 * Z instead of Phi(Z), which is increasing in Z. The argmax is the same, but zeros cannot tie. sigma belongs
 * to the selection variance. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"
#include "core/selection/acquisition.h"

#include <math.h>

static double log_expected_improvement(double gain, double sigma)
{
    if (sigma > 0.0)
        return log(sigma) + bandit_log_improvement(gain / sigma);
    return gain > 0.0 ? log(gain) : -INFINITY;
}

/* Z, an increasing function of PI. */
static double standardized_gain(double gain, double sigma)
{
    if (sigma > 0.0)
        return gain / sigma;
    return gain > 0.0 ? INFINITY : -INFINITY;
}

static bool choose(bandit_exact_engine *e, const bandit_select_limits *limits,
                   double (*score)(double gain, double sigma), uint32_t *arm)
{
    const double *mean = bandit_exact_mean(e->posterior);
    const double *variance = bandit_exact_selection_variance(e->posterior);
    double target = e->incumbent + e->engine.options.zeta;
    for (size_t a = 0; a < e->history.n_arms; a++)
        e->score[a] = score(mean[a] - target, sqrt(variance[a]));
    return bandit_exact_best(e->score, e->history.n_arms, limits, arm);
}

static bool choose_ei(bandit_exact_engine *e, const bandit_select_limits *limits,
                      const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    return choose(e, limits, log_expected_improvement, arm);
}

static bool choose_pi(bandit_exact_engine *e, const bandit_select_limits *limits,
                      const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    return choose(e, limits, standardized_gain, arm);
}

static const bandit_exact_rule ei_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .hallucinates = true,
    .reason = BANDIT_REASON_IMPROVEMENT,
    .choose = choose_ei,
};

static const bandit_space_rule ei_space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_IMPROVEMENT,
};

static const bandit_exact_rule pi_rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .hallucinates = true,
    .reason = BANDIT_REASON_PROBABILITY,
    .choose = choose_pi,
};

static const bandit_space_rule pi_space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_PROBABILITY,
};

static const bandit_algorithm_table ei_list_table = BANDIT_EXACT_ENGINE_TABLE(ei_rule);
static const bandit_algorithm_table ei_space_table = BANDIT_SPACE_ENGINE_TABLE(ei_space_rule);

const bandit_algorithm_entry bandit_gp_ei_algorithm = {
    .about =
        {
            .description = "Exact GP, expected improvement.",
            .options = BANDIT_TAKES_MODEL | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(ZETA),
        },
    .list = &ei_list_table,
    .space = &ei_space_table,
};

static const bandit_algorithm_table pi_list_table = BANDIT_EXACT_ENGINE_TABLE(pi_rule);
static const bandit_algorithm_table pi_space_table = BANDIT_SPACE_ENGINE_TABLE(pi_space_rule);

const bandit_algorithm_entry bandit_gp_pi_algorithm = {
    .about =
        {
            .description = "Exact GP, probability of improvement.",
            .options = BANDIT_TAKES_MODEL | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(ZETA),
        },
    .list = &pi_list_table,
    .space = &pi_space_table,
};
