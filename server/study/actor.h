/* A study at work: an actor that takes jobs in turn, and the study's engine, which has a lane of its own.
 *
 * Jobs (ask, tell, …) run one after the other in short turns on the pool; at most one thread is in a
 * study at any time. The changes of a turn become one write to the store, and its replies are held
 * until that write, and all before it, is on disk. If a write fails, its replies and those of all later turns
 * become REPLY_UNAVAILABLE, the study's memory is dropped, and the next job loads it again from the store.
 *
 * Engine jobs (planning a batch, predictions) run one after the other as long tasks. They never touch the actor's
 * state, the actor never touches the engine, and they communicate through jobs. actor.c defines what is declared
 * here. */
#ifndef SERVER_STUDY_ACTOR_H
#define SERVER_STUDY_ACTOR_H

#include "server/app.h"
#include "server/study/request.h"

study *study_new(app *a, const char *id); /* NULL: out of memory */
void study_free(study *s);                /* nothing may go on in it */

/* Gives the study a job, for its next turn. Any thread; the study must be alive. */
void study_post(study *s, study_job *job);

/* Has request->run called in a turn, with the study loaded; refuses when it cannot be. */
void study_post_request(study *s, study_request *request);

/* Gives the engine lane a job; from the turn. The job ends by posting to the study, and that turn calls
 * study_engine_job_done. */
struct engine_job;
void study_post_engine(study *s, struct engine_job *job);
void study_engine_job_done(study *s);

/* From the turn: is this the study of that number, for which the request's body was read? Another study may have
 * its id by now. False: refused. */
bool study_is_meant(const study *s, study_request *request, int64_t number);

/* ---- for the registry ---------------------------------------------------------------------------------- */

void study_post_tick(study *s);     /* a turn for what time has brought */
bool study_is_disposable(study *s); /* nothing goes on in it, and its memory holds nothing worth keeping */

#endif
