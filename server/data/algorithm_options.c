#include "server/data/algorithm_options.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const bandit_options defaults = BANDIT_OPTIONS_INIT;
static const char automatic[] = "auto";

/* Of new studies. With it, five repeated candidates among the first hundred results suffice. */
static const double AGREEING_REPEATS_DEFAULT = 0.05;

const wire_algorithm_field *algorithm_field(const char *name)
{
    const wire_algorithm_field *field = wire_algorithm_fields;
    while (field->name && strcmp(field->name, name) != 0)
        field++;
    assert(field->name);
    return field;
}

static const wire_algorithm_field *field_of(bandit_option option)
{
    return algorithm_field(bandit_option_about(option)->name);
}

static bool is_auto(const wire_number *field)
{
    return field->word && strcmp(field->word, automatic) == 0;
}

static bool is_word(const char *field, const char *word)
{
    return field && strcmp(field, word) == 0;
}

static bool takes(const char *name, bandit_option option)
{
    bandit_algorithm algorithm;
    return bandit_algorithm_parse(&algorithm, name) && bandit_algorithm_takes(algorithm, option);
}

/* "does not apply to bbkb, only to gp_ei and gp_pi" */
static void refuse_option(bandit_option option, bandit_algorithm algorithm, wire_errors *errors)
{
    char pointer[64] = "/algorithm/";
    char takers[512] = "";
    size_t left = 0;
    for (const char *const *name = bandit_algorithm_names(); *name; name++)
        left += takes(*name, option);
    for (const char *const *name = bandit_algorithm_names(); *name; name++) {
        if (!takes(*name, option))
            continue;
        assert(strlen(takers) + strlen(*name) + sizeof " and " <= sizeof takers);
        strcat(takers, *name);
        left--;
        strcat(takers, left > 1 ? ", " : left == 1 ? " and " : "");
    }
    strcat(pointer, bandit_option_about(option)->name);
    wire_errors_add(errors, pointer, "does not apply to %s, only to %s", bandit_algorithm_name(algorithm),
                    takers);
}

void algorithm_options_check(const wire_algorithm *given, bandit_algorithm algorithm, wire_errors *errors)
{
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
        bandit_option option = (bandit_option)i;
        if (bandit_algorithm_takes(algorithm, option) || !wire_field_is_given(given, field_of(option)))
            continue;
        refuse_option(option, algorithm, errors);
    }
}

/* ---- defaults ------------------------------------------------------------------------------------------ */

void algorithm_kernel_complete(wire_kernel *kernel, wire_domain_type domain, completion *found)
{
    bool precomputed = domain == WIRE_DOMAIN_PRECOMPUTED;
    kernel->given = true;
    default_text(&kernel->type, precomputed ? "precomputed" : "matern", found);
    bool matern = kernel->type && strcmp(kernel->type, "matern") == 0;
    bool stationary = matern || (kernel->type && strcmp(kernel->type, "gaussian") == 0);
    if (matern)
        default_number(&kernel->nu, defaults.kernel.nu);
    if (!stationary) {
        if (kernel->type && (strcmp(kernel->type, "precomputed") == 0) != precomputed)
            wire_errors_add(
                found->errors, "/algorithm/kernel/type",
                "\"precomputed\" requires a domain of type \"precomputed\", and such a domain requires this kernel");
    } else if (precomputed) {
        wire_errors_add(found->errors, "/algorithm/kernel/type",
                        "must be \"precomputed\" for a domain of type \"precomputed\"");
    } else if (!kernel->lengthscale.given && !kernel->lengthscales) {
        default_word(&kernel->lengthscale, automatic);
    }
}

static bool is_number(const wire_number *field)
{
    return field->given && !field->word;
}

/* Does the definition give options that describe rewards before any is known? They are in the papers' units, in which
 * rewards are not scaled. */
static bool is_in_paper_units(const wire_algorithm *a)
{
    return is_number(&a->norm_bound) || is_number(&a->lambda) || is_word(a->confidence, "theory");
}

