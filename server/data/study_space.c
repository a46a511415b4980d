#include "server/data/study_space.h"

#include "bandit/lattice.h"
#include "server/data/feature_ranges.h"
#include "server/data/space_rules.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the engine, numbers in steps are integers, and ordered words are numbers. */
static bandit_parameter_type type_of(const wire_parameter *p)
{
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
        return p->step > 0.0 ? BANDIT_PARAMETER_INTEGER : BANDIT_PARAMETER_DOUBLE;
    case WIRE_PARAMETER_INTEGER:
        return BANDIT_PARAMETER_INTEGER;
    case WIRE_PARAMETER_DISCRETE:
        return BANDIT_PARAMETER_DISCRETE;
    case WIRE_PARAMETER_CATEGORICAL:
        return p->ordered ? BANDIT_PARAMETER_DISCRETE : BANDIT_PARAMETER_CATEGORICAL;
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    return BANDIT_PARAMETER_BOOLEAN;
}

static double last_value(const wire_parameter *p)
{
    return p->step > 0.0 ? lattice_value(p->min, p->step, lattice_last(p->min, p->max, p->step)) : p->max;
}

/* The numbers 0, 1, … for ordered words, as many as the longest list of words has. They follow the parameters in the
 * same block. */
static size_t ranks_of(const wire_study *definition)
{
    size_t n = 0;
    for (size_t i = 0; i < definition->n_parameters; i++) {
        const wire_parameter *p = &definition->parameters[i];
        n = p->ordered && p->n_values > n ? p->n_values : n;
    }
    return n;
}

bandit_parameter *space_parameters_new(const wire_study *definition)
{
    size_t n = definition->n_parameters, n_ranks = ranks_of(definition);
    bandit_parameter *parameters = calloc(1, n * sizeof *parameters + n_ranks * sizeof(double));
    if (!parameters)
        return NULL;
    double *ranks = (double *)(void *)(parameters + n);
    for (size_t k = 0; k < n_ranks; k++)
        ranks[k] = (double)k;
    for (size_t i = 0; i < n; i++) {
        const wire_parameter *from = &definition->parameters[i];
        bool has_parent = from->parent != WIRE_NO_PARENT;
        parameters[i] = (bandit_parameter){.type = type_of(from),
                                           .min = from->min,
                                           .max = last_value(from),
                                           .log = from->log,
                                           .step = from->step,
                                           .rounded = from->has_precision,
                                           .digits = from->precision,
                                           .numbers = from->ordered ? ranks : from->numbers,
                                           .n_values = from->n_values,
                                           .features = from->features,
                                           .n_features = from->n_features,
                                           .scaling = scaling_of_word(from->scaling),
                                           .codes = from->encoding != NULL,
                                           .has_default = from->has_default,
                                           .default_value = from->default_value,
                                           .context = from->context,
                                           .parent = has_parent ? from->parent : BANDIT_NO_PARENT,
                                           .parent_values = from->parent_values,
                                           .n_parent_values = from->n_parent_values,
                                           .parent_range = has_parent && !from->parent_values,
                                           .parent_min = from->parent_min,
                                           .parent_max = from->parent_max};
    }
    return parameters;
}

bandit_scaling scaling_of_word(const char *word)
{
    if (word && strcmp(word, "unit") == 0)
        return BANDIT_SCALING_UNIT;
    return word && strcmp(word, "none") == 0 ? BANDIT_SCALING_NONE : BANDIT_SCALING_STANDARDIZE;
}

wire_status space_check_properties(const wire_study *definition, wire_errors *errors)
{
    wire_status status = WIRE_OK;
    for (size_t i = 0; i < definition->n_parameters; i++) {
        const wire_parameter *p = &definition->parameters[i];
        feature_ranges ranges = {0};
        bandit_error error = {0};
        if (!p->features)
            continue;
        if (!feature_ranges_add(&ranges, p->n_values, p->n_features, p->features))
            return WIRE_NO_MEMORY;
        if (feature_ranges_check(&ranges, scaling_of_word(p->scaling), &error) != BANDIT_OK) {
            char pointer[64];
            snprintf(pointer, sizeof pointer, "/domain/parameters/%zu/features", i);
            wire_errors_add(errors, pointer, "%s", error.message);
            status = WIRE_INVALID;
        }
        feature_ranges_clear(&ranges);
    }
    return status;
}

