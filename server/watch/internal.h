/* Shared by the feeds of studies (event_feed.c) and their listeners (event_streams.c). */
#ifndef SERVER_WATCH_INTERNAL_H
#define SERVER_WATCH_INTERNAL_H

#include "server/base/pool.h"
#include "server/store/store.h"
#include "server/watch/event_streams.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

enum { CHUNK_EVENTS = 256 }; /* events read from the log at once */

/* The encoded events after `after`, up to and including `through`. Immutable. */
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
    bool changed;      /* there may be new events in the log */
    bool reading;      /* its task is running */
    bool ended;        /* the study is gone */
    int64_t next_read; /* ms: it is not read before this time */
    size_t n_listeners;
    pool_task task;
} feed;

struct listener;

struct events {
    struct app *app;
    pthread_mutex_t lock; /* guards everything except the chunk that a task reads and encodes */
    void *feeds;          /* tsearch tree of feed, by study */
    atomic_size_t n_feeds;
    TAILQ_HEAD(listener_list, listener) listeners;
    size_t n_listeners;
    uint64_t dropped;
    bool stopping;
    pthread_cond_t none_left;
};

/* Reads at most `limit` events after `after`. Call it without the lock. *out: owned by the caller; NULL if there are
 * none or the read failed. *n: their number. */
store_status chunk_read(struct app *a, int64_t study, int64_t after, size_t limit, chunk **out, size_t *n);

/* Call all functions below with the lock held, except events_free_feeds. */

void chunk_release(chunk *c); /* NULL is fine */

/* The feed of the study. A new feed begins after last_seq. NULL: out of memory. */
feed *feed_open(events *e, int64_t study, int64_t last_seq);

/* Frees the feed if it has no listeners and its task is not running. */
void feed_drop(feed *f);

/* The first kept chunk with events after this position, borrowed; NULL: there is none. */
chunk *feed_next_chunk(const feed *f, int64_t position);

/* Starts reads for the feeds that have changed. */
void events_tick_feeds(events *e, int64_t now);
void events_free_feeds(events *e);

/* Wakes the listeners of the feed. */
void feed_wake_listeners(feed *f, int64_t now);

#endif
