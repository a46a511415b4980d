/* Listeners: each gets the chunks of its study's feed, from the request to the end of the stream. */
#include "server/watch/internal.h"

#include "proto/encode_events.h"
#include "server/app.h"
#include "server/base/clock.h"
#include "server/http/auth.h"
#include "server/http/http.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SILENCE_MS = 5000, /* a comment is sent after this time without events */
    STOP_SECONDS = 1   /* for clients to receive the rest */
};

/* The context of a request. Next, the client gets `text` from `offset` on. The text belongs to `current` or to `own`,
 * or is static. */
typedef struct listener {
    events *hub;
    feed *feed;
    http_request *request;
    int64_t position; /* in the log: events up to here have been sent or are in `text` */
    const char *text;
    size_t size, offset;
    chunk *current;     /* NULL: none */
    char *own;          /* NULL: none */
    bool caught_up;     /* has reached the end of the feed */
    bool suspended;     /* until `wake` */
    bool reading;       /* its task is running; it is suspended */
    bool last;          /* the stream ends after `text` */
    int64_t checked_at; /* ms: when its token and its client were last checked */
    int64_t heard_at;   /* ms: when it was last woken */
    int64_t wanted;     /* how many events to read from the log */
    pool_task task;
    TAILQ_ENTRY(listener) link;
} listener;

/* ---- listeners; call with the lock held ---------------------------------------------------------------- */

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

/* Reads the log for one listener, which needs events that the feed no longer keeps. */
static void run_listener(pool_task *task)
{
    listener *l = (listener *)((char *)task - offsetof(listener, task));
    events *e = l->hub;
    chunk *c;
    size_t n;
    store_status status = chunk_read(e->app, l->feed->study, l->position, (size_t)l->wanted, &c, &n);
    pthread_mutex_lock(&e->lock);
    if (status == STORE_NOT_FOUND)
        say_deleted(l);
    else if (c)
        set_chunk(l, c);
    else
        l->last = true; /* the client will reconnect */
    l->reading = false;
    wake(l, clock_steady_ms()); /* the request and `l` may be freed once the lock is released */
    pthread_mutex_unlock(&e->lock);
}

/* Gives the listener its next text, or suspends it, or ends it if its client is gone. */
static void advance(listener *l)
{
    events *e = l->hub;
    chunk *c = feed_next_chunk(l->feed, l->position);
    int64_t end = !c ? l->feed->read : c->after > l->position ? c->after : c->through;
    if (c && c->after == l->position) {
        c->references++;
        l->caught_up = true;
        set_chunk(l, c);
    } else if (end > l->position && l->caught_up) {
        e->dropped++;
        set_last(l, "event: dropped\ndata: {\"reason\":\"too slow; reconnect with Last-Event-ID\"}\n\n");
    } else if (end > l->position) {
        l->wanted = end - l->position < CHUNK_EVENTS ? end - l->position : CHUNK_EVENTS;
        l->suspended = l->reading = true;
        http_stream_suspend(l->request);
        http_read_later(l->request, &l->task);
    } else if (l->feed->ended) {
        say_deleted(l);
    } else if (http_client_is_gone(l->request)) {
        l->last = true;
    } else {
        l->caught_up = true;
        l->suspended = true;
        http_stream_suspend(l->request);
    }
}

/* Called on the HTTP thread when the client can receive up to n bytes. */
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

void feed_wake_listeners(feed *f, int64_t now)
{
    listener *l;
    TAILQ_FOREACH (l, &f->hub->listeners, link)
        if (l->feed == f)
            wake(l, now);
}

