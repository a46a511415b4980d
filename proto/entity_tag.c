#include "proto/entity_tag.h"

#include <string.h>

bool wire_etag_matches(const char *list, const char *etag)
{
    size_t n = strlen(etag);
    for (const char *at = list ? list : ""; *at; at += strspn(at, " \t,")) {
        if (*at == '*')
            return true;
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        size_t length = *at == '"' ? 1 + strcspn(at + 1, "\"") : strcspn(at, ",");
        length += at[length] == '"';
        if (length == n && strncmp(at, etag, n) == 0)
            return true;
        at += length;
    }
    return false;
}
