/* The values that a result reports: the first objective's, and those of all other metrics as stored text. */
#include "server/study/values.h"

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

static void refuse_value(wire_errors *errors, const char *at, const char *name, const char *why)
{
    char text[2 * 4 * WIRE_MAX_NAME + 1], pointer[sizeof text + 64];
    snprintf(pointer, sizeof pointer, "%s/values/%s", at, escaped(name, text));
    wire_errors_add(errors, pointer, "%s", why);
}

static const wire_named_value *value_of(const wire_result *result, const char *name)
{
    for (size_t i = 0; result->values && i < result->n_values; i++)
        if (strcmp(result->values[i].name, name) == 0)
            return &result->values[i];
    return NULL;
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

/* Every modelled metric must be there. */
static void check_modelled(const study_config *config, const wire_result *result, const char *at,
                           wire_errors *errors)
{
    for (size_t j = 0; j < config->n_modelled; j++)
        if (!value_of(result, config->modelled[j]->name))
            refuse_value(errors, at, config->modelled[j]->name,
                         config->n_modelled == 1 ? "is required: it is the study's objective"
                                                 : "is required: it is modelled");
}

bool study_read_values(const study *s, wire_result *result, const char *at, char **recorded,
                       wire_errors *errors)
{
    const wire_study *definition = s->config->wire;
    const char *objective = s->config->objective->name;
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
        check_modelled(s->config, result, at, errors);
        if (value) {
            result->has_value = true;
            result->value = value->value;
        }
    } else if (result->has_value && s->config->n_modelled > 1) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "%s/value", at);
        wire_errors_add(errors, pointer, "the study models several metrics: report them in \"values\"");
    }
    if (errors->n != before)
        return false;
    *recorded = recorded_text(definition, result);
    return *recorded != NULL;
}
