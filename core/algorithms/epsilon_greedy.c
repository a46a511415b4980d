/* Epsilon-greedy: the arm with the largest posterior mean, or with probability epsilon a uniform arm. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"

static bool choose_epsilon_greedy(bandit_exact_engine *e, const bandit_select_limits *limits,
                                  const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    const bandit_options *o = &e->engine.options;
    uint64_t coin = 2 * e->n_picked, place = coin + 1;
    /* Before the first reward all means are 0, so the largest mean would always be the first arm: pick
     * uniformly. */
    e->drawn = e->initial ||
               bandit_random_uniform(o->seed, e->engine.batch, BANDIT_PURPOSE_UNIFORM, coin) < o->epsilon;
    if (e->drawn)
        return bandit_exact_uniform(e, BANDIT_PURPOSE_UNIFORM, place, limits, arm);
    return bandit_exact_best(bandit_exact_mean(e->posterior), e->history.n_arms, limits, arm);
}

static const bandit_exact_rule rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .reason = BANDIT_REASON_MEAN,
    .choose = choose_epsilon_greedy,
};

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .acquire = BANDIT_ACQUIRE_MEAN,
    .explores = true,
};

static const bandit_algorithm_table list_table = BANDIT_EXACT_ENGINE_TABLE(rule);
static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_epsilon_greedy_algorithm = {
    .about =
        {
            .description = "Exact GP, the best mean, and with probability epsilon a random candidate.",
            .options = BANDIT_TAKES_MODEL | BANDIT_TAKES(IN_FLIGHT) | BANDIT_TAKES(EPSILON),
        },
    .list = &list_table,
    .space = &space_table,
};
