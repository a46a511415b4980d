/* Members of JSON objects, and JSON values as text. */
#ifndef CLIENTS_BANDITCTL_JSON_H
#define CLIENTS_BANDITCTL_JSON_H

#include "proto/json_writer.h"

#include <jansson.h>

/* Members of an object. If a member is missing or has another type, the result is `fallback`, or 0. */
const char *json_text(const json_t *object, const char *key, const char *fallback);
long long json_count(const json_t *object, const char *key);
double json_real_or(const json_t *object, const char *key, double fallback);

/* The text of a number: whole numbers have no point, others the fewest digits that read back to the same
 * number. `text` has room for 32 characters and is returned. */
const char *number_text(double number, char text[32]);

/* Any JSON value as text: strings without quotes, numbers as number_text, other values as JSON. Freed by the
 * caller. */
char *value_text(const json_t *value);

/* The text that was written; the caller frees it. The writer is cleared. */
char *writer_text(wire_writer *w, size_t *size);

#endif
