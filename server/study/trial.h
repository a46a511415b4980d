/* A trial in memory. It is open, or was reported and is not yet part of a stored model. All other trials
 * are only in the store. trial.c defines what is declared here; trial_queue.h has the lists that trials
 * are in. */
#ifndef SERVER_STUDY_TRIAL_H
#define SERVER_STUDY_TRIAL_H

#include "server/store/store.h"

#include <stdbool.h>
#include <sys/queue.h>

typedef struct trial {
    int64_t id;
    trial_state state;
    int32_t attempt;
    int64_t batch;
    uint32_t candidate;
    double variance;                     /* of the pick, paper's scale */
    char *worker;                        /* of the attempt; never NULL */
    int64_t issued_at, lease_expires_at; /* by the wall clock, as stored and shown */
    int64_t lease_end;                   /* ms of the boot clock: when the lease in fact ends */
    bool has_value;
    double value; /* as reported, or as amended */
    int64_t repeats;
    char *recorded, *metadata; /* JSON objects as text; never NULL */
    char *reason;              /* never NULL */
    int64_t told_at, told_seq;
    double told_cost;    /* with its result; 0: none; NaN: the log has it, at told_seq */
    bool released;       /* while queued: its last attempt was released */
    int64_t requeued_at; /* while queued: when its last attempt ended; 0: it was never handed out */
    double *point;       /* in an open space: coded, perhaps not stored yet. NULL: read it from the store */
    bool joining;        /* among the results for the batch being planned */
    uint64_t joined_by;  /* number of the write by which it joined the model; 0: it has not */
    TAILQ_ENTRY(trial) link;     /* used by trial_queue.c */
    size_t place;                /* used by trial_heap.c, for trial_queue.c */
    size_t bytes;                /* used by trial_queue.c: the bytes that it counts for the trial */
    struct study_worker *holder; /* the worker of the attempt; NULL: it has no name */
    TAILQ_ENTRY(trial) held;     /* used by workers.c */
} trial;

/* A trial with copies of the row's strings, in no list. NULL: out of memory. */
trial *trial_of_row(const store_trial *row);
void trial_free(void *t); /* must be in no list; also for tdestroy */

bool trial_is_open(const trial *t);                            /* queued or pending */
size_t trial_memory(const trial *t);                           /* bytes, with its strings and its point */
bool trial_set_point(trial *t, const double *point, size_t n); /* a copy; false: out of memory */

/* Replaces an owned string by a copy of this one; NULL counts as "". False: out of memory, and the field is
 * unchanged. */
bool text_replace(char **field, const char *text);

#endif
