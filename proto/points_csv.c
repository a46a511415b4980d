/* Points in CSV.
 *
 * The first line is a header if one of its cells is a word: not a number, not empty, and not nan or inf. If gaps and
 * nan counted as words, a first row that has one would be taken for a header and lost instead of refused. If the
 * study names its features, the header must have these names, and may have them in another order. If an earlier header
 * named them, it may also have other names. A column "key" has the candidates' keys, unless a feature has this name. */
#include "proto/arrays.h"
#include "proto/number.h"
#include "proto/points_internal.h"

#include "proto/ignored_columns.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- problems ----------------------------------------------------------------------------------------- */

/* Spreadsheets in many languages separate cells by semicolons, because their numbers have a decimal comma; copied
 * cells are separated by tabs. */
static const char *separator_hint(const char *text, size_t n)
{
    if (memchr(text, '\t', n))
        return "; cells are separated by commas, not by tabs";
    return memchr(text, ';', n) ? "; cells are separated by commas, and numbers have a decimal point" : "";
}

/* The column of the cell. If the first line is a row, its cells have been kept until its end. */
static size_t column_of(const wire_points_reader *r)
{
    return r->u.csv.order ? r->u.csv.csv.column : r->cells;
}

/* "line 4, row 3, column 2 ("age"): not a number: "abc"" */
static wire_status refuse_cell(wire_points_reader *r, wire_errors *errors, const char *why, const char *text,
                               size_t n)
{
    const points_csv *csv = &r->u.csv;
    size_t column = column_of(r);
    const char *name = csv->first_line_done && column < csv->n_first ? csv->first[column] : NULL;
    int shown = n > 40 ? 40 : (int)n;
    wire_errors_add(errors, "", "line %zu, row %zu, column %zu%s%.60s%s: %s: \"%.*s\"%s%s", csv->csv.line + 1,
                    r->rows + 1, column + 1, name ? " (\"" : "", name ? name : "", name ? "\")" : "", why,
                    shown, text, n > 40 ? "…" : "", separator_hint(text, n));
    return WIRE_INVALID;
}

static wire_status refuse_length(wire_points_reader *r, wire_errors *errors, const char *relation, size_t n)
{
    const points_csv *csv = &r->u.csv;
    wire_errors_add(errors, "", "line %zu, row %zu: %s%zu cell%s, %zu expected", csv->csv.line + 1,
                    r->rows + 1, relation, n, n == 1 ? "" : "s", csv->order ? csv->n_first : r->dimension);
    return WIRE_INVALID;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static wire_status take_key(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    wire_csv_trim(&text, &n);
    const char *why = n > 0 ? wire_key_problem(text, n) : NULL;
    if (why)
        return refuse_cell(r, errors, why, text, n);
    return points_put_key(r, r->rows, text, n);
}

static wire_status take_number(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    const points_csv *csv = &r->u.csv;
    size_t column = column_of(r);
    if (csv->order && column >= csv->n_first)
        return refuse_length(r, errors, "more than ", csv->n_first);
    if (csv->order && csv->order[column] == IGNORED_COLUMN)
        return WIRE_OK;
    if (csv->order && csv->order[column] == KEY_COLUMN)
        return take_key(r, text, n, errors);
    if (r->dimension > 0 && r->cells == r->dimension)
        return refuse_length(r, errors, "more than ", r->dimension);
    wire_csv_trim(&text, &n);
    double value;
    switch (wire_read_number(text, n, WIRE_NUMBER_LOOSE, &value)) {
    case WIRE_NUMBER_FINITE:
        return points_put_at(r, csv->order ? csv->order[column] : r->cells, value);
    case WIRE_NUMBER_INFINITE:
        return refuse_cell(r, errors, "too large for a double", text, n);
    case WIRE_NUMBER_NONE:
        break;
    }
    return refuse_cell(r, errors, n == 0 ? "empty" : "not a finite number", text, n);
}

static wire_status end_row(wire_points_reader *r, size_t columns, wire_errors *errors)
{
    size_t wanted = r->u.csv.order ? r->u.csv.n_first : r->dimension;
    if (wanted > 0 && columns != wanted)
        return refuse_length(r, errors, "", columns);
    return points_end_row(r);
}

/* ---- the first line ----------------------------------------------------------------------------------- */

/* Keeps a cell until the end of the line shows whether it is a header. */
static wire_status keep_first(points_csv *csv, const char *text, size_t n, wire_errors *errors)
{
    if (csv->n_first == WIRE_MAX_DIMENSION) {
        wire_errors_add(errors, "", "line %zu: at most %d columns are allowed", csv->csv.line + 1,
                        WIRE_MAX_DIMENSION);
        return WIRE_INVALID;
    }
    if (!wire_grow(&csv->first, &csv->first_capacity, csv->n_first + 1, 16, sizeof *csv->first))
        return WIRE_NO_MEMORY;
    char *copy = malloc(n + 1);
    if (!copy)
        return WIRE_NO_MEMORY;
    memcpy(copy, text, n);
    copy[n] = '\0';
    csv->first[csv->n_first++] = copy;
    return WIRE_OK;
}

static bool is_word(const char *text)
{
    static const char *const not_finite[] = {"nan", "inf", "infinity"};
    size_t n = strlen(text);
    wire_csv_trim(&text, &n);
    double value;
    if (n == 0 || wire_read_number(text, n, WIRE_NUMBER_LOOSE, &value) != WIRE_NUMBER_NONE)
        return false;
    if (*text == '+' || *text == '-') {
        text++;
        n--;
    }
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++) {
        if (n == strlen(not_finite[i]) && strncasecmp(text, not_finite[i], n) == 0)
            return false;
    }
    return true;
}

