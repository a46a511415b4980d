/* Requests that a study answers: handed to its actor, whose reply becomes the HTTP answer. calls.c alone says
 * which status stands for which reply. */
#ifndef SERVER_API_CALLS_H
#define SERVER_API_CALLS_H

#include "server/http/http.h"
#include "server/study/requests.h"

/* Has `run` called in a turn of the request's study; request->context is its context. Answers. */
void call_study(http_request *request, void (*run)(study *s, study_request *call));

/* The request as the actor takes it, for other functions than those of requests.h; it is freed when its reply
 * has been sent. NULL: out of memory, and answered. */
study_request *call_new(http_request *request);

/* Has the study created, as study_create does; takes ownership of `wanted`. Answers. */
void call_create(http_request *request, wire_study *wanted, int64_t through_seq);

#endif
