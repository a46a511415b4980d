#include "server/base/libraries.h"

#include "server/base/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Problems of versions before `fixed`. SECURITY.md has the table for readers. */
static const struct {
    const char *name, *tested, *fixed, *known;
} libraries[] = {
    {"libmicrohttpd", "0.9.75", "1.0.0",
     "takes malformed heads and chunks: heads are checked again here, and connections close after chunks"},
    {"SQLite", "3.40.1", "3.51.3",
     "two connections that write can damage the log: one connection writes here"},
    {"GnuTLS", "3.7.9", "3.7.9", ""},
    {"OpenBLAS", "0.3.21", "0.3.30", "does not return when it gets no memory for its buffers"},
};

int libraries_compare(const char *a, const char *b)
{
    for (int part = 0; part < 4; part++) {
        char *end_a, *end_b;
        unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : "";
        b = *end_b == '.' ? end_b + 1 : "";
    }
    return 0;
}

void libraries_check(const char *name, const char *version)
{
    for (size_t i = 0; version && i < sizeof libraries / sizeof *libraries; i++) {
        if (strcmp(name, libraries[i].name) != 0)
            continue;
        const char *known = libraries_compare(version, libraries[i].fixed) < 0 ? libraries[i].known : "";
        log_event(LOG_DEBUG, "library", "name", name, "version", version, "known", *known ? known : NULL,
                  NULL);
        if (libraries_compare(version, libraries[i].tested) < 0)
            log_event(LOG_WARN, "library_old", "name", name, "version", version, "tested_from",
                      libraries[i].tested, NULL);
    }
}
