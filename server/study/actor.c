#include "server/study/internal.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/watch/event_streams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A write on its way, and the answers that wait for it. */
typedef struct commit {
    study *s;
    study_request *answers;
    bool deletion;
} commit;

static void run_turn(pool_task *task);
static void run_engine_turn(pool_task *task);

static void free_key(key_in_flight *k)
{
    free((char *)(uintptr_t)k->request.key);
    free((char *)(uintptr_t)k->request.caller);
    free(k);
}

/* Keys whose answers are stored, or have failed to be: up to this write. */
static void forget_keys(study *s, uint64_t write)
{
    for (key_in_flight *k; (k = STAILQ_FIRST(&s->keys)) && k->write <= write;) {
        STAILQ_REMOVE_HEAD(&s->keys, link);
        free_key(k);
    }
}

/* ---- creation ------------------------------------------------------------------------------------------ */

study *study_new(app *a, registry *r, const char *id)
{
    study *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->app = a;
    s->registry = r;
    strncpy(s->id, id, sizeof s->id - 1);
    pthread_mutex_init(&s->lock, NULL);
    s->last_job = &s->jobs;
    s->last_engine_job = &s->engine_jobs;
    s->turn.run = run_turn;
    s->engine_turn.run = run_engine_turn;
    s->last_held = &s->held;
    STAILQ_INIT(&s->keys);
    atomic_store(&s->wake_at, INT64_MAX);
    atomic_store(&s->lease_end, INT64_MAX);
    TAILQ_INIT(&s->queued);
    TAILQ_INIT(&s->pending);
    TAILQ_INIT(&s->told);
    TAILQ_INIT(&s->joined);
    TAILQ_INIT(&s->waiting);
    STAILQ_INIT(&s->placing);
    TAILQ_INIT(&s->late);
    s->last_deferred = &s->deferred;
    return s;
}

