/* The actor of a study, which runs jobs one at a time, and the lane of its engine.
 *
 * Jobs (ask, tell, …) run one after the other in short turns on the pool, so that at most one thread is in a
 * study at any time. The changes of a turn become one write to the store. Its replies are held until that
 * write, and all before it, are on disk. If a write fails, its replies and those of all later turns become
 * REPLY_UNAVAILABLE, the study's memory is dropped, and the next job loads it again from the store.
 *
 * Engine jobs (planning a batch, predictions) run one after the other as long tasks. They never touch the
 * actor's state, the actor never touches the engine, and they communicate through jobs. actor.c defines what
 * is declared here. */
#ifndef SERVER_STUDY_ACTOR_H
#define SERVER_STUDY_ACTOR_H

#include "server/app.h"
#include "server/study/request.h"

study *study_new(app *a, const char *id); /* NULL: out of memory */
void study_free(study *s);                /* no job of it may be queued or running */

/* Queues a job for the study's next turn. Any thread may call it; the study must be alive. */
void study_post(study *s, study_job *job);

/* Calls request->run in a turn, with the study loaded. Refuses the request if the study cannot be loaded. */
void study_post_request(study *s, study_request *request);

/* Queues a job on the engine lane; call in a turn. The job ends by posting to the study, and that turn calls
 * study_engine_job_done. */
struct engine_job;
void study_post_engine(study *s, struct engine_job *job);
void study_engine_job_done(study *s);

/* Is this the study with that number, for which the request's body was read? By now, another study may have its id.
 * False: the request was refused. Call it in a turn. */
bool study_is_meant(const study *s, study_request *request, int64_t number);

/* ---- for the registry ---------------------------------------------------------------------------------- */

void study_post_tick(study *s);     /* a turn for waits and leases that have ended */
bool study_is_disposable(study *s); /* it has no jobs, and no memory that is worth keeping */

#endif
