/* Whole numbers in the target and the headers of a request: paths, ?limit=, ?points=, Last-Event-ID. */
#ifndef PROTO_INTEGER_H
#define PROTO_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads text[0 … n−1]: 1 to 16 decimal digits, and a value from minimum to maximum (0 <= minimum, maximum <=
 * 2^53 − 1). Otherwise false, and *out keeps its value. */
bool wire_decode_integer(const char *text, size_t n, int64_t minimum, int64_t maximum, int64_t *out);

/* Reads "7" or "3-7": both ends, from minimum to maximum, *first <= *last. Otherwise false, and both keep their values. */
bool wire_decode_range(const char *text, size_t n, int64_t minimum, int64_t maximum, int64_t *first,
                       int64_t *last);

#endif