void study_free(study *s)
{
    assert(!s->jobs && !s->engine_jobs && TAILQ_EMPTY(&s->waiting) && STAILQ_EMPTY(&s->placing) &&
           !s->deferred);
    study_unload(s);
    study_drop_engine(s);
    forget_keys(s, UINT64_MAX);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

void study_post(study *s, study_job *job)
{
    bool schedule;
    job->next = NULL;
    pthread_mutex_lock(&s->lock);
    *s->last_job = job;
    s->last_job = &job->next;
    schedule = !s->scheduled;
    s->scheduled = true;
    pthread_mutex_unlock(&s->lock);
    if (schedule)
        pool_submit(s->app->pool, &s->turn, POOL_SHORT);
}

void study_post_engine(study *s, engine_job *job)
{
    bool schedule;
    job->next = NULL;
    s->engine_jobs_out++;
    pthread_mutex_lock(&s->lock);
    *s->last_engine_job = job;
    s->last_engine_job = &job->next;
    schedule = !s->engine_scheduled;
    s->engine_scheduled = true;
    pthread_mutex_unlock(&s->lock);
    if (schedule)
        pool_submit(s->app->pool, &s->engine_turn, POOL_LONG);
}

/* One job a long task, so that studies share the pool fairly. */
static void run_engine_turn(pool_task *task)
{
    study *s = (study *)((char *)task - offsetof(study, engine_turn));
    pthread_mutex_lock(&s->lock);
    engine_job *job = s->engine_jobs;
    s->engine_jobs = job->next;
    if (!s->engine_jobs)
        s->last_engine_job = &s->engine_jobs;
    pthread_mutex_unlock(&s->lock);
    job->run(s, job); /* ends by posting to the actor */
    pthread_mutex_lock(&s->lock);
    bool more = s->engine_jobs != NULL;
    s->engine_scheduled = more;
    pthread_mutex_unlock(&s->lock); /* without more, the registry may free the study from here on */
    if (more)
        pool_submit(s->app->pool, &s->engine_turn, POOL_LONG);
}

/* ---- writes -------------------------------------------------------------------------------------------- */

void study_record(study *s, const store_event *event)
{
    if (s->write_status == STORE_OK && !s->write)
        s->write_status = store_write_new(&s->write, s->lane);
    if (s->write_status == STORE_OK)
        s->write_status = store_write_add(s->write, event);
}

int64_t study_next_seq(const study *s)
{
    return store_lane_next_seq(s->lane) + (s->write ? (int64_t)store_write_events(s->write) : 0);
}

bool study_is_meant(const study *s, study_request *request, int64_t number)
{
    bool meant = s->number == number;
    if (!meant)
        reply_problem(request, REPLY_CONFLICT, NULL,
                      "the study was deleted meanwhile, and another was made that has its name");
    return meant;
}

void study_hold(study *s, study_request *request)
{
    request->held = true;
    request->next = NULL;
    *s->last_held = request;
    s->last_held = &request->next;
}

static void release_all(study_request *answers, store_status status)
{
    while (answers) {
        study_request *next = answers->next;
        if (status == STORE_OK)
            reply_release(answers);
        else
            reply_unstored(answers, status);
        answers = next;
    }
}

/* The writer thread: a write of this study is on disk, or has failed. */
static void write_done(void *arg, store_status status, int64_t number, int64_t last_seq)
{
    commit *c = arg;
    (void)last_seq;
    if (status != STORE_OK) {
        if (!atomic_exchange(&c->s->broken, true))
            log_event(LOG_ERROR, "write_failed", "study", c->s->id, "reason", store_status_text(status),
                      NULL);
        atomic_store(&c->s->wake_at, 0); /* a turn, to recover */
    }
    if (status == STORE_OK && c->deletion) {
        if (c->s->app->study_deleted)
            c->s->app->study_deleted(c->s->app, c->s->id);
        atomic_store(&c->s->gone, true); /* before anybody may know */
    }
    if (status == STORE_OK)
        events_changed(c->s->app->events, number);
    study_request *answers = c->answers;
    atomic_fetch_add(&c->s->committed, 1); /* the study may be freed from here on */
    free(c);
    release_all(answers, status); /* last: who repeats a request at once finds its answer stored */
}

/* The reply to a request with a key goes into the turn's write. */
static store_status keep_key(study *s, const study_request *request)
{
    if (!request->key)
        return STORE_OK;
    key_in_flight *k = calloc(1, sizeof *k);
    if (!k)
        return STORE_NO_MEMORY;
    k->request.number = request->number;
    k->request.operation = request->operation;
    k->request.key = strdup(request->key);
    k->request.caller = strdup(request->caller);
    if (!k->request.key || !k->request.caller) {
        free_key(k);
        return STORE_NO_MEMORY;
    }
    k->write = s->submitted + 1;
    STAILQ_INSERT_TAIL(&s->keys, k, link);
    return request->client->keep(request, s->number, s->write);
}

bool study_begin_keyed(study *s, study_request *request)
{
    if (!request->key)
        return true;
    study_submit(s);
    forget_keys(s, atomic_load(&s->committed));
    key_in_flight *k;
    bool in_progress = study_waits_with_key(s, request) || study_places_with_key(s, request);
    STAILQ_FOREACH (k, &s->keys, link)
        in_progress |= request_repeats(&k->request, request);
    if (in_progress) {
        reply_problem(request, REPLY_CONFLICT, NULL, "a request with this Idempotency-Key is being answered");
        return false;
    }
    return !request->client->repeat(request, s->number);
}

/* Ends the turn's transaction: answers go out when it, and all before it, is on disk. */
void study_submit(study *s)
{
    bool settled = atomic_load(&s->committed) == s->submitted;
    for (const study_request *r = s->held; r && settled; r = r->next)
        settled = !r->key; /* its answer is to be stored */
    if (!s->write && s->write_status == STORE_OK && settled) {
        release_all(s->held, STORE_OK); /* nothing new, and nothing on its way */
    } else if (s->held || s->write || s->write_status != STORE_OK) {
        commit *c = malloc(sizeof *c);
        if (c && s->write_status == STORE_OK && !s->write)
            s->write_status =
                store_write_new(&s->write, s->lane); /* without events: takes its place in line */
        for (study_request *r = s->held; r && s->write_status == STORE_OK; r = r->next)
            s->write_status = keep_key(s, r);
        if (c && s->write_status == STORE_OK) {
            *c = (commit){.s = s, .answers = s->held};
            s->submitted++;
            store_submit(s->write, write_done, c);
            s->write = NULL;
        } else {
            atomic_store(&s->broken, true);
            release_all(s->held, s->write_status != STORE_OK ? s->write_status : STORE_NO_MEMORY);
            free(c);
        }
    }
    store_write_free(s->write);
    s->write = NULL;
    s->write_status = STORE_OK;
    s->held = NULL;
    s->last_held = &s->held;
}

void study_load_again(study *s)
{
    atomic_store(&s->broken, true);
}

/* ---- the turn ------------------------------------------------------------------------------------------ */

/* After a failed write the memory may be ahead of the store: it is dropped as soon as no write is on its way.
 */
static void recover(study *s)
{
    if (!atomic_load(&s->broken) || atomic_load(&s->committed) != s->submitted || s->engine_jobs_out > 0)
        return;
    study_fail_deferred(s, STORE_ABORTED);
    study_unload(s);
    study_drop_engine(s);               /* nothing is at the engine */
    s->deleted = atomic_load(&s->gone); /* a deletion may be what has failed */
    atomic_store(&s->broken, false);
}

static study_job *take_jobs(study *s)
{
    pthread_mutex_lock(&s->lock);
    study_job *jobs = s->jobs;
    s->jobs = NULL;
    s->last_job = &s->jobs;
    pthread_mutex_unlock(&s->lock);
    return jobs;
}

static void run_turn(pool_task *task)
{
    study *s = (study *)((char *)task - offsetof(study, turn));
    recover(s);
    if (s->loaded && !s->deleted) /* what is asked now is answered as of now */
        study_expire_leases(s, clock_now());
    for (study_job *job = take_jobs(s), *next; job; job = next) {
        next = job->next;
        job->run(s, job); /* frees itself */
    }
    if (s->loaded && !s->deleted)
        study_after_turn(s);
    study_submit(s);
    if (atomic_load(&s->broken))
        atomic_store(&s->wake_at, 0);
    pthread_mutex_lock(&s->lock);
    bool more = s->jobs != NULL;
    s->scheduled = more;
    pthread_mutex_unlock(&s->lock); /* without more, the registry may free the study from here on */
    if (more)
        pool_submit(s->app->pool, &s->turn, POOL_SHORT);
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

static void run_request(study *s, study_job *job)
{
    study_request *request = (study_request *)(void *)job;
    store_error error = {0};
    store_status status = s->deleted ? STORE_NOT_FOUND : STORE_OK;
    if (status == STORE_OK && !s->loaded)
        status = study_load(s, &error);
    bool keyed = request->key != NULL;
    if (status != STORE_OK) {
        refuse_unloaded(s, request, status);
    } else if (study_begin_keyed(s, request)) {
        request->run(s, request); /* the request may be gone from here on */
        if (keyed)
            study_submit(s); /* unless it waits, its reply is there */
    }
}

void study_post_request(study *s, study_request *request)
{
    request->job.run = run_request;
    study_post(s, &request->job);
}

/* ---- what the registry asks ---------------------------------------------------------------------------- */

/* Leaves memory: the engine, and without leases to be watched the rest. */
static void rest(study *s)
{
    bool at_rest = !s->planning && s->engine_jobs_out == 0 && TAILQ_EMPTY(&s->waiting) && !s->deferred &&
                   STAILQ_EMPTY(&s->placing) && !s->held && !s->write &&
                   atomic_load(&s->committed) == s->submitted && !atomic_load(&s->broken);
    if (!at_rest || !s->loaded || s->deleted)
        return;
    if (s->engine.engine || TAILQ_EMPTY(&s->pending))
        atomic_fetch_add(&s->app->evicted, 1);
    study_drop_engine(s); /* nothing is at it */
    if (TAILQ_EMPTY(&s->pending)) {
        study_unload(s);
        log_event(LOG_DEBUG, "study_evicted", "study", s->id, NULL);
    }
}

static void run_tick(study *s, study_job *job)
{
    (void)job;
    pthread_mutex_lock(&s->lock);
    s->tick_posted = false;
    pthread_mutex_unlock(&s->lock);
    store_error error;
    bool needed = atomic_exchange(&s->needed, false) || !TAILQ_EMPTY(&s->waiting);
    bool resting = atomic_exchange(&s->resting, false);
    if (!s->loaded && !s->deleted && needed && study_load(s, &error) != STORE_OK)
        study_answer_waiting(s, NULL);
    if (resting && !needed)
        rest(s);
}

void study_post_tick(study *s)
{
    pthread_mutex_lock(&s->lock);
    bool post = !s->tick_posted;
    s->tick_posted = true;
    pthread_mutex_unlock(&s->lock);
    s->tick.run = run_tick;
    if (post)
        study_post(s, &s->tick);
}

bool study_is_disposable(study *s)
{
    pthread_mutex_lock(&s->lock);
    bool at_rest = !s->scheduled && !s->jobs && !s->engine_scheduled && !s->engine_jobs && !s->tick_posted &&
                   atomic_load(&s->committed) == s->submitted && TAILQ_EMPTY(&s->waiting);
    bool disposable = at_rest && (!s->loaded || s->deleted) && !atomic_load(&s->broken);
    pthread_mutex_unlock(&s->lock);
    return disposable;
}

/* ---- deletion ------------------------------------------------------------------------------------------ */

void study_delete(study *s, study_request *request)
{
    study_submit(s); /* what this turn has recorded so far goes first */
    commit *c = malloc(sizeof *c);
    if (!c) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    request->held = true;
    request->next = NULL;
    reply_empty(request);
    *c = (commit){.s = s, .answers = request, .deletion = true};
    s->submitted++;
    s->deleted = true;
    store_submit_delete(s->lane, write_done, c);
    study_answer_waiting(s, NULL);
    study_refuse_placing(s);
    study_fail_deferred(s, STORE_OK);
    log_event(LOG_INFO, "study_deleted", "study", s->id, NULL);
}
