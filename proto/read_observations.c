#include "proto/observations_internal.h"

#include "proto/constraints.h"
#include "proto/decode_keys.h"
#include "proto/decode_tell.h"
#include "proto/ignored_columns.h"
#include "proto/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static wire_status hand_over(wire_observations_reader *r, const char *place,
                             const wire_observation *observation, wire_errors *errors)
{
    return r->sink(r->arg, r->count++, place, observation, errors) ? WIRE_OK : WIRE_INVALID;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

/* A candidate given by its features. */
static void fill_features(wire_observations_reader *r, wire_object *o, wire_observation *observation)
{
    wire_decoder *d = o->decoder;
    wire_place at = wire_place_member(o->place, "point");
    const json_t *json = wire_take(o, "point", WIRE_REQUIRED);
    wire_forbid(o, "candidate", "cannot be given together with point");
    if (!json_is_array(json) || json_array_size(json) != r->n_places) {
        wire_refuse(d, &at, "must be a list of %zu number%s", r->n_places, r->n_places == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < r->n_places; i++) {
        wire_place cell = wire_place_element(&at, i);
        wire_read_real(d, &cell, json_array_get(json, i), &wire_any, &r->parameters[i]);
    }
    observation->features = r->parameters;
}

/* *key: the observation's, owned by the caller. */
static void fill_arm(wire_observations_reader *r, wire_object *o, wire_observation *observation, char **key)
{
    wire_decoder *d = o->decoder;
    if (!is_space(r)) {
        wire_forbid(o, "parameters", "applies only to a domain of type \"space\"");
        if (r->n_places > 0 && wire_has(o, "point")) {
            wire_forbid(o, "key", "cannot be given together with point");
            fill_features(r, o, observation);
            return;
        }
        if (wire_has(o, "key")) {
            wire_forbid(o, "candidate", "cannot be given together with key");
            wire_take_key(o, "key", key);
            observation->key = *key;
            return;
        }
        wire_take_candidate(o, &observation->candidate);
        return;
    }
    wire_assignments given = {0};
    wire_place at = wire_place_member(o->place, "parameters");
    wire_forbid(o, "candidate", "does not apply to a domain of type \"space\"");
    wire_forbid(o, "key", "does not apply to a domain of type \"space\"");
    const json_t *json = wire_take(o, "parameters", WIRE_REQUIRED);
    bool was_invalid = d->invalid;
    d->invalid = false;
    if (json)
        wire_read_assignments(d, &at, json, &given);
    char *pointer = wire_pointer_text(&at);
    if (!pointer)
        d->no_memory = true;
    else if (json && !d->invalid && !d->no_memory)
        d->invalid =
            !wire_code_parameters(r->parameters, r->study->parameters, r->study->n_parameters, &given,
                                  WIRE_WHOLE, pointer, d->errors) ||
            (!r->takes_broken && !wire_check_constraints(r->study, r->parameters, pointer, d->errors));
    d->invalid |= was_invalid;
    free(pointer);
    wire_assignments_clear(&given);
    observation->parameters = r->parameters;
    if (!d->invalid && !d->no_memory)
        observation->broken = wire_broken_constraint(r->study, r->parameters);
}

static wire_status take_element(void *arg, size_t index, json_t *element, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    wire_decoder d = {.errors = errors};
    wire_place list = wire_place_member(NULL, "observations"), at = wire_place_element(&list, index);
    wire_observation observation = {.candidate = -1, .repeats = 1};
    wire_result values = {0};
    char *key = NULL;
    wire_object o;
    if (wire_object_open(&o, &d, &at, element)) {
        fill_arm(r, &o, &observation, &key);
        if (wire_has(&o, "values")) {
            wire_forbid(&o, "value", "cannot be given together with values");
            wire_fill_values(&o, &values);
        } else {
            observation.has_value =
                wire_take_real(&o, "value", WIRE_REQUIRED, &wire_value, &observation.value);
        }
        wire_take_integer(&o, "repeats", WIRE_OPTIONAL, 1, WIRE_MAX_REPEATS, &observation.repeats);
        wire_fill_std_errors(&o, &values);
        wire_take_cost(&o, &observation.cost);
        wire_object_close(&o);
    }
    wire_status status = d.no_memory || errors->no_memory ? WIRE_NO_MEMORY
                         : d.invalid                      ? WIRE_INVALID
                                                          : WIRE_OK;
    if (status == WIRE_OK) {
        char place[48];
        snprintf(place, sizeof place, "/observations/%zu", index);
        observation.values = values.values;
        observation.n_values = values.n_values;
        observation.std_error = values.std_error;
        observation.std_errors = values.std_errors;
        observation.n_std_errors = values.n_std_errors;
        status = hand_over(r, place, &observation, errors);
    }
    wire_result_clear(&values);
    free(key);
    return status;
}

/* ---- CSV ---------------------------------------------------------------------------------------------- */

static void describe_row(const wire_observations_reader *r, char place[64])
{
    snprintf(place, 64, "line %zu, row %zu", r->csv.line + 1, r->count + 1);
}

static wire_status refuse_row(wire_observations_reader *r, wire_errors *errors, const char *name,
                              const char *detail)
{
    char place[64];
    describe_row(r, place);
    wire_errors_add(errors, "", "%s, \"%.100s\": %s", place, name, detail);
    return WIRE_INVALID;
}

static void begin_row(wire_observations_reader *r)
{
    r->row = (wire_observation){.candidate = -1, .repeats = 1};
    r->completed = !r->has_state;
    for (size_t i = 0; i < r->n_places; i++)
        r->parameters[i] = NAN;
    for (size_t i = 0; i < 2 * r->study->n_metrics; i++)
        r->metrics[i] = NAN;
}

/* A whole number from min to max. */
static bool read_count(const char *text, size_t n, int64_t min, int64_t max, int64_t *out)
{
    double value;
    if (wire_read_number(text, n, WIRE_NUMBER_LOOSE, &value) != WIRE_NUMBER_FINITE || value != trunc(value) ||
        value < (double)min || value > (double)max)
        return false;
    *out = (int64_t)value;
    return true;
}

static wire_status refuse_number(wire_observations_reader *r, wire_errors *errors, const char *text, size_t n)
{
    char detail[200];
    snprintf(detail, sizeof detail, "must be a finite number from -1e+100 to 1e+100, not \"%.*s\"%s",
             n > 40 ? 40 : (int)n, text, observations_hint(text, n));
    return refuse_row(r, errors, "value", detail);
}

/* The value of a metric, or its standard error. */
static wire_status take_metric(wire_observations_reader *r, size_t place, const char *text, size_t n,
                               wire_errors *errors)
{
    const wire_study *study = r->study;
    bool is_error = place >= study->n_metrics;
    const char *name = study->metrics[place % study->n_metrics].name;
    double *out = &r->metrics[place], least = is_error ? WIRE_MIN_STD_ERROR : -WIRE_MAX_VALUE;
    char detail[240];
    if (wire_read_number(text, n, WIRE_NUMBER_LOOSE, out) == WIRE_NUMBER_FINITE && *out >= least &&
        *out <= WIRE_MAX_VALUE)
        return WIRE_OK;
    snprintf(detail, sizeof detail, "%s must be a number from %g to 1e+100, not \"%.*s\"%s",
             is_error ? "the standard error" : "the value", least, n > 40 ? 40 : (int)n, text,
             observations_hint(text, n));
    return refuse_row(r, errors, name, detail);
}

static wire_status take_cost(wire_observations_reader *r, const char *text, size_t n, wire_errors *errors)
{
    char detail[160];
    double *cost = &r->row.cost;
    if (wire_read_number(text, n, WIRE_NUMBER_LOOSE, cost) == WIRE_NUMBER_FINITE && *cost >= 0.0 &&
        *cost <= WIRE_MAX_COST)
        return WIRE_OK;
    snprintf(detail, sizeof detail, "must be a number from 0 to %g, not \"%.*s\"%s", WIRE_MAX_COST,
             n > 40 ? 40 : (int)n, text, observations_hint(text, n));
    return refuse_row(r, errors, "cost", detail);
}

static size_t objective_place(const wire_observations_reader *r)
{
    return (size_t)(wire_objective(r->study) - r->study->metrics);
}

/* Names those of the n numbers that are given. Returns how many there are. */
static size_t name_metrics(const wire_study *study, const double *numbers, wire_named_value *out)
{
    size_t n = 0;
    for (size_t i = 0; i < study->n_metrics; i++)
        if (!isnan(numbers[i]))
            out[n++] = (wire_named_value){.name = study->metrics[i].name, .value = numbers[i]};
    return n;
}

/* Sets the row's lists of values and standard errors. If only the first objective has a value, there is no list of
 * values. */
static void complete_metrics(wire_observations_reader *r)
{
    const wire_study *study = r->study;
    wire_observation *row = &r->row;
    if (row->has_value)
        r->metrics[objective_place(r)] = row->value;
    row->n_values = name_metrics(study, r->metrics, r->named);
    row->n_std_errors = name_metrics(study, r->metrics + study->n_metrics, r->named + study->n_metrics);
    row->values = row->n_values > 1 || !row->has_value ? r->named : NULL;
    row->std_errors = row->n_std_errors > 0 ? r->named + study->n_metrics : NULL;
    if (!row->values)
        row->n_values = 0;
}

/* The value of a feature. Empty cells do not get here. */
static wire_status take_feature(wire_observations_reader *r, size_t place, const char *text, size_t n,
                                wire_errors *errors)
{
    char room[24], detail[160];
    if (r->by_number || r->by_key ||
        wire_read_number(text, n, WIRE_NUMBER_LOOSE, &r->parameters[place]) == WIRE_NUMBER_FINITE)
        return WIRE_OK;
    snprintf(detail, sizeof detail, "must be a finite number, not \"%.*s\"%s", n > 40 ? 40 : (int)n, text,
             observations_hint(text, n));
    return refuse_row(r, errors, observations_place_name(r, place, room), detail);
}

/* Spreadsheets write TRUE and FALSE. */
static double code_cell(const wire_parameter *p, const char *text, size_t n)
{
    if (p->type == WIRE_PARAMETER_BOOLEAN && n == 4 && strncasecmp(text, "true", n) == 0)
        return 1;
    if (p->type == WIRE_PARAMETER_BOOLEAN && n == 5 && strncasecmp(text, "false", n) == 0)
        return 0;
    return wire_code_text(p, text, n);
}

/* The value of a parameter or of a feature. */
static wire_status take_place(wire_observations_reader *r, size_t place, const char *text, size_t n,
                              wire_errors *errors)
{
    if (!is_space(r))
        return take_feature(r, place, text, n, errors);
    const wire_parameter *p = &r->study->parameters[place];
    r->parameters[place] = code_cell(p, text, n);
    if (!isnan(r->parameters[place]))
        return WIRE_OK;
    char detail[WIRE_VALUES_TEXT + 100], allowed[WIRE_VALUES_TEXT];
    if (!wire_describe_values(p, allowed))
        return WIRE_NO_MEMORY;
    snprintf(detail, sizeof detail, "%s, not \"%.*s\"%s", allowed, n > 40 ? 40 : (int)n, text,
             observations_hint(text, n));
    return refuse_row(r, errors, p->name, detail);
}

static wire_status take_key(wire_observations_reader *r, const char *text, size_t n, wire_errors *errors)
{
    const char *why = r->by_key ? wire_key_problem(text, n) : NULL;
    if (why)
        return refuse_row(r, errors, "key", why);
    if (r->by_key) {
        memcpy(r->key, text, n);
        r->key[n] = '\0';
        r->row.key = r->key;
    }
    return WIRE_OK;
}

static wire_status take_cell(void *arg, const char *text, size_t n, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    if (!r->header_done)
        return observations_take_name(r, text, n, errors);
    if (r->csv.column == 0)
        begin_row(r);
    if (r->csv.column >= r->n_columns)
        return WIRE_OK; /* refused at the row's end */
    size_t what = r->columns[r->csv.column];
    if (!r->csv.quoted) /* blanks inside quotes belong to the text */
        wire_csv_trim(&text, &n);
    if (n == 0 || what == COLUMN_PASSED_OVER)
        return WIRE_OK;
    switch (what) {
    case COLUMN_CANDIDATE:
        return read_count(text, n, 0, WIRE_MAX_INTEGER, &r->row.candidate)
                   ? WIRE_OK
                   : refuse_row(r, errors, "candidate",
                                "must be the number of a candidate, an integer from 0");
    case COLUMN_KEY:
        return take_key(r, text, n, errors);
    case COLUMN_VALUE:
        r->row.has_value =
            wire_read_number(text, n, WIRE_NUMBER_LOOSE, &r->row.value) == WIRE_NUMBER_FINITE &&
            fabs(r->row.value) <= WIRE_MAX_VALUE;
        return r->row.has_value ? WIRE_OK : refuse_number(r, errors, text, n);
    case COLUMN_REPEATS:
        return read_count(text, n, 1, WIRE_MAX_REPEATS, &r->row.repeats)
                   ? WIRE_OK
                   : refuse_row(r, errors, "repeats", "must be an integer from 1 to 1000000");
    case COLUMN_COST:
        return take_cost(r, text, n, errors);
    case COLUMN_STD_ERROR:
        return take_metric(r, r->study->n_metrics + objective_place(r), text, n, errors);
    case COLUMN_STATE:
        r->completed = is_text(text, n, "completed");
        return WIRE_OK;
    default:
        break;
    }
    return what >= observations_metric_column(r)
               ? take_metric(r, what - observations_metric_column(r), text, n, errors)
               : take_place(r, what - COLUMN_PARAMETER, text, n, errors);
}

static wire_status complete_row(wire_observations_reader *r, wire_errors *errors)
{
    wire_errors problems = {0};
    wire_status status = WIRE_OK;
    if (!wire_complete_parameters(r->parameters, r->study->parameters, r->study->n_parameters, WIRE_WHOLE, "",
                                  &problems)) {
        status = problems.no_memory ? WIRE_NO_MEMORY : WIRE_INVALID;
        for (size_t i = 0; i < problems.n; i++)
            refuse_row(r, errors, problems.items[i].pointer + 1, problems.items[i].detail);
    }
    wire_errors_clear(&problems);
    r->row.broken = status == WIRE_OK ? wire_broken_constraint(r->study, r->parameters) : NULL;
    if (r->row.broken && !r->takes_broken) {
        char detail[WIRE_VALUES_TEXT];
        snprintf(detail, sizeof detail, "breaks the constraint %.200s", r->row.broken);
        status = refuse_row(r, errors, "parameters", detail);
    }
    r->row.parameters = r->parameters;
    return status;
}

static wire_status complete_features(wire_observations_reader *r, wire_errors *errors)
{
    char room[24];
    for (size_t i = 0; i < r->n_places; i++)
        if (isnan(r->parameters[i]))
            return refuse_row(r, errors, observations_place_name(r, i, room), "is required");
    r->row.features = r->parameters;
    return WIRE_OK;
}

static wire_status take_row(void *arg, size_t columns, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    if (!r->header_done)
        return observations_end_header(r, errors);
    char place[64];
    describe_row(r, place);
    if (columns != r->n_columns) {
        bool more = columns > r->n_columns;
        wire_errors_add(errors, "", "%s: %zu cell%s, %zu expected%s", place, columns, columns == 1 ? "" : "s",
                        r->n_columns,
                        more ? "; numbers have a decimal point, and a cell with a comma needs quotes" : "");
        return WIRE_INVALID;
    }
    if (!r->completed)
        return WIRE_OK;
    if (!r->row.has_value)
        return refuse_row(r, errors, "value", "is required");
    if (!is_space(r) && r->by_number && r->row.candidate < 0)
        return refuse_row(r, errors, "candidate", "is required");
    if (r->by_key && !r->row.key)
        return refuse_row(r, errors, "key", "is required");
    wire_status status = is_space(r) ? complete_row(r, errors) : WIRE_OK;
    if (!is_space(r) && !r->by_number && !r->by_key)
        status = complete_features(r, errors);
    complete_metrics(r);
    return status == WIRE_OK ? hand_over(r, place, &r->row, errors) : status;
}

/* ---- the reader --------------------------------------------------------------------------------------- */

wire_status wire_observations_reader_new(wire_observations_reader **out, wire_observations_format format,
                                         const wire_study *study, wire_observation_sink *sink, void *arg)
{
    *out = NULL;
    wire_observations_reader *r = calloc(1, sizeof *r);
    if (!r)
        return WIRE_NO_MEMORY;
    *r = (wire_observations_reader){.format = format, .study = study, .sink = sink, .arg = arg};
    r->csv = (wire_csv){.cell = take_cell, .row = take_row, .arg = r};
    r->list = (wire_json_list){.name = "observations", .element = take_element, .arg = r};
    r->n_places =
        study->domain_type == WIRE_DOMAIN_CANDIDATES ? (size_t)study->dimension.value : study->n_parameters;
    r->metrics = calloc(2 * study->n_metrics, sizeof *r->metrics);
    r->named = calloc(2 * study->n_metrics, sizeof *r->named);
    if (!r->metrics || !r->named) {
        wire_observations_reader_free(r);
        return WIRE_NO_MEMORY;
    }
    if (r->n_places > 0) {
        r->parameters = calloc(r->n_places, sizeof *r->parameters);
        if (!r->parameters) {
            wire_observations_reader_free(r);
            return WIRE_NO_MEMORY;
        }
    }
    *out = r;
    return WIRE_OK;
}

void wire_observations_reader_take_broken(wire_observations_reader *r)
{
    r->takes_broken = true;
}

wire_status wire_observations_reader_ignore(wire_observations_reader *r, const char *names)
{
    r->ignored = wire_ignored_new(names);
    return r->ignored ? WIRE_OK : WIRE_NO_MEMORY;
}

wire_status wire_observations_reader_feed(wire_observations_reader *r, const char *bytes, size_t n,
                                          wire_errors *errors)
{
    if (r->status != WIRE_OK)
        return r->status;
    r->status = r->format == WIRE_OBSERVATIONS_CSV ? wire_csv_feed(&r->csv, bytes, n, errors)
                                                   : wire_json_list_feed(&r->list, bytes, n, errors);
    if (errors->no_memory)
        r->status = WIRE_NO_MEMORY;
    return r->status;
}

wire_status wire_observations_reader_finish(wire_observations_reader *r, wire_errors *errors)
{
    if (r->status != WIRE_OK)
        return r->status;
    if (r->format == WIRE_OBSERVATIONS_JSON) {
        r->status = wire_json_list_finish(&r->list, errors);
    } else {
        r->status = wire_csv_finish(&r->csv, errors);
        if (r->status == WIRE_OK && r->count == 0) {
            wire_errors_add(errors, "", "there are no observations");
            r->status = WIRE_INVALID;
        }
    }
    if (errors->no_memory)
        r->status = WIRE_NO_MEMORY;
    return r->status;
}

size_t wire_observations_reader_count(const wire_observations_reader *r)
{
    return r->count;
}

void wire_observations_reader_free(wire_observations_reader *r)
{
    if (!r)
        return;
    wire_json_list_clear(&r->list);
    free(r->header);
    free(r->columns);
    free(r->parameters);
    free(r->metrics);
    free(r->named);
    free(r->ignored);
    free(r);
}
