/* Feeds: the committed events of the studies that have listeners, read from the log and encoded once. */
#include "server/watch/internal.h"

#include "server/app.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/event_view.h"

#include <search.h>
#include <stdlib.h>

enum {
    KEPT_BYTES = 256 * 1024, /* of a feed's chunks; those of the last KEPT_MS are also kept */
    KEPT_MS = 5000,
    KEPT_BYTES_MAXIMUM = 4 << 20, /* of all chunks of a feed */
    TICK_MS = 50,                 /* minimum between two reads for a feed */
    LISTENERS_PER_MS = 5,         /* a feed with more listeners wakes them less often */
    RETRY_MS = 1000               /* after a failed read */
};

/* ---- chunks -------------------------------------------------------------------------------------------- */

void chunk_release(chunk *c)
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

store_status chunk_read(app *a, int64_t study, int64_t after, size_t limit, chunk **out, size_t *n)
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

/* ---- feeds; call with the lock held -------------------------------------------------------------------- */

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

void feed_drop(feed *f)
{
    if (f->n_listeners > 0 || f->reading)
        return;
    tdelete(f, &f->hub->feeds, compare_feeds);
    atomic_fetch_sub(&f->hub->n_feeds, 1);
    free_feed(f);
}

/* Releases chunks that listeners have had time to receive, or that exceed the limit. */
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

chunk *feed_next_chunk(const feed *f, int64_t position)
{
    chunk *c;
    STAILQ_FOREACH (c, &f->chunks, link)
        if (c->through > position)
            return c;
    return NULL;
}

static void run_feed(pool_task *task)
{
    feed *f = (feed *)((char *)task - offsetof(feed, task));
    events *e = f->hub;
    chunk *c;
    size_t n;
    store_status status = chunk_read(e->app, f->study, f->read, CHUNK_EVENTS, &c, &n);
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
        feed_wake_listeners(f, now);
    bool more = status == STORE_OK && n == CHUNK_EVENTS && f->n_listeners > 0;
    if (more) {
        f->changed = false;
        f->reading = true;
    }
    feed_drop(f); /* only if it is not needed */
    pthread_mutex_unlock(&e->lock);
    if (more)
        pool_submit_for(e->app->pool, task, POOL_READING, (uint64_t)f->study);
}

feed *feed_open(events *e, int64_t study, int64_t last_seq)
{
    feed *f = find_feed(e, study);
    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    /* changed: events that were committed since last_seq was read have not been announced. */
    *f = (feed){.hub = e, .study = study, .read = last_seq, .changed = true, .task.run = run_feed};
    STAILQ_INIT(&f->chunks);
    if (!tsearch(f, &e->feeds, compare_feeds)) {
        free(f);
        return NULL;
    }
    atomic_fetch_add(&e->n_feeds, 1);
    return f;
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
    pool_submit_for(f->hub->app->pool, &f->task, POOL_READING, (uint64_t)f->study);
}

void events_tick_feeds(events *e, int64_t now)
{
    twalk_r(e->feeds, tick_feed, &now);
}

void events_free_feeds(events *e)
{
    tdestroy(e->feeds, free_feed);
}
