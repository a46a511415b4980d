#include "server/events.h"

#include "server/app.h"
#include "server/auth.h"
#include "server/clock.h"
#include "server/event_view.h"
#include "server/log.h"

#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

enum {
    CHUNK_EVENTS = 256,      /* of the log, read at once */
    KEPT_BYTES = 256 * 1024, /* of a feed's chunks, besides those of the last KEPT_MS */
    KEPT_MS = 5000,
    KEPT_BYTES_MAXIMUM = 4 << 20, /* of all of them */
    TICK_MS = 50,                 /* at least, between two readings for a feed */
    LISTENERS_PER_MS = 5,         /* woken: more of them are woken less often */
    SILENCE_MS = 5000,            /* after which there is a comment */
    RETRY_MS = 1000,              /* after a failed read */
    LISTENERS_MAXIMUM = 2000,
    STOP_SECONDS = 2 /* for the clients to take the rest */
};

/* The events after `after`, through `through`, encoded. Never changed. */
typedef struct chunk {
    size_t references;
    int64_t after, through;
    int64_t made_at; /* ms */
    STAILQ_ENTRY(chunk) link;
    char *text;
    size_t size;
} chunk;

/* Times are ms of the steady clock: the wall clock may be set back. */
typedef struct feed {
    events *hub;
    int64_t study;
    int64_t read; /* the log has been read up to here */
    STAILQ_HEAD(chunk_list, chunk) chunks;
    size_t kept;       /* bytes of the chunks */
    bool changed;      /* there may be more in the log */
    bool reading;      /* its task is at work */
    bool ended;        /* the study is gone */
    int64_t next_read; /* ms: not before */
    size_t n_listeners;
    pool_task task;
} feed;

/* In a request's context. What a client is to get next is `text` from `offset` on: of `current`, of `own`, or
 * static. */
typedef struct listener {
    events *hub;
    feed *feed;
    http_request *request;
    int64_t position; /* of the log: events up to here have been given out, or are in `text` */
    const char *text;
    size_t size, offset;
    chunk *current;     /* NULL */
    char *own;          /* NULL */
    bool caught_up;     /* has been at the feed's end */
    bool suspended;     /* until somebody wakes it */
    bool reading;       /* its task is at work; it is suspended */
    bool last;          /* the stream ends after `text` */
    int64_t checked_at; /* ms: when its token was last looked at */
    int64_t heard_at;   /* ms: when it was last given something */
    int64_t wanted;     /* events to read from the log */
    pool_task task;
    TAILQ_ENTRY(listener) link;
} listener;

struct events {
    app *app;
    pthread_mutex_t lock; /* guards all of it, but what a task reads and encodes */
    void *feeds;          /* tsearch tree of feed, by study */
    atomic_size_t n_feeds;
    TAILQ_HEAD(listener_list, listener) listeners;
    size_t n_listeners;
    uint64_t dropped;
    bool stopping;
    pthread_cond_t none_left;
};

/* ---- chunks -------------------------------------------------------------------------------------------- */

static void chunk_release(chunk *c)
{
    if (c && --c->references == 0) {
        free(c->text);
        free(c);
    }
}

typedef struct encoding {
    wire_writer w;
    int64_t through;
    size_t n;
} encoding;

static void encode_event(void *arg, int64_t seq, const store_event *event)
{
    encoding *e = arg;
    event_view_encode(&e->w, seq, event);
    e->through = seq;
    e->n++;
}

/* At most `limit` events after `after` (without the lock). *out is NULL when there are none. */
static store_status read_chunk(app *a, int64_t study, int64_t after, size_t limit, chunk **out, size_t *n)
{
    encoding e = {.w = WIRE_WRITER_INIT};
    store_error error = {0};
    chunk *c = NULL;
    store_status status = store_read_events(a->store, study, after, limit, encode_event, &e, &error);
    if (status == STORE_OK && e.n > 0) {
        c = malloc(sizeof *c);
        if (c) {
            *c = (chunk){.references = 1, .after = after, .through = e.through};
            if (!wire_writer_finish(&e.w, &c->text, &c->size)) {
                free(c);
                c = NULL;
            }
        }
        status = c ? STORE_OK : STORE_NO_MEMORY;
    }
    wire_writer_clear(&e.w);
    if (status != STORE_OK && status != STORE_NOT_FOUND)
        log_event(LOG_WARN, "events_unreadable", "study", log_format("%lld", (long long)study), "reason",
                  store_status_text(status), NULL);
    *out = c;
    *n = e.n;
    return status;
}

/* ---- listeners; with the lock -------------------------------------------------------------------------- */

