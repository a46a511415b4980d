#include "bandit/engine.h"

#include "covariance.h"

#include <math.h>

/* A field's rule: finite, and above (or at) its lower bound. */
static bandit_status check_number(double value, const char *field, double low, bool open, bandit_error *err)
{
    if (isfinite(value) && (value > low || (!open && value == low)))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be %s %g and finite",
                       open ? "greater than" : "at least", low);
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
        return BANDIT_OK; /* no model, no kernel */
    return bandit_kernel_check(&options->kernel, dimension, err);
}
