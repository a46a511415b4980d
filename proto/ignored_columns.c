#include "proto/ignored_columns.h"

#include <stdlib.h>
#include <string.h>

/* Each name is followed by NUL, and the last one by another NUL. */
char *wire_ignored_new(const char *names)
{
    size_t n = strlen(names);
    char *ignored = calloc(n + 2, 1);
    for (size_t i = 0, out = 0; ignored && i < n; i++) {
        bool ends = names[i] == ',';
        if (!ends || (out > 0 && ignored[out - 1] != '\0'))
            ignored[out++] = ends ? '\0' : names[i];
    }
    return ignored;
}

bool wire_ignored_has(const char *ignored, const char *name, size_t n)
{
    for (const char *one = ignored; one && *one; one += strlen(one) + 1)
        if (strlen(one) == n && memcmp(one, name, n) == 0)
            return true;
    return false;
}