static void forget_first(points_csv *csv)
{
    for (size_t i = 0; i < csv->n_first; i++)
        free(csv->first[i]);
    csv->n_first = 0;
}

static wire_status refuse_name(const wire_points_reader *r, wire_errors *errors, const char *why,
                               const char *name)
{
    wire_errors_add(errors, "", "line %zu: the header %s \"%.60s\"%s", r->u.csv.csv.line + 1, why, name,
                    separator_hint(name, strlen(name)));
    return WIRE_INVALID;
}

/* The place of the name among the study's features; their number if it is not one of them. */
static size_t find_name(const wire_points_reader *r, const char *text)
{
    size_t place = 0, n = strlen(text);
    wire_csv_trim(&text, &n);
    while (place < r->n_names && (strlen(r->names[place]) != n || memcmp(r->names[place], text, n) != 0))
        place++;
    return place;
}

/* Is the column that of the keys? A feature may also be called "key". */
static bool is_key_column(const wire_points_reader *r, const char *text)
{
    size_t n = strlen(text);
    wire_csv_trim(&text, &n);
    bool second = r->key_name && n == strlen(r->key_name) && memcmp(text, r->key_name, n) == 0;
    return (second || (n == 3 && memcmp(text, "key", n) == 0)) && find_name(r, text) == r->n_names;
}

static bool is_ignored(const wire_points_reader *r, const char *text)
{
    size_t n = strlen(text);
    wire_csv_trim(&text, &n);
    return wire_ignored_has(r->ignored, text, n);
}

static wire_status refuse_column(const wire_points_reader *r, wire_errors *errors, const char *name)
{
    wire_errors_add(
        errors, "",
        "line %zu: the header has a column that is not a feature of the study: \"%.60s\"%s; ?ignore= with "
        "the names of other columns skips these",
        r->u.csv.csv.line + 1, name, separator_hint(name, strlen(name)));
    return WIRE_INVALID;
}

/* Finds the feature of each column. Every feature must have one. seen: the features, all false. */
static wire_status match_names(wire_points_reader *r, bool *seen, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    bool has_key = false;
    wire_status status = WIRE_OK;
    for (size_t i = 0; i < csv->n_first && status == WIRE_OK; i++) {
        size_t place = find_name(r, csv->first[i]);
        bool key = is_key_column(r, csv->first[i]);
        csv->order[i] = key ? KEY_COLUMN : place;
        if (is_ignored(r, csv->first[i]))
            csv->order[i] = IGNORED_COLUMN;
        else if (!key && place == r->n_names)
            status = refuse_column(r, errors, csv->first[i]);
        else if (key ? has_key : seen[place])
            status = refuse_name(r, errors, "has two columns", csv->first[i]);
        else
            *(key ? &has_key : &seen[place]) = true;
    }
    for (size_t i = 0; i < r->n_names && status == WIRE_OK; i++)
        if (!seen[i])
            status = refuse_name(r, errors, "has no column", r->names[i]);
    return status;
}

static void trim_first(points_csv *csv)
{
    for (size_t i = 0; i < csv->n_first; i++) {
        const char *text = csv->first[i];
        size_t n = strlen(text);
        wire_csv_trim(&text, &n);
        memmove(csv->first[i], text, n);
        csv->first[i][n] = '\0';
    }
}

