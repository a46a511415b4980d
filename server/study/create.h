/* Creating a study. create.c defines what is declared here. */
#ifndef SERVER_STUDY_CREATE_H
#define SERVER_STUDY_CREATE_H

#include "server/app.h"
#include "server/study/request.h"

/* Creates the study of a definition as a user has written it, which it takes; with inline points, and with the
 * results of another study where the definition asks for them (history_from). Replies REPLY_CREATED once all of it
 * is on disk, or refuses. With an idempotency key the reply is kept in the same write; whether the key is known
 * already is for the caller to ask first. Call on a thread of the pool. */
void study_create(app *a, study_request *request, wire_study *wanted);

#endif
