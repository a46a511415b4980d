#include "server/data/definition.h"

#include "server/data/algorithm_options.h"
#include "server/data/space_rules.h"
#include "server/data/study_space.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* The most candidates of a precomputed kernel: the matrix then has 200 MB. */
enum {
    PRECOMPUTED_MAXIMUM = 5000,
    MOST_ONE_HOT = 1000 /* the most words of a new study that have one feature each */
};

/* What a study is for. */
static const char aim_best[] = "best", aim_regret[] = "regret";

/* What the model learns from stopped trials. */
static const char stopped_estimate[] = "estimate";

/* The aim of a definition that names neither an aim nor an algorithm. */
static const char *const default_aim = aim_best;

static void draw_id(wire_study *request, completion *found)
{
    unsigned char bytes[6];
    char id[6 + 2 * sizeof bytes + 1] = "study-";
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id + 6, sizeof id - 6, bytes, sizeof bytes);
    default_text(&request->id, id, found);
}

static void draw_seed(wire_integer *seed)
{
    uint64_t bits;
    randombytes_buf(&bits, sizeof bits);
    default_integer(seed, (int64_t)(bits & WIRE_MAX_INTEGER));
}

/* ---- defaults ------------------------------------------------------------------------------------------ */

static void complete_domain(wire_study *request, completion *found)
{
    if (request->domain_type == WIRE_DOMAIN_CANDIDATES)
        default_text(&request->scaling, "standardize", found);
    for (size_t i = 0; i < request->n_parameters; i++) {
        wire_parameter *p = &request->parameters[i];
        if (p->features)
            default_text(&p->scaling, "standardize", found);
        else if (p->words && !p->ordered && p->n_values > MOST_ONE_HOT)
            default_text(&p->encoding, "codes", found);
    }
    if (request->domain_type == WIRE_DOMAIN_PRECOMPUTED && request->size.value > PRECOMPUTED_MAXIMUM)
        wire_errors_add(found->errors, "/domain/size", "must be at most %d", PRECOMPUTED_MAXIMUM);
}

/* Is every parameter of type double or integer? True also for domains other than spaces. */
static bool has_numbers_only(const wire_study *request)
{
    for (size_t i = 0; i < request->n_parameters; i++)
        if (request->parameters[i].type != WIRE_PARAMETER_DOUBLE &&
            request->parameters[i].type != WIRE_PARAMETER_INTEGER)
            return false;
    return true;
}

static void complete_stopping(wire_stopping *stopping)
{
    switch (stopping->rule) {
    case WIRE_STOPPING_NONE:
        break;
    case WIRE_STOPPING_MEDIAN:
        default_integer(&stopping->min_steps, 5);
        default_integer(&stopping->min_trials, 5);
        break;
    case WIRE_STOPPING_SUCCESSIVE_HALVING:
        default_integer(&stopping->min_resource, 1);
        default_integer(&stopping->reduction, 3);
        break;
    }
}

static bool is_word(const char *field, const char *word)
{
    return field && strcmp(field, word) == 0;
}

/* Whether the model learns from stopped trials, when the algorithm's options are complete. */
static void complete_stopped(wire_study *request, bandit_algorithm algorithm, completion *found)
{
    bool weighs = algorithm == BANDIT_LOG_EI && request->algorithm.standardize_rewards;
    if (request->stopping.rule == WIRE_STOPPING_NONE)
        return;
    if (weighs && !wire_has_several(request))
        default_text(&request->stopping.stopped, stopped_estimate, found);
    if (wire_has_several(request) && is_word(request->stopping.stopped, stopped_estimate))
        wire_errors_add(found->errors, "/stopping/stopped",
                        "must be \"nothing\" with several objectives or with bounds");
}

static const char *default_algorithm(const char *aim)
{
    static const bandit_options defaults = BANDIT_OPTIONS_INIT;
    return bandit_algorithm_name(is_word(aim, aim_best) ? BANDIT_LOG_EI : defaults.algorithm);
}

/* If the definition names an algorithm but no aim, the algorithm determines the aim; otherwise the aim selects the
 * algorithm. */