/* Completes the noise, the scale of rewards, and the regularization that follows from both. */
static void complete_noise(wire_algorithm *a, bandit_algorithm algorithm, double horizon, completion *found)
{
    if (!a->standardize_rewards_given)
        a->standardize_rewards = !is_in_paper_units(a);
    a->standardize_rewards_given = true;
    if (is_number(&a->noise_std) && !isfinite(a->noise_std.value * a->noise_std.value))
        wire_errors_add(found->errors, "/algorithm/noise_std", "is too large: its square overflows");
    if (a->lambda.given)
        return;
    if (bandit_algorithm_about(algorithm)->lambda_by_horizon)
        default_number(&a->lambda, 1 + (horizon > 0 ? 2 / horizon : 0));
    else if (is_auto(&a->noise_std) || a->standardize_rewards)
        default_word(&a->lambda, automatic);
    else
        default_number(&a->lambda, fmax(a->noise_std.value * a->noise_std.value, 1e-6));
}

/* Sets the engine's default for an option. */
static void complete_option(wire_algorithm *a, bandit_option option, completion *found)
{
    const bandit_option_info *about = bandit_option_about(option);
    const wire_algorithm_field *field = field_of(option);
    void *member = wire_field_member(a, field);
    if (about->learned)
        default_word(member, automatic);
    else if (about->kind == BANDIT_OPTION_IS_REAL)
        default_number(member, bandit_option_number(&defaults, option));
    else if (about->kind == BANDIT_OPTION_IS_INTEGER)
        default_integer(member, (int64_t)bandit_option_number(&defaults, option));
    else if (field->kind == WIRE_FIELD_NUMBER)
        default_word(member, bandit_option_word(&defaults, option));
    else
        default_text(member, bandit_option_word(&defaults, option), found);
}

/* Sets the defaults that depend on another given option. Call it before the others. */
static void complete_related(wire_algorithm *a, bandit_algorithm algorithm, completion *found)
{
    bool bound = a->gamma.word && strcmp(a->gamma.word, "bound") == 0;
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_GAMMA) && !bound && a->gamma_scale.given)
        wire_errors_add(found->errors, "/algorithm/gamma_scale", "applies only to \"gamma\": \"bound\"");
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_SAMPLE) && a->population.given &&
        a->population.value < (int64_t)defaults.sample)
        default_integer(&a->sample, a->population.value);
}

/* Completes the options of the confidence bounds. Call it when it is known whether rewards are standardized. */
static void complete_bounds(wire_algorithm *a, bandit_algorithm algorithm, double horizon, completion *found)
{
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_NORM_BOUND) && a->standardize_rewards)
        default_word(&a->norm_bound, automatic);
    else if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_NORM_BOUND))
        default_number(&a->norm_bound, defaults.norm_bound);
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_DELTA))
        default_number(&a->delta, horizon > 0 ? fmin(1 / horizon, 0.5) : defaults.delta);
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_CONFIDENCE))
        default_text(&a->confidence, a->standardize_rewards ? "calibrated" : "practical", found);
}

/* Definitions without this member are older than the option, and mean the engine's default. */
static void complete_in_flight(wire_algorithm *a, bandit_algorithm algorithm, wire_domain_type domain,
                               completion *found)
{
    bool space = domain == WIRE_DOMAIN_SPACE;
    if (!space && a->in_flight)
        wire_errors_add(found->errors, "/algorithm/in_flight", "applies to a domain of type \"space\" only");
    if (space && bandit_algorithm_takes(algorithm, BANDIT_OPTION_IN_FLIGHT))
        default_text(&a->in_flight, algorithm == BANDIT_LOG_EI ? "surpass" : "near", found);
}

