/* Reads NumPy's .npy files, versions 1 to 3 (numpy.lib.format): arrays of numbers of two dimensions, in C or in
 * Fortran order. Numbers are floats of 2, 4 or 8 bytes, integers of 1, 2, 4 or 8, or booleans, in either byte
 * order. A file in Fortran order is kept as it is until its last column has come.
 *
 *   bytes  0 … 5   \x93NUMPY
 *          6, 7    version
 *          8 …     length of the header, little-endian: 2 bytes in version 1, else 4
 *          then    the header, a Python literal: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }
 *          then    the numbers */
#include "proto/arrays.h"
#include "proto/points_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_SIZE 6

static wire_status malformed(wire_errors *errors, const char *why)
{
    wire_errors_add(errors, "", "not a .npy file: %s", why);
    return WIRE_MALFORMED;
}

static wire_status invalid(wire_errors *errors, const char *why)
{
    wire_errors_add(errors, "", "%s", why);
    return WIRE_INVALID;
}

/* ---- the header --------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\n");
}

/* Skips the character c and the blanks around it; NULL if it does not follow. */
static const char *skip_over(const char *p, char c)
{
    p = skip_blanks(p);
    return *p == c ? skip_blanks(p + 1) : NULL;
}

/* 'text' or "text" of less than `capacity` characters. */
static const char *read_text(const char *p, char *out, size_t capacity)
{
    char quote = *p;
    if (quote != '\'' && quote != '"')
        return NULL;
    const char *end = strchr(++p, quote);
    if (!end || (size_t)(end - p) >= capacity)
        return NULL;
    memcpy(out, p, (size_t)(end - p));
    out[end - p] = '\0';
    return end + 1;
}

/* Reads a shape such as (3, 2). Keeps the first two numbers. */
static const char *read_shape(const char *p, points_npy *npy)
{
    p = skip_over(p, '(');
    npy->n_shape = 0;
    while (p && *p != ')') {
        size_t digits = strspn(p, "0123456789");
        if (digits == 0 || digits > 15)
            return NULL;
        if (npy->n_shape < 2)
            npy->shape[npy->n_shape] = (size_t)strtoull(p, NULL, 10);
        npy->n_shape++;
        p = skip_blanks(p + digits);
        if (*p != ')')
            p = skip_over(p, ',');
    }
    return p ? p + 1 : NULL;
}

static const char *read_truth(const char *p, bool *out)
{
    *out = strncmp(p, "True", 4) == 0;
    if (*out)
        return p + 4;
    return strncmp(p, "False", 5) == 0 ? p + 5 : NULL;
}

/* Reads one entry of the header's dictionary; the three keys may have any order. */
static const char *read_entry(const char *p, points_npy *npy, unsigned *seen)
{
    char key[16];
    p = read_text(p, key, sizeof key);
    if (p)
        p = skip_over(p, ':');
    if (!p)
        return NULL;
    if (strcmp(key, "descr") == 0) {
        *seen |= 1;
        return read_text(p, npy->type, sizeof npy->type);
    }
    if (strcmp(key, "fortran_order") == 0) {
        *seen |= 2;
        return read_truth(p, &npy->fortran_order);
    }
    if (strcmp(key, "shape") == 0) {
        *seen |= 4;
        return read_shape(p, npy);
    }
    return NULL;
}

static bool read_header(points_npy *npy)
{
    unsigned seen = 0;
    const char *p = skip_over(npy->header, '{');
    while (p && *p != '}') {
        p = read_entry(p, npy, &seen);
        p = p ? skip_blanks(p) : NULL;
        if (p && *p != '}')
            p = skip_over(p, ',');
    }
    return p && seen == 7 && *skip_blanks(p + 1) == '\0';
}

