#include "proto/points_internal.h"

#include "proto/ignored_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wire_status wire_points_reader_new(wire_points_reader **out, wire_points_format format, size_t dimension,
                                   size_t block_rows, wire_points_sink *sink, void *arg)
{
    *out = NULL;
    wire_points_reader *r = calloc(1, sizeof *r);
    if (!r)
        return WIRE_NO_MEMORY;
    r->format = format;
    r->sink = sink;
    r->arg = arg;
    r->dimension = dimension;
    r->block_rows = block_rows > 0 ? block_rows : 1;
    if (format == WIRE_POINTS_CSV)
        points_csv_init(r);
    if (format == WIRE_POINTS_NDJSON)
        points_ndjson_init(r);
    *out = r;
    return WIRE_OK;
}

wire_status wire_points_reader_set_names(wire_points_reader *r, char *const *names, size_t n)
{
    r->names = calloc(n ? n : 1, sizeof *r->names);
    if (!r->names)
        return WIRE_NO_MEMORY;
    for (; r->n_names < n; r->n_names++) {
        size_t size = strlen(names[r->n_names]) + 1;
        char *copy = malloc(size);
        if (!copy)
            return WIRE_NO_MEMORY;
        r->names[r->n_names] = memcpy(copy, names[r->n_names], size);
    }
    return WIRE_OK;
}

void points_forget_names(wire_points_reader *r)
{
    for (size_t i = 0; i < r->n_names; i++)
        free(r->names[i]);
    r->n_names = 0;
}

void wire_points_reader_rename(wire_points_reader *r)
{
    r->renames = true;
}

void wire_points_reader_call_keys(wire_points_reader *r, const char *name)
{
    r->key_name = name;
}

wire_status wire_points_reader_ignore(wire_points_reader *r, const char *names)
{
    r->ignored = wire_ignored_new(names);
    return r->ignored ? WIRE_OK : WIRE_NO_MEMORY;
}

/* Makes room for n doubles in the block. */
static wire_status reserve(wire_points_reader *r, size_t n)
{
    if (n <= r->capacity)
        return WIRE_OK;
    double *block = n <= SIZE_MAX / sizeof *block ? realloc(r->block, n * sizeof *block) : NULL;
    if (!block)
        return WIRE_NO_MEMORY;
    r->block = block;
    r->capacity = n;
    return WIRE_OK;
}

wire_status points_put(wire_points_reader *r, double value)
{
    return points_put_at(r, r->cells, value);
}

wire_status points_put_at(wire_points_reader *r, size_t feature, double value)
{
    size_t at = r->in_block * r->dimension + feature;
    if (at >= r->capacity) {
        size_t wanted = r->dimension == 0 ? 2 * at + 16 : r->block_rows * r->dimension;
        if (r->dimension > 0 && wanted / r->dimension != r->block_rows)
            return WIRE_NO_MEMORY;
        wire_status status = reserve(r, wanted);
        if (status != WIRE_OK)
            return status;
    }
    r->block[at] = value;
    r->cells++;
    return WIRE_OK;
}

wire_status points_put_key(wire_points_reader *r, size_t row, const char *key, size_t n)
{
    while (r->keys.n < row)
        if (!wire_keys_add(&r->keys, "", 0))
            return WIRE_NO_MEMORY;
    return wire_keys_add(&r->keys, key, n) ? WIRE_OK : WIRE_NO_MEMORY;
}

static wire_status flush(wire_points_reader *r)
{
    if (r->in_block == 0)
        return WIRE_OK;
    size_t n = r->in_block;
    r->in_block = 0;
    return r->sink(r->arg, r->rows - n, n, r->dimension, r->block) ? WIRE_OK : WIRE_INVALID;
}

wire_status points_end_row(wire_points_reader *r)
{
    if (r->dimension == 0)
        r->dimension = r->cells;
    r->cells = 0;
    r->rows++;
    r->in_block++;
    return r->in_block == r->block_rows ? flush(r) : WIRE_OK;
}

