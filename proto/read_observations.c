#include "proto/read_observations.h"

#include "proto/arrays.h"
#include "proto/csv.h"
#include "proto/decode_tell.h"
#include "proto/json_list.h"
#include "proto/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The meaning of a CSV column. */
typedef enum column {
    COLUMN_CANDIDATE,
    COLUMN_VALUE,
    COLUMN_REPEATS,
    COLUMN_STATE,
    COLUMN_PASSED_OVER,
    COLUMN_PARAMETER /* plus the index of the parameter */
} column;

static const size_t NO_COLUMN = SIZE_MAX;
enum { COLUMNS_MAXIMUM = 2000 }; /* more than any exported table has */

/* What a name in the header may mean; NO_COLUMN: not that. */
typedef struct header_cell {
    size_t parameter, own;
    bool prefixed; /* the parameter's name has the prefix */
} header_cell;

struct wire_observations_reader {
    wire_observations_format format;
    const wire_study *study;
    wire_observation_sink *sink;
    void *arg;
    wire_status status; /* the first failure stays */
    size_t count;
    double *parameters; /* of a space: one point */
    wire_json_list list;

    wire_csv csv;
    header_cell *header; /* until its end */
    size_t *columns;     /* column, or COLUMN_PARAMETER + the parameter's index */
    size_t n_columns, capacity;
    bool header_done, has_state;
    wire_observation row;
    bool completed; /* the row's state, if there is such a column */
};

static bool is_space(const wire_observations_reader *r)
{
    return r->study->domain_type == WIRE_DOMAIN_SPACE;
}