static void complete_aim(wire_study *request, completion *found)
{
    char **name = &request->algorithm.name;
    const char *seeks_best = bandit_algorithm_name(BANDIT_LOG_EI);
    if (*name)
        default_text(&request->aim, is_word(*name, seeks_best) ? aim_best : aim_regret, found);
    default_text(&request->aim, default_aim, found);
    request->algorithm.given = true;
    default_text(name, default_algorithm(request->aim), found);
    if (is_word(*name, seeks_best) && is_word(request->aim, aim_regret))
        wire_errors_add(found->errors, "/aim", "must be \"best\" with the algorithm %s", seeks_best);
}

/* Lists the options that do not apply to several modelled metrics. */
static void check_several(const wire_study *request, wire_errors *errors)
{
    size_t objectives = wire_count_objectives(request);
    if (!wire_has_several(request))
        return;
    if (is_word(request->aim, aim_regret))
        wire_errors_add(errors, "/aim", "must be \"best\" with several objectives or with bounds");
    if (request->algorithm.noise_std.given && !request->algorithm.noise_std.word &&
        wire_modelled_metrics(request, NULL) > 1)
        wire_errors_add(errors, "/algorithm/noise_std",
                        "must be \"auto\", because each modelled metric has noise of its own");
    if (objectives > 1 && request->optimum.given)
        wire_errors_add(errors, "/optimum", "applies to one objective only");
    if (objectives > 1 && request->stopping.rule != WIRE_STOPPING_NONE)
        wire_errors_add(errors, "/stopping", "applies to one objective only");
    if (wire_stops_by_model(request))
        wire_errors_add(errors, "/stop_when",
                        "with several objectives or bounds, only the rule \"cost\" is available");
}

wire_status study_config_complete(wire_study *request, wire_errors *errors)
{
    size_t before = errors->n;
    completion found = {.errors = errors};
    bandit_algorithm algorithm = BANDIT_BBKB;
    if (!request->id)
        draw_id(request, &found);
    draw_seed(&request->seed);
    default_number(&request->lease_seconds, 600);
    default_integer(&request->max_attempts, 3);
    complete_stopping(&request->stopping);
    complete_domain(request, &found);
    default_text(&request->feedback, "async", &found);
    default_text(&request->repeats, "auto", &found);
    if (request->min_in_flight.given && request->feedback && strcmp(request->feedback, "async") != 0)
        wire_errors_add(errors, "/min_in_flight", "applies only to \"feedback\": \"async\"");
    check_several(request, errors);
    if (space_has_context(request) && request->feedback && strcmp(request->feedback, "async") != 0)
        wire_errors_add(errors, "/feedback", "must be \"async\" in a space with a context");
    if (space_has_context(request) && request->min_in_flight.given)
        wire_errors_add(errors, "/min_in_flight", "does not apply to a space with a context");
    complete_aim(request, &found);
    if (!request->algorithm.name)
        return WIRE_NO_MEMORY;
    if (!bandit_algorithm_parse(&algorithm, request->algorithm.name))
        assert(!"the decoder takes the algorithms' names only");
    if (bandit_algorithm_about(algorithm)->numeric_spaces && !has_numbers_only(request))
        wire_errors_add(errors, "/algorithm/name",
                        "%s requires a space in which every parameter is of type double or integer",
                        bandit_algorithm_name(algorithm));
    algorithm_options_check(&request->algorithm, algorithm, errors);
    algorithm_options_complete(request, algorithm, &found);
    complete_stopped(request, algorithm, &found);
    if (found.no_memory)
        return WIRE_NO_MEMORY;
    return errors->n == before ? WIRE_OK : WIRE_INVALID;
}

/* ---- the engine's options ------------------------------------------------------------------------------ */

/* Sets the modelled metrics, and how their values become rewards. A metric that is bounded only from above gets the
 * sign −1, so that the values that break the bound are the small ones, which matter less to a model. */