static void set_text(listener *l, const char *text, size_t size)
{
    l->text = text;
    l->size = size;
    l->offset = 0;
}

static void set_chunk(listener *l, chunk *c)
{
    l->current = c;
    l->position = c->through;
    set_text(l, c->text, c->size);
}

static void drop_text(listener *l)
{
    chunk_release(l->current);
    free(l->own);
    l->current = NULL;
    l->own = NULL;
    set_text(l, "", 0);
}

static void set_last(listener *l, const char *text)
{
    set_text(l, text, strlen(text));
    l->last = true;
}

static void say_deleted(listener *l)
{
    set_last(l, "event: state\ndata: {\"state\":\"deleted\"}\n\n");
}

static void wake(listener *l, int64_t now)
{
    if (!l->suspended || l->reading)
        return;
    l->suspended = false;
    l->heard_at = now;
    http_stream_resume(l->request);
}

/* Its own reading of the log, when it wants what the feed does not keep. */
static void run_listener(pool_task *task)
{
    listener *l = (listener *)((char *)task - offsetof(listener, task));
    events *e = l->hub;
    chunk *c;
    size_t n;
    store_status status = read_chunk(e->app, l->feed->study, l->position, (size_t)l->wanted, &c, &n);
    pthread_mutex_lock(&e->lock);
    if (status == STORE_NOT_FOUND)
        say_deleted(l);
    else if (c)
        set_chunk(l, c);
    else
        l->last = true; /* it will come back */
    l->reading = false;
    wake(l, clock_steady_ms()); /* the request, and `l`, may be gone when the lock is */
    pthread_mutex_unlock(&e->lock);
}

static const chunk *next_chunk(const listener *l)
{
    const chunk *c;
    STAILQ_FOREACH (c, &l->feed->chunks, link)
        if (c->through > l->position)
            return c;
    return NULL;
}

/* Finds more for the listener, or suspends it. */
static void advance(listener *l)
{
    events *e = l->hub;
    const chunk *c = next_chunk(l);
    int64_t end = !c ? l->feed->read : c->after > l->position ? c->after : c->through;
    if (c && c->after == l->position) {
        chunk *taken = (chunk *)(uintptr_t)c;
        taken->references++;
        l->caught_up = true;
        set_chunk(l, taken);
    } else if (end > l->position && l->caught_up) {
        e->dropped++;
        set_last(l, "event: dropped\ndata: {\"reason\":\"too slow: come back with Last-Event-ID\"}\n\n");
    } else if (end > l->position) {
        l->wanted = end - l->position < CHUNK_EVENTS ? end - l->position : CHUNK_EVENTS;
        l->suspended = l->reading = true;
        http_stream_suspend(l->request);
        pool_submit(e->app->pool, &l->task, POOL_SHORT);
    } else if (l->feed->ended) {
        say_deleted(l);
    } else {
        l->caught_up = true;
        l->suspended = true;
        http_stream_suspend(l->request);
    }
}

/* The HTTP thread: the client can take up to n bytes. */
static ptrdiff_t read_stream(http_request *request, char *out, size_t n)
{
    listener *l = request->context;
    events *e = l->hub;
    ptrdiff_t given = 0;
    pthread_mutex_lock(&e->lock);
    while (l->offset == l->size && !l->suspended && given == 0) {
        drop_text(l);
        if (l->last || e->stopping)
            given = HTTP_STREAM_END;
        else
            advance(l);
    }
    if (l->offset < l->size) {
        size_t left = l->size - l->offset;
        given = (ptrdiff_t)(left < n ? left : n);
        memcpy(out, l->text + l->offset, (size_t)given);
        l->offset += (size_t)given;
    }
    pthread_mutex_unlock(&e->lock);
    return given;
}

/* ---- feeds; with the lock ------------------------------------------------------------------------------ */

static int compare_feeds(const void *a, const void *b)
{
    int64_t x = ((const feed *)a)->study, y = ((const feed *)b)->study;
    return (x > y) - (x < y);
}

static feed *find_feed(events *e, int64_t study)
{
    feed key = {.study = study};
    feed **found = tfind(&key, &e->feeds, compare_feeds);
    return found ? *found : NULL;
}

static void free_feed(void *arg)
{
    feed *f = arg;
    chunk *c;
    while ((c = STAILQ_FIRST(&f->chunks))) {
        STAILQ_REMOVE_HEAD(&f->chunks, link);
        chunk_release(c);
    }
    free(f);
}

/* Nobody listens and nothing is at work for it. */
static void drop_feed(feed *f)
{
    if (f->n_listeners > 0 || f->reading)
        return;
    tdelete(f, &f->hub->feeds, compare_feeds);
    atomic_fetch_sub(&f->hub->n_feeds, 1);
    free_feed(f);
}

