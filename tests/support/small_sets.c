#include "tests/support/small_sets.h"

#include <math.h>

static const double numbers[] = {4, 1, 2}, when_true[] = {1};
static const bandit_parameter box[] = {
    {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 64, .log = true, .parent = BANDIT_NO_PARENT},
};
static const bandit_parameter mixed[] = {
    {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT, .has_default = true, .default_value = 1},
    {.type = BANDIT_PARAMETER_INTEGER,
     .min = 1,
     .max = 9,
     .parent = 1,
     .parent_values = when_true,
     .n_parent_values = 1},
    {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
};
static const bandit_parameter list[] = {
    {.type = BANDIT_PARAMETER_DISCRETE,
     .numbers = numbers,
     .n_values = 3,
     .parent = BANDIT_NO_PARENT,
     .has_default = true,
     .default_value = 4},
    {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT, .has_default = true},
    {.type = BANDIT_PARAMETER_CATEGORICAL,
     .n_values = 3,
     .parent = 1,
     .parent_values = when_true,
     .n_parent_values = 1},
};

static bandit_status make_grid(bandit_arms **out)
{
    double rows[2 * SMALL_ARMS];
    for (size_t i = 0; i < SMALL_ARMS; i++) {
        rows[2 * i] = (double)(i % SMALL_SIDE);
        rows[2 * i + 1] = (double)(i / SMALL_SIDE);
    }
    bandit_status status = bandit_arms_new(out, SMALL_ARMS, 2, NULL);
    if (status == BANDIT_OK)
        status = bandit_arms_set_rows(*out, 0, SMALL_ARMS, rows, NULL);
    return status == BANDIT_OK ? bandit_arms_finish(*out, BANDIT_SCALING_UNIT, SMALL_ARMS, NULL) : status;
}

static bandit_status make_matrix(bandit_arms **out)
{
    double rows[SMALL_ARMS * SMALL_ARMS];
    for (size_t i = 0; i < SMALL_ARMS; i++) {
        for (size_t j = 0; j < SMALL_ARMS; j++) {
            double x = (double)(i % SMALL_SIDE) - (double)(j % SMALL_SIDE),
                   y = (double)(i / SMALL_SIDE) - (double)(j / SMALL_SIDE);
            rows[i * SMALL_ARMS + j] = exp(-0.25 * (x * x + y * y));
        }
    }
    bandit_status status = bandit_arms_new_precomputed(out, SMALL_ARMS, NULL);
    if (status == BANDIT_OK)
        status = bandit_arms_set_rows(*out, 0, SMALL_ARMS, rows, NULL);
    return status == BANDIT_OK ? bandit_arms_finish(*out, BANDIT_SCALING_NONE, SMALL_ARMS, NULL) : status;
}

bandit_status small_arms(bandit_arms **out, small_set set)
{
    bandit_status status = BANDIT_OK;
    *out = NULL;
    switch (set) {
    case FEATURES:
        return make_grid(out);
    case MATRIX:
        return make_matrix(out);
    case BOX:
        return bandit_arms_new_space(out, box, 2, NULL);
    case SPACE:
        return bandit_arms_new_space(out, mixed, 4, NULL);
    case FEW:
        return bandit_arms_new_space(out, list, 3, NULL);
    case LISTED:
        status = bandit_arms_new_space(out, list, 3, NULL);
        return status == BANDIT_OK ? bandit_arms_enumerate(*out, NULL) : status;
    }
    return status;
}

bool small_is_open(small_set set)
{
    return set == BOX || set == SPACE || set == FEW;
}

bool small_is_space(small_set set)
{
    return small_is_open(set) || set == LISTED;
}

double small_worth(const bandit_arms *arms, small_set set, uint32_t arm)
{
    if (!small_is_space(set))
        return sin(arm % SMALL_SIDE) + 0.3 * cos(arm / SMALL_SIDE);
    double coded[SMALL_WIDTH], sum = 0.0;
    bandit_arms_coded(arms, arm, coded);
    for (size_t i = 0; i < bandit_arms_point_width(arms); i++)
        sum += isnan(coded[i]) ? 0.1 : sin((double)(i + 1) * coded[i]);
    return sum;
}

static const double lengthscale = 0.5;

bandit_options small_options(bandit_algorithm algorithm, small_set set)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = 1;
    if (set == MATRIX)
        o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
    o.revision = BANDIT_LATEST_REVISION;
    o.delta = 0.1;
    o.max_batch = 4;
    o.population = 4;
    o.sample = 2;
    o.inducing = 4;
    o.prior_features = 16;
    o.dpp_steps = 4;
    o.horizon = 64;
    o.seed = 7;
    return o;
}

const bandit_algorithm small_algorithms[SMALL_ALGORITHMS] = {BANDIT_BBKB,     BANDIT_BKB,
                                                             BANDIT_GP_UCB,   BANDIT_IGP_UCB,
                                                             BANDIT_GP_BUCB,  BANDIT_GP_TS,
                                                             BANDIT_ASYNC_TS, BANDIT_S_GP_TS,
                                                             BANDIT_GP_EI,    BANDIT_GP_PI,
                                                             BANDIT_LOG_EI,   BANDIT_EPSILON_GREEDY,
                                                             BANDIT_UNIFORM,  BANDIT_REGULARIZED_EVOLUTION};
