/* Server-sent events: sends the committed events of studies to their listeners.
 *
 * The log is the source. A study with listeners has a feed: after a commit, the new events are read from the
 * log and encoded once, into chunks that all listeners share. The feed keeps the latest chunks. A listener
 * has a position in the log and no buffer: it gets the chunks as fast as its client receives them, and is
 * suspended when there are no more. A listener that needs older events reads the log itself, in chunks of its
 * own, until it has caught up. A listener that had caught up and then falls behind the kept chunks is
 * notified and dropped; its client can reconnect with Last-Event-ID. */
#ifndef SERVER_WATCH_EVENT_STREAMS_H
#define SERVER_WATCH_EVENT_STREAMS_H

#include "server/store/store.h"

struct app;
struct http_request;
typedef struct events events;

events *events_new(struct app *a); /* NULL: out of memory */

/* Call after the pool has been freed. NULL is fine. */
void events_free(events *e);

/* Call when events of the study have been committed, or the study has been deleted. Any thread; cheap. NULL
 * is fine. */
void events_changed(events *e, int64_t study);

/* Call it every 50 ms. Starts to read the logs that have changed. Sends comments on silent streams, so that lost
 * clients are noticed. NULL is fine. */
void events_tick(events *e);

/* Answers the request with a stream of the study's events after this position of its log. Only after EVENTS_OPENED has
 * the request been answered. EVENTS_FAILED: *status says why. */
#define EVENTS_FROM_NOW ((int64_t)-1)
typedef enum events_outcome {
    EVENTS_OPENED,
    EVENTS_FULL, /* EVENTS_LISTENERS_MAXIMUM streams are open */
    EVENTS_FAILED
} events_outcome;
enum { EVENTS_LISTENERS_MAXIMUM = 2000 };
events_outcome events_open(events *e, struct http_request *request, int64_t after, store_status *status);

/* Ends all streams, and every stream that begins later. */
void events_stop(events *e);

typedef struct events_statistics {
    size_t listeners;
    uint64_t dropped; /* listeners that were too slow */
} events_statistics;

void events_read_statistics(events *e, events_statistics *out);

#endif