static wire_status hand_over(wire_observations_reader *r, const char *place,
                             const wire_observation *observation, wire_errors *errors)
{
    return r->sink(r->arg, r->count++, place, observation, errors) ? WIRE_OK : WIRE_INVALID;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static void fill_arm(wire_observations_reader *r, wire_object *o, wire_observation *observation)
{
    wire_decoder *d = o->decoder;
    if (!is_space(r)) {
        wire_forbid(o, "parameters", "applies only to a domain of type \"space\"");
        wire_take_integer(o, "candidate", WIRE_REQUIRED, 0, WIRE_MAX_INTEGER, &observation->candidate);
        return;
    }
    wire_assignments given = {0};
    wire_place at = wire_place_member(o->place, "parameters");
    wire_forbid(o, "candidate", "does not apply to a domain of type \"space\"");
    const json_t *json = wire_take(o, "parameters", WIRE_REQUIRED);
    bool was_invalid = d->invalid;
    d->invalid = false;
    if (json)
        wire_read_assignments(d, &at, json, &given);
    char *pointer = wire_pointer_text(&at);
    if (!pointer)
        d->no_memory = true;
    else if (json && !d->invalid && !d->no_memory)
        d->invalid = !wire_code_parameters(r->parameters, r->study->parameters, r->study->n_parameters,
                                           &given, WIRE_WHOLE, pointer, d->errors);
    d->invalid |= was_invalid;
    free(pointer);
    wire_assignments_clear(&given);
    observation->parameters = r->parameters;
}

static wire_status take_element(void *arg, size_t index, json_t *element, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    wire_decoder d = {.errors = errors};
    wire_place list = wire_place_member(NULL, "observations"), at = wire_place_element(&list, index);
    wire_observation observation = {.candidate = -1, .repeats = 1};
    wire_result values = {0};
    wire_object o;
    if (wire_object_open(&o, &d, &at, element)) {
        fill_arm(r, &o, &observation);
        if (wire_has(&o, "values")) {
            wire_forbid(&o, "value", "cannot be given together with values");
            wire_fill_values(&o, &values);
        } else {
            observation.has_value =
                wire_take_real(&o, "value", WIRE_REQUIRED, &wire_value, &observation.value);
        }
        wire_take_integer(&o, "repeats", WIRE_OPTIONAL, 1, WIRE_MAX_REPEATS, &observation.repeats);
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
        status = hand_over(r, place, &observation, errors);
    }
    wire_result_clear(&values);
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

static bool is_text(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* The columns of an exported table, except parameters and the "values.<name>" of recorded metrics. */
static const struct {
    const char *name;
    column column;
} own_columns[] = {
    {"candidate", COLUMN_CANDIDATE}, {"value", COLUMN_VALUE},        {"repeats", COLUMN_REPEATS},
    {"state", COLUMN_STATE},         {"trial", COLUMN_PASSED_OVER},  {"attempt", COLUMN_PASSED_OVER},
    {"batch", COLUMN_PASSED_OVER},   {"worker", COLUMN_PASSED_OVER}, {"reason", COLUMN_PASSED_OVER},
    {"told_at", COLUMN_PASSED_OVER}, {"origin", COLUMN_PASSED_OVER}, {"observation", COLUMN_PASSED_OVER},
};

static bool has_prefix(const char *text, size_t n, const char *prefix)
{
    size_t length = strlen(prefix);
    return n > length && memcmp(text, prefix, length) == 0;
}

/* A column that every table has; otherwise NO_COLUMN. */
static size_t own_column(const wire_observations_reader *r, const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof own_columns / sizeof *own_columns; i++)
        if (is_text(text, n, own_columns[i].name))
            return own_columns[i].column == COLUMN_CANDIDATE && is_space(r) ? NO_COLUMN
                                                                            : own_columns[i].column;
    return has_prefix(text, n, "values.") ? COLUMN_PASSED_OVER : NO_COLUMN;
}

static size_t parameter_column(const wire_observations_reader *r, const char *text, size_t n)
{
    for (size_t i = 0; i < r->study->n_parameters; i++)
        if (is_text(text, n, r->study->parameters[i].name))
            return COLUMN_PARAMETER + i;
    return NO_COLUMN;
}

bool wire_is_table_column(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof own_columns / sizeof *own_columns; i++)
        if (is_text(name, n, own_columns[i].name))
            return true;
    return has_prefix(name, n, "values.") || has_prefix(name, n, WIRE_PARAMETER_PREFIX);
}

/* A cell of the header. */
static wire_status take_name(wire_observations_reader *r, const char *text, size_t n, wire_errors *errors)
{
    const size_t prefix = strlen(WIRE_PARAMETER_PREFIX);
    if (!r->csv.quoted)
        wire_csv_trim(&text, &n);
    header_cell cell = {.parameter = NO_COLUMN, .own = own_column(r, text, n)};
    if (has_prefix(text, n, WIRE_PARAMETER_PREFIX))
        cell.parameter = parameter_column(r, text + prefix, n - prefix);
    cell.prefixed = cell.parameter != NO_COLUMN;
    if (!cell.prefixed)
        cell.parameter = parameter_column(r, text, n);
    if (cell.parameter == NO_COLUMN && cell.own == NO_COLUMN) {
        wire_errors_add(errors, "", "the header has an unknown column \"%.*s\"", n > 100 ? 100 : (int)n,
                        text);
        return WIRE_INVALID;
    }
    if (r->n_columns == COLUMNS_MAXIMUM) {
        wire_errors_add(errors, "", "the header has more than %d columns", COLUMNS_MAXIMUM);
        return WIRE_INVALID;
    }
    if (!wire_grow(&r->header, &r->capacity, r->n_columns + 1, 16, sizeof *r->header))
        return WIRE_NO_MEMORY;
    r->header[r->n_columns++] = cell;
    return WIRE_OK;
}

static const char *column_name(const wire_observations_reader *r, size_t which)
{
    if (which >= COLUMN_PARAMETER)
        return r->study->parameters[which - COLUMN_PARAMETER].name;
    size_t i = 0;
    while (own_columns[i].column != which)
        i++;
    return own_columns[i].name;
}

/* Decides the meaning of each column. A name that belongs to both a parameter and the table means the
 * parameter, unless the parameter has a column with the prefix. seen: one entry per possible column, all
 * false. */
static wire_status resolve_header(wire_observations_reader *r, bool *seen, bool *prefixed,
                                  wire_errors *errors)
{
    for (size_t k = 0; k < r->n_columns; k++)
        if (r->header[k].prefixed)
            prefixed[r->header[k].parameter - COLUMN_PARAMETER] = true;
    for (size_t k = 0; k < r->n_columns; k++) {
        const header_cell *cell = &r->header[k];
        bool is_own = cell->parameter == NO_COLUMN || (!cell->prefixed && cell->own != NO_COLUMN &&
                                                       prefixed[cell->parameter - COLUMN_PARAMETER]);
        size_t found = is_own ? cell->own : cell->parameter;
        if (seen[found] && found != COLUMN_PASSED_OVER) {
            wire_errors_add(errors, "", "the header has the column \"%.100s\" twice", column_name(r, found));
            return WIRE_INVALID;
        }
        seen[found] = true;
        r->columns[k] = found;
    }
    r->has_state = seen[COLUMN_STATE];
    if (seen[COLUMN_VALUE] && (is_space(r) || seen[COLUMN_CANDIDATE]))
        return WIRE_OK;
    wire_errors_add(errors, "", "the header has no column \"%s\"",
                    seen[COLUMN_VALUE] ? "candidate" : "value");
    return WIRE_INVALID;
}

static wire_status end_header(wire_observations_reader *r, wire_errors *errors)
{
    size_t n = r->study->n_parameters;
    bool *seen = calloc(COLUMN_PARAMETER + n, sizeof *seen);
    bool *prefixed = calloc(n ? n : 1, sizeof *prefixed);
    r->columns = calloc(r->n_columns, sizeof *r->columns);
    wire_status status = WIRE_NO_MEMORY;
    if (seen && prefixed && r->columns)
        status = resolve_header(r, seen, prefixed, errors);
    free(seen);
    free(prefixed);
    free(r->header);
    r->header = NULL;
    r->header_done = true;
    return status;
}

static void begin_row(wire_observations_reader *r)
{
    r->row = (wire_observation){.candidate = -1, .repeats = 1};
    r->completed = !r->has_state;
    for (size_t i = 0; i < r->study->n_parameters; i++)
        r->parameters[i] = NAN;
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

static wire_status take_cell(void *arg, const char *text, size_t n, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    if (!r->header_done)
        return take_name(r, text, n, errors);
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
    case COLUMN_VALUE:
        r->row.has_value =
            wire_read_number(text, n, WIRE_NUMBER_LOOSE, &r->row.value) == WIRE_NUMBER_FINITE &&
            fabs(r->row.value) <= WIRE_MAX_VALUE;
        return r->row.has_value
                   ? WIRE_OK
                   : refuse_row(r, errors, "value", "must be a finite number from -1e+100 to 1e+100");
    case COLUMN_REPEATS:
        return read_count(text, n, 1, WIRE_MAX_REPEATS, &r->row.repeats)
                   ? WIRE_OK
                   : refuse_row(r, errors, "repeats", "must be an integer from 1 to 1000000");
    case COLUMN_STATE:
        r->completed = is_text(text, n, "completed");
        return WIRE_OK;
    default:
        break;
    }
    size_t p = what - COLUMN_PARAMETER;
    r->parameters[p] = wire_code_text(&r->study->parameters[p], text, n);
    if (!isnan(r->parameters[p]))
        return WIRE_OK;
    char detail[WIRE_VALUES_TEXT];
    return wire_describe_values(&r->study->parameters[p], detail)
               ? refuse_row(r, errors, r->study->parameters[p].name, detail)
               : WIRE_NO_MEMORY;
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
    r->row.parameters = r->parameters;
    return status;
}

static wire_status take_row(void *arg, size_t columns, wire_errors *errors)
{
    wire_observations_reader *r = arg;
    if (!r->header_done)
        return end_header(r, errors);
    char place[64];
    describe_row(r, place);
    if (columns != r->n_columns) {
        wire_errors_add(errors, "", "%s: %zu cells, %zu expected", place, columns, r->n_columns);
        return WIRE_INVALID;
    }
    if (!r->completed)
        return WIRE_OK;
    if (!r->row.has_value)
        return refuse_row(r, errors, "value", "is required");
    if (!is_space(r) && r->row.candidate < 0)
        return refuse_row(r, errors, "candidate", "is required");
    wire_status status = is_space(r) ? complete_row(r, errors) : WIRE_OK;
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
    if (study->n_parameters > 0) {
        r->parameters = calloc(study->n_parameters, sizeof *r->parameters);
        if (!r->parameters) {
            wire_observations_reader_free(r);
            return WIRE_NO_MEMORY;
        }
    }
    *out = r;
    return WIRE_OK;
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
    free(r);
}