/* Lets chunks go that listeners have had the time to take, or that are too many. */
static void trim_chunks(feed *f, int64_t now)
{
    while (f->kept > KEPT_BYTES) {
        chunk *oldest = STAILQ_FIRST(&f->chunks);
        if (f->kept <= KEPT_BYTES_MAXIMUM && now - oldest->made_at < KEPT_MS)
            return;
        STAILQ_REMOVE_HEAD(&f->chunks, link);
        f->kept -= oldest->size;
        chunk_release(oldest);
    }
}

static void keep_chunk(feed *f, chunk *c, int64_t now)
{
    trim_chunks(f, now);
    STAILQ_INSERT_TAIL(&f->chunks, c, link);
    c->made_at = now;
    f->read = c->through;
    f->kept += c->size;
}

static void wake_listeners(feed *f, int64_t now)
{
    listener *l;
    TAILQ_FOREACH (l, &f->hub->listeners, link)
        if (l->feed == f)
            wake(l, now);
}

static void run_feed(pool_task *task)
{
    feed *f = (feed *)((char *)task - offsetof(feed, task));
    events *e = f->hub;
    chunk *c;
    size_t n;
    store_status status = read_chunk(e->app, f->study, f->read, CHUNK_EVENTS, &c, &n);
    int64_t now = clock_steady_ms();
    pthread_mutex_lock(&e->lock);
    f->reading = false;
    f->next_read = now + TICK_MS + (int64_t)f->n_listeners / LISTENERS_PER_MS;
    if (c)
        keep_chunk(f, c, now);
    if (status == STORE_NOT_FOUND)
        f->ended = true;
    else if (status != STORE_OK)
        f->next_read = now + RETRY_MS;
    if (status != STORE_NOT_FOUND && (status != STORE_OK || n == CHUNK_EVENTS))
        f->changed = true;
    if (c || f->ended)
        wake_listeners(f, now);
    bool more = status == STORE_OK && n == CHUNK_EVENTS && f->n_listeners > 0;
    if (more) {
        f->changed = false;
        f->reading = true;
    }
    drop_feed(f); /* which it does only if nobody needs it */
    pthread_mutex_unlock(&e->lock);
    if (more)
        pool_submit(e->app->pool, task, POOL_SHORT);
}

void events_changed(events *e, int64_t study)
{
    if (!e || atomic_load(&e->n_feeds) == 0)
        return;
    pthread_mutex_lock(&e->lock);
    feed *f = find_feed(e, study);
    if (f)
        f->changed = true;
    pthread_mutex_unlock(&e->lock);
}

static void tick_feed(const void *node, VISIT which, void *arg)
{
    int64_t now = *(const int64_t *)arg;
    if (which != postorder && which != leaf)
        return;
    feed *f = *(feed *const *)node;
    trim_chunks(f, now);
    if (!f->changed || f->reading || f->ended || f->next_read > now)
        return;
    f->changed = false;
    f->reading = true;
    pool_submit(f->hub->app->pool, &f->task, POOL_SHORT);
}

void events_tick(events *e)
{
    static const char comment[] = ": nothing new\n\n";
    int64_t now = clock_steady_ms();
    if (atomic_load(&e->n_feeds) == 0)
        return;
    pthread_mutex_lock(&e->lock);
    twalk_r(e->feeds, tick_feed, &now);
    listener *l;
    TAILQ_FOREACH (l, &e->listeners, link) {
        if (now - l->checked_at >= SILENCE_MS) {
            l->checked_at = now;
            l->last |= !auth_is_valid(e->app->auth, &l->request->caller, clock_now());
        }
        if (l->last)
            wake(l, now);
        if (l->suspended && !l->reading && now - l->heard_at >= SILENCE_MS) {
            l->last = http_client_is_gone(l->request);
            set_text(l, comment, l->last ? 0 : sizeof comment - 1);
            wake(l, now);
        }
    }
    pthread_mutex_unlock(&e->lock);
}

/* ---- coming and going ---------------------------------------------------------------------------------- */

static void leave(void *arg)
{
    listener *l = arg;
    events *e = l->hub;
    pthread_mutex_lock(&e->lock);
    assert(!l->reading);
    drop_text(l);
    TAILQ_REMOVE(&e->listeners, l, link);
    if (--e->n_listeners == 0)
        pthread_cond_signal(&e->none_left);
    l->feed->n_listeners--;
    drop_feed(l->feed);
    pthread_mutex_unlock(&e->lock);
    free(l);
}

