#include "proto/encode_export.h"
#include "proto/json_memory.h"

#include "proto/arrays.h"
#include "proto/encode.h"
#include "proto/read_observations.h"
#include "proto/recorded_values.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---------------------------------------------------------------------------------------- */

/* The number of parameters, or of features. */
static size_t n_places(const wire_study *study)
{
    return study->domain_type == WIRE_DOMAIN_CANDIDATES ? (size_t)study->dimension.value
                                                        : study->n_parameters;
}

static const char *place_name(const wire_study *study, size_t place, char room[24])
{
    if (study->domain_type == WIRE_DOMAIN_SPACE)
        return study->parameters[place].name;
    if (study->n_feature_names > 0)
        return study->feature_names[place];
    snprintf(room, 24, "x%zu", place);
    return room;
}

/* Whether the metric has a column of its own for standard errors: it is modelled, and not the first objective. */
static bool has_own_std_error(const wire_study *study, size_t metric)
{
    return &study->metrics[metric] != wire_objective(study) && !study->metrics[metric].recorded;
}

void wire_write_table_header(wire_writer *w, const wire_study *study, bool with_keys)
{
    static const char *const others[] = {"value",  "state",   "attempt", "worker",
                                         "reason", "told_at", "repeats"};
    static const char *const last[] = {"origin", "observation", "batch", "issued_at", "metadata"};
    wire_cell(w, "trial");
    if (study->domain_type != WIRE_DOMAIN_SPACE)
        wire_cell(w, "candidate");
    if (with_keys)
        wire_cell(w, "key");
    for (size_t i = 0; i < n_places(study); i++) {
        char name[sizeof WIRE_PARAMETER_PREFIX + 4 * WIRE_MAX_NAME], room[24];
        const char *own = place_name(study, i, room);
        bool taken = wire_is_table_column(own) || (with_keys && strcmp(own, "key") == 0);
        snprintf(name, sizeof name, "%s%s", taken ? WIRE_PARAMETER_PREFIX : "", own);
        wire_cell(w, name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wire_cell(w, others[i]);
    for (size_t i = 0; i < study->n_metrics; i++) {
        char name[sizeof "values." + 4 * WIRE_MAX_NAME];
        snprintf(name, sizeof name, "values.%s", study->metrics[i].name);
        if (&study->metrics[i] != wire_objective(study))
            wire_cell(w, name);
    }
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        wire_cell(w, last[i]);
    wire_cell(w, "std_error");
    for (size_t i = 0; i < study->n_metrics; i++) {
        char name[sizeof "std_errors." + 4 * WIRE_MAX_NAME];
        snprintf(name, sizeof name, "std_errors.%s", study->metrics[i].name);
        if (has_own_std_error(study, i))
            wire_cell(w, name);
    }
    wire_cell(w, "cost");
    wire_line_end(w);
}

/* The values of recorded metrics, from their stored text. NULL: there are none, or *no_memory. */
static json_t *recorded_values(const char *recorded, bool *no_memory)
{
    json_error_t error;
    *no_memory = false;
    if (!recorded || !*recorded)
        return NULL;
    return wire_json_load(recorded, strlen(recorded), JSON_DECODE_INT_AS_REAL, &error, no_memory);
}

static void write_recorded(wire_writer *w, const wire_study *study, const char *recorded)
{
    bool no_memory;
    json_t *values = recorded_values(recorded, &no_memory);
    w->failed |= no_memory;
    for (size_t i = 0; i < study->n_metrics; i++) {
        if (&study->metrics[i] == wire_objective(study))
            continue;
        const json_t *value = json_object_get(values, study->metrics[i].name);
        if (json_is_real(value))
            wire_real(w, json_real_value(value));
        else
            wire_cell(w, "");
    }
    json_decref(values);
}

static void write_std_errors(wire_writer *w, const wire_study *study, const char *recorded)
{
    const wire_metric *metrics[WIRE_MAX_METRICS] = {wire_objective(study)};
    double errors[WIRE_MAX_METRICS];
    size_t n = 1;
    for (size_t i = 0; i < study->n_metrics; i++)
        if (has_own_std_error(study, i))
            metrics[n++] = &study->metrics[i];
    w->failed |= !wire_read_std_errors(recorded, metrics, n, errors);
    for (size_t i = 0; i < n && !w->failed; i++) {
        if (errors[i] > 0.0)
            wire_real(w, errors[i]);
        else
            wire_cell(w, "");
    }
}

double wire_recorded_value(const char *recorded, const char *name)
{
    bool no_memory;
    json_t *values = recorded_values(recorded, &no_memory);
    const json_t *value = json_object_get(values, name);
    double number = json_is_real(value) ? json_real_value(value) : NAN;
    json_decref(values);
    return number;
}

static void write_parameter(wire_writer *w, const wire_parameter *parameter, double value)
{
    if (isnan(value))
        wire_cell(w, "");
    else if (parameter->type == WIRE_PARAMETER_CATEGORICAL)
        wire_cell(w, parameter->words[(size_t)value]);
    else
        wire_encode_parameter_value(w, parameter, value);
}

/* An empty cell unless the number is given. */
static void write_number(wire_writer *w, bool given, int64_t number)
{
    if (given)
        wire_integer_value(w, number);
    else
        wire_cell(w, "");
}

static void write_time(wire_writer *w, int64_t time)
{
    if (time != 0)
        wire_time(w, time);
    else
        wire_cell(w, "");
}

void wire_write_table_row(wire_writer *w, const wire_study *study, wire_row_origin origin,
                          const wire_trial *trial, int64_t observation)
{
    static const char *const origins[] = {"trial", "late", "import"};
    bool imported = origin == WIRE_ROW_IMPORT;
    write_number(w, !imported, trial->id);
    if (study->domain_type != WIRE_DOMAIN_SPACE)
        wire_integer_value(w, trial->candidate);
    if (trial->key)
        wire_cell(w, trial->key);
    assert(study->n_parameters == 0 || trial->parameters);
    for (size_t i = 0; study->n_parameters == 0 && i < n_places(study); i++)
        wire_real(w, trial->point[i]);
    for (size_t i = 0; i < study->n_parameters; i++)
        write_parameter(w, &study->parameters[i], trial->parameters[i]);
    if (trial->has_value)
        wire_real(w, trial->value);
    else
        wire_cell(w, "");
    wire_cell(w, trial->state);
    write_number(w, !imported, trial->attempt);
    wire_cell(w, trial->worker ? trial->worker : "");
    wire_cell(w, trial->reason ? trial->reason : "");
    write_time(w, trial->told_at);
    wire_integer_value(w, trial->has_value && trial->repeats > 1 ? trial->repeats : 1);
    write_recorded(w, study, trial->recorded);
    wire_cell(w, origins[origin]);
    write_number(w, imported, observation);
    write_number(w, origin == WIRE_ROW_TRIAL && trial->batch >= 0, trial->batch);
    write_time(w, trial->issued_at);
    wire_cell(w, trial->metadata ? trial->metadata : "");
    write_std_errors(w, study, trial->recorded);
    if (trial->cost > 0.0)
        wire_real(w, trial->cost);
    else
        wire_cell(w, "");
    wire_line_end(w);
}

/* ---- the series --------------------------------------------------------------------------------------- */

void wire_encode_series(wire_writer *w, wire_series_kind kind, const wire_series_point *points, size_t n,
                        int64_t count)
{
    wire_object_begin(w);
    wire_key(w, "items");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_object_begin(w);
        if (points[i].trial > 0)
            wire_integer_member(w, "trial", points[i].trial);
        else
            wire_integer_member(w, "observation", points[i].observation);
        wire_real_member(w, kind == WIRE_SERIES_VOLUMES ? "hypervolume" : "value", points[i].value);
        if (kind == WIRE_SERIES_VALUES && isnan(points[i].best)) {
            wire_key(w, "best");
            wire_null(w);
        } else if (kind == WIRE_SERIES_VALUES) {
            wire_real_member(w, "best", points[i].best);
        }
        wire_time_member(w, "told_at", points[i].told_at);
        if (!isnan(points[i].cost))
            wire_real_member(w, "cost", points[i].cost);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_integer_member(w, "count", count);
    wire_object_end(w);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static wire_status keep(wire_lines *lines, const char *text, size_t n, wire_errors *errors)
{
    size_t max = lines->max ? lines->max : WIRE_LINE_MAX;
    if (n > max - lines->n) {
        wire_errors_add(errors, "", "line %zu has more than %zu bytes", lines->number + 1, max);
        return WIRE_INVALID;
    }
    if (!wire_grow(&lines->text, &lines->capacity, lines->n + n + 1, 4096, 1))
        return WIRE_NO_MEMORY;
    memcpy(lines->text + lines->n, text, n);
    lines->n += n;
    return WIRE_OK;
}

static bool is_blank(const wire_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->text[i] != ' ' && lines->text[i] != '\t' && lines->text[i] != '\r')
            return false;
    }
    return true;
}

static wire_status end_line(wire_lines *lines, wire_errors *errors)
{
    wire_status status = keep(lines, "", 0, errors); /* room for the NUL */
    if (status != WIRE_OK)
        return status;
    lines->number++;
    if (!is_blank(lines)) {
        lines->n -= lines->text[lines->n - 1] == '\r';
        lines->text[lines->n] = '\0';
        status = lines->line(lines->arg, lines->number, lines->text, lines->n, errors);
    }
    lines->n = 0;
    return status;
}

wire_status wire_lines_feed(wire_lines *lines, const char *bytes, size_t n, wire_errors *errors)
{
    wire_status status = WIRE_OK;
    while (n > 0 && status == WIRE_OK) {
        const char *end = memchr(bytes, '\n', n);
        size_t length = end ? (size_t)(end - bytes) : n;
        status = keep(lines, bytes, length, errors);
        if (status == WIRE_OK && end)
            status = end_line(lines, errors);
        bytes += length + (end ? 1 : 0);
        n -= length + (end ? 1 : 0);
    }
    return status;
}

wire_status wire_lines_finish(wire_lines *lines, wire_errors *errors)
{
    return lines->n > 0 ? end_line(lines, errors) : WIRE_OK;
}

void wire_lines_clear(wire_lines *lines)
{
    free(lines->text);
    lines->text = NULL;
}
