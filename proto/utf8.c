#include "proto/utf8.h"

#include <stdbool.h>

static bool in_range(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

/* RFC 3629, section 4: only the range of the second byte depends on the first. */
size_t wire_utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    size_t length;
    unsigned char low = 0x80, high = 0xBF;
    if (in_range(s[0], 0xC2, 0xDF)) {
        length = 2;
    } else if (in_range(s[0], 0xE0, 0xEF)) {
        length = 3;
        if (s[0] == 0xE0)
            low = 0xA0; /* overlong below */
        else if (s[0] == 0xED)
            high = 0x9F; /* surrogates above */
    } else if (in_range(s[0], 0xF0, 0xF4)) {
        length = 4;
        if (s[0] == 0xF0)
            low = 0x90; /* overlong below */
        else if (s[0] == 0xF4)
            high = 0x8F; /* beyond U+10FFFF above */
    } else {
        return 0;
    }
    if (n < length || !in_range(s[1], low, high))
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (!in_range(s[i], 0x80, 0xBF))
            return 0;
    }
    return length;
}