static void fill_metrics(study_config *config)
{
    const wire_study *wire = config->wire;
    config->objective = wire_objective(wire);
    config->minimize = config->objective->minimize;
    config->n_modelled = wire_modelled_metrics(wire, config->modelled);
    config->n_objectives = wire_count_objectives(wire);
    config->several = wire_has_several(wire);
    config->bounded = wire_has_bounds(wire);
    for (size_t j = 0; j < config->n_modelled; j++) {
        const wire_metric *metric = config->modelled[j];
        bool turned = metric->constraint ? !metric->at_least.given : metric->minimize;
        double low = metric->at_least.given ? metric->at_least.value : (double)-INFINITY;
        double high = metric->at_most.given ? metric->at_most.value : (double)INFINITY;
        double sign = config->signs[j] = turned ? -1.0 : 1.0;
        config->metrics[j] = (bandit_metric){.objective = !metric->constraint,
                                             .has_threshold = metric->threshold.given,
                                             .threshold = sign * metric->threshold.value,
                                             .low = turned ? -high : low,
                                             .high = turned ? -low : high};
    }
    if (config->several) {
        config->options.metrics = config->metrics;
        config->options.n_metrics = config->n_modelled;
    }
}

static bool fill_options(study_config *config)
{
    const wire_study *wire = config->wire;
    bandit_options *o = &config->options;
    *o = (bandit_options)BANDIT_OPTIONS_INIT;
    o->horizon = wire->horizon.given ? (uint64_t)wire->horizon.value : 0;
    o->seed = (uint64_t)wire->seed.value;
    return algorithm_options_apply(&wire->algorithm, o, &config->lengthscales);
}

/* For a space: sets *dimension to the number of features, and expands lengthscales from one per parameter to
 * one per feature. If the engine refuses, it returns the engine's error with the field of the API. */
static bandit_status space_options(study_config *config, size_t *dimension, bandit_error *err)
{
    bandit_kernel *kernel = &config->options.kernel;
    size_t n = config->wire->n_parameters;
    bandit_arms *arms = NULL;
    config->parameters = space_parameters_new(config->wire);
    if (!config->parameters)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = space_arms_new(&arms, config->wire, config->parameters, err);
    if (status != BANDIT_OK)
        return status;
    *dimension = bandit_arms_dimension(arms);
    if (kernel->n_lengthscales > 1 && kernel->n_lengthscales != n)
        status = bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/lengthscale",
                             "must be one number or a list of %zu numbers, one per parameter", n);
    double *each =
        status == BANDIT_OK && kernel->n_lengthscales > 1 ? malloc(*dimension * sizeof *each) : NULL;
    for (size_t j = 0; each && j < *dimension; j++)
        each[j] = config->lengthscales[bandit_arms_feature_parameter(arms, j)];
    if (each) {
        free(config->lengthscales);
        kernel->lengthscales = config->lengthscales = each;
        kernel->n_lengthscales = *dimension;
    } else if (status == BANDIT_OK && kernel->n_lengthscales > 1) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_arms_free(arms);
    return status;
}

bandit_scaling study_scaling(const wire_study *definition)
{
    return scaling_of_word(definition->scaling);
}

/* The rules compare predictions, so they need an algorithm with a model that can make them. */
static bool check_stop_when(const wire_study *definition, bandit_algorithm algorithm, wire_errors *errors)
{
    bool draws = algorithm != BANDIT_PI_GP_UCB && !is_word(definition->algorithm.posterior, "features") &&
                 definition->domain_type != WIRE_DOMAIN_PRECOMPUTED;
    for (size_t i = 0; i < definition->n_stop_when && !draws; i++) {
        if (definition->stop_when[i].rule != WIRE_STOP_REGRET)
            continue;
        wire_errors_add(
            errors, "/stop_when",
            "the rule \"regret\" cannot be judged for a kernel matrix, for pi_gp_ucb, or with the "
            "posterior \"features\"");
        return false;
    }
    if (!wire_stops_by_model(definition) || bandit_algorithm_has_model(algorithm))
        return true;
    wire_errors_add(errors, "/stop_when", "%s has no model that could judge when to stop",
                    bandit_algorithm_name(algorithm));
    return false;
}

