/* Shared by the two files of a replay: replay.c reads and rebuilds, plan_again.c replans. */
#ifndef SERVER_REPLAY_INTERNAL_H
#define SERVER_REPLAY_INTERNAL_H

#include "server/app.h"
#include "server/replay/rebuild.h"
#include "server/replay/replay.h"
#include "server/study/engine_lane.h"
#include "server/study/load.h"
#include "server/study/plan.h"

/* The position of a batch in the log, and the position up to which it was planned from. */
typedef struct planned_at {
    int64_t seq, through_seq;
} planned_at;

typedef struct replaying {
    const replay_options *options;
    replay_result *result;
    store_error *err;
    store *from, *to;
    rebuild *rebuild;
    app app;
    study *study; /* the rebuilt study */
    /* Of the original study. */
    const char *id;
    int64_t number, last_seq, candidates, dimension, reference_candidates;
    planned_at *batches;
    size_t n_batches, capacity, next;
    plan *plan; /* the latest replanned batch, if it has not been compared yet */
    store_event planned;
    bool strayed; /* the engine has made a different choice, so no more batches are replanned */
    store_status status;
} replaying;

/* Keeps the first failure. Its text begins with `what`, unless the store has set one. */
void replay_fail(replaying *r, store_status status, const char *what);

/* Reports a difference at entry `seq`. */
void replay_differs(replaying *r, int64_t seq, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Replans the batch of the entry, from the study as rebuilt so far. */
void replay_plan_again(replaying *r, int64_t seq, const store_event *recorded);

/* Compares the new plan, which must exist, with the entry, and frees it. */
void replay_compare_plan(replaying *r, int64_t seq, const store_event *recorded);

#endif