/* The study's feed, from here on if it is new; NULL: out of memory. */
static feed *open_feed(events *e, int64_t study, int64_t last_seq)
{
    feed *f = find_feed(e, study);
    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    /* What has been committed since last_seq was read, nobody has told. */
    *f = (feed){.hub = e, .study = study, .read = last_seq, .changed = true, .task.run = run_feed};
    STAILQ_INIT(&f->chunks);
    if (!tsearch(f, &e->feeds, compare_feeds)) {
        free(f);
        return NULL;
    }
    atomic_fetch_add(&e->n_feeds, 1);
    return f;
}

typedef struct place {
    int64_t study, last_seq;
} place;

static void take_place(void *arg, const store_study *row)
{
    *(place *)arg = (place){.study = row->study, .last_seq = row->last_seq};
}

/* Adds the listener, which is the request's from then on; false: out of memory. */
static bool join(events *e, listener *l, const place *at)
{
    l->feed = open_feed(e, at->study, at->last_seq);
    if (!l->feed)
        return false;
    l->feed->n_listeners++;
    TAILQ_INSERT_TAIL(&e->listeners, l, link);
    e->n_listeners++;
    l->request->context = l;
    l->request->context_free = leave;
    return true;
}

/* What the stream begins with. An id that lies ahead is of another study, which had this one's name. */
static bool set_greeting(listener *l, const place *at, int64_t after)
{
    wire_writer w = WIRE_WRITER_INIT;
    bool foreign = after > at->last_seq;
    l->position = after < 0 || foreign ? at->last_seq : after;
    wire_encode_stream_start(&w, l->position);
    if (foreign)
        wire_encode_notice(&w, l->position, "reset", "this study has no such event: read it anew");
    size_t size;
    if (!wire_writer_finish(&w, &l->own, &size))
        return false;
    set_text(l, l->own, size);
    return true;
}

/* Proxies of nginx's kind are not to collect events before they pass them on. */
static const http_header headers[] = {{"X-Accel-Buffering", "no"}, {0}};

void events_open(events *e, http_request *request, int64_t after)
{
    place at;
    store_error error = {0};
    listener *l = calloc(1, sizeof *l);
    store_status status =
        l ? store_read_study(e->app->store, request->study, take_place, &at, &error) : STORE_NO_MEMORY;
    if (status == STORE_OK) {
        *l = (listener){.hub = e,
                        .request = request,
                        .heard_at = clock_steady_ms(),
                        .checked_at = clock_steady_ms(),
                        .task.run = run_listener};
        if (!set_greeting(l, &at, after))
            status = STORE_NO_MEMORY;
    }
    bool joined = false, full = false;
    if (status == STORE_OK) {
        pthread_mutex_lock(&e->lock);
        full = e->n_listeners >= LISTENERS_MAXIMUM;
        joined = !full && join(e, l, &at);
        pthread_mutex_unlock(&e->lock);
    }
    if (joined) {
        request->answer.headers = headers;
        http_answer_stream(request, 200, "text/event-stream", read_stream);
        return;
    }
    if (full) {
        request->answer.retry_after = 5;
        http_answer_problem(request, 429, NULL, "%d event streams are open, and no more are",
                            LISTENERS_MAXIMUM);
    } else if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    } else {
        http_answer_store_problem(request, status == STORE_OK ? STORE_NO_MEMORY : status);
    }
    if (l)
        free(l->own);
    free(l);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

events *events_new(app *a)
{
    events *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->app = a;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&e->none_left, &steady);
    pthread_condattr_destroy(&steady);
    TAILQ_INIT(&e->listeners);
    return e;
}

void events_stop(events *e)
{
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    listener *l;
    TAILQ_FOREACH (l, &e->listeners, link)
        wake(l, clock_steady_ms());
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STOP_SECONDS;
    while (e->n_listeners > 0 && pthread_cond_timedwait(&e->none_left, &e->lock, &until) == 0) {
    }
    TAILQ_FOREACH (l, &e->listeners, link)
        http_stream_cut(l->request); /* who does not take what there is would hold the server up */
    pthread_mutex_unlock(&e->lock);
}

void events_read_statistics(events *e, events_statistics *out)
{
    pthread_mutex_lock(&e->lock);
    *out = (events_statistics){.listeners = e->n_listeners, .dropped = e->dropped};
    pthread_mutex_unlock(&e->lock);
}

void events_free(events *e)
{
    if (!e)
        return;
    assert(TAILQ_EMPTY(&e->listeners));
    tdestroy(e->feeds, free_feed);
    pthread_cond_destroy(&e->none_left);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
