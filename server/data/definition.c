#include "server/data/definition.h"
#include "server/data/algorithm_options.h"
#include "server/data/study_space.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Candidates of a precomputed kernel: the matrix of so many is 200 MB. */
enum { PRECOMPUTED_MAXIMUM = 5000 };

/* What filling in comes upon. */
typedef struct completion {
    wire_errors *errors;
    bool no_memory; /* some text is missing */
} completion;

static void set_text(char **field, const char *text, completion *found)
{
    if (!*field)
        *field = strdup(text);
    found->no_memory |= !*field;
}

static const wire_number automatic = {.given = true, .word = "auto"};

static void default_number(wire_number *field, double value)
{
    if (!field->given)
        *field = (wire_number){.given = true, .value = value};
}

static void default_integer(wire_integer *field, int64_t value)
{
    if (!field->given)
        *field = (wire_integer){.given = true, .value = value};
}

static void draw_id(wire_study *request, completion *found)
{
    unsigned char bytes[6];
    char id[6 + 2 * sizeof bytes + 1] = "study-";
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id + 6, sizeof id - 6, bytes, sizeof bytes);
    set_text(&request->id, id, found);
}

static void draw_seed(wire_integer *seed)
{
    uint64_t bits;
    randombytes_buf(&bits, sizeof bits);
    default_integer(seed, (int64_t)(bits & WIRE_MAX_INTEGER));
}

/* ---- defaults ------------------------------------------------------------------------------------------ */

static void complete_kernel(wire_kernel *kernel, wire_domain_type domain, completion *found)
{
    bool precomputed = domain == WIRE_DOMAIN_PRECOMPUTED;
    kernel->given = true;
    set_text(&kernel->type, precomputed ? "precomputed" : "matern", found);
    bool matern = kernel->type && strcmp(kernel->type, "matern") == 0;
    bool stationary = matern || (kernel->type && strcmp(kernel->type, "gaussian") == 0);
    if (matern)
        default_number(&kernel->nu, 2.5);
    if (!stationary) {
        if (kernel->type && (strcmp(kernel->type, "precomputed") == 0) != precomputed)
            wire_errors_add(
                found->errors, "/algorithm/kernel/type",
                "\"precomputed\" requires a domain of type \"precomputed\", and such a domain this kernel");
    } else if (precomputed) {
        wire_errors_add(found->errors, "/algorithm/kernel/type",
                        "must be \"precomputed\" for a domain of type \"precomputed\"");
    } else if (!kernel->lengthscale.given && !kernel->lengthscales) {
        kernel->lengthscale = automatic;
    }
}

static bool is_auto(const wire_number *field)
{
    return field->word && strcmp(field->word, automatic.word) == 0;
}

/* Noise, what rewards are scaled by, and the regularization that follows from both. */
static void complete_noise(wire_algorithm *a, bandit_algorithm algorithm, double horizon, completion *found)
{
    if (!a->noise_std.given)
        a->noise_std = automatic;
    if (!a->standardize_rewards_given)
        a->standardize_rewards = is_auto(&a->noise_std);
    a->standardize_rewards_given = true;
    if (a->lambda.given)
        return;
    bool inflated = algorithm == BANDIT_IGP_UCB || algorithm == BANDIT_GP_TS || algorithm == BANDIT_PI_GP_UCB;
    if (inflated)
        default_number(&a->lambda, 1 + (horizon > 0 ? 2 / horizon : 0));
    else if (is_auto(&a->noise_std) || a->standardize_rewards)
        a->lambda = automatic;
    else if (isfinite(a->noise_std.value * a->noise_std.value))
        default_number(&a->lambda, fmax(a->noise_std.value * a->noise_std.value, 1e-6));
    else
        wire_errors_add(found->errors, "/algorithm/noise_std", "is too large: its square overflows");
}

