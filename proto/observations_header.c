#include "proto/observations_internal.h"

#include "proto/ignored_columns.h"

#include "proto/arrays.h"

#include <stdio.h>
#include <stdlib.h>

/* The columns of an exported table, except parameters and the "values.<name>" of recorded metrics. */
static const struct {
    const char *name;
    column column;
} own_columns[] = {
    {"candidate", COLUMN_CANDIDATE},
    {"key", COLUMN_KEY},
    {"value", COLUMN_VALUE},
    {"repeats", COLUMN_REPEATS},
    {"state", COLUMN_STATE},
    {"trial", COLUMN_PASSED_OVER},
    {"attempt", COLUMN_PASSED_OVER},
    {"batch", COLUMN_PASSED_OVER},
    {"worker", COLUMN_PASSED_OVER},
    {"reason", COLUMN_PASSED_OVER},
    {"told_at", COLUMN_PASSED_OVER},
    {"origin", COLUMN_PASSED_OVER},
    {"observation", COLUMN_PASSED_OVER},
    {"issued_at", COLUMN_PASSED_OVER},
    {"metadata", COLUMN_PASSED_OVER},
    {"std_error", COLUMN_STD_ERROR},
    {"cost", COLUMN_COST},
};

static bool has_prefix(const char *text, size_t n, const char *prefix)
{
    size_t length = strlen(prefix);
    return n > length && memcmp(text, prefix, length) == 0;
}

/* "values.<name>" or "std_errors.<name>" of a metric, or the name of a metric other than the first objective;
 * otherwise NO_COLUMN. */
static size_t metric_column(const wire_observations_reader *r, const char *text, size_t n)
{
    static const char *const prefixes[] = {"values.", "std_errors."};
    const wire_study *study = r->study;
    for (size_t i = 0; i < study->n_metrics; i++) {
        const char *name = study->metrics[i].name;
        if (&study->metrics[i] != wire_objective(study) && is_text(text, n, name))
            return observations_metric_column(r) + i;
        for (size_t k = 0; k < 2; k++) {
            size_t prefix = strlen(prefixes[k]);
            if (has_prefix(text, n, prefixes[k]) && is_text(text + prefix, n - prefix, name))
                return observations_metric_column(r) + k * study->n_metrics + i;
        }
    }
    return NO_COLUMN;
}

/* A column that every table has; otherwise NO_COLUMN. */
static size_t own_column(const wire_observations_reader *r, const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof own_columns / sizeof *own_columns; i++)
        if (is_text(text, n, own_columns[i].name))
            return own_columns[i].column <= COLUMN_KEY && is_space(r) ? NO_COLUMN : own_columns[i].column;
    size_t metric = has_prefix(text, n, "values.") || has_prefix(text, n, "std_errors.")
                        ? metric_column(r, text, n)
                        : NO_COLUMN;
    if (metric != NO_COLUMN)
        return metric;
    return has_prefix(text, n, "values.") ? COLUMN_PASSED_OVER : NO_COLUMN;
}

const char *observations_place_name(const wire_observations_reader *r, size_t place, char room[24])
{
    if (is_space(r))
        return r->study->parameters[place].name;
    if (r->study->n_feature_names > 0)
        return r->study->feature_names[place];
    snprintf(room, 24, "x%zu", place);
    return room;
}

static size_t parameter_column(const wire_observations_reader *r, const char *text, size_t n)
{
    char room[24];
    for (size_t i = 0; i < r->n_places; i++)
        if (is_text(text, n, observations_place_name(r, i, room)))
            return COLUMN_PARAMETER + i;
    return NO_COLUMN;
}

const char *observations_hint(const char *text, size_t n)
{
    if (memchr(text, ';', n))
        return "; cells are separated by commas, and numbers have a decimal point";
    if (memchr(text, '\t', n))
        return "; cells are separated by commas, not by tabs";
    return memchr(text, ',', n) ? "; numbers have a decimal point" : "";
}

/* Names the columns that are understood, and says how to skip this one. */
static wire_status refuse_column(const wire_observations_reader *r, const char *text, size_t n,
                                 wire_errors *errors)
{
    enum { SHOWN = 8 };
    char known[600] = "", room[24];
    for (size_t i = 0; i < r->n_places && i < SHOWN; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %.60s", observations_place_name(r, i, room));
    }
    wire_errors_add(
        errors, "",
        "the header has an unknown column \"%.*s\"%s: known are %s%s (or \"value\"), repeats, std_error, cost%s%s; "
        "?ignore= with the names of other columns skips these",
        n > 100 ? 100 : (int)n, text, observations_hint(text, n), is_space(r) ? "" : "candidate, key, ",
        wire_objective(r->study)->name, known, r->n_places > SHOWN ? " …" : "");
    return WIRE_INVALID;
}

bool wire_is_table_column(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof own_columns / sizeof *own_columns; i++)
        if (own_columns[i].column != COLUMN_KEY && is_text(name, n, own_columns[i].name))
            return true;
    return has_prefix(name, n, "values.") || has_prefix(name, n, "std_errors.") ||
           has_prefix(name, n, WIRE_PARAMETER_PREFIX);
}