wire_status study_config_new(study_config **out, wire_study *definition, wire_errors *errors)
{
    study_config *config = calloc(1, sizeof *config);
    bandit_error error = {0};
    wire_status status = WIRE_NO_MEMORY;
    *out = NULL;
    if (!config) {
        wire_study_free(definition);
        return WIRE_NO_MEMORY;
    }
    config->wire = definition;
    if (!fill_options(config))
        goto failed;
    config->scaling = study_scaling(definition);
    config->precomputed = definition->domain_type == WIRE_DOMAIN_PRECOMPUTED;
    fill_metrics(config);
    config->seeks_best = is_word(definition->aim, aim_best);
    config->asynchronous = is_word(definition->feedback, "async");
    config->has_repeats = definition->repeats != NULL;
    config->never_repeats = is_word(definition->repeats, "never");
    config->max_arm_failures = (unsigned)definition->algorithm.max_arm_failures.value;
    config->estimates_stopped = is_word(definition->stopping.stopped, stopped_estimate);
    if (config->estimates_stopped && !bandit_weighs_errors(&config->options)) {
        wire_errors_add(errors, "/stopping/stopped",
                        "must be \"nothing\": the study's algorithm gives every result the same weight");
        status = WIRE_INVALID;
        goto failed;
    }
    if (!check_stop_when(definition, config->options.algorithm, errors)) {
        status = WIRE_INVALID;
        goto failed;
    }
    status = space_check_properties(definition, errors);
    if (status != WIRE_OK)
        goto failed;
    status = WIRE_NO_MEMORY;
    size_t dimension = config->precomputed ? 0 : (size_t)definition->dimension.value;
    if ((definition->domain_type == WIRE_DOMAIN_SPACE &&
         space_options(config, &dimension, &error) != BANDIT_OK) ||
        bandit_options_check(&config->options, dimension, &error) != BANDIT_OK) {
        char pointer[64] = "/algorithm";
        if (error.status == BANDIT_NO_MEMORY)
            goto failed;
        if (error.field[0]) {
            strcat(pointer, "/");
            strncat(pointer, error.field, sizeof pointer - strlen(pointer) - 1);
        }
        wire_errors_add(errors, pointer, "%s", error.message);
        status = WIRE_INVALID;
        goto failed;
    }
    status = study_config_take_sources(config, errors);
    if (status != WIRE_OK)
        goto failed;
    *out = config;
    return WIRE_OK;
failed:
    study_config_free(config);
    return status;
}

void study_config_free(study_config *config)
{
    if (!config)
        return;
    wire_study_free(config->wire);
    free(config->lengthscales);
    free(config->parameters);
    free(config);
}

bool study_config_serves_in_full(const study_config *config)
{
    return config->has_repeats && !config->wire->min_in_flight.given &&
           (config->asynchronous || config->seeks_best);
}

store_status study_config_status(wire_status status)
{
    switch (status) {
    case WIRE_OK:
        return STORE_OK;
    case WIRE_NO_MEMORY:
        return STORE_NO_MEMORY;
    case WIRE_MALFORMED:
    case WIRE_INVALID:
        break;
    }
    return STORE_CORRUPT;
}

/* Lists options that belong to another algorithm, in a definition that could not be read completely. */
static void check_options(const wire_study *partial, wire_errors *errors)
{
    bandit_algorithm algorithm;
    const char *name = partial->algorithm.name;
    if (!name)
        name = default_algorithm(partial->aim ? partial->aim : default_aim);
    if (bandit_algorithm_parse(&algorithm, name))
        algorithm_options_check(&partial->algorithm, algorithm, errors);
}

wire_status study_config_decode(wire_study **out, const char *text, size_t size, wire_errors *errors)
{
    return wire_decode_study_checked(out, text, size, bandit_algorithm_names(), check_options, errors);
}

store_status study_config_read(wire_study **out, const char *definition)
{
    wire_errors errors = {0};
    wire_status status = study_config_decode(out, definition, strlen(definition), &errors);
    wire_errors_clear(&errors);
    return study_config_status(status);
}
