/* Reading points whole and in chunks. */
#ifndef TESTS_FUZZ_POINTS_H
#define TESTS_FUZZ_POINTS_H

#include "proto/keys.h"
#include "proto/points.h"
#include "tests/fuzz/fuzz.h"

typedef struct sheet {
    double *cells;
    size_t n, capacity; /* cells */
    size_t rows, dimension;
    bool named; /* two features, x and y */
    wire_keys keys;
} sheet;

static inline bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    sheet *s = arg;
    size_t more = n * dimension;
    HOLDS(first == s->rows && n > 0 && dimension > 0);
    HOLDS(s->rows == 0 || dimension == s->dimension);
    if (s->n + more > s->capacity) {
        s->capacity = 2 * (s->n + more);
        s->cells = realloc(s->cells, s->capacity * sizeof *s->cells);
        HOLDS(s->cells);
    }
    memcpy(s->cells + s->n, rows, more * sizeof *rows);
    s->n += more;
    s->rows += n;
    s->dimension = dimension;
    return true;
}

/* Copies the keys, which are all valid, and none of which occurs twice. */
static inline void keep_keys(sheet *s, const wire_keys *keys)
{
    size_t first, second;
    for (size_t i = 0; keys && i < keys->n; i++) {
        const char *key = wire_keys_at(keys, i);
        HOLDS(!*key || !wire_key_problem(key, strlen(key)));
        HOLDS(wire_keys_add(&s->keys, key, strlen(key)));
    }
    HOLDS(!keys || keys->n == s->rows);
    HOLDS(wire_keys_find_repeated(&s->keys, &first, &second) == WIRE_OK);
}

/* Chunks of `chunk` bytes; 0: all at once. */
static inline wire_status read_points(sheet *s, wire_errors *errors, wire_points_format format,
                                      const uint8_t *data, size_t size, size_t chunk, size_t block_rows)
{
    wire_points_reader *reader;
    char x[] = "x", y[] = "y";
    HOLDS(wire_points_reader_new(&reader, format, s->named ? 2 : 0, block_rows, take_rows, s) == WIRE_OK);
    if (s->named)
        HOLDS(wire_points_reader_set_names(reader, (char *[]){x, y}, 2) == WIRE_OK &&
              wire_points_reader_ignore(reader, "z") == WIRE_OK);
    wire_status status = WIRE_OK;
    for (size_t at = 0; at < size && status == WIRE_OK;) {
        size_t n = chunk == 0 || size - at < chunk ? size - at : chunk;
        status = wire_points_reader_feed(reader, (const char *)data + at, n, errors);
        at += n;
    }
    if (status == WIRE_OK)
        status = wire_points_reader_finish(reader, errors);
    if (status == WIRE_OK) {
        HOLDS(s->rows == wire_points_reader_rows(reader) && s->rows > 0);
        HOLDS(s->dimension == wire_points_reader_dimension(reader));
        HOLDS(s->n == s->rows * s->dimension);
        keep_keys(s, wire_points_reader_keys(reader));
    }
    check_problems(status, status == WIRE_OK, errors);
    wire_points_reader_free(reader);
    return status;
}

/* However the text is cut, the rows or the refusal are the same. *s and *errors are those of the whole. */
static inline wire_status read_in_all_ways(sheet *s, wire_errors *errors, wire_points_format format,
                                           const uint8_t *data, size_t size)
{
    static const struct {
        size_t chunk, block_rows;
    } ways[] = {{1, 1}, {2, 3}, {7, 2}};
    wire_status status = read_points(s, errors, format, data, size, 0, 4);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        sheet other = {.named = s->named};
        wire_errors problems = {0};
        wire_status another =
            read_points(&other, &problems, format, data, size, ways[i].chunk, ways[i].block_rows);
        HOLDS(another == status);
        if (status == WIRE_OK) {
            HOLDS(other.rows == s->rows && other.dimension == s->dimension);
            HOLDS(memcmp(other.cells, s->cells, s->n * sizeof *s->cells) == 0);
            HOLDS(other.keys.n_text == s->keys.n_text);
            HOLDS(s->keys.n_text == 0 || memcmp(other.keys.text, s->keys.text, s->keys.n_text) == 0);
        } else {
            HOLDS(strcmp(problems.items[0].pointer, errors->items[0].pointer) == 0);
            HOLDS(strcmp(problems.items[0].detail, errors->items[0].detail) == 0);
        }
        free(other.cells);
        wire_keys_clear(&other.keys);
        wire_errors_clear(&problems);
    }
    return status;
}

#endif
