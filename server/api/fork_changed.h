/* Forks with another definition. Such a fork is a new study that has the results so far as its history, because the
 * stored state of an engine is valid for one definition only. */
#ifndef SERVER_API_FORK_CHANGED_H
#define SERVER_API_FORK_CHANGED_H

#include "proto/changes.h"
#include "server/http/http.h"

/* Answers the request: creates a study from this definition with the fork's changes. Its history is the results of
 * the request's study up to this position of the log. */
void fork_changed(http_request *request, const wire_fork *wanted, const char *definition,
                  int64_t through_seq);

#endif
