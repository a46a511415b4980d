#include "core/engine/registry.h"
#include "core/engine/several_engine.h"

#include <math.h>

/* Checks a number that is not itself an option: finite, and above (or at) its lower bound. */
static bandit_status check_number(double value, const char *field, double low, bool above, bandit_error *err)
{
    if (isfinite(value) && (value > low || (!above && value == low)))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_INVALID_OPTION, field, "must be %s %g and finite",
                       above ? "greater than" : "at least", low);
}

/* Whether the option is used, given the other options. */
static bool counts(const bandit_options *options, bandit_option option)
{
    if (option == BANDIT_OPTION_Q_BAR)
        return !options->q_bar_theory;
    return option != BANDIT_OPTION_GAMMA_SCALE || options->gamma == BANDIT_GAMMA_BOUND;
}

static bandit_status check_real(const bandit_options *options, bandit_option option, bandit_error *err)
{
    const bandit_option_info *about = bandit_option_about(option);
    double value = bandit_option_number(options, option);
    if (!counts(options, option))
        return BANDIT_OK;
    bandit_status status = check_number(value, about->name, about->low, about->above_low, err);
    if (status == BANDIT_OK && (about->below_high ? value >= about->high : value > about->high))
        return bandit_fail(err, BANDIT_INVALID_OPTION, about->name, "must be %s %g",
                           about->below_high ? "less than" : "at most", about->high);
    return status;
}

static bandit_status check_integer(const bandit_options *options, bandit_option option, bandit_error *err)
{
    const bandit_option_info *about = bandit_option_about(option);
    double value = bandit_option_number(options, option);
    if (value < about->low)
        return bandit_fail(err, BANDIT_INVALID_OPTION, about->name, "must be at least %g", about->low);
    if (value > about->high)
        return bandit_fail(err, BANDIT_INVALID_OPTION, about->name, "must be at most %g", about->high);
    return BANDIT_OK;
}

/* Checks every number against its bounds. */
static bandit_status check_numbers(const bandit_options *options, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (unsigned i = 0; status == BANDIT_OK && i < BANDIT_OPTION_COUNT; i++) {
        const bandit_option_info *about = bandit_option_about((bandit_option)i);
        if (about->kind == BANDIT_OPTION_IS_REAL)
            status = check_real(options, (bandit_option)i, err);
        else if (about->kind == BANDIT_OPTION_IS_INTEGER)
            status = check_integer(options, (bandit_option)i, err);
    }
    if (status == BANDIT_OK && options->confidence == BANDIT_CONFIDENCE_FIXED)
        status = check_number(options->beta, "confidence/beta", 0.0, false, err);
    if (status == BANDIT_OK && options->init == BANDIT_INIT_UNCERTAINTY)
        status = check_number(options->parallelism, "init/parallelism", 0.0, true, err);
    if (status == BANDIT_OK && options->gamma == BANDIT_GAMMA_FIXED)
        status = check_number(options->gamma_value, "gamma", 0.0, false, err);
    return status;
}

static bandit_status check_without_model(const bandit_options *options, bandit_error *err)
{
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init/type",
                           "\"uncertainty\" requires an algorithm with a model; %s has none",
                           bandit_algorithm_name(options->algorithm));
    return BANDIT_OK;
}

static bandit_status check_gamma(const bandit_options *options, bandit_error *err)
{
    if (options->gamma == BANDIT_GAMMA_BOUND && options->kernel.type == BANDIT_KERNEL_PRECOMPUTED)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "gamma",
                           "\"bound\" is not available for a precomputed kernel");
    return BANDIT_OK;
}

/* Checks the kernel. A lengthscale that is learned may be absent. */
static bandit_status check_kernel(const bandit_options *options, size_t dimension, bandit_error *err)
{
    const double any = 1.0;
    bandit_kernel kernel = options->kernel;
    if (options->learn_lengthscale) {
        if (kernel.type != BANDIT_KERNEL_GAUSSIAN && kernel.type != BANDIT_KERNEL_MATERN)
            return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/lengthscale",
                               "this kernel has no lengthscale to learn");
        kernel.lengthscales = &any;
        kernel.n_lengthscales = 1;
    }
    return bandit_kernel_check(&kernel, dimension, err);
}

static bandit_status check_source(const bandit_source *s, size_t number, bandit_error *err)
{
    bool fine = s->n >= 1 && s->n <= BANDIT_SOURCE_POINTS && isfinite(s->shift);
    for (size_t i = 0; fine && i < s->n; i++)
        fine = isfinite(s->weights[i]);
    for (size_t i = 0; fine && i < s->n_lengthscales; i++)
        fine = s->lengthscales[i] >= 1e-150 && s->lengthscales[i] <= 1e150;
    return fine ? BANDIT_OK
                : bandit_fail(err, BANDIT_INVALID_OPTION, "", "the source %zu is not valid", number);
}

static bandit_status check_sources(const bandit_options *options, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    bool learns = options->learn_lengthscale && options->learn_noise && options->standardize_rewards;
    if (options->n_sources == 0)
        return BANDIT_OK;
    if (options->algorithm != BANDIT_LOG_EI || !learns || options->n_metrics > 0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "",
                           "sources require log_ei with one metric and learned hyper-parameters");
    if (options->n_sources > BANDIT_MOST_SOURCES)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "", "there are at most %d sources",
                           BANDIT_MOST_SOURCES);
    for (size_t i = 0; i < options->n_sources && status == BANDIT_OK; i++)
        status = check_source(&options->sources[i], i, err);
    return status;
}

bandit_status bandit_options_check(const bandit_options *options, size_t dimension, bandit_error *err)
{
    bandit_algorithm algorithm = options->algorithm;
    if ((unsigned)algorithm >= BANDIT_ALGORITHMS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name", "is not a known algorithm");
    bandit_status status = check_numbers(options, err);
    if (status == BANDIT_OK && options->init == BANDIT_INIT_SPREAD && algorithm != BANDIT_LOG_EI)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init/type", "\"spread\" requires log_ei");
    if (status == BANDIT_OK)
        status = bandit_several_check(options, err);
    if (status != BANDIT_OK)
        return status;
    if (options->sample > options->population)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "sample", "must be at most the population");
    if (!bandit_algorithm_has_model(algorithm))
        return check_without_model(options, err);
    status = check_kernel(options, dimension, err);
    if (status == BANDIT_OK)
        status = check_sources(options, err);
    const bandit_algorithm_entry *entry = bandit_registry_entry(algorithm);
    if (status == BANDIT_OK && entry->check)
        status = entry->check(options, dimension, err);
    if (status == BANDIT_OK && bandit_algorithm_takes(algorithm, BANDIT_OPTION_GAMMA))
        status = check_gamma(options, err);
    return status;
}
