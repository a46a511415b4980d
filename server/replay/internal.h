/* The inside of a replay: what is read and rebuilt (replay.c), and what is planned again (plan_again.c). */
#ifndef SERVER_REPLAY_INTERNAL_H
#define SERVER_REPLAY_INTERNAL_H

#include "server/app.h"
#include "server/replay/rebuild.h"
#include "server/replay/replay.h"
#include "server/study/engine_lane.h"
#include "server/study/load.h"
#include "server/study/plan.h"

/* Where a batch stands in the log, and what it was planned from. */
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
    study *study; /* in the new place */
    /* of the study in the old one */
    int64_t number, last_seq, candidates, dimension, reference_candidates;
    planned_at *batches;
    size_t n_batches, capacity, next;
    plan *plan; /* the last one made again, and not compared yet */
    store_event planned;
    bool strayed; /* the engine has chosen otherwise: nothing is planned any more */
    store_status status;
} replaying;

/* Keeps the first failure; its text, unless the store has said one, begins with `what`. */
void replay_fail(replaying *r, store_status status, const char *what);

/* One difference more, at entry `seq`. */
void replay_differs(replaying *r, int64_t seq, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Makes the plan of the entry again, with the study as it is when everything up to here is known. */
void replay_plan_again(replaying *r, int64_t seq, const store_event *recorded);

/* Holds the plan that was made again, which there is, against the entry; then it is gone. */
void replay_compare_plan(replaying *r, int64_t seq, const store_event *recorded);

#endif