static void list_all(const bandit_arms *arms, size_t size, size_t width, double *rows)
{
    bandit_arms_first_point(arms, rows);
    for (size_t i = 1; i < size; i++) {
        double *row = rows + i * width;
        memcpy(row, row - width, width * sizeof *row);
        bool more = bandit_arms_next_point(arms, row);
        assert(more); /* there are `size` points */
        (void)more;
    }
    for (size_t i = 0; i < size * width; i++)
        rows[i] += 0.0; /* −0 becomes 0 */
}

/* Lists the points that keep the constraints. */
static bandit_status list_allowed(bandit_arms *arms, size_t size, size_t width, double *rows,
                                  bandit_error *err)
{
    bandit_status status = bandit_arms_enumerate(arms, err);
    for (size_t i = 0; status == BANDIT_OK && i < size; i++)
        bandit_arms_coded(arms, i, rows + i * width);
    return status;
}

bool space_has_context(const wire_study *definition)
{
    for (size_t i = 0; i < definition->n_parameters; i++) {
        if (definition->parameters[i].context)
            return true;
    }
    return false;
}

bandit_status space_enumerate(double **rows, size_t *n, bool *listed, const wire_study *definition,
                              bandit_error *err)
{
    size_t width = definition->n_parameters, limit = SPACE_ENUMERATED_NUMBERS / width;
    bandit_parameter *parameters = space_parameters_new(definition);
    bandit_arms *arms = NULL;
    bandit_status status = BANDIT_OK;
    *rows = NULL;
    *n = 0;
    *listed = false;
    if (limit > SPACE_ENUMERATED_POINTS)
        limit = SPACE_ENUMERATED_POINTS;
    if (!parameters) {
        bandit_error_set(err, BANDIT_NO_MEMORY, "", "out of memory");
        return BANDIT_NO_MEMORY;
    }
    status = space_arms_new(&arms, definition, parameters, err);
    if (status != BANDIT_OK)
        goto out;
    size_t size = space_has_context(definition) ? SIZE_MAX : bandit_arms_space_size(arms);
    if (definition->n_constraints > 0 && size < SIZE_MAX)
        status = bandit_arms_count_allowed(arms, limit, &size, err);
    if (status != BANDIT_OK || size > limit)
        goto out;
    *listed = true;
    if (size == 0)
        goto out;
    *rows = malloc(size * width * sizeof **rows);
    if (!*rows) {
        bandit_error_set(err, BANDIT_NO_MEMORY, "", "out of memory");
        status = BANDIT_NO_MEMORY;
        goto out;
    }
    *n = size;
    status = definition->n_constraints > 0 ? list_allowed(arms, size, width, *rows, err) : BANDIT_OK;
    if (definition->n_constraints == 0)
        list_all(arms, size, width, *rows);
out:
    bandit_arms_free(arms);
    free(parameters);
    return status;
}

bool space_takes(const bandit_parameter *parameters, size_t n, const bandit_options *options,
                 bandit_error *err)
{
    bandit_arms *arms = NULL;
    bandit_engine *engine = NULL;
    bool takes = bandit_arms_new_space(&arms, parameters, n, err) == BANDIT_OK &&
                 bandit_engine_new(&engine, arms, options, 0, err) == BANDIT_OK;
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return takes;
}

size_t candidate_width(const wire_study *definition)
{
    switch (definition->domain_type) {
    case WIRE_DOMAIN_CANDIDATES:
        return (size_t)definition->dimension.value;
    case WIRE_DOMAIN_SPACE:
        return definition->n_parameters;
    case WIRE_DOMAIN_PRECOMPUTED:
        break;
    }
    return 0;
}

candidate_view candidate_view_of(const wire_study *definition, int64_t listed, int64_t candidate,
                                 const double *row)
{
    candidate_view view = {.candidate = candidate};
    if (definition->domain_type == WIRE_DOMAIN_CANDIDATES)
        view.point = row;
    if (definition->domain_type == WIRE_DOMAIN_SPACE) {
        view.candidate = candidate < listed ? candidate : -1;
        view.space = definition;
        view.parameters = row;
    }
    return view;
}

const char *candidate_input_name(const wire_study *definition, size_t i, char number[24])
{
    if (definition->domain_type == WIRE_DOMAIN_SPACE)
        return definition->parameters[i].name;
    if (definition->feature_names)
        return definition->feature_names[i];
    snprintf(number, 24, "x%zu", i);
    return number;
}

size_t candidate_input(const wire_study *definition, const char *name)
{
    char number[24];
    size_t n = candidate_width(definition);
    for (size_t i = 0; i < n; i++)
        if (strcmp(candidate_input_name(definition, i, number), name) == 0)
            return i;
    return SIZE_MAX;
}
