#include "server/study/registry.h"
#include "server/study/study.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/watch/event_streams.h"

#include <malloc.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIM_MS = 2000, TICK_MS = 50, JUMP_MS = 1000, DISPOSE_AT_ONCE = 64 };
enum { TRIM_BYTES = 16 << 20 }; /* of bodies and answers; fewer are not returned on their own */
enum { PRESSED_MS = 500, LEAST_EVICT_MS = 1000 }; /* see patience */

struct registry {
    app *app;
    pthread_mutex_t lock; /* guards by_id; a study in it may be freed only while holding the lock */
    void *by_id;          /* tsearch tree of study */
    study *gone;          /* deleted studies that are not idle yet; their ids are free */
    uint64_t given_back;  /* for the timer: evictions when memory was last returned, and that time */
    int64_t given_back_at;
    size_t most_buffered;      /* for the timer: the most bytes of bodies and answers since then */
    int64_t evict, pressed_at; /* for the timer: see patience */
    int64_t clock_offset;      /* for the timer: the wall clock's offset at the last tick */
    pthread_t timer;
    pthread_cond_t stop;
    bool stopping;
};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const study *)a)->id, ((const study *)b)->id);
}

/* ---- requests ------------------------------------------------------------------------------------------- */

/* The study with this id in memory, created if there is none. NULL: out of memory. Call with the lock
 * held. */
static study *find_study(registry *r, const char *id)
{
    study key;
    size_t n = strnlen(id, sizeof key.id - 1);
    memcpy(key.id, id, n);
    key.id[n] = '\0';
    study **found = tfind(&key, &r->by_id, compare_ids);
    if (found && !commit_deletion_is_stored((*found)->commit))
        return *found;
    if (found) {
        study *gone = *found;
        tdelete(gone, &r->by_id, compare_ids);
        gone->timing.next_gone = r->gone;
        r->gone = gone;
    }
    study *s = study_new(r->app, id);
    if (s && !tsearch(s, &r->by_id, compare_ids)) {
        study_free(s);
        return NULL;
    }
    return s;
}

void registry_post(registry *r, study_request *request)
{
    pthread_mutex_lock(&r->lock);
    study *s = find_study(r, request->study);
    if (s) {
        atomic_store(&s->timing.used_at, clock_steady_ms());
        study_post_request(s, request);
    }
    pthread_mutex_unlock(&r->lock);
    if (!s)
        reply_store_problem(request, STORE_NO_MEMORY);
}

/* ---- the timer ----------------------------------------------------------------------------------------- */

typedef struct walk {
    int64_t boot, steady; /* ms of the boot clock, and of the steady clock */
    bool clock_jumped;
    int64_t evict; /* ms: how long an unused study stays in memory */
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
    if (w->steady - atomic_load(&s->timing.used_at) >= w->evict) {
        atomic_store(&s->timing.used_at, w->steady);
        atomic_store(&s->timing.resting, true);
        study_post_tick(s);
    } else if (atomic_load(&s->timing.wake_at) <= w->steady || atomic_load(&s->timing.lease_end) <= w->boot ||
               w->clock_jumped) {
        atomic_store(&s->timing.wake_at, INT64_MAX);
        atomic_store(&s->timing.lease_end, INT64_MAX);
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
            *at = s->timing.next_gone;
            study_free(s);
        } else {
            at = &s->timing.next_gone;
        }
    }
}

/* How long an unused study stays in memory. While all engines and trials together have more than --total-memory, this
 * time is halved every half second, so that the least recently used studies leave first. */
static int64_t patience(registry *r, int64_t steady)
{
    int64_t longest = 1000 * (int64_t)r->app->config->evict_seconds;
    size_t held = atomic_load(&r->app->engine_bytes) + atomic_load(&r->app->trial_bytes);
    bool pressed = held > r->app->config->total_memory;
    if (!pressed) {
        r->evict = longest;
    } else if (steady - r->pressed_at >= PRESSED_MS) {
        r->pressed_at = steady;
        r->evict = r->evict / 2 > LEAST_EVICT_MS ? r->evict / 2 : LEAST_EVICT_MS;
    }
    return r->evict < longest ? r->evict : longest;
}

/* Has the memory for bodies and answers fallen to less than half since it was last returned? */
static bool has_less_buffered(registry *r)
{
    size_t used = budget_used(r->app->buffered);
    r->most_buffered = used > r->most_buffered ? used : r->most_buffered;
    return r->most_buffered > TRIM_BYTES && used < r->most_buffered / 2;
}

/* Returns memory to the system from time to time. That of evicted studies and engines, and of many bodies and answers,
 * is scattered among blocks in use, so it is not returned automatically. */
static void give_back(registry *r, int64_t steady)
{
    bool less = has_less_buffered(r);
    if ((!less && atomic_load(&r->app->evicted) == r->given_back) || steady - r->given_back_at < TRIM_MS)
        return;
    r->given_back = atomic_load(&r->app->evicted);
    r->given_back_at = steady;
    r->most_buffered = 0;
    malloc_trim(0);
}

/* Was the wall clock set since the last tick? A slewed clock moves by less than a thousandth. */
static bool clock_jumped(registry *r)
{
    int64_t offset = clock_offset(), jump = offset - r->clock_offset;
    r->clock_offset = offset;
    if (llabs(jump) < JUMP_MS)
        return false;
    atomic_fetch_add(&r->app->clock_jumps, 1);
    log_event(LOG_WARN, "clock_jumped", "seconds", log_format("%+.3f", (double)jump / 1000), NULL);
    return true;
}

static void *run_timer(void *arg)
{
    registry *r = arg;
    pthread_mutex_lock(&r->lock);
    while (!r->stopping) {
        struct timespec until;
        walk w = {.boot = clock_boot_ms(),
                  .steady = clock_steady_ms(),
                  .evict = patience(r, clock_steady_ms()),
                  .clock_jumped = clock_jumped(r),
                  .visit = tick};
        twalk_r(r->by_id, walk_node, &w);
        for (size_t i = 0; i < w.n; i++) {
            tdelete(w.disposable[i], &r->by_id, compare_ids);
            study_free(w.disposable[i]);
        }
        dispose_of_gone(r);
        pthread_mutex_unlock(&r->lock);
        events_tick(r->app->events);
        store_tick(r->app->store);
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

/* ---- start and end ------------------------------------------------------------------------------------- */

registry *registry_new(app *a)
{
    registry *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->app = a;
    r->clock_offset = clock_offset();
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_t steady; /* the steady clock, because the wall clock may jump */
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
    study *s = study_new(r->app, row->id);
    if (!s)
        return; /* its first request will load it */
    atomic_store(&s->timing.needed, true);
    atomic_store(&s->timing.used_at, clock_steady_ms());
    atomic_store(&s->timing.wake_at, 0);
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
    twalk_r(r->by_id, walk_node, &w); /* app.stopping is set, so their turns answer every ask */
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
        next = s->timing.next_gone;
        study_free(s);
    }
    pthread_cond_destroy(&r->stop);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
