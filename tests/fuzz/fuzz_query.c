/* Whole numbers and ranges of queries, paths and headers, compared with strtoll. */
#include "proto/integer.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int64_t value = -7;
    bool digits = size > 0 && size <= 16 && strspn(text, "0123456789") == size;
    bool read = wire_decode_integer(text, size, 0, WIRE_MAX_INTEGER, &value);
    long long expected = digits ? strtoll(text, NULL, 10) : -7;
    HOLDS(read == (digits && expected <= WIRE_MAX_INTEGER));
    HOLDS(value == (read ? expected : -7));
    int64_t bounded = -7;
    HOLDS(wire_decode_integer(text, size, 1, 1000, &bounded) == (read && value >= 1 && value <= 1000));
    HOLDS(bounded == -7 || bounded == value);
    int64_t first = -7, last = -7;
    char *dash = strchr(text, '-');
    size_t length = dash ? (size_t)(dash - text) : size;
    int64_t from = 0, to = 0;
    bool both = wire_decode_integer(text, length, 1, 1000, &from) &&
                (!dash || wire_decode_integer(dash + 1, size - length - 1, 1, 1000, &to));
    bool ordered = both && (!dash || from <= to);
    HOLDS(wire_decode_range(text, size, 1, 1000, &first, &last) == ordered);
    HOLDS(first == (ordered ? from : -7) && last == (ordered ? (dash ? to : from) : -7));
    free(text);
    return 0;
}
