/* Server-sent events: what has been committed to studies' logs, to everybody who listens.
 *
 * The log is the source. A study that somebody listens to has a feed: when something has been committed, its
 * events are read from the log and encoded once, into chunks that all its listeners share; the last of them
 * are kept. A listener has a place in the log and no buffer of its own: it is given the chunks as its client
 * takes them, and is suspended when there is no more. One that asks for what is older reads the log by
 * itself, in chunks of its own, until it has caught up. One that had caught up and then falls behind what the
 * feed keeps is told so and dropped; it can come back with Last-Event-ID. */
#ifndef SERVER_WATCH_EVENT_STREAMS_H
#define SERVER_WATCH_EVENT_STREAMS_H

#include "server/store/store.h"

struct app;
struct http_request;
typedef struct events events;

events *events_new(struct app *a); /* NULL: out of memory */

/* After the pool has gone. NULL is fine. */
void events_free(events *e);

/* Something of the study's is on disk, or the study has been deleted. Any thread; cheap. e NULL: nobody can
 * listen. */
void events_changed(events *e, int64_t study);

/* Every 50 ms: starts to read what has changed; comments to the silent, so that the lost are noticed. e NULL: as
 * above. */
void events_tick(events *e);

/* Answers the request with a stream of the study's events after this position of its log. Only EVENTS_OPENED
 * means that it has been answered; with EVENTS_FAILED, *status says why. */
#define EVENTS_FROM_NOW ((int64_t)-1)
typedef enum events_outcome {
    EVENTS_OPENED,
    EVENTS_FULL, /* EVENTS_LISTENERS_MAXIMUM streams are open */
    EVENTS_FAILED
} events_outcome;
enum { EVENTS_LISTENERS_MAXIMUM = 2000 };
events_outcome events_open(events *e, struct http_request *request, int64_t after, store_status *status);

/* Ends every stream, and those that would begin later. */
void events_stop(events *e);

typedef struct events_statistics {
    size_t listeners;
    uint64_t dropped; /* listeners, for being slow */
} events_statistics;

void events_read_statistics(events *e, events_statistics *out);

#endif
