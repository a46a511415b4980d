#include "proto/csv.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void wire_csv_trim(const char **text, size_t *n)
{
    while (*n > 0 && is_blank((*text)[*n - 1]))
        (*n)--;
    while (*n > 0 && is_blank(**text)) {
        (*text)++;
        (*n)--;
    }
}

static wire_status refuse(const wire_csv *csv, wire_errors *errors, const char *why)
{
    wire_errors_add(errors, "", "line %zu, column %zu: %s", csv->new_line + 1, csv->column + 1, why);
    return WIRE_INVALID;
}

/* ---- cells and rows ----------------------------------------------------------------------------------- */

static wire_status end_cell(wire_csv *csv, const char *text, size_t n, wire_errors *errors)
{
    wire_status status = csv->cell(csv->arg, text, n, errors);
    csv->column++;
    csv->quoted = false;
    csv->state = WIRE_CSV_START;
    csv->n_text = 0;
    return status;
}

/* Ends the last cell of a line, and the row unless the line is blank. */
static wire_status end_line(wire_csv *csv, const char *text, size_t n, wire_errors *errors)
{
    wire_status status = WIRE_OK;
    const char *visible = text;
    size_t n_visible = n;
    wire_csv_trim(&visible, &n_visible);
    if (csv->column == 0 && n_visible == 0 && !csv->quoted) {
        csv->state = WIRE_CSV_START;
        csv->n_text = 0;
    } else {
        status = end_cell(csv, text, n, errors);
        if (status == WIRE_OK)
            status = csv->row(csv->arg, csv->column, errors);
    }
    csv->column = 0;
    csv->line = ++csv->new_line;
    return status;
}

/* ---- bytes -------------------------------------------------------------------------------------------- */

static wire_status keep(wire_csv *csv, const char *text, size_t n, wire_errors *errors)
{
    if (n > WIRE_CSV_CELL_MAX - csv->n_text)
        return refuse(csv, errors, "a cell may have at most 4096 bytes");
    memcpy(csv->text + csv->n_text, text, n);
    csv->n_text += n;
    return WIRE_OK;
}

static bool ends_cell(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

/* The separator after a cell whose text is given. */
static wire_status separate(wire_csv *csv, char c, const char *text, size_t n, wire_errors *errors)
{
    if (c == ',')
        return end_cell(csv, text, n, errors);
    csv->after_return = c == '\r';
    return end_line(csv, text, n, errors);
}

/* Takes a run of plain text from bytes[0] on. *used: the number of bytes taken, including a separator. */
static wire_status feed_plain(wire_csv *csv, const char *bytes, size_t n, size_t *used, wire_errors *errors)
{
    size_t i = 0;
    while (i < n && !ends_cell(bytes[i]) && bytes[i] != '"')
        i++;
    *used = i;
    if (i > WIRE_CSV_CELL_MAX - csv->n_text) /* first: an overlong cell is refused before a quote in it */
        return refuse(csv, errors, "a cell may have at most 4096 bytes");
    if (i < n && bytes[i] == '"')
        return refuse(csv, errors, "a quote inside a cell that does not start with a quote");
    if (i == n || csv->n_text > 0) {
        wire_status status = keep(csv, bytes, i, errors);
        csv->state = WIRE_CSV_PLAIN;
        if (i == n || status != WIRE_OK)
            return status;
        *used = i + 1;
        return separate(csv, bytes[i], csv->text, csv->n_text, errors);
    }
    /* The whole cell is in this chunk, so it need not be copied. */
    *used = i + 1;
    return separate(csv, bytes[i], bytes, i, errors);
}

/* Takes one byte in or directly after a cell with quotes. */
static wire_status feed_quoted(wire_csv *csv, char c, wire_errors *errors)
{
    if (csv->state == WIRE_CSV_QUOTED) {
        if (c == '"') {
            csv->state = WIRE_CSV_QUOTE;
            return WIRE_OK;
        }
        if (c == '\n')
            csv->new_line++;
        return keep(csv, &c, 1, errors);
    }
    if (csv->state == WIRE_CSV_QUOTE && c == '"') {
        csv->state = WIRE_CSV_QUOTED;
        return keep(csv, &c, 1, errors);
    }
    csv->state = WIRE_CSV_AFTER_QUOTE;
    if (ends_cell(c))
        return separate(csv, c, csv->text, csv->n_text, errors);
    return is_blank(c) ? WIRE_OK : refuse(csv, errors, "text after a closing quote");
}

/* Skips a byte order mark at the start; bytes that only begin like one are text. Returns the number of
 * bytes. */
static size_t skip_mark(wire_csv *csv, const char *bytes, size_t n)
{
    static const char mark[3] = {'\xEF', '\xBB', '\xBF'};
    size_t i = 0;
    while (csv->mark < 3 && i < n) {
        if (bytes[i] == mark[csv->mark]) {
            csv->mark++;
            i++;
            continue;
        }
        if (csv->mark > 0) {
            csv->state = WIRE_CSV_PLAIN;
            csv->n_text = csv->mark;
            memcpy(csv->text, mark, csv->n_text);
        }
        csv->mark = 3;
    }
    return i;
}

wire_status wire_csv_feed(wire_csv *csv, const char *bytes, size_t n, wire_errors *errors)
{
    wire_status status = WIRE_OK;
    size_t i = skip_mark(csv, bytes, n);
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
        case WIRE_CSV_START:
            if (bytes[i] == '"') {
                csv->state = WIRE_CSV_QUOTED;
                csv->quoted = true;
                break;
            }
            status = feed_plain(csv, bytes + i, n - i, &used, errors);
            break;
        case WIRE_CSV_PLAIN:
            status = feed_plain(csv, bytes + i, n - i, &used, errors);
            break;
        case WIRE_CSV_QUOTED:
        case WIRE_CSV_QUOTE:
        case WIRE_CSV_AFTER_QUOTE:
            status = feed_quoted(csv, bytes[i], errors);
            break;
        }
        i += used;
    }
    return status;
}

wire_status wire_csv_finish(wire_csv *csv, wire_errors *errors)
{
    if (csv->state == WIRE_CSV_QUOTED)
        return refuse(csv, errors, "the closing quote is missing");
    if (csv->column > 0 || csv->state != WIRE_CSV_START)
        return end_line(csv, csv->text, csv->n_text, errors);
    return WIRE_OK;
}