void events_tick(events *e)
{
    static const char comment[] = ": nothing new\n\n";
    int64_t now = clock_steady_ms();
    if (!e || atomic_load(&e->n_feeds) == 0)
        return;
    pthread_mutex_lock(&e->lock);
    events_tick_feeds(e, now);
    listener *l;
    TAILQ_FOREACH (l, &e->listeners, link) {
        if (now - l->checked_at >= HTTP_CLIENT_CHECK_MS) {
            l->checked_at = now;
            l->last |= !auth_is_valid(e->app->auth, &l->request->caller, clock_now()) ||
                       http_client_is_gone(l->request);
        }
        if (l->last)
            wake(l, now);
        if (l->suspended && !l->reading && now - l->heard_at >= SILENCE_MS) {
            set_text(l, comment, sizeof comment - 1);
            wake(l, now);
        }
    }
    pthread_mutex_unlock(&e->lock);
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static void leave(void *arg)
{
    listener *l = arg;
    events *e = l->hub;
    pthread_mutex_lock(&e->lock);
    assert(!l->reading);
    drop_text(l);
    TAILQ_REMOVE(&e->listeners, l, link);
    budget_give(e->app->streams, l->request->holder, 1);
    if (--e->n_listeners == 0)
        pthread_cond_signal(&e->none_left);
    l->feed->n_listeners--;
    feed_drop(l->feed);
    pthread_mutex_unlock(&e->lock);
    free(l);
}

typedef struct place {
    int64_t study, last_seq;
} place;

static void take_place(void *arg, const store_study *row)
{
    *(place *)arg = (place){.study = row->study, .last_seq = row->last_seq};
}

/* Adds the listener, which the request owns from then on. False: out of memory. */
static bool join(events *e, listener *l, const place *at)
{
    l->feed = feed_open(e, at->study, at->last_seq);
    if (!l->feed)
        return false;
    l->feed->n_listeners++;
    TAILQ_INSERT_TAIL(&e->listeners, l, link);
    e->n_listeners++;
    l->request->context = l;
    l->request->context_free = leave;
    return true;
}

/* Sets the start of the stream. An `after` beyond the end of the log comes from a deleted study with the same id. */
static bool set_greeting(listener *l, const place *at, int64_t after)
{
    wire_writer w = WIRE_WRITER_INIT;
    bool foreign = after > at->last_seq;
    l->position = after < 0 || foreign ? at->last_seq : after;
    wire_encode_stream_start(&w, l->position);
    if (foreign)
        wire_encode_notice(&w, l->position, "reset", "this study has no such event; reload the study");
    size_t size;
    if (!wire_writer_finish(&w, &l->own, &size))
        return false;
    set_text(l, l->own, size);
    return true;
}

/* Keeps nginx and similar proxies from buffering events. */
static const http_header headers[] = {{"X-Accel-Buffering", "no"}, {0}};

events_outcome events_open(events *e, http_request *request, int64_t after, store_status *status)
{
    place at;
    store_error error = {0};
    listener *l = calloc(1, sizeof *l);
    *status = l ? store_read_study(e->app->store, request->study, take_place, &at, &error) : STORE_NO_MEMORY;
    if (*status == STORE_OK) {
        *l = (listener){.hub = e,
                        .request = request,
                        .heard_at = clock_steady_ms(),
                        .checked_at = clock_steady_ms(),
                        .task.run = run_listener};
        if (!set_greeting(l, &at, after))
            *status = STORE_NO_MEMORY;
    }
    bool joined = false, full = false;
    if (*status == STORE_OK) {
        pthread_mutex_lock(&e->lock);
        full = !budget_take(e->app->streams, request->holder, 1, EVENTS_LISTENERS_MAXIMUM);
        joined = !full && join(e, l, &at);
        if (!full && !joined)
            budget_give(e->app->streams, request->holder, 1);
        pthread_mutex_unlock(&e->lock);
    }
    if (joined) {
        request->answer.headers = headers;
        http_answer_stream(request, "text/event-stream", read_stream);
        return EVENTS_OPENED;
    }
    if (l)
        free(l->own);
    free(l);
    if (*status == STORE_OK)
        *status = STORE_NO_MEMORY; /* used unless the streams are full */
    return full ? EVENTS_FULL : EVENTS_FAILED;
}

/* ---- start and end ------------------------------------------------------------------------------------- */

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
        http_stream_cut(l->request); /* a client that does not read would delay the stop */
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
    events_free_feeds(e);
    pthread_cond_destroy(&e->none_left);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
