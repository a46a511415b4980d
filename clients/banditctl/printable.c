#include "clients/banditctl/printable.h"
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/json.h"
#include "proto/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The character at c if it must be escaped; otherwise 0. */
static unsigned to_escape(const unsigned char *c)
{
    if (c[0] < 0x20 || c[0] == 0x7f)
        return c[0];
    if (c[0] == 0xc2 && c[1] <= 0x9f)
        return c[1];
    /* U+2028 to U+202E: line ends, direction embeddings and overrides. U+2066 to U+2069: isolates. */
    if (c[0] == 0xe2 &&
        ((c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) || (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)))
        return 0x2000u + (c[1] & 0x3fu) * 64 + (c[2] & 0x3fu);
    return 0;
}

char *printable(const char *text)
{
    size_t left = strlen(text), n;
    char *shown = allocate(6 * left + 1, 1), *end = shown;
    for (; left > 0; text += n, left -= n) {
        n = wire_utf8_length(text, left);
        unsigned character = n > 0 ? to_escape((const unsigned char *)text) : 0xfffd;
        if (n == 0)
            n = 1;
        end += character ? sprintf(end, "\\u%04x", character) : sprintf(end, "%.*s", (int)n, text);
    }
    return shown;
}

char *printable_member(const json_t *object, const char *key, const char *fallback)
{
    const char *text = json_text(object, key, NULL);
    return text ? printable(text) : duplicate(fallback);
}

char *printable_value(const json_t *value)
{
    char *text = value_text(value), *shown = printable(text);
    free(text);
    return shown;
}

void print_text(const char *text)
{
    char *shown = printable(text);
    puts(shown);
    free(shown);
}
