#include "server/study/actor.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/study/engine_lane.h"
#include "server/study/load.h"
#include "server/study/patch.h"
#include "server/study/points.h"
#include "server/study/propose.h"
#include "server/study/requests.h"
#include "server/study/trials.h"
#include "server/study/turn_end.h"
#include "server/study/waiting.h"
#include "server/watch/event_streams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void run_turn(pool_task *task);
static void run_engine_turn(computing_job *turn);

/* ---- creation ------------------------------------------------------------------------------------------ */

static void free_parts(study *s)
{
    commit_free(s->commit);
    trial_queue_free(s->queue);
    waiting_line_free(s->waiting);
    pending_results_free(s->results);
    plan_state_free(s->plans);
    workers_free(s->workers);
    computing_account_free(s->app->computing, s->mail.account);
}

study *study_new(app *a, const char *id)
{
    study *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->app = a;
    strncpy(s->id, id, sizeof s->id - 1);
    s->commit = commit_new(a, s->id, &s->timing.wake_at);
    s->workers = workers_new();
    s->queue = s->workers ? trial_queue_new(s->workers) : NULL;
    s->waiting = s->workers ? waiting_line_new(a, s->workers) : NULL;
    s->results = pending_results_new();
    s->plans = plan_state_new();
    s->mail.account = computing_account_new(a->computing, 1.0);
    if (!s->commit || !s->queue || !s->waiting || !s->results || !s->plans || !s->mail.account) {
        free_parts(s);
        free(s);
        return NULL;
    }
    pthread_mutex_init(&s->mail.lock, NULL);
    s->mail.last_job = &s->mail.jobs;
    s->mail.last_engine_job = &s->mail.engine_jobs;
    s->last_held_back = &s->held_back;
    s->mail.turn.run = run_turn;
    s->mail.engine_turn.run = run_engine_turn;
    atomic_store(&s->timing.wake_at, INT64_MAX);
    atomic_store(&s->timing.lease_end, INT64_MAX);
    return s;
}

