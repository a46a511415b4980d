/* Shared by the files of server/notify; only this folder includes it. */
#ifndef SERVER_NOTIFY_INTERNAL_H
#define SERVER_NOTIFY_INTERNAL_H

#include "server/notify/library.h"
#include "server/notify/notify.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* ---- sign.c -------------------------------------------------------------------------------------------- */

enum { MESSAGE_ID_SIZE = 40, SIGNATURE_SIZE = 64 };

void message_id_make(char id[MESSAGE_ID_SIZE]);

/* The value of the header webhook-signature: "v1," and the base64 of the HMAC-SHA256 of "id.seconds.body" under the
 * secret's bytes (standardwebhooks.com). secret: its text, which is valid. */
void message_sign(char out[SIGNATURE_SIZE], const char *secret, const char *id, int64_t seconds,
                  const char *body, size_t size);

/* ---- address.c ----------------------------------------------------------------------------------------- */

/* Does the address belong to some host of the internet, and neither to this machine nor to a network of its own? */
bool address_is_public(const struct sockaddr *address);

/* Reads the URL as libcurl does, which must be loaded. Private: its host is an address that is not public; names are
 * never private. */
typedef enum url_kind { URL_PUBLIC, URL_PRIVATE, URL_MALFORMED, URL_NO_MEMORY } url_kind;
url_kind address_url_kind(const char *url);

/* ---- receiver.c: call with the lock held --------------------------------------------------------------- */

typedef struct delivery {
    STAILQ_ENTRY(delivery) link;
    char id[MESSAGE_ID_SIZE];
    wire_notice notice;
    int64_t study; /* its number */
    int tries;
    size_t size;
    char *body;
} delivery;

typedef struct receiver {
    STAILQ_ENTRY(receiver) link;
    notify *owner;
    wire_receiver wanted; /* its texts are owned */
    bool removed;         /* it is freed by the thread */
    STAILQ_HEAD(delivery_queue, delivery) queue;
    size_t queued; /* in the queue */
    wire_receiver_counts counts;
    char last_error[200];
    bool dropping;     /* it has dropped a delivery since the last success, which has been logged */
    int64_t delay;     /* ms, between the last try and the next; 0: the last try succeeded */
    int64_t next_try;  /* ms of the steady clock */
    delivery *current; /* in progress; only the thread uses it and the members below */
    CURL *easy;
    struct curl_slist *headers;
    size_t answer_bytes;
    bool refused_address;
} receiver;

typedef STAILQ_HEAD(receiver_list, receiver) receiver_list;

receiver *receiver_new(notify *owner, const wire_receiver *wanted); /* NULL: out of memory */
void receiver_free(receiver *r);                                    /* a transfer must not be in progress */
void receiver_push(receiver *r, delivery *d);                       /* takes ownership of d */

/* Notes the outcome of the current delivery's try. error NULL: it was received. */
void receiver_settle(receiver *r, int64_t now, const char *error);

/* ---- all receivers ------------------------------------------------------------------------------------- */

struct notify {
    bool with_private;
    pthread_mutex_t lock;
    receiver_list receivers;
    void *runs;                  /* runs of failures; a tree */
    atomic_uint_fast32_t wanted; /* the events that at least one receiver requests */
    atomic_uint_fast64_t sent, failed, dropped;
    atomic_size_t queued; /* including those in progress */
    bool running;
    atomic_bool stopping;
    pthread_t thread;
    CURLM *multi;
};

/* ---- send.c -------------------------------------------------------------------------------------------- */

/* Starts the thread, unless it runs. False: it cannot be started. libcurl must be loaded. */
bool sending_start(notify *n);
void sending_stop(notify *n);
void sending_wake(notify *n); /* call it when something was queued or has changed */

#endif
