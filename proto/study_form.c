/* The form's parts: the definition is collected, and tables are read row by row. */
#include "proto/study_form.h"

#include "proto/arrays.h"
#include "proto/decode_study.h"
#include "proto/form.h"
#include "proto/keys.h"
#include "proto/points.h"
#include "proto/word_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLOCK_ROWS = 256, FIRST_BYTES = 4096 };

struct wire_study_form {
    wire_form_reader *reader;
    char *definition;
    size_t n_definition, capacity, max_definition; /* bytes */
    bool defined, in_definition;
    wire_word_table *tables;
    size_t n_tables, tables_capacity;
    wire_points_reader *rows; /* of the last table, while its part is being read */
    size_t numbers_capacity;  /* of its features */
    size_t max_values, n_values;
    bool too_large, no_memory;
};

static wire_word_table *last_table(const wire_study_form *f)
{
    return &f->tables[f->n_tables - 1];
}

void wire_word_table_clear(wire_word_table *t)
{
    for (size_t i = 0; t->words && i < t->n; i++)
        free(t->words[i]);
    for (size_t i = 0; t->feature_names && i < t->n_features; i++)
        free(t->feature_names[i]);
    free(t->name);
    free(t->words);
    free(t->features);
    free(t->feature_names);
    *t = (wire_word_table){0};
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- tables ------------------------------------------------------------------------------------------- */

/* A problem of the table, with the part's name before it. */
static wire_status refuse_table(const wire_study_form *f, wire_errors *errors, const char *pointer,
                                const char *why)
{
    wire_errors_add(errors, "", "part \"%.200s\": %s%s%s", last_table(f)->name, pointer, *pointer ? ": " : "",
                    why);
    return WIRE_INVALID;
}

/* Passes on the problems of the table's reader. */
static wire_status end_reading(wire_study_form *f, wire_status status, wire_errors *own, wire_errors *errors)
{
    for (size_t i = 0; i < own->n; i++)
        refuse_table(f, errors, own->items[i].pointer, own->items[i].detail);
    wire_errors_clear(own);
    return f->no_memory || errors->no_memory ? WIRE_NO_MEMORY : status;
}

static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    wire_study_form *f = arg;
    wire_word_table *t = last_table(f);
    f->too_large = n > (f->max_values - f->n_values) / dimension;
    if (f->too_large)
        return false;
    f->n_values += n * dimension;
    f->no_memory = !wire_grow(&t->features, &f->numbers_capacity, (first + n) * dimension,
                              BLOCK_ROWS * dimension, sizeof *rows);
    if (f->no_memory)
        return false;
    memcpy(t->features + first * dimension, rows, n * dimension * sizeof *rows);
    t->n_features = dimension;
    return true;
}

/* The words of the table are the keys of its rows. */
static wire_status take_words(wire_study_form *f, wire_errors *errors)
{
    wire_word_table *t = last_table(f);
    const wire_keys *keys = wire_points_reader_keys(f->rows);
    size_t rows = wire_points_reader_rows(f->rows);
    if (!keys)
        return refuse_table(
            f, errors, "",
            "no row has a key: in CSV, the column \"key\" or one called like the parameter has "
            "the words");
    t->words = calloc(rows, sizeof *t->words);
    if (!t->words)
        return WIRE_NO_MEMORY;
    for (; t->n < rows; t->n++) {
        const char *word = wire_keys_at(keys, t->n);
        if (!*word) {
            char why[80];
            snprintf(why, sizeof why, "row %zu has no key, which is its word", t->n + 1);
            return refuse_table(f, errors, "", why);
        }
        t->words[t->n] = copy_text(word);
        if (!t->words[t->n])
            return WIRE_NO_MEMORY;
    }
    return WIRE_OK;
}

/* Takes the names of the features from the header of CSV. */
static wire_status take_names(wire_study_form *f, wire_errors *errors)
{
    wire_word_table *t = last_table(f);
    size_t n;
    char *const *names = wire_points_reader_header(f->rows, &n);
    if (n == 0)
        return WIRE_OK;
    t->feature_names = calloc(n, sizeof *t->feature_names);
    if (!t->feature_names)
        return WIRE_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const char *why = wire_key_problem(names[i], strlen(names[i]));
        if (why) {
            char text[160];
            snprintf(text, sizeof text, "the name of column %zu %s", i + 1, why);
            return refuse_table(f, errors, "", text);
        }
        t->feature_names[i] = copy_text(names[i]);
        if (!t->feature_names[i])
            return WIRE_NO_MEMORY;
    }
    return WIRE_OK;
}

static wire_status end_table(wire_study_form *f, wire_errors *errors)
{
    wire_errors own = {0};
    wire_status status = end_reading(f, wire_points_reader_finish(f->rows, &own), &own, errors);
    if (status == WIRE_OK)
        status = take_words(f, errors);
    if (status == WIRE_OK)
        status = take_names(f, errors);
    wire_points_reader_free(f->rows);
    f->rows = NULL;
    return status;
}