/* Takes the names of features from the header, if the study has none. */
static wire_status take_names(wire_points_reader *r, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    trim_first(csv);
    bool has_key = false;
    size_t n_ignored = 0;
    for (size_t i = 0; i < csv->n_first; i++) {
        bool key = is_key_column(r, csv->first[i]);
        if (is_ignored(r, csv->first[i])) {
            csv->order[i] = IGNORED_COLUMN;
            n_ignored++;
            continue;
        }
        if (key && has_key)
            return refuse_name(r, errors, "has two columns", csv->first[i]);
        has_key |= key;
        csv->order[i] = key ? KEY_COLUMN : csv->n_features;
        if (!key)
            csv->features[csv->n_features++] = csv->first[i];
    }
    if (r->key_name && !has_key)
        return refuse_name(r, errors, "has no column \"key\", and none called", r->key_name);
    if ((r->dimension > 0 && csv->n_features != r->dimension) || csv->n_features == 0) {
        bool too_many = r->dimension > 0 && csv->n_features > r->dimension;
        wire_errors_add(errors, "", "line %zu: the header has %zu column%s, %zu expected%s%s",
                        csv->csv.line + 1, csv->n_first, csv->n_first == 1 ? "" : "s",
                        r->dimension > 0 ? r->dimension + has_key + n_ignored : 2,
                        separator_hint(csv->first[0], strlen(csv->first[0])),
                        too_many ? "; ?ignore= with the names of other columns skips these" : "");
        return WIRE_INVALID;
    }
    r->dimension = csv->n_features;
    return WIRE_OK;
}

/* Finds the features by their names, or takes other names if those may be replaced. */
static wire_status take_header(wire_points_reader *r, bool *seen, wire_errors *errors)
{
    wire_errors others = {0};
    if (r->n_names == 0)
        return take_names(r, errors);
    wire_status status = match_names(r, seen, r->renames ? &others : errors);
    wire_errors_clear(&others);
    if (status != WIRE_INVALID || !r->renames)
        return status;
    points_forget_names(r);
    return take_names(r, errors);
}

static wire_status end_header(wire_points_reader *r, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    csv->first_line_done = true;
    csv->order = calloc(csv->n_first + 1, sizeof *csv->order);
    csv->features = calloc(csv->n_first + 1, sizeof *csv->features);
    bool *seen = calloc(r->n_names + 1, sizeof *seen);
    wire_status status = WIRE_NO_MEMORY;
    if (csv->order && csv->features && seen)
        status = take_header(r, seen, errors);
    free(seen);
    return status;
}

static wire_status end_first_line(wire_points_reader *r, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    bool header = false;
    for (size_t i = 0; i < csv->n_first; i++)
        header |= is_word(csv->first[i]);
    if (header)
        return end_header(r, errors);
    /* The line is a row: read its cells as numbers. */
    wire_status status = WIRE_OK;
    size_t columns = csv->n_first;
    for (size_t i = 0; i < columns && status == WIRE_OK; i++)
        status = take_number(r, csv->first[i], strlen(csv->first[i]), errors);
    forget_first(csv);
    csv->first_line_done = true;
    return status == WIRE_OK ? end_row(r, columns, errors) : status;
}

/* ---- the reader --------------------------------------------------------------------------------------- */

static wire_status take_cell(void *arg, const char *text, size_t n, wire_errors *errors)
{
    wire_points_reader *r = arg;
    return r->u.csv.first_line_done ? take_number(r, text, n, errors)
                                    : keep_first(&r->u.csv, text, n, errors);
}

static wire_status take_row(void *arg, size_t columns, wire_errors *errors)
{
    wire_points_reader *r = arg;
    return r->u.csv.first_line_done ? end_row(r, columns, errors) : end_first_line(r, errors);
}

void points_csv_init(wire_points_reader *r)
{
    r->u.csv.csv = (wire_csv){.cell = take_cell, .row = take_row, .arg = r};
}

wire_status points_csv_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    return wire_csv_feed(&r->u.csv.csv, bytes, n, errors);
}

wire_status points_csv_finish(wire_points_reader *r, wire_errors *errors)
{
    wire_status status = wire_csv_finish(&r->u.csv.csv, errors);
    if (status == WIRE_OK && r->rows == 0) {
        wire_errors_add(errors, "", "there are no rows");
        return WIRE_INVALID;
    }
    return status;
}

void points_csv_clear(wire_points_reader *r)
{
    forget_first(&r->u.csv);
    free(r->u.csv.first);
    free(r->u.csv.features);
    free(r->u.csv.order);
}
