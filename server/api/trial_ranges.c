#include "server/api/trial_ranges.h"

#include "proto/encode_export.h"
#include "proto/number.h"
#include "server/data/study_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double trial_metric_value(const store_trial *row, const char *metric, bool objective)
{
    if (!objective)
        return wire_recorded_value(row->recorded, metric);
    return row->has_value ? row->value : NAN;
}

static const wire_metric *metric_named(const wire_study *definition, const char *name)
{
    size_t i = wire_metric_named(definition, name);
    return i < definition->n_metrics ? &definition->metrics[i] : NULL;
}

/* The part of `text` after the prefix; NULL: it does not begin with the prefix. */
static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* Finds the metric or parameter with the name. False: the request has been answered. */
static bool find(trial_range *out, const wire_study *definition, const char *name, http_request *request)
{
    const wire_metric *metric = metric_named(definition, name);
    size_t column = candidate_input(definition, name);
    if (metric && column != SIZE_MAX) {
        http_answer_problem(
            request, 422, NULL,
            "query parameter: '%s' is a metric and a parameter; write 'metric:%s' or 'parameter:%s'", name,
            name, name);
        return false;
    }
    const char *rest;
    if (!metric && column == SIZE_MAX && (rest = after(name, "metric:")))
        metric = metric_named(definition, rest);
    else if (!metric && column == SIZE_MAX && (rest = after(name, "parameter:")))
        column = candidate_input(definition, rest);
    if (!metric && column == SIZE_MAX) {
        http_answer_problem(request, 422, NULL, "query parameter: the study has no metric or parameter '%s'",
                            name);
        return false;
    }
    *out = (trial_range){.metric = metric ? metric->name : NULL,
                         .objective = metric && metric == wire_objective(definition),
                         .column = column,
                         .low = -INFINITY,
                         .high = INFINITY};
    return true;
}

/* The parameter if its values are words; otherwise NULL. */
static const wire_parameter *of_words(const trial_range *range, const wire_study *definition)
{
    if (range->metric || definition->domain_type != WIRE_DOMAIN_SPACE)
        return NULL;
    const wire_parameter *p = &definition->parameters[range->column];
    return p->type == WIRE_PARAMETER_CATEGORICAL || p->type == WIRE_PARAMETER_BOOLEAN ? p : NULL;
}

/* The bound as a number; NaN: the text is not a valid bound. */
static double read_bound(const wire_parameter *words, const char *text)
{
    double value;
    if (words)
        return wire_code_text(words, text, strlen(text));
    bool read = wire_read_number(text, strlen(text), WIRE_NUMBER_JSON, &value) == WIRE_NUMBER_FINITE;
    return read ? value : NAN;
}

/* The range of the same metric or parameter; a new one if there is none. */
static trial_range *range_like(trial_ranges *ranges, const trial_range *found)
{
    for (size_t i = 0; i < ranges->n; i++)
        if (ranges->items[i].metric == found->metric && ranges->items[i].column == found->column)
            return &ranges->items[i];
    ranges->items[ranges->n] = *found;
    ranges->of_points |= !found->metric;
    return &ranges->items[ranges->n++];
}

static bool add_bound(trial_ranges *out, const wire_study *definition, const http_bound *bound,
                      http_request *request)
{
    const char *side = bound->upper ? "max" : "min";
    trial_range found;
    if (!find(&found, definition, bound->name, request))
        return false;
    const wire_parameter *words = of_words(&found, definition);
    double value = read_bound(words, bound->value);
    if (isnan(value)) {
        char wanted[WIRE_VALUES_TEXT] = "must be a number";
        if (words && !wire_describe_values(words, wanted))
            http_answer_store_problem(request, STORE_NO_MEMORY);
        else
            http_answer_problem(request, 422, NULL, "query parameter '%s:%s' %s", side, bound->name, wanted);
        return false;
    }
    trial_range *range = range_like(out, &found);
    double *place = bound->upper ? &range->high : &range->low;
    if (isfinite(*place)) {
        http_answer_problem(request, 422, NULL, "query parameter '%s:%s' is given twice", side, bound->name);
        return false;
    }
    *place = value;
    return true;
}

bool trial_ranges_read(trial_ranges *out, const wire_study *definition, http_request *request)
{
    *out = (trial_ranges){0};
    if (request->n_bounds == 0)
        return true;
    out->items = calloc(request->n_bounds, sizeof *out->items);
    if (!out->items) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    }
    for (size_t i = 0; i < request->n_bounds; i++)
        if (!add_bound(out, definition, &request->bounds[i], request))
            return false;
    return true;
}

void trial_ranges_clear(trial_ranges *ranges)
{
    free(ranges->items);
    *ranges = (trial_ranges){0};
}

static bool is_inside(const trial_range *range, double value)
{
    return value >= range->low && value <= range->high; /* false for NaN */
}

bool trial_ranges_have_values(const trial_ranges *ranges, const store_trial *row)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const trial_range *range = &ranges->items[i];
        if (range->metric && !is_inside(range, trial_metric_value(row, range->metric, range->objective)))
            return false;
    }
    return true;
}

bool trial_ranges_have_point(const trial_ranges *ranges, const double *point)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const trial_range *range = &ranges->items[i];
        if (!range->metric && !is_inside(range, point[range->column]))
            return false;
    }
    return true;
}
