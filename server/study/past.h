/* The state of a study when one of its trials was planned, read from the log. past.c defines what is declared here. */
#ifndef SERVER_STUDY_PAST_H
#define SERVER_STUDY_PAST_H

#include "server/store/store.h"

/* A trial as it was then. */
typedef struct past_trial {
    int64_t batch; /* −1: a user proposed it */
    uint32_t candidate;
    trial_state state; /* TRIAL_QUEUED until it has a result */
    bool has_value;
    bool barred;      /* study_is_barred_by_failures */
    int64_t told_seq; /* 0: not yet */
} past_trial;

/* An imported result as it was then. */
typedef struct past_import {
    uint32_t candidate;
    bool has_value;
} past_import;

typedef struct past {
    int64_t trial;
    int64_t seq, time;   /* of the log entry that planned it */
    int64_t through_seq; /* the plan did not know later entries */
    char *definition;
    int64_t candidates;  /* how many existed, including those of the picks up to this trial */
    past_trial *trials;  /* `trial` entries: the earlier trials, and this one */
    store_arm_sum *sums; /* n_sums, ascending by arm: all sums at the start of the batch, also empty ones */
    int64_t *through;    /* batch + 1 entries: through_seq of each batch so far */
    store_engine_state now; /* at the start of the batch; borrows `sums` */
    double *fixed;          /* the values that the ask fixed for this pick, coded; NULL: none */
    past_import *imports;   /* n_imports, by number */
    bool *retired;          /* n_retired candidates, from the first: was it retired? */
    size_t n_imports, imports_capacity, n_retired;
    size_t n_sums, n_fixed, trials_capacity, sums_capacity, through_capacity;
} past;

/* Reads the past of a trial that a batch planned. STORE_NOT_FOUND: the log has no such pick. */
store_status past_read(past *out, store *s, int64_t study, int64_t trial, store_error *err);
void past_clear(past *p);

#endif