static void complete_algorithm(wire_study *request, bandit_algorithm algorithm, completion *found)
{
    wire_algorithm *a = &request->algorithm;
    double horizon = request->horizon.given ? (double)request->horizon.value : 0;
    if (parameter_applies("kernel", algorithm)) {
        complete_kernel(&a->kernel, request->domain_type, found);
        complete_noise(a, algorithm, horizon, found);
    }
    if (parameter_applies("norm_bound", algorithm) && !a->norm_bound.given) {
        if (a->standardize_rewards)
            a->norm_bound = automatic;
        else
            default_number(&a->norm_bound, 1);
    }
    if (parameter_applies("delta", algorithm))
        default_number(&a->delta, horizon > 0 ? fmin(1 / horizon, 0.5) : 0.001);
    if (parameter_applies("q_bar", algorithm))
        default_number(&a->q_bar, 2);
    if (parameter_applies("ratio_bound", algorithm))
        default_number(&a->ratio_bound, 2);
    if (parameter_applies("batch_rule", algorithm))
        set_text(&a->batch_rule, "global", found);
    if (parameter_applies("confidence", algorithm))
        set_text(&a->confidence, a->standardize_rewards ? "calibrated" : "practical", found);
    if (parameter_applies("resample", algorithm))
        set_text(&a->resample, "fresh", found);
    if (parameter_applies("max_batch", algorithm))
        default_integer(&a->max_batch, 4096);
    default_integer(&a->max_arm_failures, 3);
    set_text(&a->init, "uniform", found);
    if (a->init && strcmp(a->init, "uncertainty") == 0 && !parameter_applies("kernel", algorithm))
        wire_errors_add(found->errors, "/algorithm/init/type",
                        "\"uncertainty\" needs an algorithm with a model");
    if (parameter_applies("gamma", algorithm)) {
        if (!a->gamma.given)
            a->gamma = (wire_number){.given = true, .word = "exact"};
        bool bound = a->gamma.word && strcmp(a->gamma.word, "bound") == 0;
        if (bound)
            default_number(&a->gamma_scale, 1);
        else if (a->gamma_scale.given)
            wire_errors_add(found->errors, "/algorithm/gamma_scale", "applies to \"gamma\": \"bound\" only");
    }
    if (parameter_applies("scale", algorithm))
        default_number(&a->scale, 1);
    if (parameter_applies("epsilon", algorithm))
        default_number(&a->epsilon, 0.1);
    if (parameter_applies("zeta", algorithm))
        default_number(&a->zeta, 0.01);
    if (parameter_applies("population", algorithm))
        default_integer(&a->population, 100);
    if (parameter_applies("sample", algorithm))
        default_integer(&a->sample, a->population.value < 10 ? a->population.value : 10);
    if (parameter_applies("posterior", algorithm))
        set_text(&a->posterior, "svgp", found);
    if (parameter_applies("features", algorithm))
        set_text(&a->features, "rff", found);
    if (parameter_applies("inducing", algorithm))
        default_integer(&a->inducing, 200);
    if (parameter_applies("prior_features", algorithm))
        default_integer(&a->prior_features, 1000);
    if (parameter_applies("dpp_steps", algorithm))
        default_integer(&a->dpp_steps, 1000);
    if (parameter_applies("initial_cells", algorithm))
        default_integer(&a->initial_cells, 1);
}

static void complete_domain(wire_study *request, completion *found)
{
    if (request->domain_type == WIRE_DOMAIN_CANDIDATES)
        set_text(&request->scaling, "standardize", found);
    if (request->domain_type == WIRE_DOMAIN_PRECOMPUTED && request->size.value > PRECOMPUTED_MAXIMUM)
        wire_errors_add(found->errors, "/domain/size", "must be at most %d", PRECOMPUTED_MAXIMUM);
}

/* No parameter of another type than double or integer; also of a domain that is no space. */
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
    set_text(&request->feedback, "async", &found);
    if (request->min_in_flight.given && request->feedback && strcmp(request->feedback, "async") != 0)
        wire_errors_add(errors, "/min_in_flight", "applies only to \"feedback\": \"async\"");
    request->algorithm.given = true;
    set_text(&request->algorithm.name, "bbkb", &found);
    if (!request->algorithm.name)
        return WIRE_NO_MEMORY;
    if (!bandit_algorithm_parse(&algorithm, request->algorithm.name))
        assert(!"the decoder takes the algorithms' names only");
    if (algorithm == BANDIT_PI_GP_UCB && !has_numbers_only(request))
        wire_errors_add(errors, "/algorithm/name",
                        "pi_gp_ucb requires a space in which every parameter is of type double or integer");
    parameters_check(&request->algorithm, algorithm, errors);
    complete_algorithm(request, algorithm, &found);
    if (found.no_memory)
        return WIRE_NO_MEMORY;
    return errors->n == before ? WIRE_OK : WIRE_INVALID;
}

/* ---- the engine's options ------------------------------------------------------------------------------ */

static bool is_word(const char *field, const char *word)
{
    return field && strcmp(field, word) == 0;
}

static bool kernel_options(study_config *config)
{
    const wire_kernel *given = &config->wire->algorithm.kernel;
    bandit_kernel *kernel = &config->options.kernel;
    kernel->nu = given->nu.given ? given->nu.value : 2.5;
    if (is_word(given->type, "gaussian"))
        kernel->type = BANDIT_KERNEL_GAUSSIAN;
    else if (is_word(given->type, "linear"))
        kernel->type = BANDIT_KERNEL_LINEAR;
    else if (is_word(given->type, "precomputed"))
        kernel->type = BANDIT_KERNEL_PRECOMPUTED;
    else
        kernel->type = BANDIT_KERNEL_MATERN;
    if (kernel->type == BANDIT_KERNEL_LINEAR || kernel->type == BANDIT_KERNEL_PRECOMPUTED)
        return true;
    if (is_auto(&given->lengthscale)) {
        config->options.learn_lengthscale = true;
        return true;
    }
    size_t n = given->lengthscales ? given->n_lengthscales : 1;
    config->lengthscales = malloc(n * sizeof *config->lengthscales);
    if (!config->lengthscales)
        return false;
    if (given->lengthscales)
        memcpy(config->lengthscales, given->lengthscales, n * sizeof *config->lengthscales);
    else
        config->lengthscales[0] = given->lengthscale.value;
    kernel->lengthscales = config->lengthscales;
    kernel->n_lengthscales = n;
    return true;
}

