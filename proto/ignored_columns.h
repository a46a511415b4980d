/* The columns of a table that a request asks to skip. */
#ifndef PROTO_IGNORED_COLUMNS_H
#define PROTO_IGNORED_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

/* `names`: separated by commas; empty names are skipped. Returns a new list, to be freed with free. NULL: no memory. */
char *wire_ignored_new(const char *names);

/* ignored NULL: no column is ignored. */
bool wire_ignored_has(const char *ignored, const char *name, size_t n);

#endif
