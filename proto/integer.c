#include "proto/integer.h"

#include <string.h>

bool wire_decode_integer(const char *text, size_t n, int64_t minimum, int64_t maximum, int64_t *out)
{
    int64_t value = 0;
    if (n < 1 || n > 16)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = 10 * value + (text[i] - '0');
    }
    if (value < minimum || value > maximum)
        return false;
    *out = value;
    return true;
}

bool wire_decode_range(const char *text, size_t n, int64_t minimum, int64_t maximum, int64_t *first,
                       int64_t *last)
{
    const char *dash = n > 0 ? memchr(text, '-', n) : NULL;
    size_t length = dash ? (size_t)(dash - text) : n;
    int64_t from, to;
    if (!wire_decode_integer(text, length, minimum, maximum, &from))
        return false;
    to = from;
    if (dash && !wire_decode_integer(dash + 1, n - length - 1, from, maximum, &to))
        return false;
    *first = from;
    *last = to;
    return true;
}