static void number_option(double *out, const wire_number *given)
{
    if (given->given && !given->word)
        *out = given->value;
}

static void size_option(size_t *out, const wire_integer *given)
{
    if (given->given)
        *out = (size_t)given->value;
}

static bool fill_options(study_config *config)
{
    const wire_study *wire = config->wire;
    const wire_algorithm *a = &wire->algorithm;
    bandit_options *o = &config->options;
    *o = (bandit_options)BANDIT_OPTIONS_INIT;
    if (!bandit_algorithm_parse(&o->algorithm, a->name))
        return false;
    number_option(&o->lambda, &a->lambda);
    o->lambda_from_noise = is_auto(&a->lambda);
    o->learn_noise = is_auto(&a->noise_std);
    o->learn_norm_bound = is_auto(&a->norm_bound);
    o->standardize_rewards = a->standardize_rewards;
    number_option(&o->noise_std, &a->noise_std);
    number_option(&o->norm_bound, &a->norm_bound);
    number_option(&o->delta, &a->delta);
    number_option(&o->q_bar, &a->q_bar);
    o->q_bar_theory = a->q_bar.word != NULL;
    number_option(&o->ratio_bound, &a->ratio_bound);
    o->batch_rule = is_word(a->batch_rule, "global_local") ? BANDIT_BATCH_GLOBAL_LOCAL : BANDIT_BATCH_GLOBAL;
    if (is_word(a->confidence, "theory"))
        o->confidence = BANDIT_CONFIDENCE_THEORY;
    else if (is_word(a->confidence, "fixed"))
        o->confidence = BANDIT_CONFIDENCE_FIXED;
    else if (is_word(a->confidence, "calibrated"))
        o->confidence = BANDIT_CONFIDENCE_CALIBRATED;
    number_option(&o->beta, &a->beta);
    if (is_word(a->resample, "persistent"))
        o->resample = BANDIT_RESAMPLE_PERSISTENT;
    else if (is_word(a->resample, "per_pull"))
        o->resample = BANDIT_RESAMPLE_PER_PULL;
    size_option(&o->max_batch, &a->max_batch);
    o->init = is_word(a->init, "uncertainty") ? BANDIT_INIT_UNCERTAINTY : BANDIT_INIT_UNIFORM;
    number_option(&o->parallelism, &a->parallelism);
    if (is_word(a->gamma.word, "bound"))
        o->gamma = BANDIT_GAMMA_BOUND;
    else if (a->gamma.given && !a->gamma.word)
        o->gamma = BANDIT_GAMMA_FIXED;
    number_option(&o->gamma_value, &a->gamma);
    number_option(&o->gamma_scale, &a->gamma_scale);
    number_option(&o->scale, &a->scale);
    number_option(&o->epsilon, &a->epsilon);
    number_option(&o->zeta, &a->zeta);
    size_option(&o->population, &a->population);
    size_option(&o->sample, &a->sample);
    o->posterior = is_word(a->posterior, "dtc")        ? BANDIT_POSTERIOR_DTC
                   : is_word(a->posterior, "features") ? BANDIT_POSTERIOR_FEATURES
                                                       : BANDIT_POSTERIOR_SVGP;
    o->features = is_word(a->features, "eigen") ? BANDIT_FEATURES_EIGEN : BANDIT_FEATURES_RFF;
    size_option(&o->inducing, &a->inducing);
    size_option(&o->prior_features, &a->prior_features);
    size_option(&o->dpp_steps, &a->dpp_steps);
    size_option(&o->initial_cells, &a->initial_cells);
    o->horizon = wire->horizon.given ? (uint64_t)wire->horizon.value : 0;
    o->seed = (uint64_t)wire->seed.value;
    return kernel_options(config);
}

/* In a space: its features in *dimension, and lengthscales that were given one a parameter become one a
 * feature. BANDIT_INVALID_ARMS, with the field in the API, for what the engine refuses. */
static bandit_status space_options(study_config *config, size_t *dimension, bandit_error *err)
{
    bandit_kernel *kernel = &config->options.kernel;
    size_t n = config->wire->n_parameters;
    bandit_arms *arms = NULL;
    config->parameters = space_parameters_new(config->wire);
    if (!config->parameters)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_arms_new_space(&arms, config->parameters, n, err);
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
    if (is_word(definition->scaling, "unit"))
        config->scaling = BANDIT_SCALING_UNIT;
    else if (is_word(definition->scaling, "none"))
        config->scaling = BANDIT_SCALING_NONE;
    config->precomputed = definition->domain_type == WIRE_DOMAIN_PRECOMPUTED;
    config->objective = wire_objective(definition);
    config->minimize = config->objective->minimize;
    config->asynchronous = is_word(definition->feedback, "async");
    config->max_arm_failures = (unsigned)definition->algorithm.max_arm_failures.value;
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

store_status study_config_read(wire_study **out, const char *definition)
{
    wire_errors errors = {0};
    wire_status status = wire_decode_study(out, definition, strlen(definition), &errors);
    wire_errors_clear(&errors);
    return study_config_status(status);
}