/* A byte order ('|': a single byte), a kind and a size. */
static bool read_type(points_npy *npy)
{
    static const char *const kinds[] = {"f8", "f4", "f2", "i1", "i2", "i4",
                                        "i8", "u1", "u2", "u4", "u8", "b1"};
    size_t i = 0, n = sizeof kinds / sizeof *kinds;
    while (i < n && strcmp(npy->type + 1, kinds[i]) != 0)
        i++;
    if (npy->type[0] == '\0' || !strchr("<>|", npy->type[0]) || i == n)
        return false;
    npy->kind = npy->type[1];
    npy->item_size = (size_t)(npy->type[2] - '0');
    npy->big_endian = npy->type[0] == '>';
    return npy->type[0] != '|' || npy->item_size == 1;
}

static wire_status accept_header(wire_points_reader *r, wire_errors *errors)
{
    points_npy *npy = &r->u.npy;
    npy->header[npy->header_size] = '\0';
    if (memchr(npy->header, '\0', npy->header_size) || !read_header(npy))
        return malformed(errors, "the header is not valid");
    if (!read_type(npy))
        return invalid(errors,
                       "the array must have a type of real numbers, such as float64, float16, int32, uint8 "
                       "or bool; convert it with astype");
    if (npy->n_shape != 2)
        return invalid(errors, "the array must have two dimensions, candidates and features");
    size_t columns = npy->shape[1];
    if (columns == 0 || columns > WIRE_MAX_DIMENSION)
        return invalid(errors, "the array must have 1 to 10000 columns");
    if (r->dimension > 0 && columns != r->dimension) {
        wire_errors_add(errors, "", "the array has %zu column%s, %zu expected", columns,
                        columns == 1 ? "" : "s", r->dimension);
        return WIRE_INVALID;
    }
    r->dimension = columns;
    npy->state = NPY_DATA;
    return WIRE_OK;
}

/* Takes one byte before the numbers. */
static wire_status feed_start(wire_points_reader *r, unsigned char byte, wire_errors *errors)
{
    static const unsigned char magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    points_npy *npy = &r->u.npy;
    size_t at = npy->offset++;
    if (at < MAGIC_SIZE)
        return byte == magic[at] ? WIRE_OK : malformed(errors, "the first bytes are not those of the format");
    if (at == MAGIC_SIZE) {
        npy->length_size = byte == 1 ? 2 : 4;
        return byte >= 1 && byte <= 3 ? WIRE_OK : malformed(errors, "the format version must be 1, 2 or 3");
    }
    if (at == MAGIC_SIZE + 1)
        return byte == 0 ? WIRE_OK : malformed(errors, "the format version must be 1, 2 or 3");
    if (at < MAGIC_SIZE + 2 + npy->length_size) {
        npy->header_length |= (size_t)byte << 8 * (at - MAGIC_SIZE - 2);
        if (at + 1 < MAGIC_SIZE + 2 + npy->length_size)
            return WIRE_OK;
        if (npy->header_length == 0 || npy->header_length > POINTS_NPY_HEADER_MAX)
            return malformed(errors, "the length of the header is not valid");
        npy->header = malloc(npy->header_length + 1);
        return npy->header ? WIRE_OK : WIRE_NO_MEMORY;
    }
    npy->header[npy->header_size++] = (char)byte;
    return npy->header_size == npy->header_length ? accept_header(r, errors) : WIRE_OK;
}

/* ---- the numbers -------------------------------------------------------------------------------------- */

/* An IEEE 754 number of 2, 4 or 8 bytes. */
static double decode_float(uint64_t bits, size_t size)
{
    double value;
    float single;
    uint32_t low = (uint32_t)bits;
    if (size == sizeof value) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (size == sizeof single) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    unsigned exponent = low >> 10 & 31, fraction = low & 1023;
    double sign = low >> 15 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(fraction, -24) : sign * ldexp(1024 + fraction, (int)exponent - 25);
}

static int64_t sign_extended(uint64_t bits, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size; /* size: 1, 2, 4 or 8 */
    assert(unused < 64);
    return (int64_t)(bits << unused) >> unused;
}

static double decode_item(const points_npy *npy, const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < npy->item_size; i++)
        bits = bits << 8 | bytes[npy->big_endian ? i : npy->item_size - 1 - i];
    if (npy->kind == 'f')
        return decode_float(bits, npy->item_size);
    if (npy->kind == 'i')
        return (double)sign_extended(bits, npy->item_size);
    return npy->kind == 'b' ? (double)(bits != 0) : (double)bits;
}

