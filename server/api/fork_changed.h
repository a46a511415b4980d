/* Forks with another definition: new studies, with the results so far as their history, because what an engine has
 * stored is of its own definition alone. */
#ifndef SERVER_API_FORK_CHANGED_H
#define SERVER_API_FORK_CHANGED_H

#include "proto/changes.h"
#include "server/http/http.h"

/* Creates the study of this definition with the fork's changes, and with the results up to this position of the log of
 * the request's study. Answers. */
void fork_changed(http_request *request, const wire_fork *wanted, const char *definition,
                  int64_t through_seq);

#endif
