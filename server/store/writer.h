/* What is submitted to the writer thread, between lane.c, which makes it, writer.c, which takes it, and
 * group.c, which commits it. */
#ifndef SERVER_STORE_WRITER_H
#define SERVER_STORE_WRITER_H

#include "server/store/backend.h"

typedef enum op_kind { OP_WRITE, OP_DELETE, OP_UPLOAD, OP_ABANDON } op_kind;

struct store_op {
    op_kind kind;
    store_op *next;
    store_done *done; /* NULL: nobody asks */
    void *arg;
    store_lane *lane; /* writes and deletions */
    store_status status;
    int64_t study, last_seq; /* as `done` is told */
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
    store_answer *answer; /* NULL */
    store_token *token;   /* to be added; NULL */
    char *removed_token;  /* id; NULL */
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
    int64_t next_seq; /* the owner's */
    /* The writer thread's. */
    int64_t study;
    bool failed;
    store_op removal;
};

/* Hands the op to the writer thread, or calls its `done` with STORE_CLOSED when that has ended. */
void writer_submit(store *s, op_queue *queue, store_op *op);

/* Frees the op, and calls its `done` with what came of it. */
void writer_finish(store_op *op);

/* The writer thread's. Runs ops from the head of the list for at most `seconds`, one at least, commits them
 * together, and finishes them. -> the rest of the list; NULL: none */
store_op *group_run(store *s, store_op *first, double seconds);

/* A transaction of its own that changes nothing but must reach the disk. */
store_status group_touch(store *s, store_error *err);

#endif
