#include "proto/study_file.h"

#include "proto/encode.h"
#include "proto/encode_export.h"
#include "proto/json_decode.h"
#include "proto/json_parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- writing ------------------------------------------------------------------------------------------- */

void wire_encode_file_head(wire_writer *w, const wire_file_head *head)
{
    wire_object_begin(w);
    wire_key(w, "banditd");
    wire_string(w, "study");
    wire_integer_member(w, "version", WIRE_FILE_VERSION);
    wire_key(w, "program");
    wire_string(w, head->program);
    wire_key(w, "study");
    wire_string(w, head->study);
    wire_integer_member(w, "entries", head->entries);
    wire_integer_member(w, "candidates", head->candidates);
    wire_integer_member(w, "dimension", head->dimension);
    wire_object_end(w);
    wire_line_end(w);
}

void wire_encode_file_rows(wire_writer *w, int64_t first, const double *rows, size_t n, size_t dimension)
{
    wire_object_begin(w);
    wire_integer_member(w, "candidates", first);
    wire_key(w, "rows");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_array_begin(w);
        for (size_t j = 0; j < dimension; j++) {
            double value = rows[i * dimension + j];
            if (isfinite(value))
                wire_real(w, value);
            else
                wire_null(w);
        }
        wire_array_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
    wire_line_end(w);
}

void wire_encode_file_entry(wire_writer *w, int64_t seq, int64_t time, const char *type, const char *payload)
{
    wire_object_begin(w);
    wire_integer_member(w, "seq", seq);
    wire_time_member(w, "time", time);
    wire_key(w, "type");
    wire_string(w, type);
    wire_key(w, "payload");
    wire_raw(w, payload);
    wire_object_end(w);
    wire_line_end(w);
}

