/* Operations for the writer thread. lane.c makes them, writer.c queues them, and group.c commits them. */
#ifndef SERVER_STORE_WRITER_H
#define SERVER_STORE_WRITER_H

#include "server/store/backend.h"

typedef enum op_kind { OP_WRITE, OP_DELETE, OP_UPLOAD, OP_ABANDON } op_kind;

struct store_op {
    op_kind kind;
    store_op *next;
    store_done *done; /* NULL: no callback */
    void *arg;
    store_lane *lane; /* writes and deletions */
    store_status status;
    int64_t study, last_seq; /* arguments of `done` */
};

typedef struct write_item {
    store_event *event;
    char *payload;
} write_item;

struct store_write {
    store_op op;
    int64_t first_seq;
    write_item *items;
    size_t n, capacity;
    store_answer *answer;   /* NULL: none */
    store_token *token;     /* to be added; NULL: none */
    char *removed_token;    /* its id; NULL: none */
    store_setting *setting; /* NULL: none */
    bool stages, publishes;
    size_t most_studies; /* 0: any number */
};

typedef struct upload_op {
    store_op op;
    int64_t content, first;
    size_t n, dimension;
    double rows[];
} upload_op;

struct store_lane {
    store *s;
    int64_t epoch;
    int64_t next_seq; /* used by the owner only */
    /* Used by the writer thread only: */
    int64_t study;
    bool failed;
    store_op removal;
};

/* ---- writer.c ------------------------------------------------------------------------------------------ */

/* Queues the operation for the writer thread. If the thread has ended, calls `done` with STORE_CLOSED. */
void writer_submit(store *s, op_queue *queue, store_op *op);

/* Frees the operation and calls its `done` with the outcome. */
void writer_finish(store_op *op);

/* ---- group.c: on the writer thread --------------------------------------------------------------------- */

/* Runs operations from the head of the list, at least one, for at most `seconds`. Commits them together, and finishes
 * them. Returns the rest of the list; NULL: none. */
store_op *group_run(store *s, store_op *first, double seconds);

/* Commits a transaction that writes to the disk without changing any data. */
store_status group_touch(store *s, store_error *err);

/* ---- writable.c: on the writer thread ------------------------------------------------------------------ */

/* Touches the database once and ends all probes that wait for it. */
void probe_run(store *s);

/* Notes that a write has just reached the disk (works), or has failed. */
void probe_note(store *s, bool works);

#endif
