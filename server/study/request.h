/* Requests to a study, and its replies. The actor knows nothing of HTTP: each request comes with a study_client,
 * which gets the reply.
 *
 * A request belongs to the actor from registry_post (or study_create) until its reply is sent. Then it is the
 * client's again, at once and on any thread: the actor touches it no more. request.c defines what is declared
 * here. */
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

/* What came of a request. */
typedef enum reply_kind {
    REPLY_OK,               /* with a body */
    REPLY_CREATED,          /* with a body: a study was created */
    REPLY_EMPTY,            /* done, and there is nothing to show */
    REPLY_MALFORMED,        /* the request cannot be read */
    REPLY_INVALID,          /* the request can be read, and is not valid */
    REPLY_NOT_FOUND,        /* there is no such study, trial or candidate */
    REPLY_CONFLICT,         /* the state of the study does not allow it */
    REPLY_OUTDATED,         /* the study has changed since the client read it */
    REPLY_BUSY,             /* too many asks wait */
    REPLY_TOO_MANY_STUDIES, /* the server's limit */
    REPLY_TOO_MANY_VALUES,  /* the server's limit of rows times columns */
    REPLY_DAMAGED,          /* the database contradicts itself */
    REPLY_UNAVAILABLE       /* not now: try again */
} reply_kind;

/* Borrowed during study_client.reply, but for the body. */
typedef struct study_reply {
    reply_kind kind;
    char *body; /* JSON; the client's from now on. NULL: none */
    size_t size;
    const char *created;       /* REPLY_CREATED: the id */
    const char *detail;        /* of a refusal, one sentence; NULL: `errors` or `failure` say all */
    const wire_errors *errors; /* NULL: none */
    store_status failure;      /* of the store, when it is what refuses */
    bool unstored;             /* the request was carried out, and its write failed */
    int retry_after;           /* seconds; 0: nothing is said of it */
} study_reply;

/* The sender of requests, as the actor needs it. */
typedef struct study_client {
    /* The reply is made. While request->held is set it must be kept until `release`: the write that makes it
     * true is not on disk yet. Otherwise it may go out at once. A second reply, with `unstored` or without,
     * takes the place of a held one. */
    void (*reply)(study_request *request, const study_reply *reply);
    void (*release)(study_request *request);
    /* Has the client gone away? Asked now and then while the request waits. */
    bool (*is_gone)(const study_request *request);
    /* For requests with an idempotency key; `study` is the study's number, 0: none yet.
     * keep: adds the reply, which is made and held, to the write that makes it true.
     * repeat: sends the stored reply of the same request, or refuses. False: the request is new. */
    store_status (*keep)(const study_request *request, int64_t study, store_write *write);
    bool (*repeat)(study_request *request, int64_t study);
} study_client;

struct study_request {
    study_job job; /* the actor's */
    void (*run)(study *s, study_request *request);
    const study_client *client;
    const char *study; /* its id */
    int64_t number;    /* of the trial or candidate that the request names; −1: none */
    void *context;     /* what is asked: see requests.h; the client's, valid until the reply is sent */
    const char *key;   /* the idempotency key; NULL: none */
    /* What the key is unique for, beside the study and `number`: who calls, and what for. */
    const char *caller, *operation;
    double may_wait; /* set by the actor: seconds for which the request may be held, as it wished */
    bool held;       /* set by the actor: the reply is kept until its write is on disk */
    struct study_request *next; /* for the actor's lists */
};

/* Have two requests the same idempotency key, for the same operation of the same caller? */
bool request_repeats(const study_request *a, const study_request *b);

/* Each makes the reply, once; without `held`, the request is gone when it returns. */
void reply_json(study_request *request, wire_writer *body); /* REPLY_OK; takes the writer's text */
void reply_json_later(study_request *request, wire_writer *body, int retry_after);
void reply_empty(study_request *request);
void reply_problem(study_request *request, reply_kind kind, const wire_errors *errors, const char *detail,
                   ...) __attribute__((format(printf, 4, 5)));
void reply_limit(study_request *request, reply_kind kind); /* one of the server's limits is reached */
/* What a decoder found in the request's body. */
void reply_undecodable(study_request *request, wire_status status, const wire_errors *errors);
/* The store could not do what the reply needs. */
void reply_store_problem(study_request *request, store_status status);

/* REPLY_CREATED. False: out of memory, and nothing is replied. */
bool reply_created(study_request *request, wire_writer *body, const char *id);

/* A held reply: its write is on disk, or has failed. */
void reply_release(study_request *request);
void reply_unstored(study_request *request, store_status status);

#endif
