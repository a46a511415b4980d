/* A call of the API: its response as JSON, its errors as text and as an exit status. */
#ifndef CLIENTS_BANDITCTL_CALL_H
#define CLIENTS_BANDITCTL_CALL_H

#include "clients/banditctl/http.h"
#include "clients/banditctl/options.h"
#include "proto/json_writer.h"

#include <jansson.h>

/* Escapes text for one segment of a path or one value of a query. The caller frees it. */
char *url_escape(const char *text);

/* The path of a study, followed by `rest` ("" or "/ask"). The caller frees it. */
char *study_path(const char *study, const char *rest);

/* The exit status for a response. */
exit_status status_of_answer(const http_answer *answer);

/* "404 Not Found: there is no study 'x'", and one line per error; printable. The caller frees it. */
char *describe_answer(const http_answer *answer);

/* The body as JSON, a new reference; NULL if it is not JSON. */
json_t *answer_json(const http_answer *answer);

/* Sends the request to the server that the arguments name. On 2xx it sets *out to the JSON, prints the body
 * if --json was given, and returns STATUS_OK. A 2xx response that is not JSON is a failure, unless `out` is
 * NULL. On failure *out is NULL, and the error was printed on standard error. */
exit_status call(const arguments *a, const http_request *request, json_t **out);

/* Writes a JSON object unchanged. False: the text is not a JSON object, and nothing was written. */
bool write_object(wire_writer *w, const char *text);

/* Writes an option's JSON object as a member, if the option was given. False: it is not an object, and the error was
 * printed. */
bool write_object_option(wire_writer *w, const arguments *a, option_id id, const char *name);

#endif
