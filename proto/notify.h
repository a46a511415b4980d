/* Whom the server notifies of events of its studies: GET and PUT /v1/notify. Rules of decoding: proto/wire.h. */
#ifndef PROTO_NOTIFY_H
#define PROTO_NOTIFY_H

#include "proto/wire.h"

/* X(enumerator, word of the API) */
#define WIRE_NOTICE_LIST(X)                                                                                  \
    X(WIRE_NOTICE_FINISHED, "finished")                                                                      \
    X(WIRE_NOTICE_BETTER, "better")                                                                          \
    X(WIRE_NOTICE_STUCK, "stuck")                                                                            \
    X(WIRE_NOTICE_FAILING, "failing")

typedef enum wire_notice {
#define X(enumerator, word) enumerator,
    WIRE_NOTICE_LIST(X)
#undef X
        WIRE_NOTICES
} wire_notice;

const char *wire_notice_word(wire_notice notice);

#define WIRE_MAX_RECEIVERS 16
#define WIRE_MAX_URL       2000

/* A secret, as receivers know it: this prefix, and the base64 of 24 to 64 bytes. */
#define WIRE_SECRET_PREFIX "whsec_"
enum { WIRE_SECRET_LEAST = 24, WIRE_SECRET_MOST = 64 };

typedef struct wire_receiver {
    char *url;       /* http:// or https://, printable ASCII, without a user and without a fragment */
    uint32_t events; /* bit 1 << wire_notice */
    char *secret;    /* NULL: none was given */
} wire_receiver;

typedef struct wire_notify {
    wire_receiver *list; /* the URLs differ */
    size_t n;
} wire_notify;

wire_status wire_decode_notify(wire_notify **out, const char *body, size_t size, wire_errors *errors);
void wire_notify_free(wire_notify *notify);

/* Counts of a receiver's notifications since the server was started, or since the receiver was set. */
typedef struct wire_receiver_counts {
    int64_t queued;                /* now */
    int64_t sent, failed, dropped; /* failed: given up after the last try; dropped: too many waited */
    const char *last_error;        /* of the last try; "": it succeeded, or there was none */
} wire_receiver_counts;

/* A member of the list in an answer. secret NULL: it is not shown. counts NULL: they are left out. */
void wire_encode_receiver(wire_writer *w, const wire_receiver *receiver, const char *secret,
                          const wire_receiver_counts *counts);

/* The body of a notification. */
typedef struct wire_notification {
    const char *id;
    wire_notice notice;
    const char *study;
    int64_t time;       /* ms */
    const char *reason; /* "": none */
    int64_t trial;      /* `better`: whose result it is */
    double value;
    int64_t failures; /* `failing`: in a row */
} wire_notification;

void wire_encode_notification(wire_writer *w, const wire_notification *n);

#endif
