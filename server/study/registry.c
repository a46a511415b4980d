/* The studies in memory, by id; and the timer that wakes them. */
#include "server/base/clock.h"
#include "server/study/internal.h"
#include "server/watch/event_streams.h"

#include <malloc.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIM_MS = 2000, TICK_MS = 50, DISPOSE_AT_ONCE = 64 };

struct registry {
    app *app;
    pthread_mutex_t lock; /* guards by_id, and that a study in it is not freed while a job is posted to it */
    void *by_id;          /* tsearch tree of study */
    study *gone;          /* deleted, and not yet at rest; the id of each is free */
    uint64_t
        given_back; /* the timer's own: evictions when memory was last given back to the system, and when */
    int64_t given_back_at;
    pthread_t timer;
    pthread_cond_t stop;
    bool stopping;
};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const study *)a)->id, ((const study *)b)->id);
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

typedef struct request_job {
    study_job job;
    http_request *request;
    void (*run)(study *s, http_request *request);
} request_job;

static void run_request(study *s, study_job *job)
{
    request_job *r = (request_job *)(void *)job;
    http_request *request = r->request;
    store_error error = {0};
    store_status status = s->deleted ? STORE_NOT_FOUND : STORE_OK;
    if (status == STORE_OK && !s->loaded)
        status = study_load(s, &error);
    if (status == STORE_OK) {
        bool keyed = request->idempotency_key != NULL;
        if (study_begin_keyed(s, request)) {
            r->run(s, request);
            if (keyed)
                study_submit(s); /* unless it waits, its answer is there */
        }
    } else if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", s->id);
    else if (status == STORE_CORRUPT)
        http_answer_store_problem(request, status);
    else
        http_answer_problem(request, 503, NULL, "the study cannot be loaded: %s", store_status_text(status));
    free(r);
}

void registry_post(registry *r, http_request *request, void (*run)(study *s, http_request *request))
{
    request_job *job = malloc(sizeof *job);
    study key, *s = NULL;
    if (!job)
        goto no_memory;
    *job = (request_job){.job.run = run_request, .request = request, .run = run};
    strncpy(key.id, request->study, sizeof key.id);
    pthread_mutex_lock(&r->lock);
    study **found = tfind(&key, &r->by_id, compare_ids);
    if (found && atomic_load(&(*found)->gone)) {
        s = *found;
        tdelete(s, &r->by_id, compare_ids);
        s->next_gone = r->gone;
        r->gone = s;
        s = NULL;
        found = NULL;
    }
    if (found) {
        s = *found;
    } else {
        s = study_new(r->app, r, request->study);
        if (s && !tsearch(s, &r->by_id, compare_ids)) {
            study_free(s);
            s = NULL;
        }
    }
    if (s) {
        atomic_store(&s->used_at, clock_steady_ms());
        study_post(s, &job->job);
    }
    pthread_mutex_unlock(&r->lock);
    if (s)
        return;
    free(job);
no_memory:
    http_answer_store_problem(request, STORE_NO_MEMORY);
}

/* ---- the timer ----------------------------------------------------------------------------------------- */

typedef struct walk {
    int64_t now, steady; /* ms: the wall clock; the steady one */
    int64_t evict;       /* ms: how long a study that is not used stays */
    study *disposable[DISPOSE_AT_ONCE];
    size_t n;
    void (*visit)(study *s, struct walk *w);
} walk;

static void walk_node(const void *node, VISIT which, void *arg)
{
    walk *w = arg;
    if (which == postorder || which == leaf)
        w->visit(*(study *const *)node, w);
}

static void tick(study *s, walk *w)
{
    if (w->steady - atomic_load(&s->used_at) >= w->evict) {
        atomic_store(&s->used_at, w->steady);
        atomic_store(&s->resting, true);
        study_post_tick(s);
    } else if (atomic_load(&s->wake_at) <= w->steady || atomic_load(&s->lease_end) <= w->now) {
        atomic_store(&s->wake_at, INT64_MAX);
        atomic_store(&s->lease_end, INT64_MAX);
        study_post_tick(s);
    } else if (w->n < DISPOSE_AT_ONCE && study_is_disposable(s)) {
        w->disposable[w->n++] = s;
    }
}

static void dispose_of_gone(registry *r)
{
    for (study **at = &r->gone; *at;) {
        study *s = *at;
        if (study_is_disposable(s)) {
            *at = s->next_gone;
            study_free(s);
        } else {
            at = &s->next_gone;
        }
    }
}

/* What engines and studies have left lies about between what is in use: given back now and then. */
static void give_back(registry *r, int64_t steady)
{
    if (atomic_load(&r->app->evicted) == r->given_back || steady - r->given_back_at < TRIM_MS)
        return;
    r->given_back = atomic_load(&r->app->evicted);
    r->given_back_at = steady;
    malloc_trim(0);
}

static void *run_timer(void *arg)
{
    registry *r = arg;
    pthread_mutex_lock(&r->lock);
    while (!r->stopping) {
        struct timespec until;
        walk w = {.now = clock_now(),
                  .steady = clock_steady_ms(),
                  .evict = 1000 * (int64_t)r->app->config->evict_seconds,
                  .visit = tick};
        twalk_r(r->by_id, walk_node, &w);
        for (size_t i = 0; i < w.n; i++) {
            tdelete(w.disposable[i], &r->by_id, compare_ids);
            study_free(w.disposable[i]);
        }
        dispose_of_gone(r);
        pthread_mutex_unlock(&r->lock);
        events_tick(r->app->events);
        give_back(r, w.steady);
        pthread_mutex_lock(&r->lock);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&r->stop, &r->lock, &until);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

registry *registry_new(app *a)
{
    registry *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->app = a;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_t steady; /* the wall clock may jump */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&r->stop, &steady);
    pthread_condattr_destroy(&steady);
    if (pthread_create(&r->timer, NULL, run_timer, r) != 0) {
        pthread_cond_destroy(&r->stop);
        pthread_mutex_destroy(&r->lock);
        free(r);
        return NULL;
    }
    return r;
}

static void take_pending(void *arg, const store_study *row)
{
    registry *r = arg;
    if (row->damaged || row->by_state[TRIAL_PENDING] == 0)
        return;
    study *s = study_new(r->app, r, row->id);
    if (!s)
        return; /* loaded by the first request */
    atomic_store(&s->needed, true);
    atomic_store(&s->used_at, clock_steady_ms());
    atomic_store(&s->wake_at, 0);
    if (!tsearch(s, &r->by_id, compare_ids))
        study_free(s);
}

store_status registry_wake_pending(registry *r, store_error *err)
{
    store_study_filter all = {0};
    pthread_mutex_lock(&r->lock);
    store_status status = store_read_studies(r->app->store, &all, SIZE_MAX, take_pending, r, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static void wake_now(study *s, walk *w)
{
    (void)w;
    study_post_tick(s);
}

void registry_stop_waiting(registry *r)
{
    pthread_mutex_lock(&r->lock);
    walk w = {.visit = wake_now};
    twalk_r(r->by_id, walk_node, &w); /* app.stopping is set: their turns answer every ask */
    pthread_mutex_unlock(&r->lock);
}

static void free_study(void *s)
{
    study_free(s);
}

void registry_stop(registry *r)
{
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->stop);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->timer, NULL);
}

void registry_free(registry *r)
{
    if (!r)
        return;
    tdestroy(r->by_id, free_study);
    for (study *s = r->gone, *next; s; s = next) {
        next = s->next_gone;
        study_free(s);
    }
    pthread_cond_destroy(&r->stop);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
