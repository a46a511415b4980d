/* Requests to a study, and their replies. The actor does not depend on HTTP: each request comes with a
 * study_client, which gets the reply.
 *
 * A request belongs to the actor from registry_post (or study_create) until its reply is sent. From then on
 * it belongs to the client again, perhaps on another thread, and the actor does not touch it any more.
 * request.c defines what is declared here. */
#ifndef SERVER_STUDY_REQUEST_H
#define SERVER_STUDY_REQUEST_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct study study;
typedef struct study_request study_request;

/* A job of the actor; embedded in its owner's memory. */
typedef struct study_job {
    void (*run)(study *s, struct study_job *job);
    struct study_job *next;
} study_job;

/* The outcome of a request. */
typedef enum reply_kind {
    REPLY_OK,               /* with a body */
    REPLY_CREATED,          /* with a body: a study was created */
    REPLY_EMPTY,            /* done; there is no body */
    REPLY_MALFORMED,        /* the request cannot be parsed */
    REPLY_INVALID,          /* the request can be parsed, but is not valid */
    REPLY_NOT_FOUND,        /* there is no such study, trial or candidate */
    REPLY_CONFLICT,         /* the state of the study does not allow it */
    REPLY_OUTDATED,         /* the study has changed since the client read it */
    REPLY_BUSY,             /* too many asks are waiting */
    REPLY_TOO_MANY_STUDIES, /* the server's limit */
    REPLY_TOO_MANY_VALUES,  /* the server's limit of rows times columns */
    REPLY_DAMAGED,          /* the database is inconsistent */
    REPLY_UNAVAILABLE       /* impossible now; the client should try again */
} reply_kind;

/* A reply. Borrowed during study_client.reply, except for the body. */
typedef struct study_reply {
    reply_kind kind;
    char *body; /* JSON, owned by the client; NULL: none */
    size_t size;
    const char *created;       /* REPLY_CREATED: the id */
    const char *detail;        /* of a refusal, one sentence; NULL: `errors` or `failure` suffice */
    const wire_errors *errors; /* NULL: none */
    store_status failure;      /* the status of the store, if it is the reason for the refusal */
    bool unstored;             /* the request was carried out, and its write failed */
    int retry_after;           /* seconds; 0: not given */
} study_reply;

/* The sender of requests: the functions that the actor calls. */
typedef struct study_client {
    /* Delivers the reply. While request->held is set, the client must keep it until `release`, because the
     * write that makes it true is not on disk yet. Otherwise it may be sent at once. A second reply, with
     * `unstored` or without, replaces a held one. */
    void (*reply)(study_request *request, const study_reply *reply);
    void (*release)(study_request *request);
    /* Has the client disconnected? Called from time to time while the request waits. */
    bool (*is_gone)(const study_request *request);
    /* For requests with an idempotency key; `study` is the study's number, 0: none yet. keep: adds the held reply to
     * the write that makes it true. repeat: sends the stored reply of the same request, or refuses the request. False:
     * the request is new. */
    store_status (*keep)(const study_request *request, int64_t study, store_write *write);
    bool (*repeat)(study_request *request, int64_t study);
} study_client;

struct study_request {
    study_job job; /* used by the actor */
    void (*run)(study *s, study_request *request);
    const study_client *client;
    const char *study; /* its id */
    int64_t number;    /* of the trial or candidate that the request names; −1: none */
    void *context;     /* the details (see requests.h); owned by the client, valid until the reply is sent */
    const char *key;   /* the idempotency key; NULL: none */
    /* The scope of the key, in addition to the study and `number`: the caller and the operation. */
    const char *caller, *operation;
    const char *holder;         /* the holder whose budget a waiting ask uses; NULL or "": none */
    double may_wait;            /* set by the actor: for how many seconds the request may be held */
    bool held;                  /* set by the actor: the reply is kept until its write is on disk */
    struct study_request *next; /* for the actor's lists */
};

/* Do two requests have the same idempotency key, for the same operation of the same caller? */
bool request_repeats(const study_request *a, const study_request *b);

/* Each of these makes the reply; call one of them, once. Unless request->held is set, the request must not be used
 * after the call. */
void reply_json(study_request *request, wire_writer *body); /* REPLY_OK; takes the writer's text */
void reply_json_later(study_request *request, wire_writer *body, int retry_after);
void reply_empty(study_request *request);
void reply_problem(study_request *request, reply_kind kind, const wire_errors *errors, const char *detail,
                   ...) __attribute__((format(printf, 4, 5)));
void reply_limit(study_request *request, reply_kind kind); /* one of the server's limits was reached */
/* Reports the errors that a decoder found in the request's body. */
void reply_undecodable(study_request *request, wire_status status, const wire_errors *errors);
/* Reports a failure of the store. */
void reply_store_problem(study_request *request, store_status status);

/* Replies REPLY_CREATED. False: out of memory, and there is no reply. */
bool reply_created(study_request *request, wire_writer *body, const char *id);

/* Call it for a held reply: reply_release when its write is on disk, reply_unstored when the write has failed. */
void reply_release(study_request *request);
void reply_unstored(study_request *request, store_status status);

#endif