/* A cell of the header. */
wire_status observations_take_name(wire_observations_reader *r, const char *text, size_t n,
                                   wire_errors *errors)
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
    if (wire_ignored_has(r->ignored, text, n))
        cell = (header_cell){.parameter = NO_COLUMN, .own = COLUMN_PASSED_OVER};
    if (cell.parameter == NO_COLUMN && cell.own == NO_COLUMN &&
        is_text(text, n, wire_objective(r->study)->name))
        cell.own = COLUMN_VALUE;
    if (cell.parameter == NO_COLUMN && cell.own == NO_COLUMN)
        cell.own = metric_column(r, text, n);
    if (cell.parameter == NO_COLUMN && cell.own == NO_COLUMN)
        return refuse_column(r, text, n, errors);
    if (r->n_columns == COLUMNS_MAXIMUM) {
        wire_errors_add(errors, "", "the header has more than %d columns", COLUMNS_MAXIMUM);
        return WIRE_INVALID;
    }
    if (!wire_grow(&r->header, &r->capacity, r->n_columns + 1, 16, sizeof *r->header))
        return WIRE_NO_MEMORY;
    r->header[r->n_columns++] = cell;
    return WIRE_OK;
}

static const char *column_name(const wire_observations_reader *r, size_t which, char room[24])
{
    if (which >= observations_metric_column(r))
        return r->study->metrics[(which - observations_metric_column(r)) % r->study->n_metrics].name;
    if (which >= COLUMN_PARAMETER)
        return observations_place_name(r, which - COLUMN_PARAMETER, room);
    size_t i = 0;
    while (own_columns[i].column != which)
        i++;
    return own_columns[i].name;
}

/* The column of the metric that is called "cost"; NO_COLUMN: there is none. */
static size_t metric_named_cost(const wire_observations_reader *r)
{
    size_t i = wire_metric_named(r->study, "cost");
    if (i == r->study->n_metrics)
        return NO_COLUMN;
    return &r->study->metrics[i] == wire_objective(r->study) ? (size_t)COLUMN_VALUE
                                                             : observations_metric_column(r) + i;
}

/* A column "cost" means the metric of that name, if there is one, unless the metric has another column. */
static void resolve_cost(wire_observations_reader *r)
{
    size_t metric = metric_named_cost(r), at = NO_COLUMN;
    for (size_t k = 0; k < r->n_columns; k++) {
        if (r->header[k].own == metric)
            metric = NO_COLUMN;
        if (r->header[k].own == COLUMN_COST)
            at = k;
    }
    if (at != NO_COLUMN && metric != NO_COLUMN)
        r->header[at].own = metric;
}

/* Decides the meaning of each column. A name that belongs to both a parameter and the table means the
 * parameter, unless the parameter has a column with the prefix. seen: one entry per possible column, all
 * false. */
static wire_status resolve_header(wire_observations_reader *r, bool *seen, bool *prefixed,
                                  wire_errors *errors)
{
    resolve_cost(r);
    for (size_t k = 0; k < r->n_columns; k++)
        if (r->header[k].prefixed)
            prefixed[r->header[k].parameter - COLUMN_PARAMETER] = true;
    for (size_t k = 0; k < r->n_columns; k++) {
        const header_cell *cell = &r->header[k];
        bool is_own = cell->parameter == NO_COLUMN || (!cell->prefixed && cell->own != NO_COLUMN &&
                                                       prefixed[cell->parameter - COLUMN_PARAMETER]);
        size_t found = is_own ? cell->own : cell->parameter;
        if (seen[found] && found != COLUMN_PASSED_OVER) {
            char room[24];
            wire_errors_add(errors, "", "the header has the column \"%.100s\" twice",
                            column_name(r, found, room));
            return WIRE_INVALID;
        }
        seen[found] = true;
        r->columns[k] = found;
    }
    r->has_state = seen[COLUMN_STATE];
    r->by_number = seen[COLUMN_CANDIDATE];
    r->by_key = seen[COLUMN_KEY] && !r->by_number;
    size_t missing = 0, given = 0;
    while (missing < r->n_places && seen[COLUMN_PARAMETER + missing])
        missing++;
    for (size_t i = 0; i < r->n_places; i++)
        given += seen[COLUMN_PARAMETER + i];
    bool has_point = is_space(r) || r->by_number || r->by_key || (r->n_places > 0 && missing == r->n_places);
    if (seen[COLUMN_VALUE] && has_point)
        return WIRE_OK;
    char room[24];
    const char *lacks = !seen[COLUMN_VALUE] ? "value"
                        : given > 0         ? observations_place_name(r, missing, room)
                                            : "candidate";
    const char *metric = seen[COLUMN_VALUE] ? "value" : wire_objective(r->study)->name;
    if (strcmp(metric, "value") != 0)
        wire_errors_add(errors, "", "the header has no column \"%.100s\" or \"value\"", metric);
    else
        wire_errors_add(errors, "", "the header has no column \"%.100s\"%s", lacks,
                        given > 0 && seen[COLUMN_VALUE] ? ": candidates are given by all their features"
                                                        : "");
    return WIRE_INVALID;
}

wire_status observations_end_header(wire_observations_reader *r, wire_errors *errors)
{
    size_t n = r->n_places;
    bool *seen = calloc(COLUMN_PARAMETER + n + 2 * r->study->n_metrics, sizeof *seen);
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
