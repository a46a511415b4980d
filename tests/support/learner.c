#include "tests/support/learner.h"

#include "tests/support/must.h"

const bandit_algorithm learner_algorithms[LEARNER_ALGORITHMS] = {
    BANDIT_BBKB,     BANDIT_BKB,     BANDIT_GP_UCB,    BANDIT_IGP_UCB, BANDIT_GP_BUCB, BANDIT_GP_TS,
    BANDIT_ASYNC_TS, BANDIT_S_GP_TS, BANDIT_PI_GP_UCB, BANDIT_GP_EI,   BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY,
    BANDIT_LOG_EI,
};

void learner_options(bandit_options *o, bandit_algorithm algorithm)
{
    o->algorithm = algorithm;
    o->learn_lengthscale = o->kernel.type == BANDIT_KERNEL_GAUSSIAN || o->kernel.type == BANDIT_KERNEL_MATERN;
    o->learn_noise = o->learn_norm_bound = o->standardize_rewards = o->lambda_from_noise = true;
    o->warp_rewards = algorithm == BANDIT_LOG_EI;
    o->inducing = 20;
    o->prior_features = 50;
    o->init = BANDIT_INIT_UNIFORM;
}

bandit_pick learner_pick(bandit_engine *engine)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick pick;
    bandit_error err;
    limits.max_picks = 1;
    limits.beyond_bound = true;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
    assert_int_equal(selection.n_picks, 1);
    return pick;
}

bandit_result learner_result(const bandit_pick *pick, double reward)
{
    return (bandit_result){
        .arm = pick->arm, .repeats = 1, .reward = reward, .chosen = true, .variance = pick->variance};
}

void learner_begin(bandit_engine *engine, const bandit_result *results, size_t n)
{
    bandit_error err;
    must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
}
