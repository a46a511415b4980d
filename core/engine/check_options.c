#include "bandit/engine.h"

#include "core/arms/covariance.h"
#include "core/arms/cover.h"
#include "core/posterior/prior_features.h"
#include "core/posterior/svgp.h"

#include <math.h>

/* A field's rule: finite, and above (or at) its lower bound. */
static bandit_status check_number(double value, const char *field, double low, bool open, bandit_error *err)
{
    if (isfinite(value) && (value > low || (!open && value == low)))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be %s %g and finite",
                       open ? "greater than" : "at least", low);
}

/* The horizon's schedule is asked for by 0. */
static bandit_status check_schedule(size_t value, const char *field, size_t most, uint64_t horizon,
                                    bandit_error *err)
{
    if (value > most)
        return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be at most %zu", most);
    if (value == 0 && horizon == 0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be at least 1 without a horizon");
    return BANDIT_OK;
}

static bandit_status check_s_gp_ts(const bandit_options *options, size_t dimension, bandit_error *err)
{
    bandit_kernel_type type = options->kernel.type;
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init", "must be \"uniform\" for s_gp_ts");
    if (type == BANDIT_KERNEL_PRECOMPUTED)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type",
                           "must not be \"precomputed\" for s_gp_ts, which samples features of the kernel");
    if (options->features == BANDIT_FEATURES_EIGEN && type != BANDIT_KERNEL_LINEAR &&
        dimension > BANDIT_EIGEN_DIMENSIONS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "features",
                           "\"eigen\" supports at most %d dimensions, not %zu", BANDIT_EIGEN_DIMENSIONS,
                           dimension);
    if (options->posterior == BANDIT_POSTERIOR_FEATURES && options->features != BANDIT_FEATURES_EIGEN &&
        type != BANDIT_KERNEL_LINEAR)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "posterior",
                           "\"features\" requires `features` to be \"eigen\"");
    if (options->posterior == BANDIT_POSTERIOR_FEATURES && options->prior_features > 0 &&
        options->prior_features < options->inducing && type != BANDIT_KERNEL_LINEAR)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "prior_features", "must be at least `inducing`, %zu",
                           options->inducing);
    bandit_status status =
        check_schedule(options->inducing, "inducing", BANDIT_MAX_INDUCING, options->horizon, err);
    if (status != BANDIT_OK)
        return status;
    return check_schedule(options->prior_features, "prior_features", BANDIT_MAX_PRIOR_FEATURES,
                          options->horizon, err);
}

static bandit_status check_pi_gp_ucb(const bandit_options *options, size_t dimension, bandit_error *err)
{
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init", "must be \"uniform\" for pi_gp_ucb");
    if (options->kernel.type != BANDIT_KERNEL_MATERN)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type", "must be \"matern\" for pi_gp_ucb");
    if (dimension > BANDIT_COVER_DIMENSIONS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name",
                           "pi_gp_ucb supports at most %d dimensions, not %zu", BANDIT_COVER_DIMENSIONS,
                           dimension);
    return check_schedule(options->initial_cells, "initial_cells", BANDIT_COVER_INITIAL, options->horizon,
                          err);
}

static bandit_status check_without_model(const bandit_options *options, bandit_error *err)
{
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init/type",
                           "\"uncertainty\" requires an algorithm with a model; %s has none",
                           bandit_algorithm_name(options->algorithm));
    return BANDIT_OK;
}

static bool takes_gamma(bandit_algorithm algorithm)
{
    return algorithm == BANDIT_GP_UCB || algorithm == BANDIT_IGP_UCB || algorithm == BANDIT_GP_BUCB ||
           algorithm == BANDIT_GP_TS || algorithm == BANDIT_ASYNC_TS;
}

static bandit_status check_gamma(const bandit_options *options, bandit_error *err)
{
    if (options->gamma == BANDIT_GAMMA_BOUND && options->kernel.type == BANDIT_KERNEL_PRECOMPUTED)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "gamma",
                           "\"bound\" is not available for a precomputed kernel");
    return BANDIT_OK;
}

bandit_status bandit_options_check(const bandit_options *options, size_t dimension, bandit_error *err)
{
    const struct {
        const char *field;
        double value, low;
        bool open; /* the bound itself is refused */
    } numbers[] = {
        {"lambda", options->lambda, 0, true},
        {"noise_std", options->noise_std, 0, false},
        {"norm_bound", options->norm_bound, 0, false},
        {"delta", options->delta, 0, true},
        {"q_bar", options->q_bar_theory ? 1.0 : options->q_bar, 0, true},
        {"ratio_bound", options->ratio_bound, 1, false},
        {"confidence/beta", options->confidence == BANDIT_CONFIDENCE_FIXED ? options->beta : 0.0, 0, false},
        {"init/parallelism", options->init == BANDIT_INIT_UNCERTAINTY ? options->parallelism : 1.0, 0, true},
        {"gamma", options->gamma == BANDIT_GAMMA_FIXED ? options->gamma_value : 0.0, 0, false},
        {"gamma_scale", options->gamma == BANDIT_GAMMA_BOUND ? options->gamma_scale : 1.0, 0, true},
        {"scale", options->scale, 0, true},
        {"epsilon", options->epsilon, 0, false},
        {"zeta", options->zeta, 0, false},
    };

    if ((unsigned)options->algorithm >= BANDIT_ALGORITHMS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name", "is not a known algorithm");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bandit_status status =
            check_number(numbers[i].value, numbers[i].field, numbers[i].low, numbers[i].open, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (options->delta >= 1.0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "delta", "must be less than 1");
    if (options->epsilon > 1.0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "epsilon", "must be at most 1");
    if (options->max_batch < 1)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "max_batch", "must be at least 1");
    if (options->population < 1)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "population", "must be at least 1");
    if (options->sample < 1 || options->sample > options->population)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "sample",
                           "must be at least 1 and at most the population");
    if (options->algorithm == BANDIT_UNIFORM || options->algorithm == BANDIT_REGULARIZED_EVOLUTION)
        return check_without_model(options, err);
    const double any = 1.0;
    bandit_kernel kernel = options->kernel;
    if (options->learn_lengthscale) {
        if (kernel.type != BANDIT_KERNEL_GAUSSIAN && kernel.type != BANDIT_KERNEL_MATERN)
            return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/lengthscale",
                               "this kernel has no lengthscale to learn");
        kernel.lengthscales = &any;
        kernel.n_lengthscales = 1;
    }
    bandit_status status = bandit_kernel_check(&kernel, dimension, err);
    if (status == BANDIT_OK && options->algorithm == BANDIT_S_GP_TS)
        status = check_s_gp_ts(options, dimension, err);
    if (status == BANDIT_OK && options->algorithm == BANDIT_PI_GP_UCB)
        status = check_pi_gp_ucb(options, dimension, err);
    if (status == BANDIT_OK && takes_gamma(options->algorithm))
        status = check_gamma(options, err);
    return status;
}
