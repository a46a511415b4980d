/* Requests with an Idempotency-Key. The same key with the same body gets the stored response, for a day and
 * across restarts; with another body it is a conflict. Only 2xx responses are stored, in the transaction of
 * the change that they report. */
#ifndef SERVER_HTTP_IDEMPOTENCY_H
#define SERVER_HTTP_IDEMPOTENCY_H

#include "server/http/http.h"

/* The scope of a key: the path, with the study's number instead of its id (0: none). */
void idempotency_path(const http_request *request, int64_t study, char out[160]);

/* True if it has answered the request: with the stored response, or with a refusal. False: the key is new, or
 * there is none. */
bool idempotency_repeat(http_request *request, int64_t study);

/* Adds the answer that has been set to the write that it depends on. Does nothing without a key. */
store_status idempotency_attach(const http_request *request, int64_t study, store_write *write);

/* Adds a problem to the write in place of the answer that was set, for an answer that must not be stored. */
store_status idempotency_attach_problem(const http_request *request, int64_t study, store_write *write,
                                        int status, const char *title, const char *detail);

#endif
