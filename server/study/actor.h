/* A study at work: an actor that takes jobs in turn, and the study's engine, which has a lane of its own.
 *
 * Jobs (ask, tell, …) run one after the other in short turns on the pool; at most one thread is in a
 * study at any time. What a turn changes becomes one write to the store, and every answer it gives is held
 * until that write, and all before it, is on disk. If a write fails, its replies and those of all later turns
 * become REPLY_UNAVAILABLE, the study's memory is thrown away, and the next job loads it again from the store.
 *
 * Engine jobs (planning a batch, predictions) run one after the other as long tasks; they never touch the
 * actor's state, the actor never touches the engine, and they speak through jobs. */
#ifndef SERVER_STUDY_ACTOR_H
#define SERVER_STUDY_ACTOR_H

#include "server/app.h"
#include "server/study/request.h"

study *study_new(app *a, struct registry *r, const char *id);
void study_free(study *s);

void study_post(study *s, study_job *job); /* any thread; s must be alive */

/* Has request->run called in a turn, with the study loaded; replies when it cannot be. */
void study_post_request(study *s, study_request *request);

#endif
