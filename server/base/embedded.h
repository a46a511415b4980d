/* Files that are linked into the program: the migrations, openapi.yaml and the dashboard. */
#ifndef SERVER_BASE_EMBEDDED_H
#define SERVER_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct embedded_file {
    const char *name; /* path in the repository; NULL closes the table */
    const char *data; /* followed by a NUL that is not counted in size */
    size_t size;
} embedded_file;

extern const embedded_file embedded_files[];

/* The file of that path, or NULL. */
const embedded_file *embedded_find(const char *name);

/* A file of the dashboard by its path below server/web, or NULL. */
const embedded_file *embedded_find_web(const char *name);

#endif
