/* CSV as RFC 4180 has it, a little wider: CR, LF or CRLF end a line, blanks around a number do not matter,
 * lines with nothing but blanks are skipped, and so is a byte order mark.
 *
 * The first line is a header when one of its cells is a word: neither a number, nor empty, nor the name of a
 * number that is not finite. (So that a first row with a gap or a nan is refused, not lost.) */
#include "proto/number.h"
#include "proto/points_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *n)
{
    while (*n > 0 && is_blank((*text)[*n - 1]))
        (*n)--;
    while (*n > 0 && is_blank(**text)) {
        (*text)++;
        (*n)--;
    }
}

/* ---- problems ----------------------------------------------------------------------------------------- */

/* "line 4, row 3, column 2 ("age"): not a number: "abc"" */
static wire_status refuse_cell(wire_points_reader *r, wire_errors *errors, const char *why, const char *text,
                               size_t n)
{
    const points_csv *csv = &r->u.csv;
    size_t column = csv->column;
    const char *name = csv->first_line_done && column < csv->n_first ? csv->first[column] : NULL;
    int shown = n > 40 ? 40 : (int)n;
    wire_errors_add(errors, "", "line %zu, row %zu, column %zu%s%.60s%s: %s: \"%.*s\"%s", csv->row_line,
                    r->rows + 1, column + 1, name ? " (\"" : "", name ? name : "", name ? "\")" : "", why,
                    shown, text, n > 40 ? "…" : "");
    return WIRE_INVALID;
}

static wire_status refuse_length(wire_points_reader *r, wire_errors *errors, const char *relation, size_t n)
{
    wire_errors_add(errors, "", "line %zu, row %zu: %s%zu cells, %zu expected", r->u.csv.row_line,
                    r->rows + 1, relation, n, r->dimension);
    return WIRE_INVALID;
}

static wire_status refuse_line(wire_points_reader *r, wire_errors *errors, const char *why)
{
    wire_errors_add(errors, "", "line %zu, column %zu: %s", r->u.csv.line, r->u.csv.column + 1, why);
    return WIRE_INVALID;
}

/* ---- cells and rows ----------------------------------------------------------------------------------- */

/* A cell of a row: text is what stands there, without quotes. */
static wire_status take_number(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    if (r->dimension > 0 && r->cells == r->dimension)
        return refuse_length(r, errors, "more than ", r->dimension);
    trim(&text, &n);
    double value;
    switch (wire_read_number(text, n, WIRE_NUMBER_LOOSE, &value)) {
    case WIRE_NUMBER_FINITE:
        return points_put(r, value);
    case WIRE_NUMBER_INFINITE:
        return refuse_cell(r, errors, "too large for a double", text, n);
    case WIRE_NUMBER_NONE:
        break;
    }
    return refuse_cell(r, errors, n == 0 ? "empty" : "not a finite number", text, n);
}

