/* Creating a study. create.c defines what is declared here. */
#ifndef SERVER_STUDY_CREATE_H
#define SERVER_STUDY_CREATE_H

#include "server/app.h"
#include "server/study/request.h"

/* Creates the study from a user's definition, which it takes ownership of. The definition may have inline points. If it
 * requests the results of another study (history_from), the new study gets those up to position history_through of
 * that study's log. Replies REPLY_CREATED once everything is on disk, or refuses. With an idempotency key, the same
 * write stores the reply; the caller must check first whether the key is known. Call it on a thread of the pool. */
void study_create(app *a, study_request *request, wire_study *wanted, int64_t history_through);

#endif
