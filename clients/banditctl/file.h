/* Reading files whole. */
#ifndef CLIENTS_BANDITCTL_FILE_H
#define CLIENTS_BANDITCTL_FILE_H

#include "clients/banditctl/options.h"

#include <stdio.h>

/* The content of a stream; NULL if it cannot be read. The caller frees it. */
char *read_all(FILE *from, size_t *size);

/* Prints why, by errno. */
exit_status cannot_read(const char *name);

/* The content of a file, or of standard input for "-". NULL: it cannot be read, and the error was printed. */
char *read_file(const char *name, size_t *size);

#endif
