/* What a command says its trial is worth. */
#ifndef CLIENTS_BANDITCTL_VALUE_H
#define CLIENTS_BANDITCTL_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* `text`: the last line of a command's output or the whole of its value file. A finite number, or a JSON
 * object of such, {"accuracy": 0.81, "latency": 12}. *value: true for a number in *number; otherwise *values
 * is the object as JSON, freed by the caller. False: it is neither; `why` says so. */
bool value_read(const char *text, bool *value, double *number, char **values, char why[256]);

/* The last line that is not blank, without the blanks around it; freed by the caller. "" when there is none.
 */
char *last_line(const char *text, size_t size);

#endif
