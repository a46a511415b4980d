/* Whole numbers in a request's target and headers: paths, ?limit=, ?points=, Last-Event-ID. */
#ifndef PROTO_INTEGER_H
#define PROTO_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of text[0 … n−1], decimal digits only, at most 16 of them. False, and *out as it was, when it is not
 * one from minimum to maximum (0 <= minimum, maximum <= 2^53 − 1). */
bool wire_decode_integer(const char *text, size_t n, int64_t minimum, int64_t maximum, int64_t *out);

#endif
