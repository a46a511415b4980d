/* The frozen sources of a definition as options of its engine. */
#include "server/data/definition.h"
#include "server/data/space_rules.h"
#include "server/data/study_space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Why a study cannot learn from others; NULL: it can. */
static const char *obstacle(const study_config *config)
{
    const bandit_options *o = &config->options;
    if (config->several)
        return "applies to one objective without bounds";
    if (config->precomputed)
        return "requires features; a precomputed kernel has none";
    if (o->algorithm != BANDIT_LOG_EI)
        return "requires the algorithm log_ei, which \"aim\": \"best\" selects";
    if (o->kernel.type != BANDIT_KERNEL_MATERN && o->kernel.type != BANDIT_KERNEL_GAUSSIAN)
        return "requires the kernel \"matern\" or \"gaussian\"";
    if (!o->learn_lengthscale || !o->learn_noise || !o->standardize_rewards)
        return "requires that lengthscales and noise are learned and rewards standardized, as is the default";
    return NULL;
}

static bool refuse(wire_errors *errors, size_t i, const char *detail)
{
    char pointer[40];
    snprintf(pointer, sizeof pointer, "/learn_from/%zu", i);
    wire_errors_add(errors, pointer, "%s", detail);
    return false;
}

static bool numbers_are_valid(const wire_source *s)
{
    bool valid = s->short_share < 1.0;
    for (size_t i = 0; i < s->n_lengthscales; i++)
        valid &= s->lengthscales[i] >= 1e-150 && s->lengthscales[i] <= 1e150;
    return valid;
}

/* Are the points of source i points of the domain? arms: if the domain is a space; otherwise NULL. */
static bool check_frozen(const study_config *config, const bandit_arms *arms, size_t i, wire_errors *errors)
{
    const wire_source *s = &config->wire->learn_from[i];
    size_t dimension = arms ? bandit_arms_dimension(arms) : (size_t)config->wire->dimension.value;
    bandit_error error = {0};
    bool valid =
        s->width == candidate_width(config->wire) && s->n_lengthscales == dimension && numbers_are_valid(s);
    for (size_t k = 0; valid && k < s->n; k++) {
        const double *point = s->points + k * s->width;
        if (arms)
            valid = bandit_arms_check_point(arms, point, &error) == BANDIT_OK;
        for (size_t j = 0; valid && !arms && j < s->width; j++)
            valid = isfinite(point[j]);
    }
    return valid || refuse(errors, i, "does not fit the domain of this study");
}

wire_status study_config_take_sources(study_config *config, wire_errors *errors)
{
    const wire_study *definition = config->wire;
    const char *why = definition->n_learn_from > 0 ? obstacle(config) : NULL;
    bandit_arms *arms = NULL;
    bandit_error error = {0};
    bool fine = true;
    if (why) {
        wire_errors_add(errors, "/learn_from", "%s", why);
        return WIRE_INVALID;
    }
    if (definition->n_learn_from > 0 && config->parameters &&
        space_arms_new(&arms, definition, config->parameters, &error) != BANDIT_OK)
        return WIRE_NO_MEMORY;
    for (size_t i = 0; i < definition->n_learn_from; i++) {
        const wire_source *s = &definition->learn_from[i];
        if (strcmp(s->study, definition->id) == 0 && s->n == 0)
            fine = refuse(errors, i, "must be another study");
        if (s->n > 0)
            fine &= check_frozen(config, arms, i, errors);
        config->sources[i] = (bandit_source){.n = s->n,
                                             .points = s->points,
                                             .weights = s->weights,
                                             .shift = s->shift,
                                             .lengthscales = s->lengthscales,
                                             .n_lengthscales = s->n_lengthscales,
                                             .short_share = s->short_share};
    }
    bandit_arms_free(arms);
    if (fine && definition->n_learn_from > 0 && wire_sources_are_frozen(definition)) {
        config->options.sources = config->sources;
        config->options.n_sources = definition->n_learn_from;
    }
    return fine ? WIRE_OK : WIRE_INVALID;
}