void algorithm_options_complete(wire_study *request, bandit_algorithm algorithm, completion *found)
{
    wire_algorithm *a = &request->algorithm;
    double horizon = request->horizon.given ? (double)request->horizon.value : 0;
    if (bandit_algorithm_has_model(algorithm))
        algorithm_kernel_complete(&a->kernel, request->domain_type, found);
    complete_related(a, algorithm, found);
    bool bound = a->gamma.word && strcmp(a->gamma.word, "bound") == 0;
    default_text(&a->init, algorithm == BANDIT_LOG_EI ? "spread" : "uniform", found);
    if (algorithm != BANDIT_LOG_EI && is_word(a->init, "spread"))
        wire_errors_add(found->errors, "/algorithm/init/type", "\"spread\" requires the algorithm log_ei");
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
        const bandit_option_info *about = bandit_option_about((bandit_option)i);
        if ((about->has_default || about->learned) && bandit_algorithm_takes(algorithm, (bandit_option)i) &&
            (bound || i != BANDIT_OPTION_GAMMA_SCALE))
            complete_option(a, (bandit_option)i, found);
    }
    default_integer(&a->max_arm_failures, MAX_ARM_FAILURES_DEFAULT);
    if (bandit_algorithm_has_model(algorithm))
        complete_noise(a, algorithm, horizon, found);
    else if (is_word(a->init, "uncertainty"))
        wire_errors_add(found->errors, "/algorithm/init/type",
                        "\"uncertainty\" requires an algorithm with a model");
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_REVISION))
        default_integer(&a->revision, BANDIT_LATEST_REVISION);
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_AGREEING_REPEATS))
        default_number(&a->agreeing_repeats, AGREEING_REPEATS_DEFAULT);
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_WARP_UNIT) &&
        request->domain_type == WIRE_DOMAIN_SPACE && !wire_has_several(request))
        default_text(&a->warp_unit, "in_turn", found);
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_SOURCE_TRUST) && request->n_learn_from > 0)
        default_text(&a->source_trust, "agreement", found);
    else if (a->source_trust)
        wire_errors_add(found->errors, "/algorithm/source_trust", "applies only with \"learn_from\"");
    if (bandit_algorithm_takes(algorithm, BANDIT_OPTION_REFERENCE) && wire_count_objectives(request) > 1)
        default_text(&a->reference, "second_worst", found);
    else if (a->reference)
        wire_errors_add(found->errors, "/algorithm/reference", "applies only to several objectives");
    if (is_word(a->init, "uncertainty"))
        default_text(&a->init_method, "cholesky", found);
    complete_bounds(a, algorithm, horizon, found);
    complete_in_flight(a, algorithm, request->domain_type, found);
}

/* ---- the engine's options ------------------------------------------------------------------------------ */

static bool apply_kernel(const wire_kernel *given, bandit_options *out, double **lengthscales)
{
    bandit_kernel *kernel = &out->kernel;
    if (given->nu.given)
        kernel->nu = given->nu.value;
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
        out->learn_lengthscale = true;
        return true;
    }
    size_t n = given->lengthscales ? given->n_lengthscales : 1;
    *lengthscales = malloc(n * sizeof **lengthscales);
    if (!*lengthscales)
        return false;
    if (given->lengthscales)
        memcpy(*lengthscales, given->lengthscales, n * sizeof **lengthscales);
    else
        (*lengthscales)[0] = given->lengthscale.value;
    kernel->lengthscales = *lengthscales;
    kernel->n_lengthscales = n;
    return true;
}

/* Applies an option that is given, unless a word stands for its number. */
static void apply_option(const wire_algorithm *a, bandit_option option, bandit_options *out)
{
    const wire_algorithm_field *field = field_of(option);
    const void *value = wire_field_value(a, field);
    const wire_number *number = value;
    bool known = true;
    if (!wire_field_is_given(a, field))
        return;
    switch (bandit_option_about(option)->kind) {
    case BANDIT_OPTION_IS_REAL:
        if (!number->word)
            bandit_option_set_number(out, option, number->value);
        break;
    case BANDIT_OPTION_IS_INTEGER:
        bandit_option_set_number(out, option, (double)((const wire_integer *)value)->value);
        break;
    case BANDIT_OPTION_IS_WORD:
        if (field->kind != WIRE_FIELD_NUMBER)
            known = bandit_option_set_word(out, option, *(char *const *)value);
        else if (number->word)
            known = bandit_option_set_word(out, option, number->word);
        break;
    case BANDIT_OPTION_IS_OTHER:
        break;
    }
    assert(known); /* the decoder accepts only the engine's words */
    (void)known;
}

bool algorithm_options_apply(const wire_algorithm *a, bandit_options *out, double **lengthscales)
{
    if (!bandit_algorithm_parse(&out->algorithm, a->name))
        return false;
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++)
        apply_option(a, (bandit_option)i, out);
    out->lambda_from_noise = is_auto(&a->lambda);
    out->learn_noise = is_auto(&a->noise_std);
    out->learn_norm_bound = is_auto(&a->norm_bound);
    out->standardize_rewards = a->standardize_rewards;
    out->warp_rewards = out->algorithm == BANDIT_LOG_EI && out->standardize_rewards;
    out->init_cholesky = a->init_method != NULL;
    out->q_bar_theory = a->q_bar.word != NULL;
    if (a->gamma.given && !a->gamma.word) {
        out->gamma = BANDIT_GAMMA_FIXED;
        out->gamma_value = a->gamma.value;
    }
    if (a->beta.given)
        out->beta = a->beta.value;
    if (a->parallelism.given)
        out->parallelism = a->parallelism.value;
    return apply_kernel(&a->kernel, out, lengthscales);
}
