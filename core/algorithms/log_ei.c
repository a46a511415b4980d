/* Log expected improvement for finding the best point, which `aim: best` selects. It is GP-EI (gp_ei.c) with
 * zeta = 0, that is, over the largest posterior mean among the pulled arms: a search that requires a gain of
 * a hundredth of the scale never refines the digits below that. The rewards are warped (hyperparameters.h).
 *
 * With gain mu - f+ and Z = (mu - f+) / sigma,  log EI = log sigma + log h(Z),  h(Z) = phi(Z) + Z Phi(Z).
 *
 * On lists it has its own engine: log_ei_list.c. */
#include "core/algorithms/bbkb.h"
#include "core/algorithms/space_engine.h"
#include "core/selection/log_gain.h"

/* Picks use no bound. The bound in predictions is as wide as the gain on lists. */
static double width(const bandit_space_engine *engine, const bandit_space_batch *batch)
{
    (void)engine;
    (void)batch;
    return BANDIT_GAIN_WIDENING;
}

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_IMPROVEMENT,
    .seeks_best = true,
    .width = width,
};

static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_log_ei_algorithm = {
    .about =
        {
            .description = "Log expected improvement, if the best candidate is to be found soon, and what "
                           "the other trials bring does not matter. It is what \"aim\": \"best\" selects.",
            .options = BANDIT_TAKES_MODEL | BANDIT_TAKES(AGREEING_REPEATS) | BANDIT_TAKES(WARP_UNIT) |
                       BANDIT_TAKES(SOURCE_TRUST) | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(REFERENCE),
        },
    .list = &bandit_log_ei_list_table,
    .space = &space_table,
};
