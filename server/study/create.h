/* Creating a study. create.c defines what is declared here. */
#ifndef SERVER_STUDY_CREATE_H
#define SERVER_STUDY_CREATE_H

#include "server/app.h"
#include "server/study/request.h"

/* Creates the study from a user's definition, which it takes over, with inline points, and with the results
 * of another study if the definition asks for them (history_from); of these, with those that position
 * history_through of its log includes. Replies REPLY_CREATED once everything is
 * on disk, or refuses. With an idempotency key, the same write stores the reply; the caller must check first
 * whether the key is known. Call on a thread of the pool. */
void study_create(app *a, study_request *request, wire_study *wanted, int64_t history_through);

#endif
