/* The internals of a plan, for four files only: plan_gather.c gathers it in the study's turn, plan_compute.c computes
 * it on the engine lane, and plan.c records it in a turn. preview.c computes a model without a plan. */
#ifndef SERVER_STUDY_PLAN_INTERNAL_H
#define SERVER_STUDY_PLAN_INTERNAL_H

#include "server/data/arm_sums.h"
#include "server/data/stop_rule.h"
#include "server/study/engine_lane.h"
#include "server/study/failures.h"
#include "server/study/plan.h"

struct plan {
    engine_job job;
    study_job done;
    engine_source source;
    bool closes_model; /* makes no picks, because the study is finished */
    bool extends;      /* more picks for the current batch; false: a new batch */
    bool unfinished;   /* extends a batch that is planned in parts, with another part or with fixed values */
    size_t min_picks; /* the least number of picks, even beyond the rule's bound, so that no worker is idle */
    bool by_rule;     /* makes picks as long as the batch's rule allows them */
    /* Picks for one ask that fixes parameters. */
    uint64_t ask;  /* the number of the ask */
    double *fixed; /* one per parameter, NaN: not fixed; NULL: no such ask */
    size_t n_fixed;
    uint32_t *withheld_fixed; /* in an enumerated space: includes candidates with other values */
    size_t n_withheld_fixed;
    bandit_result *results;
    size_t n_results;
    double *others;       /* with several modelled metrics: the members `others` of the results point here */
    double *other_errors; /* likewise */
    bandit_amendment *amendments; /* of results that earlier batches include */
    size_t n_amendments;
    uint32_t *amended;            /* the candidates of these results, ascending, each once */
    bandit_arm_sum *amended_sums; /* one per metric and entry of `amended` */
    arm_errors amended_errors;    /* their results that have standard errors */
    size_t n_amended;
    int64_t joined_through; /* the earlier batches' model has the results up to this log position */
    bandit_pick *pending;   /* trials in flight, by number (asynchronous feedback) */
    size_t n_pending;
    uint32_t *withheld;
    size_t n_withheld;
    pick_repeats repeats;
    uint32_t *always_withheld; /* with PICKS_DIFFER: the arms of `withheld` that are not in flight */
    size_t n_always_withheld;
    uint32_t *failed; /* only in an open space */
    size_t n_failed;
    uint64_t remaining;
    size_t max_picks;
    bool limited_lookahead; /* max_picks is a few picks ahead, not the largest batch */
    size_t part;     /* the most picks of a part, if batches are planned in parts; SIZE_MAX: no parts */
    bool in_parts;   /* max_picks is a part of the batch */
    bool replans;    /* replans a recorded batch, however long it takes */
    bool found_none; /* replans a batch that found no point, perhaps because the defaults were withheld */
    double stops_at; /* by the steady clock: the plan stops then; its picks are handed out, and another plan
                               makes the rest */
    bool stopped;    /* it has stopped at this time, and the rule allows more picks */
    int64_t through_seq, first_trial, batch;
    /* The outcome. */
    engine_outcome outcome;
    uint64_t results_before; /* that the model had before the plan's */
    bandit_pick *picks;
    size_t n_picks, n_by_rule; /* the picks for the ask come last */
    double *points;            /* in an open space: n_picks x parameters */
    size_t n_added; /* how many points are visited for the first time: the arms after the source's */
    double *added;  /* n_added x parameters */
    store_pick *stored_picks; /* the picks in the form of the log */
    double ratio;
    const char *stop_rule;
    char advice[ADVICE_SIZE]; /* at first that of the previous batch; "": none */
    const wire_stop_when
        *ends; /* the rule of the definition that ends the study, so that no picks were made; NULL: none */
    bool exhausted; /* no arm was left that could be picked */
    bandit_description description;
    char code_path[24]; /* the code that computed it: the engine's SIMD version, and OpenBLAS's for a model */
    uint32_t *dictionary; /* copies, because the engine may begin the next plan before these are stored */
    size_t n_dictionary;  /* 0 if the results alone determine the model */
    store_arm_sum *sums;
    size_t n_sums;
    unsigned char *state;
    size_t n_state;
    int64_t started_at;
    double update_seconds, select_seconds;
};

/* ---- plan_gather.c ------------------------------------------------------------------------------------- */

/* Gathers a plan for a new batch from the results so far. NULL: out of memory; the study must then be loaded again. */
plan *plan_gather(study *s, bool closes_model);
/* Gathers what the model of a new batch is made from, and changes nothing in the study. NULL: out of memory. */
plan *plan_gather_preview(const study *s);
/* Gathers a plan for more picks of the current batch. NULL: out of memory. */
plan *plan_gather_extension(study *s);

/* ---- plan_compute.c, on the engine lane ---------------------------------------------------------------- */

void plan_compute(study *s, plan *p);
/* Begins a batch: the study's engine takes in the amendments and results of the plan. */
void plan_take_results(study *s, plan *p);
int plan_compare_arms(const void *a, const void *b); /* for qsort: ascending uint32_t */

#endif