void wire_encode_file_end(wire_writer *w, int64_t entries)
{
    wire_object_begin(w);
    wire_integer_member(w, "end", entries);
    wire_object_end(w);
    wire_line_end(w);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

struct wire_file_reader {
    wire_lines lines;
    const wire_file_sink *sink;
    void *arg;
    bool opened, ended;
    wire_file_head head; /* without its texts */
    int64_t rows, entries;
};

/* Reads exactly n digits; −1 if they are not digits. */
static int digits(const char *text, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* As wire_time writes it. */
static bool parse_time(const char *text, int64_t *milliseconds)
{
    static const char pattern[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    if (strlen(text) != sizeof pattern - 1)
        return false;
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        if (pattern[i] == 'd' ? digits(text + i, 1) < 0 : text[i] != pattern[i])
            return false;
    struct tm parts = {.tm_year = digits(text, 4) - 1900,
                       .tm_mon = digits(text + 5, 2) - 1,
                       .tm_mday = digits(text + 8, 2),
                       .tm_hour = digits(text + 11, 2),
                       .tm_min = digits(text + 14, 2),
                       .tm_sec = digits(text + 17, 2)};
    if (parts.tm_mon < 0 || parts.tm_mon > 11 || parts.tm_mday < 1 || parts.tm_mday > 31 ||
        parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 59 || parts.tm_year < 70)
        return false;
    *milliseconds = (int64_t)timegm(&parts) * 1000 + digits(text + 20, 3);
    return parts.tm_mday == digits(text + 8, 2); /* timegm changes a day that the month does not have */
}

static void read_head(wire_decoder *d, wire_file_reader *r, const json_t *json, wire_status *status)
{
    static const char *const kinds[] = {"study", NULL};
    wire_object o;
    size_t kind;
    int64_t version = 0;
    char *program = NULL, *study = NULL;
    wire_object_open(&o, d, NULL, json);
    wire_take_word(&o, "banditd", WIRE_REQUIRED, kinds, &kind);
    wire_take_integer(&o, "version", WIRE_REQUIRED, WIRE_FILE_VERSION, WIRE_FILE_VERSION, &version);
    wire_take_string(&o, "program", WIRE_REQUIRED, 0, WIRE_MAX_NAME, &program);
    wire_take_string(&o, "study", WIRE_REQUIRED, 1, 63, &study);
    wire_take_integer(&o, "entries", WIRE_REQUIRED, 1, WIRE_MAX_INTEGER, &r->head.entries);
    wire_take_integer(&o, "candidates", WIRE_REQUIRED, 0, WIRE_MAX_COUNT, &r->head.candidates);
    wire_take_integer(&o, "dimension", WIRE_REQUIRED, 0, WIRE_MAX_DIMENSION, &r->head.dimension);
    wire_object_close(&o);
    if (!d->invalid && (r->head.candidates > 0) != (r->head.dimension > 0))
        wire_refuse(d, NULL, "candidates and dimension must both be 0 or both be greater than 0");
    if (!d->invalid && !d->no_memory) {
        wire_file_head head = r->head;
        head.program = program;
        head.study = study;
        r->opened = true;
        *status = r->sink->head(r->arg, &head, d->errors);
    }
    free(program);
    free(study);
}

/* The numbers of the rows, owned by the caller; NULL: refused, or out of memory. */
static double *read_numbers(wire_decoder *d, const wire_file_reader *r, const json_t *rows)
{
    size_t n = json_array_size(rows), dimension = (size_t)r->head.dimension;
    double *values = wire_allocate(d, n * dimension, sizeof *values);
    for (size_t i = 0; values && i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        bool whole = json_array_size(row) == dimension;
        for (size_t j = 0; whole && j < dimension; j++) {
            const json_t *cell = json_array_get(row, j);
            whole = json_is_number(cell) || json_is_null(cell);
            values[i * dimension + j] = json_is_null(cell) ? (double)NAN : json_number_value(cell);
        }
        if (!whole) {
            wire_refuse(d, NULL, "row %zu must have %zu number%s", i, dimension, dimension == 1 ? "" : "s");
            free(values);
            return NULL;
        }
    }
    return values;
}

static void read_rows(wire_decoder *d, wire_file_reader *r, const json_t *json, wire_status *status)
{
    wire_object o;
    int64_t first = -1;
    wire_object_open(&o, d, NULL, json);
    wire_take_integer(&o, "candidates", WIRE_REQUIRED, 0, WIRE_MAX_COUNT, &first);
    const json_t *rows = wire_take(&o, "rows", WIRE_REQUIRED);
    wire_object_close(&o);
    if (d->invalid)
        return;
    size_t n = json_array_size(rows);
    if (first != r->rows || n == 0 || (int64_t)n > r->head.candidates - r->rows || r->entries > 0) {
        wire_refuse(d, NULL, "these rows are out of order or exceed the %lld candidates of the first line",
                    (long long)r->head.candidates);
        return;
    }
    double *values = read_numbers(d, r, rows);
    if (values) {
        r->rows += (int64_t)n;
        *status = r->sink->rows(r->arg, n, (size_t)r->head.dimension, values, d->errors);
    }
    free(values);
}

static void read_entry(wire_decoder *d, wire_file_reader *r, const json_t *json, wire_status *status)
{
    wire_object o;
    int64_t seq = 0, time = 0;
    char *when = NULL, *type = NULL, *payload = NULL;
    size_t size;
    wire_object_open(&o, d, NULL, json);
    wire_take_integer(&o, "seq", WIRE_REQUIRED, 1, WIRE_MAX_INTEGER, &seq);
    wire_take_string(&o, "time", WIRE_REQUIRED, 1, 40, &when);
    wire_take_string(&o, "type", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &type);
    const json_t *content = wire_take(&o, "payload", WIRE_REQUIRED);
    wire_object_close(&o);
    if (when && !parse_time(when, &time))
        wire_refuse(d, NULL, "the time must have the form 2026-01-01T00:00:00.000Z, not '%s'", when);
    if (!d->invalid && (seq != r->entries + 1 || seq > r->head.entries))
        wire_refuse(d, NULL,
                    "entry %lld follows entry %lld; the %lld entries must be numbered from 1 without gaps",
                    (long long)seq, (long long)r->entries, (long long)r->head.entries);
    if (!d->invalid && r->rows < r->head.candidates)
        wire_refuse(d, NULL, "only %lld of %lld candidates come before the log", (long long)r->rows,
                    (long long)r->head.candidates);
    if (!d->invalid && !d->no_memory) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_write_json(&w, content);
        if (!wire_writer_finish(&w, &payload, &size))
            d->no_memory = true;
    }
    if (payload) {
        r->entries = seq;
        *status = r->sink->entry(r->arg, seq, time, type, payload, d->errors);
    }
    free(when);
    free(type);
    free(payload);
}

static void read_end(wire_decoder *d, wire_file_reader *r, const json_t *json)
{
    wire_object o;
    int64_t entries = 0;
    wire_object_open(&o, d, NULL, json);
    wire_take_integer(&o, "end", WIRE_REQUIRED, 1, WIRE_MAX_INTEGER, &entries);
    wire_object_close(&o);
    if (!d->invalid && (entries != r->entries || entries != r->head.entries))
        wire_refuse(d, NULL, "the file has %lld of %lld log entries", (long long)r->entries,
                    (long long)r->head.entries);
    r->ended = !d->invalid;
}

/* Adds the line number to the problems after the first `before`. */
static void name_line(wire_errors *errors, size_t before, size_t number)
{
    for (size_t i = before; i < errors->n; i++) {
        size_t size = strlen(errors->items[i].pointer) + strlen(errors->items[i].detail) + 64;
        char *named = malloc(size);
        if (!named) {
            errors->no_memory = true;
            return;
        }
        const char *pointer = errors->items[i].pointer;
        snprintf(named, size, "line %zu%s%s: %s", number, *pointer ? ", " : "", pointer,
                 errors->items[i].detail);
        free(errors->items[i].detail);
        errors->items[i].detail = named;
    }
}

static wire_status read_line(void *arg, size_t number, const char *text, size_t n, wire_errors *errors)
{
    wire_file_reader *r = arg;
    wire_decoder d = {.errors = errors};
    size_t before = errors->n;
    json_t *json = NULL;
    wire_status status = r->ended ? WIRE_OK : wire_parse(&json, text, n, errors);
    if (r->ended)
        wire_refuse(&d, NULL, "there is more text after the line that ends the file");
    else if (status != WIRE_OK)
        ; /* wire_parse has added the problem */
    else if (!r->opened)
        read_head(&d, r, json, &status);
    else if (json_object_get(json, "rows"))
        read_rows(&d, r, json, &status);
    else if (json_object_get(json, "end"))
        read_end(&d, r, json);
    else
        read_entry(&d, r, json, &status);
    json_decref(json);
    name_line(errors, before, number);
    if (d.no_memory || errors->no_memory)
        return WIRE_NO_MEMORY;
    return d.invalid ? WIRE_INVALID : status;
}

wire_status wire_file_reader_new(wire_file_reader **out, const wire_file_sink *sink, void *arg)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return WIRE_NO_MEMORY;
    **out = (wire_file_reader){
        .lines = {.line = read_line, .arg = *out, .max = WIRE_FILE_LINE_MAX}, .sink = sink, .arg = arg};
    return WIRE_OK;
}

wire_status wire_file_reader_feed(wire_file_reader *reader, const char *bytes, size_t n, wire_errors *errors)
{
    return wire_lines_feed(&reader->lines, bytes, n, errors);
}

wire_status wire_file_reader_finish(wire_file_reader *reader, wire_errors *errors)
{
    wire_status status = wire_lines_finish(&reader->lines, errors);
    if (status == WIRE_OK && !reader->ended) {
        wire_errors_add(errors, "", "the file is cut off: its last line {\"end\": …} is missing");
        status = WIRE_INVALID;
    }
    return status;
}

void wire_file_reader_free(wire_file_reader *reader)
{
    if (!reader)
        return;
    wire_lines_clear(&reader->lines);
    free(reader);
}
