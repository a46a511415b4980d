/* Decimal numbers in text that is not NUL-terminated. */
#ifndef PROTO_NUMBER_H
#define PROTO_NUMBER_H

#include <stddef.h>

#define WIRE_NUMBER_MAX 1024 /* characters of a number; longer ones are refused */

typedef enum wire_number_syntax {
    WIRE_NUMBER_JSON, /* RFC 8259 */
    WIRE_NUMBER_LOOSE /* also +1, 01, .5 and 5. */
} wire_number_syntax;

typedef enum wire_number_result {
    WIRE_NUMBER_FINITE,
    WIRE_NUMBER_INFINITE, /* too large for a double */
    WIRE_NUMBER_NONE      /* not a number: hexadecimal, nan, inf, empty … */
} wire_number_result;

/* Reads text[0 … n−1] and rounds it to the nearest double. *out is set for WIRE_NUMBER_FINITE only. */
wire_number_result wire_read_number(const char *text, size_t n, wire_number_syntax syntax, double *out);

#endif