/* Keeps a cell of the first line, until it is known what that line is. */
static wire_status keep_first(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    if (csv->n_first == WIRE_MAX_DIMENSION)
        return refuse_line(r, errors, "too many columns");
    if (csv->n_first == csv->first_capacity) {
        size_t capacity = csv->first_capacity ? 2 * csv->first_capacity : 16;
        char **first = realloc(csv->first, capacity * sizeof *first);
        if (!first)
            return WIRE_NO_MEMORY;
        csv->first = first;
        csv->first_capacity = capacity;
    }
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
    trim(&text, &n);
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

static wire_status end_first_line(wire_points_reader *r, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    bool header = false;
    for (size_t i = 0; i < csv->n_first; i++)
        header |= is_word(csv->first[i]);
    csv->column = 0;
    if (header) {
        if (r->dimension > 0 && csv->n_first != r->dimension) {
            wire_errors_add(errors, "", "line %zu: the header has %zu columns, %zu expected", csv->row_line,
                            csv->n_first, r->dimension);
            return WIRE_INVALID;
        }
        r->dimension = csv->n_first;
        csv->first_line_done = true;
        return WIRE_OK;
    }
    /* The line was a row: its cells are read again as such. */
    for (; csv->column < csv->n_first; csv->column++) {
        const char *text = csv->first[csv->column];
        wire_status status = take_number(r, text, strlen(text), errors);
        if (status != WIRE_OK)
            return status;
    }
    forget_first(csv);
    csv->first_line_done = true;
    if (r->dimension > 0 && r->cells != r->dimension)
        return refuse_length(r, errors, "", r->cells);
    return points_end_row(r);
}

static wire_status end_cell(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    wire_status status =
        csv->first_line_done ? take_number(r, text, n, errors) : keep_first(r, text, n, errors);
    csv->column++;
    csv->quoted = false;
    csv->state = CSV_CELL_START;
    r->cell_size = 0;
    return status;
}

/* The last cell of a line: ends the row too, unless the line is blank. */
static wire_status end_line(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    wire_status status = WIRE_OK;
    const char *visible = text;
    size_t n_visible = n;
    trim(&visible, &n_visible);
    if (csv->column == 0 && n_visible == 0 && !csv->quoted) {
        csv->state = CSV_CELL_START;
        r->cell_size = 0;
    } else {
        status = end_cell(r, text, n, errors);
        if (status == WIRE_OK && !csv->first_line_done)
            status = end_first_line(r, errors);
        else if (status == WIRE_OK)
            status = r->cells == r->dimension ? points_end_row(r) : refuse_length(r, errors, "", r->cells);
    }
    csv->column = 0;
    csv->line++;
    csv->row_line = csv->line;
    return status;
}

/* ---- bytes -------------------------------------------------------------------------------------------- */

static wire_status keep(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    if (n > POINTS_CELL_MAX - r->cell_size)
        return refuse_line(r, errors, "a cell is too long");
    memcpy(r->cell + r->cell_size, text, n);
    r->cell_size += n;
    return WIRE_OK;
}

static bool ends_cell(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

/* The separator after a cell whose text is given. */
static wire_status separate(wire_points_reader *r, char c, const char *text, size_t n, wire_errors *errors)
{
    if (c == ',')
        return end_cell(r, text, n, errors);
    r->u.csv.after_return = c == '\r';
    return end_line(r, text, n, errors);
}

/* A run of plain text from bytes[0] on. *used: how many bytes it took, a separator included. */
static wire_status feed_plain(wire_points_reader *r, const char *bytes, size_t n, size_t *used,
                              wire_errors *errors)
{
    size_t i = 0;
    while (i < n && !ends_cell(bytes[i]) && bytes[i] != '"')
        i++;
    if (i < n && bytes[i] == '"') {
        *used = i;
        return refuse_line(r, errors, "a quote inside a cell without quotes");
    }
    if (i == n || r->cell_size > 0) {
        wire_status status = keep(r, bytes, i, errors);
        r->u.csv.state = CSV_PLAIN;
        *used = i;
        if (i == n || status != WIRE_OK)
            return status;
        *used = i + 1;
        return separate(r, bytes[i], r->cell, r->cell_size, errors);
    }
    /* The whole cell is here: no copy. */
    *used = i + 1;
    if (i > POINTS_CELL_MAX)
        return refuse_line(r, errors, "a cell is too long");
    return separate(r, bytes[i], bytes, i, errors);
}

/* One byte in, or just after, a cell with quotes. */
static wire_status feed_quoted(wire_points_reader *r, char c, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    if (csv->state == CSV_QUOTED) {
        if (c == '"') {
            csv->state = CSV_QUOTE;
            return WIRE_OK;
        }
        if (c == '\n')
            csv->line++;
        return keep(r, &c, 1, errors);
    }
    if (csv->state == CSV_QUOTE && c == '"') {
        csv->state = CSV_QUOTED;
        return keep(r, &c, 1, errors);
    }
    csv->state = CSV_AFTER_QUOTE;
    if (ends_cell(c))
        return separate(r, c, r->cell, r->cell_size, errors);
    return is_blank(c) ? WIRE_OK : refuse_line(r, errors, "text after a closing quote");
}

wire_status points_csv_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    static const char mark[3] = {'\xEF', '\xBB', '\xBF'};
    points_csv *csv = &r->u.csv;
    wire_status status = WIRE_OK;
    size_t i = 0;
    while (csv->mark < 3 && i < n) {
        if (bytes[i] == mark[csv->mark]) {
            csv->mark++;
            i++;
            continue;
        }
        /* Text that only begins like the mark. */
        if (csv->mark > 0) {
            csv->state = CSV_PLAIN;
            status = keep(r, mark, csv->mark, errors);
        }
        csv->mark = 3;
    }
    while (i < n && status == WIRE_OK) {
        if (csv->after_return) {
            csv->after_return = false;
            if (bytes[i] == '\n') {
                i++;
                continue;
            }
        }
        size_t used = 1;
        switch (csv->state) {
        case CSV_CELL_START:
            if (bytes[i] == '"') {
                csv->state = CSV_QUOTED;
                csv->quoted = true;
                break;
            }
            status = feed_plain(r, bytes + i, n - i, &used, errors);
            break;
        case CSV_PLAIN:
            status = feed_plain(r, bytes + i, n - i, &used, errors);
            break;
        case CSV_QUOTED:
        case CSV_QUOTE:
        case CSV_AFTER_QUOTE:
            status = feed_quoted(r, bytes[i], errors);
            break;
        }
        i += used;
    }
    return status;
}

wire_status points_csv_finish(wire_points_reader *r, wire_errors *errors)
{
    points_csv *csv = &r->u.csv;
    if (csv->state == CSV_QUOTED)
        return refuse_line(r, errors, "a quote is not closed");
    wire_status status = WIRE_OK;
    if (csv->column > 0 || csv->state != CSV_CELL_START)
        status = end_line(r, r->cell, r->cell_size, errors);
    if (status == WIRE_OK && r->rows == 0) {
        wire_errors_add(errors, "", "there is no row");
        return WIRE_INVALID;
    }
    return status;
}

void points_csv_clear(wire_points_reader *r)
{
    forget_first(&r->u.csv);
    free(r->u.csv.first);
}
