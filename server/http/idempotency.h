/* Requests that carry an Idempotency-Key: the same key with the same body answers what was answered first,
 * for a day and across restarts; with another body it is a conflict. Answers are stored in the transaction of
 * what they answer, 2xx ones only. */
#ifndef SERVER_HTTP_IDEMPOTENCY_H
#define SERVER_HTTP_IDEMPOTENCY_H

#include "server/http/http.h"

/* What a key is unique for: the path, with the study's number in place of its id (0: none). */
void idempotency_path(const http_request *request, int64_t study, char out[160]);

/* True when the request has been answered: from the store, or refused. False: it is new (or has no key). */
bool idempotency_repeat(http_request *request, int64_t study);

/* Adds the request's answer, which has been set, to the write that makes it true. Nothing without a key. */
store_status idempotency_attach(const http_request *request, int64_t study, store_write *write);

/* Adds a problem in place of the answer that was set: for answers that must not be stored. */
store_status idempotency_attach_problem(const http_request *request, int64_t study, store_write *write,
                                        int status, const char *title, const char *detail);

#endif