void study_free(study *s)
{
    assert(!s->mail.jobs && !s->mail.engine_jobs && !s->held_back);
    study_unload(s);
    study_drop_engine(s);
    free_parts(s);
    pthread_mutex_destroy(&s->mail.lock);
    free(s);
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

void study_post(study *s, study_job *job)
{
    bool schedule;
    job->next = NULL;
    pthread_mutex_lock(&s->mail.lock);
    *s->mail.last_job = job;
    s->mail.last_job = &job->next;
    schedule = !s->mail.scheduled;
    s->mail.scheduled = true;
    pthread_mutex_unlock(&s->mail.lock);
    if (schedule)
        pool_submit_for(s->app->pool, &s->mail.turn, POOL_SHORT, (uintptr_t)s >> 4);
}

void study_engine_job_done(study *s)
{
    s->engine_jobs_out--;
}

void study_post_engine(study *s, engine_job *job)
{
    bool schedule;
    job->next = NULL;
    s->engine_jobs_out++;
    pthread_mutex_lock(&s->mail.lock);
    *s->mail.last_engine_job = job;
    s->mail.last_engine_job = &job->next;
    schedule = !s->mail.engine_scheduled;
    s->mail.engine_scheduled = true;
    pthread_mutex_unlock(&s->mail.lock);
    if (schedule)
        computing_submit(s->app->computing, &s->mail.engine_turn, s->mail.account);
}

static void run_engine_turn(computing_job *turn)
{
    study *s = (study *)((char *)turn - offsetof(study, mail.engine_turn));
    pthread_mutex_lock(&s->mail.lock);
    engine_job *job = s->mail.engine_jobs;
    s->mail.engine_jobs = job->next;
    if (!s->mail.engine_jobs)
        s->mail.last_engine_job = &s->mail.engine_jobs;
    pthread_mutex_unlock(&s->mail.lock);
    job->run(s, job); /* it ends by posting to the actor */
    pthread_mutex_lock(&s->mail.lock);
    bool more = s->mail.engine_jobs != NULL;
    s->mail.engine_scheduled = more;
    pthread_mutex_unlock(&s->mail.lock); /* without more, the registry may free the study from here on */
    if (more)
        computing_submit(s->app->computing, &s->mail.engine_turn, s->mail.account);
}

bool study_is_meant(const study *s, study_request *request, int64_t number)
{
    bool meant = s->number == number;
    if (!meant)
        reply_problem(request, REPLY_CONFLICT, NULL,
                      "the study was deleted during this request, and another study now has its id");
    return meant;
}

/* ---- the turn ------------------------------------------------------------------------------------------ */

/* After a failed write the study's memory may be ahead of the store. It is dropped as soon as no write is in
 * progress. A plan of it is of no use, and is given up. */
static void recover(study *s)
{
    if (!commit_is_broken(s->commit))
        return;
    if (plan_state_is_busy(s->plans))
        computing_cancel(s->mail.account);
    if (!commit_is_settled(s->commit) || s->engine_jobs_out > 0)
        return;
    study_fail_deferred(s, STORE_ABORTED);
    study_unload(s);
    study_drop_engine(s); /* no engine job is queued or running */
    computing_resume(s->mail.account);
    s->deleted = commit_deletion_is_stored(s->commit); /* the failed write may be the deletion */
    commit_mend(s->commit);
}

/* Is the memory about to be dropped? A request would be refused then, and one that only reads would see changes that
 * are not stored. */
static bool holds_back(const study *s)
{
    return s->loaded && commit_is_broken(s->commit) && !atomic_load(&s->app->stopping);
}

static void hold_back(study *s, study_request *request)
{
    request->next = NULL;
    *s->last_held_back = request;
    s->last_held_back = &request->next;
}

static void run_held_back(study *s)
{
    study_request *first = s->held_back;
    s->held_back = NULL;
    s->last_held_back = &s->held_back;
    for (study_request *request = first, *next; request; request = next) {
        next = request->next;
        request->job.run(s, &request->job); /* which may hold it back again */
    }
}

static study_job *take_jobs(study *s)
{
    pthread_mutex_lock(&s->mail.lock);
    study_job *jobs = s->mail.jobs;
    s->mail.jobs = NULL;
    s->mail.last_job = &s->mail.jobs;
    pthread_mutex_unlock(&s->mail.lock);
    return jobs;
}

static void run_turn(pool_task *task)
{
    study *s = (study *)((char *)task - offsetof(study, mail.turn));
    recover(s);
    if (s->loaded && !s->deleted) /* so that jobs see the current leases */
        study_expire_leases(s, clock_now());
    run_held_back(s);
    for (study_job *job = take_jobs(s), *next; job; job = next) {
        next = job->next;
        job->run(s, job); /* frees itself */
    }
    if (s->loaded && !s->deleted)
        study_after_turn(s);
    commit_submit(s->commit);
    if (commit_is_broken(s->commit))
        atomic_store(&s->timing.wake_at, 0);
    pthread_mutex_lock(&s->mail.lock);
    bool more = s->mail.jobs != NULL;
    s->mail.scheduled = more;
    pthread_mutex_unlock(&s->mail.lock); /* without more, the registry may free the study from here on */
    if (more)
        pool_submit_for(s->app->pool, &s->mail.turn, POOL_SHORT, (uintptr_t)s >> 4);
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static void refuse_unloaded(const study *s, study_request *request, store_status status)
{
    if (status == STORE_NOT_FOUND)
        reply_problem(request, REPLY_NOT_FOUND, NULL, "there is no study '%s'", s->id);
    else if (status == STORE_CORRUPT)
        reply_store_problem(request, status);
    else
        reply_problem(request, REPLY_UNAVAILABLE, NULL, "the study cannot be loaded: %s",
                      store_status_text(status));
}

static bool begin_keyed(study *s, study_request *request)
{
    bool waits =
        request->key && (waiting_line_has_key(s->waiting, request) ||
                         plan_state_defers_key(s->plans, request) || study_places_with_key(s, request));
    return commit_begin_keyed(s->commit, request, waits);
}

static void run_request(study *s, study_job *job)
{
    study_request *request = (study_request *)(void *)job;
    if (holds_back(s)) {
        hold_back(s, request);
        return;
    }
    store_error error = {0};
    store_status status = s->deleted ? STORE_NOT_FOUND : STORE_OK;
    if (status == STORE_OK && !s->loaded)
        status = study_load(s, &error);
    bool keyed = request->key != NULL;
    if (status != STORE_OK) {
        refuse_unloaded(s, request, status);
    } else if (begin_keyed(s, request)) {
        request->run(s, request); /* the request may be freed from here on */
        if (keyed)
            commit_submit(s->commit); /* the reply, unless the request waits */
    }
}

void study_post_request(study *s, study_request *request)
{
    request->job.run = run_request;
    study_post(s, &request->job);
}

/* ---- called by the registry ---------------------------------------------------------------------------- */

/* The study is idle: frees its engine and, unless its leases must be watched, the rest of its memory. */
static void rest(study *s)
{
    bool at_rest = !plan_state_is_busy(s->plans) && s->engine_jobs_out == 0 &&
                   waiting_line_is_empty(s->waiting) && !plan_state_has_deferred(s->plans) &&
                   STAILQ_EMPTY(plan_state_placing(s->plans)) && commit_is_idle(s->commit) &&
                   !commit_is_broken(s->commit);
    if (!at_rest || !s->loaded || s->deleted)
        return;
    if (s->engine.engine || trial_queue_is_empty(s->queue, TRIALS_PENDING))
        atomic_fetch_add(&s->app->evicted, 1);
    study_drop_engine(s); /* no engine job is queued or running */
    if (trial_queue_is_empty(s->queue, TRIALS_PENDING)) {
        study_unload(s);
        log_event(LOG_DEBUG, "study_evicted", "study", s->id, NULL);
    }
}

static void run_tick(study *s, study_job *job)
{
    (void)job;
    pthread_mutex_lock(&s->mail.lock);
    s->mail.tick_posted = false;
    pthread_mutex_unlock(&s->mail.lock);
    store_error error;
    bool needed = atomic_exchange(&s->timing.needed, false) || !waiting_line_is_empty(s->waiting);
    bool resting = atomic_exchange(&s->timing.resting, false);
    if (!s->loaded && !s->deleted && needed && study_load(s, &error) != STORE_OK)
        study_answer_waiting(s, NULL);
    if (resting && !needed)
        rest(s);
}

void study_post_tick(study *s)
{
    pthread_mutex_lock(&s->mail.lock);
    bool post = !s->mail.tick_posted;
    s->mail.tick_posted = true;
    pthread_mutex_unlock(&s->mail.lock);
    if (!post)
        return; /* the job is queued, and the actor may be reading it */
    s->mail.tick.run = run_tick;
    study_post(s, &s->mail.tick);
}

bool study_is_disposable(study *s)
{
    pthread_mutex_lock(&s->mail.lock);
    bool at_rest = !s->mail.scheduled && !s->mail.jobs && !s->mail.engine_scheduled && !s->mail.engine_jobs &&
                   !s->mail.tick_posted && commit_is_settled(s->commit) && waiting_line_is_empty(s->waiting);
    bool disposable = at_rest && (!s->loaded || s->deleted) && !commit_is_broken(s->commit);
    pthread_mutex_unlock(&s->mail.lock);
    return disposable;
}

/* ---- deletion ------------------------------------------------------------------------------------------ */

void study_delete(study *s, study_request *request)
{
    const study_change *change = request->context;
    if (!study_is_as_read(s, request, change->if_match))
        return;
    if (!commit_submit_deletion(s->commit, request)) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    s->deleted = true;
    computing_cancel(s->mail.account);
    study_answer_waiting(s, NULL);
    study_refuse_placing(s);
    study_fail_deferred(s, STORE_OK);
    log_event(LOG_INFO, "study_deleted", "study", s->id, NULL);
}
