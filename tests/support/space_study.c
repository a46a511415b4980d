#include "tests/support/space_study.h"

#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/random_space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const bandit_algorithm space_study_algorithms[SPACE_STUDY_ALGORITHMS] = {
    BANDIT_BBKB,      BANDIT_BKB,
    BANDIT_GP_UCB,    BANDIT_IGP_UCB,
    BANDIT_GP_BUCB,   BANDIT_GP_TS,
    BANDIT_ASYNC_TS,  BANDIT_S_GP_TS,
    BANDIT_GP_EI,     BANDIT_GP_PI,
    BANDIT_LOG_EI,    BANDIT_EPSILON_GREEDY,
    BANDIT_UNIFORM,   BANDIT_REGULARIZED_EVOLUTION,
    BANDIT_PI_GP_UCB,
};

bandit_arms *space_study_arms(const bandit_parameter *parameters, size_t n)
{
    bandit_arms *arms;
    bandit_error err = {0};
    must(bandit_arms_new_space(&arms, parameters, n, &err), &err);
    return arms;
}

bandit_arms *space_study_cube(size_t n)
{
    bandit_parameter parameters[RANDOM_SPACE_MOST];
    for (size_t i = 0; i < n; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    return space_study_arms(parameters, n);
}

static const double lengthscale = 0.6;

bandit_options space_study_options(bandit_algorithm algorithm, uint64_t seed, double noise_std)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = 1;
    o.noise_std = noise_std;
    o.lambda = fmax(1e-6, noise_std * noise_std);
    o.norm_bound = 1.0;
    o.delta = 0.1;
    o.seed = seed;
    o.population = 6;
    o.sample = 3;
    o.inducing = 8;
    o.prior_features = 128;
    o.max_batch = 6;
    return o;
}

bandit_engine *space_study_engine(bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err = {0};
    if (bandit_engine_new(&engine, arms, o, 0, &err) != BANDIT_OK)
        fail_msg("%s: %s", bandit_algorithm_name(o->algorithm), err.message);
    return engine;
}

void space_study_begin(bandit_engine *engine, const bandit_result *results, size_t n,
                       const bandit_pick *pending, size_t n_pending)
{
    bandit_error err = {0};
    must(bandit_engine_begin_batch(engine, results, n, pending, n_pending, &bandit_executor_serial, &err),
         &err);
}

bandit_selection space_study_choose(bandit_engine *engine, const bandit_select_limits *limits,
                                    bandit_pick *picks)
{
    bandit_error err = {0};
    bandit_selection selection;
    must(bandit_engine_select(engine, limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection;
}

bandit_pick space_study_pick_after(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                   const uint32_t *failed, size_t n_failed)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick pick;
    space_study_begin(engine, results, n_results, NULL, 0);
    limits.max_picks = 1;
    limits.beyond_bound = true;
    limits.failed = limits.withheld = failed;
    limits.n_failed = limits.n_withheld = n_failed;
    assert_int_equal(space_study_choose(engine, &limits, &pick).n_picks, 1);
    return pick;
}

double space_study_reward(const bandit_arms *arms, uint32_t arm, uint64_t *random, double noise)
{
    double coded[RANDOM_SPACE_MOST], features[128], sum = 0.0;
    bandit_arms_coded(arms, arm, coded);
    bandit_arms_scale_point(arms, coded, features);
    for (size_t j = 0; j < bandit_arms_dimension(arms); j++)
        sum += sin(3.0 * features[j] + (double)j) / sqrt((double)bandit_arms_dimension(arms));
    return sum + noise * dense_normal(random);
}

void space_study_add_arm(uint32_t *list, size_t *n, uint32_t arm)
{
    size_t i = *n;
    while (i > 0 && list[i - 1] > arm)
        i--;
    if (i > 0 && list[i - 1] == arm)
        return;
    assert_true(*n < SPACE_STUDY_MOST);
    memmove(list + i + 1, list + i, (*n - i) * sizeof *list);
    list[i] = arm;
    ++*n;
}
