#include "server/store/postgres/postgres.h"

#include "proto/arrays.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* Object identifiers of types, from PostgreSQL's pg_type.dat: they never change. */
enum {
    BYTEA = 17,
    INT8 = 20,
    TEXT = 25,
    FLOAT8 = 701,
    BYTEA_ARRAY = 1001,
    TEXT_ARRAY = 1009,
    INT8_ARRAY = 1016,
    FLOAT8_ARRAY = 1022
};

static bool append(pg_bytes *out, const void *bytes, size_t n)
{
    if (!wire_grow(&out->bytes, &out->capacity, out->n + n + 1, 1024, 1))
        return false;
    if (n > 0)
        memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
    return true;
}

static bool append_int32(pg_bytes *out, int32_t value)
{
    uint32_t swapped = htobe32((uint32_t)value);
    return append(out, &swapped, sizeof swapped);
}

static bool append_int64(pg_bytes *out, uint64_t value)
{
    uint64_t swapped = htobe64(value);
    return append(out, &swapped, sizeof swapped);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Each parameter follows its length, which is in this machine's byte order; -1: NULL. */
static bool append_length(pg_bytes *out, int32_t n)
{
    return append(out, &n, sizeof n);
}

static bool append_value(pg_bytes *out, const void *bytes, size_t n)
{
    return n <= INT32_MAX && append_length(out, bytes ? (int32_t)n : -1) && append(out, bytes, bytes ? n : 0);
}

static bool append_real(pg_bytes *out, double value)
{
    if (isnan(value))
        return append_length(out, -1);
    return append_length(out, 8) && append_int64(out, bits_of(value));
}

/* Arrays have one dimension, which begins at 1; an empty array has none. */
static bool append_array(pg_bytes *out, Oid type, const void *list, size_t n)
{
    const double *reals = list;
    const int64_t *integers = list;
    size_t start = out->n;
    bool good = n < INT32_MAX / 16 && append_length(out, 0) && append_int32(out, n > 0) &&
                append_int32(out, 1) && append_int32(out, (int32_t)type);
    if (n > 0)
        good = good && append_int32(out, (int32_t)n) && append_int32(out, 1);
    for (size_t i = 0; good && i < n; i++) {
        if (type == FLOAT8 && isnan(reals[i]))
            good = append_int32(out, -1);
        else
            good = append_int32(out, 8) &&
                   append_int64(out, type == FLOAT8 ? bits_of(reals[i]) : (uint64_t)integers[i]);
    }
    if (good) {
        int32_t length = (int32_t)(out->n - start - sizeof length);
        memcpy(out->bytes + start, &length, sizeof length);
    }
    return good;
}

bool pg_encode(pg_bytes *out, const char *types, va_list args)
{
    bool good = append(out, "", 0); /* so that there are bytes to point to */
    for (const char *type = types; good && *type; type++) {
        const void *bytes;
        switch (*type) {
        case 'i':
            good = append_length(out, 8) && append_int64(out, (uint64_t)va_arg(args, int64_t));
            break;
        case 'd':
            good = append_real(out, va_arg(args, double));
            break;
        case 't':
            bytes = va_arg(args, const char *);
            good = append_value(out, bytes, bytes ? strlen(bytes) : 0);
            break;
        case 'b':
            bytes = va_arg(args, const void *);
            good = append_value(out, bytes ? bytes : "", va_arg(args, size_t));
            break;
        case 'n':
            bytes = va_arg(args, const void *);
            good = append_value(out, bytes, va_arg(args, size_t));
            break;
        case 'I':
        case 'D':
            bytes = va_arg(args, const void *);
            good = append_array(out, *type == 'I' ? INT8 : FLOAT8, bytes, va_arg(args, size_t));
            break;
        default:
            good = false;
        }
    }
    return good;
}

static Oid type_of(char letter)
{
    return letter == 'i'   ? INT8
           : letter == 'd' ? FLOAT8
           : letter == 't' ? TEXT
           : letter == 'b' ? BYTEA
           : letter == 'n' ? BYTEA
           : letter == 'I' ? INT8_ARRAY
           : letter == 'T' ? TEXT_ARRAY
           : letter == 'B' ? BYTEA_ARRAY
                           : FLOAT8_ARRAY;
}

/* Appends one parameter of all rows as an array. The values of an array are encoded like single values. *at moves to
 * the next parameter. */
static bool append_column(pg_bytes *out, Oid element, const pg_bytes *rows, size_t *at, size_t n)
{
    size_t start = out->n;
    bool good = append_length(out, 0) && append_int32(out, 1) && append_int32(out, 1) &&
                append_int32(out, (int32_t)element) && append_int32(out, (int32_t)n) && append_int32(out, 1);
    for (size_t i = 0; good && i < n; i++) {
        int32_t length;
        memcpy(&length, rows->bytes + at[i], sizeof length);
        at[i] += sizeof length;
        good = append_int32(out, length) && (length < 0 || append(out, rows->bytes + at[i], (size_t)length));
        at[i] += length < 0 ? 0 : (size_t)length;
    }
    if (good) {
        int32_t length = (int32_t)(out->n - start - sizeof length);
        memcpy(out->bytes + start, &length, sizeof length);
    }
    return good && out->n - start <= INT32_MAX;
}

bool pg_encode_rows(pg_bytes *out, const char *types, const pg_bytes *rows, size_t *at, size_t n,
                    char arrays[pg_most_parameters + 1])
{
    bool good = true;
    size_t column = 0;
    for (; good && types[column] && column < pg_most_parameters; column++) {
        Oid element = type_of(types[column]);
        arrays[column] = element == INT8 ? 'I' : element == FLOAT8 ? 'D' : element == TEXT ? 'T' : 'B';
        good = append_column(out, element, rows, at, n);
    }
    arrays[column] = '\0';
    return good;
}

void pg_decode(pg_parameters *out, const pg_bytes *bytes, size_t at, const char *types)
{
    out->n = 0;
    for (; types[out->n] && out->n < pg_most_parameters; out->n++) {
        int32_t length;
        memcpy(&length, bytes->bytes + at, sizeof length);
        at += sizeof length;
        out->types[out->n] = type_of(types[out->n]);
        out->formats[out->n] = 1;
        out->lengths[out->n] = length < 0 ? 0 : length;
        out->values[out->n] = length < 0 ? NULL : (const char *)bytes->bytes + at;
        at += length < 0 ? 0 : (size_t)length;
    }
}