/* ---- parts -------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcasecmp(text + n - n_end, end) == 0;
}

/* By the type of the part, or by its file's name: curl sends most files as octet streams. */
static wire_points_format table_format(const char *file, const char *type)
{
    if (strcmp(type, "application/json") == 0 || ends_with(file, ".json"))
        return WIRE_POINTS_JSON;
    if (strcmp(type, "application/x-ndjson") == 0 || ends_with(file, ".ndjson"))
        return WIRE_POINTS_NDJSON;
    return WIRE_POINTS_CSV;
}

static wire_status begin_table(wire_study_form *f, const char *name, wire_points_format format,
                               wire_errors *errors)
{
    for (size_t i = 0; i < f->n_tables; i++)
        if (strcmp(f->tables[i].name, name) == 0)
            return refuse_table(f, errors, "", "comes twice");
    if (f->n_tables == WIRE_MAX_PARAMETERS) {
        wire_errors_add(errors, "", "the form has more parts than a space may have parameters");
        return WIRE_INVALID;
    }
    if (!wire_grow(&f->tables, &f->tables_capacity, f->n_tables + 1, 4, sizeof *f->tables))
        return WIRE_NO_MEMORY;
    wire_word_table *t = &f->tables[f->n_tables++];
    *t = (wire_word_table){.name = copy_text(name)};
    f->numbers_capacity = 0;
    if (!t->name)
        return WIRE_NO_MEMORY;
    wire_status status = wire_points_reader_new(&f->rows, format, 0, BLOCK_ROWS, take_rows, f);
    if (status == WIRE_OK)
        wire_points_reader_call_keys(f->rows, t->name);
    return status;
}

static wire_status take_part(void *arg, const char *name, const char *file, const char *type,
                             wire_errors *errors)
{
    wire_study_form *f = arg;
    f->in_definition = strcmp(name, "study") == 0;
    if (!f->in_definition)
        return begin_table(f, name, table_format(file, type), errors);
    if (f->defined) {
        wire_errors_add(errors, "", "part \"study\" comes twice");
        return WIRE_INVALID;
    }
    f->defined = true;
    return WIRE_OK;
}

static wire_status take_bytes(void *arg, const char *bytes, size_t n, wire_errors *errors)
{
    wire_study_form *f = arg;
    if (!f->in_definition) {
        wire_errors own = {0};
        return end_reading(f, wire_points_reader_feed(f->rows, bytes, n, &own), &own, errors);
    }
    if (n > f->max_definition - f->n_definition) {
        wire_errors_add(errors, "", "part \"study\" is larger than --max-body allows: %zu bytes",
                        f->max_definition);
        return WIRE_INVALID;
    }
    if (!wire_grow(&f->definition, &f->capacity, f->n_definition + n, FIRST_BYTES, 1))
        return WIRE_NO_MEMORY;
    memcpy(f->definition + f->n_definition, bytes, n);
    f->n_definition += n;
    return WIRE_OK;
}

static wire_status end_part(void *arg, wire_errors *errors)
{
    wire_study_form *f = arg;
    return f->in_definition ? WIRE_OK : end_table(f, errors);
}

/* ---- the form ----------------------------------------------------------------------------------------- */

wire_status wire_study_form_new(wire_study_form **out, const char *content_type, size_t max_definition,
                                size_t max_values, wire_errors *errors)
{
    static const wire_form_sink sink = {.part = take_part, .bytes = take_bytes, .end = end_part};
    *out = NULL;
    wire_study_form *f = calloc(1, sizeof *f);
    if (!f)
        return WIRE_NO_MEMORY;
    f->max_definition = max_definition;
    f->max_values = max_values;
    wire_status status = wire_form_reader_new(&f->reader, content_type, &sink, f, errors);
    if (status == WIRE_OK)
        *out = f;
    else
        wire_study_form_free(f);
    return status;
}

wire_status wire_study_form_feed(wire_study_form *f, const char *bytes, size_t n, wire_errors *errors)
{
    return wire_form_reader_feed(f->reader, bytes, n, errors);
}

wire_status wire_study_form_finish(wire_study_form *f, wire_study **out, const char *const *algorithms,
                                   wire_errors *errors)
{
    *out = NULL;
    wire_status status = wire_form_reader_finish(f->reader, errors);
    if (status != WIRE_OK)
        return status;
    if (!f->defined) {
        wire_errors_add(errors, "", "the form has no part \"study\" with the definition");
        return WIRE_INVALID;
    }
    return wire_decode_study_of_form(out, f->definition ? f->definition : "", f->n_definition, algorithms,
                                     f->tables, f->n_tables, errors);
}

bool wire_study_form_is_too_large(const wire_study_form *f)
{
    return f->too_large;
}

void wire_study_form_free(wire_study_form *f)
{
    if (!f)
        return;
    wire_form_reader_free(f->reader);
    wire_points_reader_free(f->rows);
    for (size_t i = 0; i < f->n_tables; i++)
        wire_word_table_clear(&f->tables[i]);
    free(f->tables);
    free(f->definition);
    free(f);
}