wire_status wire_points_reader_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    if (r->status != WIRE_OK)
        return r->status;
    switch (r->format) {
    case WIRE_POINTS_CSV:
        r->status = points_csv_feed(r, bytes, n, errors);
        break;
    case WIRE_POINTS_JSON:
        r->status = points_json_feed(r, bytes, n, errors);
        break;
    case WIRE_POINTS_NDJSON:
        r->status = points_ndjson_feed(r, bytes, n, errors);
        break;
    case WIRE_POINTS_NPY:
        r->status = points_npy_feed(r, bytes, n, errors);
        break;
    }
    if (errors->no_memory)
        r->status = WIRE_NO_MEMORY;
    return r->status;
}

/* If there are keys, there must be one per row, and each must occur once. */
static wire_status finish_keys(wire_points_reader *r, wire_errors *errors)
{
    size_t first, second;
    if (r->keys.n == 0)
        return WIRE_OK;
    if (r->keys.n > r->rows || (r->format == WIRE_POINTS_JSON && r->keys.n < r->rows)) {
        wire_errors_add(errors, "/keys", "must have one key or null for each of the %zu points, not %zu",
                        r->rows, r->keys.n);
        return WIRE_INVALID;
    }
    if (r->keys.n < r->rows && points_put_key(r, r->rows - 1, "", 0) != WIRE_OK)
        return WIRE_NO_MEMORY;
    wire_status status = wire_keys_find_repeated(&r->keys, &first, &second);
    if (status == WIRE_INVALID && r->format == WIRE_POINTS_JSON) {
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/keys/%zu", second);
        wire_errors_add(errors, pointer, "is already the key of point %zu", first);
    } else if (status == WIRE_INVALID) {
        wire_errors_add(errors, "", "row %zu: \"%s\" is already the key of row %zu", second + 1,
                        wire_keys_at(&r->keys, second), first + 1);
    }
    return status;
}

wire_status wire_points_reader_finish(wire_points_reader *r, wire_errors *errors)
{
    if (r->status != WIRE_OK)
        return r->status;
    switch (r->format) {
    case WIRE_POINTS_CSV:
        r->status = points_csv_finish(r, errors);
        break;
    case WIRE_POINTS_JSON:
        r->status = points_json_finish(r, errors);
        break;
    case WIRE_POINTS_NDJSON:
        r->status = points_ndjson_finish(r, errors);
        break;
    case WIRE_POINTS_NPY:
        r->status = points_npy_finish(r, errors);
        break;
    }
    if (r->status == WIRE_OK)
        r->status = flush(r);
    if (r->status == WIRE_OK)
        r->status = finish_keys(r, errors);
    if (errors->no_memory)
        r->status = WIRE_NO_MEMORY;
    return r->status;
}

const wire_keys *wire_points_reader_keys(const wire_points_reader *r)
{
    return r->keys.n > 0 && !wire_keys_are_empty(&r->keys) ? &r->keys : NULL;
}

char *const *wire_points_reader_header(const wire_points_reader *r, size_t *n)
{
    bool given = r->format == WIRE_POINTS_CSV && r->n_names == 0 && r->u.csv.first_line_done;
    if (r->format == WIRE_POINTS_CSV && r->n_names > 0 && r->renames && r->u.csv.order) {
        *n = r->n_names; /* the header has these names, perhaps in another order */
        return r->names;
    }
    *n = given ? r->u.csv.n_features : 0;
    return given ? r->u.csv.features : NULL;
}

size_t wire_points_reader_rows(const wire_points_reader *r)
{
    return r->rows;
}

size_t wire_points_reader_dimension(const wire_points_reader *r)
{
    return r->dimension;
}

void wire_points_reader_free(wire_points_reader *r)
{
    if (!r)
        return;
    free(r->ignored);
    switch (r->format) {
    case WIRE_POINTS_CSV:
        points_csv_clear(r);
        break;
    case WIRE_POINTS_JSON:
        break;
    case WIRE_POINTS_NDJSON:
        points_ndjson_clear(r);
        break;
    case WIRE_POINTS_NPY:
        points_npy_clear(r);
        break;
    }
    points_forget_names(r);
    free(r->names);
    wire_keys_clear(&r->keys);
    free(r->block);
    free(r);
}
