/* The results of a study that no stored model includes, apart from those of trials in the trial queue:
 * imported observations, late results, and amendments of results that a model already includes.
 *
 * Planning a new batch begins by taking all pending results (pending_results_begin). When the plan is
 * recorded, they join the model (pending_results_join). Late results stay until that write is on disk,
 * because further reports are compared with them.
 *
 * pending_results.c defines what is declared here. */
#ifndef SERVER_STUDY_PENDING_RESULTS_H
#define SERVER_STUDY_PENDING_RESULTS_H

#include "bandit/engine.h"
#include "server/store/store.h"

#include <sys/queue.h>

/* A value that was reported for an attempt other than the one that completed its trial. */
typedef struct late_result {
    int64_t trial;
    int32_t attempt;
    uint32_t candidate;
    double value;
    int64_t repeats;
    double cost;                   /* 0: none was reported */
    char *recorded;                /* never NULL; "" if there is none */
    bool joining;                  /* among the results for the batch being planned */
    uint64_t joined_by;            /* number of the write by which it joined the model; 0: it has not */
    TAILQ_ENTRY(late_result) link; /* used by pending_results.c */
} late_result;

/* A change of a result that is part of the model. */
typedef struct amendment {
    int64_t trial;    /* 0: of an imported result */
    int64_t told_seq; /* position of the result in the log */
    bandit_amendment change;
} amendment;

typedef struct pending_results pending_results;

pending_results *pending_results_new(void); /* NULL: out of memory */
void pending_results_free(pending_results *p);
void pending_results_clear(pending_results *p);

/* Each copies its argument. False: out of memory. */
bool pending_results_add_observation(pending_results *p, const store_imported *row); /* without its reason */
bool pending_results_add_late(pending_results *p, const store_late_result *row);
bool pending_results_add_amendment(pending_results *p, const amendment *a);

/* Does the current model include all results? */
bool pending_results_is_empty(const pending_results *p);

/* In the order of the log; borrowed until the next change. */
const store_imported *pending_results_observations(const pending_results *p, size_t *n);
const amendment *pending_results_amendments(const pending_results *p, size_t *n);
/* Late results, including those that have joined. NULL after the last. */
const late_result *pending_results_first_late(const pending_results *p);
const late_result *pending_results_next_late(const late_result *late);

/* The imported result with that number, if it is pending or if its last amendment may not be on disk yet; otherwise
 * NULL, and the store has the result. The reason in the returned row is "". */
const store_imported *pending_results_find_observation(const pending_results *p, int64_t number);
/* Replaces an imported result, by this write. *joins: a batch has already taken the earlier result in, so the amendment
 * must join the model. False: out of memory. */
bool pending_results_amend_observation(pending_results *p, const store_imported *row, uint64_t write,
                                       bool *joins);

/* Marks everything pending as part of the batch being planned. */
void pending_results_begin(pending_results *p);
/* Marks those results as joined by this write. */
void pending_results_join(pending_results *p, uint64_t write);
/* Removes the results that joined by writes up to number `done`, which are on disk. */
void pending_results_drop_joined(pending_results *p, uint64_t done);

#endif