static wire_status take_item(wire_points_reader *r, const unsigned char *bytes, wire_errors *errors)
{
    double value = decode_item(&r->u.npy, bytes);
    if (r->rows == r->u.npy.shape[0])
        return invalid(errors, "there are more bytes than the shape in the header announces");
    if (!isfinite(value)) {
        wire_errors_add(errors, "", "row %zu, column %zu: not a finite number", r->rows + 1, r->cells + 1);
        return WIRE_INVALID;
    }
    wire_status status = points_put(r, value);
    return status == WIRE_OK && r->cells == r->dimension ? points_end_row(r) : status;
}

/* Keeps bytes of a file in Fortran order. */
static wire_status keep_columns(points_npy *npy, const unsigned char *bytes, size_t n, wire_errors *errors)
{
    size_t row = npy->shape[1] * npy->item_size;
    if (npy->n_kept + n > npy->n_kept && (npy->n_kept + n) / row > npy->shape[0])
        return invalid(errors, "there are more bytes than the shape in the header announces");
    if (!wire_grow(&npy->kept, &npy->kept_capacity, npy->n_kept + n, 4096, 1))
        return WIRE_NO_MEMORY;
    memcpy(npy->kept + npy->n_kept, bytes, n);
    npy->n_kept += n;
    return WIRE_OK;
}

/* Passes the kept columns on, row by row. */
static wire_status take_columns(wire_points_reader *r, wire_errors *errors)
{
    points_npy *npy = &r->u.npy;
    size_t rows = npy->shape[0], columns = npy->shape[1], size = npy->item_size;
    wire_status status = WIRE_OK;
    if (rows > 0 && npy->n_kept % size == 0 && npy->n_kept / size / columns == rows &&
        npy->n_kept / size % columns == 0) {
        for (size_t i = 0; i < rows * columns && status == WIRE_OK; i++)
            status = take_item(r, npy->kept + (i % columns * rows + i / columns) * size, errors);
        return status;
    }
    if (npy->n_kept / size / columns >= rows)
        return invalid(errors, rows == 0 ? "there are no rows"
                                         : "there are more bytes than the shape in the header announces");
    wire_errors_add(errors, "", "ends in column %zu of %zu", npy->n_kept / size / rows + 1, columns);
    return WIRE_INVALID;
}

wire_status points_npy_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    points_npy *npy = &r->u.npy;
    const unsigned char *p = (const unsigned char *)bytes, *end = p + n;
    wire_status status = WIRE_OK;
    while (p < end && status == WIRE_OK) {
        if (npy->state == NPY_START) {
            status = feed_start(r, *p++, errors);
        } else if (npy->fortran_order) {
            status = keep_columns(npy, p, (size_t)(end - p), errors);
            p = end;
        } else if (npy->n_item == 0 && (size_t)(end - p) >= npy->item_size) {
            status = take_item(r, p, errors);
            p += npy->item_size;
        } else {
            npy->item[npy->n_item++] = *p++;
            if (npy->n_item == npy->item_size) {
                npy->n_item = 0;
                status = take_item(r, npy->item, errors);
            }
        }
    }
    return status;
}

wire_status points_npy_finish(wire_points_reader *r, wire_errors *errors)
{
    const points_npy *npy = &r->u.npy;
    if (npy->state == NPY_START)
        return malformed(errors, "ends inside the header");
    if (npy->fortran_order)
        return take_columns(r, errors);
    if (r->rows == npy->shape[0] && npy->n_item > 0)
        return invalid(errors, "there are more bytes than the shape in the header announces");
    if (r->rows < npy->shape[0]) {
        wire_errors_add(errors, "", "ends in row %zu of %zu", r->rows + 1, npy->shape[0]);
        return WIRE_INVALID;
    }
    return r->rows > 0 ? WIRE_OK : invalid(errors, "there are no rows");
}

void points_npy_clear(wire_points_reader *r)
{
    free(r->u.npy.header);
    free(r->u.npy.kept);
}
