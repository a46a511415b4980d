/* Reads a trial's value from the output of a command. */
#ifndef CLIENTS_BANDITCTL_VALUE_H
#define CLIENTS_BANDITCTL_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the last line of a command's output or of its value file: a finite number, or a JSON object of finite
 * numbers such as {"accuracy": 0.81, "latency": 12}. For a number, *value is true and the number is in
 * *number. For an object, *values is its JSON, which the caller frees. Otherwise the result is false, and
 * `why` says why. */
bool value_read(const char *text, bool *value, double *number, char **values, char why[256]);

/* The last line that is not blank, without blanks around it; "" if there is none. The caller frees it. */
char *last_line(const char *text, size_t size);

#endif
