#include "proto/integer.h"

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
