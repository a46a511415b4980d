/* Requests that a study answers. Each is handed to the study's actor, whose reply becomes the HTTP answer. Only
 * calls.c maps replies to HTTP statuses. */
#ifndef SERVER_API_CALLS_H
#define SERVER_API_CALLS_H

#include "server/http/http.h"
#include "server/study/requests.h"

/* Answers the request: has `run` called in a turn of its study, with request->context as its context. */
void call_study(http_request *request, void (*run)(study *s, study_request *call));

/* Wraps the request for the study's actor, for functions other than those of requests.h. The result is freed when
 * its reply has been sent. NULL: out of memory, and the request has been answered. */
study_request *call_new(http_request *request);

/* Answers the request: has study_create create the study. Takes ownership of `wanted`. */
void call_create(http_request *request, wire_study *wanted, int64_t through_seq);

#endif
