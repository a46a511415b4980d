/* Requests that name candidates by their keys. candidate_keys.c defines what is declared here. */
#ifndef SERVER_API_NAMED_H
#define SERVER_API_NAMED_H

#include "proto/keys.h"
#include "server/http/http.h"

/* Finds the numbers of the candidates with the keys at "/keys" of the body. out: keys->n numbers. Does nothing if
 * `keys` is NULL. False: the request has been answered. */
bool named_candidates(http_request *request, const wire_keys *keys, int64_t *out);

/* The same for one key, at `pointer`. */
bool named_candidate(http_request *request, const char *key, const char *pointer, int64_t *out);

/* The same, but it is not an error if no candidate has the key: then *out is −1. */
bool named_if_any(http_request *request, const char *key, int64_t *out);

#endif
