/* A call of the API, its answer as JSON, and what a person or a script is told when it fails. */
#ifndef CLIENTS_BANDITCTL_CALL_H
#define CLIENTS_BANDITCTL_CALL_H

#include "clients/banditctl/http.h"
#include "clients/banditctl/options.h"
#include "proto/json_writer.h"

#include <jansson.h>

/* Text as one segment of a path or one value of a query; freed by the caller. */
char *url_escape(const char *text);

/* The path of a study, or of what follows it ("/ask"); freed by the caller. */
char *study_path(const char *study, const char *rest);

/* The exit status that an answer means. */
exit_status status_of_answer(const http_answer *answer);

/* "404 Not Found: there is no study 'x'", with a line for each error, printable; freed by the caller. */
char *describe_answer(const http_answer *answer);

/* The body as JSON, a new reference; NULL when it is none. */
json_t *answer_json(const http_answer *answer);

/* Takes what was written, as JSON or as any text; freed by the caller. The writer is cleared. */
char *writer_text(wire_writer *w, size_t *size);

/* Sends the request to the server of the arguments. On 2xx: STATUS_OK, and *out is the JSON, without which
 * the call has failed; `out` NULL: none is wanted. With --json the body has been printed. Otherwise *out is
 * NULL, and the failure has been reported on standard error. */
exit_status call(const arguments *a, const http_request *request, json_t **out);

/* Members of objects, with a fallback when they are missing or of another type. */
const char *json_text(const json_t *object, const char *key, const char *fallback);
long long json_count(const json_t *object, const char *key);
double json_real_or(const json_t *object, const char *key, double fallback);

/* Numbers as a person or a program wants them: whole ones without a point, others with the fewest digits that
 * read back to the same. `text` has room for 32 characters. */
const char *number_text(double number, char text[32]);

/* Any JSON value as text: strings as they are, numbers by number_text, the rest as JSON. Freed by the caller.
 */
char *value_text(const json_t *value);

#endif
