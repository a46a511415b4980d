#include "server/base/embedded.h"

#include <string.h>

const embedded_file *embedded_find(const char *name)
{
    for (const embedded_file *file = embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}
