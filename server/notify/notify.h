/* Notifications: tells receivers of the administrator's choice, by POST requests that are signed, what happens to
 * studies. A thread of its own sends them with libcurl, which is loaded when the first receiver is set.
 *
 *   notify.c    who is told what: receivers, their queues, what has happened to a study
 *   send.c      the thread: transfers, retries                       (calls receivers.c, library.c)
 *   receiver.c  a receiver, its queue and its counts
 *   sign.c      secrets and signatures
 *   address.c   which addresses are public
 *   library.c   libcurl
 *
 * Each receiver gets one request at a time, in order. A try that fails is repeated after 1 s, 2 s, … up to ten
 * minutes; after NOTIFY_TRIES the notification is given up. NOTIFY_QUEUE notifications wait behind the one that is being
 * sent or repeated; the oldest is dropped for one more. What is queued when the server stops is lost. */
#ifndef SERVER_NOTIFY_NOTIFY_H
#define SERVER_NOTIFY_NOTIFY_H

#include "proto/notify.h"

enum {
    NOTIFY_TRIES = 12,
    NOTIFY_QUEUE = 100,
    NOTIFY_FAILURES = 5 /* attempts in a row that make a study `failing` */
};

typedef struct notify notify;

/* with_private: loopback and private addresses may be receivers. NULL: out of memory. */
notify *notify_new(bool with_private);

/* Ends the thread. Call when nothing is posted any more. NULL is fine. */
void notify_free(notify *n);

/* Is the URL's host an address at which nobody is notified? Names are judged when they are connected to. */
bool notify_refuses(const notify *n, const char *url);
#define NOTIFY_REFUSAL "the address is not public; --notify-private allows it"

/* Can notifications be sent? False: why says what is missing. Loads libcurl. */
bool notify_can_send(char *why, size_t size);

/* A new secret, as text. text: NOTIFY_SECRET_SIZE bytes. */
enum { NOTIFY_SECRET_SIZE = 64 };
void notify_make_secret(char *text);

/* The receivers from now on, each with a secret. Those whose URL was there before keep their queues. False: out of
 * memory, or no thread can be started; then nothing has changed. */
bool notify_set(notify *n, const wire_notify *receivers);

/* Calls `row` for each receiver, in their order. What it gets is valid during the call. */
typedef void notify_row(void *arg, const wire_receiver *receiver, const wire_receiver_counts *counts);
void notify_list(notify *n, notify_row *row, void *arg);

/* What has happened to a study in one write. */
typedef struct notify_news {
    bool any;
    bool finished, stuck;
    bool expired;     /* a lease; by itself not told */
    char reason[300]; /* of `finished` or `stuck` */
    int64_t trial;    /* whose result is the best one now; 0: none is */
    double value;
    /* Attempts that failed: before the first that did not, and after the last. */
    int64_t failures, failures_since;
    bool evaluated; /* there was one that did not fail */
} notify_news;

void notify_note_failure(notify_news *news);
void notify_note_evaluation(notify_news *news);
void notify_note_stuck(notify_news *news, const char *reason);

/* Queues what receivers want to know. Any thread; never waits for a receiver. n NULL: nothing happens. number: the
 * study's in the store. */
void notify_post(notify *n, const char *study, int64_t number, const notify_news *news);

/* Forgets a deleted study. Any thread. n NULL is fine. */
void notify_forget(notify *n, int64_t number);

typedef struct notify_statistics {
    uint64_t sent, failed, dropped; /* since the start */
    size_t queued;
} notify_statistics;

void notify_read_statistics(notify *n, notify_statistics *out); /* n NULL: zeros */

#endif
