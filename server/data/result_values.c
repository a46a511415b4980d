/* The values of a reported result: the first objective's as a number, those of all other metrics as stored text. */
#include "server/data/result_values.h"

#include "proto/encode.h"
#include "proto/recorded_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name as part of a JSON pointer (RFC 6901). */
static const char *escaped(const char *name, char text[2 * 4 * WIRE_MAX_NAME + 1])
{
    char *out = text;
    for (const char *c = name; *c && out < text + 2 * 4 * WIRE_MAX_NAME - 1; c++) {
        if (*c == '~' || *c == '/')
            *out++ = '~';
        *out++ = *c == '~' ? '0' : *c == '/' ? '1' : *c;
    }
    *out = '\0';
    return text;
}

static void refuse_member(wire_errors *errors, const char *at, const char *member, const char *name,
                          const char *why)
{
    char text[2 * 4 * WIRE_MAX_NAME + 1], pointer[sizeof text + 80];
    snprintf(pointer, sizeof pointer, "%s/%s/%s", at, member, escaped(name, text));
    wire_errors_add(errors, pointer, "%s", why);
}

static void refuse_value(wire_errors *errors, const char *at, const char *name, const char *why)
{
    refuse_member(errors, at, "values", name, why);
}

static const wire_named_value *value_of(const wire_result *result, const char *name)
{
    for (size_t i = 0; result->values && i < result->n_values; i++)
        if (strcmp(result->values[i].name, name) == 0)
            return &result->values[i];
    return NULL;
}

static const wire_named_value *std_error_of(const wire_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_std_errors; i++)
        if (strcmp(result->std_errors[i].name, name) == 0)
            return &result->std_errors[i];
    return NULL;
}

/* The reported standard errors as text, in the order of the definition. NULL: out of memory. */
static char *std_errors_text(const study_config *config, const wire_result *result)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text;
    size_t size;
    bool any = result->std_error.given;
    wire_object_begin(&w);
    if (result->std_error.given)
        wire_real_member(&w, config->objective->name, result->std_error.value);
    for (size_t j = 0; j < config->n_modelled; j++) {
        const wire_named_value *error = std_error_of(result, config->modelled[j]->name);
        any |= error != NULL;
        if (error)
            wire_real_member(&w, error->name, error->value);
    }
    wire_object_end(&w);
    if (!any) {
        wire_writer_clear(&w);
        return strdup("");
    }
    wire_writer_finish(&w, &text, &size);
    return text;
}

/* The text of the result's standard errors and the `values`, which it frees. NULL: out of memory. */
static char *join(const study_config *config, const wire_result *result, char *values)
{
    char *std_errors = std_errors_text(config, result), *text = NULL;
    if (values && std_errors)
        text = wire_join_recorded(values, std_errors);
    free(values);
    free(std_errors);
    return text;
}

/* Only modelled metrics may have standard errors, which weigh their values. */
static void check_std_errors(const study_config *config, const wire_result *result, const char *at,
                             wire_errors *errors)
{
    const char *no_model =
        "the study's algorithm gives every result the same weight: it learns nothing from the "
        "results (kernel, noise_std and norm_bound are given, standardize_rewards is false)";
    char pointer[80];
    bool weighs = bandit_weighs_errors(&config->options);
    snprintf(pointer, sizeof pointer, "%s/std_error", at);
    if (result->std_error.given && !weighs)
        wire_errors_add(errors, pointer, "%s", no_model);
    else if (result->std_error.given && config->n_modelled > 1)
        wire_errors_add(errors, pointer, "the study models several metrics: report them in \"std_errors\"");
    for (size_t i = 0; i < result->n_std_errors; i++) {
        const char *name = result->std_errors[i].name;
        size_t j = 0;
        while (j < config->n_modelled && strcmp(config->modelled[j]->name, name) != 0)
            j++;
        if (j == config->n_modelled)
            refuse_member(errors, at, "std_errors", name, "is not a metric that the study models");
        else if (!weighs)
            refuse_member(errors, at, "std_errors", name, no_model);
    }
}

/* The reported values of all metrics but the first objective as text, in the order of the definition. NULL: out of
 * memory. */
static char *recorded_text(const wire_study *definition, const wire_result *result)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text;
    size_t size;
    bool any = false;
    wire_object_begin(&w);
    for (size_t i = 0; result->values && i < definition->n_metrics; i++) {
        const wire_metric *metric = &definition->metrics[i];
        const wire_named_value *value =
            metric != wire_objective(definition) ? value_of(result, metric->name) : NULL;
        if (!value)
            continue;
        any = true;
        wire_key(&w, metric->name);
        wire_real(&w, value->value);
    }
    wire_object_end(&w);
    if (!any) {
        wire_writer_clear(&w);
        return strdup("");
    }
    wire_writer_finish(&w, &text, &size);
    return text;
}

/* Every modelled metric must have a value. */
static void check_modelled(const study_config *config, const wire_result *result, const char *at,
                           wire_errors *errors)
{
    for (size_t j = 0; j < config->n_modelled; j++)
        if (!value_of(result, config->modelled[j]->name))
            refuse_value(errors, at, config->modelled[j]->name,
                         config->n_modelled == 1 ? "is required: it is the study's objective"
                                                 : "is required: it is modelled");
}

bool result_values_read(const study_config *config, wire_result *result, const char *at, char **recorded,
                        wire_errors *errors)
{
    const wire_study *definition = config->wire;
    const char *objective = config->objective->name;
    size_t before = errors->n;
    *recorded = NULL;
    if (result->values) {
        const wire_named_value *value = value_of(result, objective);
        for (size_t i = 0; i < result->n_values; i++) {
            size_t k = 0;
            while (k < definition->n_metrics &&
                   strcmp(definition->metrics[k].name, result->values[i].name) != 0)
                k++;
            if (k == definition->n_metrics)
                refuse_value(errors, at, result->values[i].name, "the study declares no such metric");
        }
        check_modelled(config, result, at, errors);
        if (value) {
            result->has_value = true;
            result->value = value->value;
        }
    } else if (result->has_value && config->n_modelled > 1) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "%s/value", at);
        wire_errors_add(errors, pointer, "the study models several metrics: report them in \"values\"");
    }
    check_std_errors(config, result, at, errors);
    if (errors->n != before)
        return false;
    *recorded = join(config, result, recorded_text(definition, result));
    return *recorded != NULL;
}

char *result_values_amended(const study_config *config, const wire_result *result, const char *was,
                            const char *recorded)
{
    bool told = result->std_error.given || result->n_std_errors > 0;
    if (!result->has_value || result->values)
        return strdup(recorded);
    return told ? join(config, result, wire_recorded_values(was)) : strdup(was);
}
