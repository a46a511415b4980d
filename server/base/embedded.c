#include "server/base/embedded.h"

#include <stdio.h>
#include <string.h>

const embedded_file *embedded_find(const char *name)
{
    for (const embedded_file *file = embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

const embedded_file *embedded_find_web(const char *name)
{
    char path[96];
    int n = snprintf(path, sizeof path, "server/web/%s", name);
    return n > 0 && (size_t)n < sizeof path ? embedded_find(path) : NULL;
}
