/* Notifications: signed POST requests that inform receivers, which the administrator chooses, of events of studies. A
 * separate thread sends them with libcurl, which is loaded when the first receiver is set.
 *
 *   notify.c    which receiver gets which notification: receivers, their queues, news of a study
 *   send.c      the thread: transfers, retries                       (calls receiver.c, library.c)
 *   receiver.c  a receiver, its queue and its counts
 *   sign.c      secrets and signatures
 *   address.c   which addresses are public
 *   library.c   libcurl
 *
 * Each receiver gets one request at a time, in order. A try that fails is repeated after 1 s, 2 s, … up to ten
 * minutes. After NOTIFY_TRIES tries the notification is given up. Up to NOTIFY_QUEUE notifications wait behind the one
 * that is being sent or repeated; to make room for another one, the oldest is dropped. Notifications that are queued
 * when the server stops are lost. */
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

/* Ends the thread. Call it when no thread calls notify_post any more. NULL is fine. */
void notify_free(notify *n);

/* Why notifications are not sent to the URL; NULL: they are. A name is checked when it is connected to. Call it after
 * notify_can_send. */
const char *notify_refuses(const notify *n, const char *url);
#define NOTIFY_REFUSAL "the address is not public; --notify-private allows it"

/* Can notifications be sent? False: `why` says what is missing. Loads libcurl. */
bool notify_can_send(char *why, size_t size);

/* A new secret, as text. text: NOTIFY_SECRET_SIZE bytes. */
enum { NOTIFY_SECRET_SIZE = 64 };
void notify_make_secret(char *text);

/* Replaces the list of receivers; each has a secret. Receivers whose URL was in the earlier list keep their queues.
 * False: out of memory, or no thread can be started; then nothing has changed. */
bool notify_set(notify *n, const wire_notify *receivers);

/* Calls `row` for each receiver, in their order. Its arguments are valid during the call. */
typedef void notify_row(void *arg, const wire_receiver *receiver, const wire_receiver_counts *counts);
void notify_list(notify *n, notify_row *row, void *arg);

/* The news of a study from one write. */
typedef struct notify_news {
    bool any;
    bool finished, stuck;
    bool expired;     /* a lease has expired; this alone is not notified */
    char reason[300]; /* of `finished` or `stuck` */
    int64_t trial;    /* the trial whose result became the best one; 0: none did */
    double value;
    /* Attempts that failed: before the first attempt that did not, and after the last one that did not. */
    int64_t failures, failures_since;
    bool evaluated; /* there was an attempt that did not fail */
} notify_news;

void notify_note_failure(notify_news *news);
void notify_note_evaluation(notify_news *news);
void notify_note_stuck(notify_news *news, const char *reason);

/* Queues a notification of the news for each receiver that requests it. Any thread; never waits for a receiver. n NULL:
 * nothing happens. number: the study's, in the store. */
void notify_post(notify *n, const char *study, int64_t number, const notify_news *news);

/* Forgets a deleted study. Any thread. n NULL is fine. */
void notify_forget(notify *n, int64_t number);

typedef struct notify_statistics {
    uint64_t sent, failed, dropped; /* since the start */
    size_t queued;
} notify_statistics;

void notify_read_statistics(notify *n, notify_statistics *out); /* n NULL: zeros */

#endif
