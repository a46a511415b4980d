/* Transitions of trials: queued, handed out, reported, requeued, expired. Each function changes the memory
 * and records the event. trials.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIALS_H
#define SERVER_STUDY_TRIALS_H

#include "proto/wire.h"
#include "server/study/barred.h"
#include "server/study/study.h"

/* The reason of a trial whose lease expired at its last attempt; its result may still be reported. */
extern const char study_lease_expired[];

/* A result in the form stored with the trial. */
typedef struct told_result {
    trial_state state;
    bool has_value;
    double value;
    int64_t repeats;
    const char *recorded, *metadata, *reason; /* NULL: "" */
    double cost;
} told_result;

/* Adds a new trial to the queue; the caller records it. point: copied, in an open space; otherwise NULL.
 * Returns NULL when out of memory. */
trial *study_queue_trial(study *s, int64_t id, int64_t batch, const bandit_pick *pick, const double *point);

/* Hands a queued trial out, or renews the lease of a pending one. False: out of memory. */
bool study_issue(study *s, trial *t, const wire_ask *ask, int64_t now);

/* Ends an attempt without a result. The trial returns to the queue, or is closed if its candidate was
 * retired. `counts`: the attempt counts towards max_attempts. */
void study_requeue(study *s, trial *t, const char *outcome, bool counts, double cost, int64_t now);

/* Gives a trial its result. attempt: the one that the result belongs to; 0: none, and the ends of attempts do not
 * change. */
void study_close_trial(study *s, trial *t, const told_result *result, int32_t attempt, int64_t now);

/* Closes the queued trials of retired candidates. Returns how many it has closed. */
size_t study_cancel_retired(study *s);

/* Closes the queued picks of those suspects that may not be handed out any more (study_bar), and empties the list. Call it
 * once for all new results of a request, because it may take a pass over all results and one over the queue. */
void study_cancel_barred(study *s, suspects *all);

/* The same for the candidates of all results that the open batch does not include. Call it after a plan, because such results may have arrived
 * while it was computed. */
void study_cancel_all_barred(study *s);

/* Requeues or closes the trials whose leases have expired. Their events get the time `now`. */
void study_expire_leases(study *s, int64_t now);

/* Is a result better than the best one of a trial so far? A result that breaks a bound never is. With several objectives
 * no result is the best one. An imported result may be better still (study_is_outdone). */
bool study_is_better(const study *s, double value, const char *recorded);
bool study_can_be_best(const study *s, double value, const char *recorded);

/* The trial, from memory or loaded from the store; NULL: *status says why. */
trial *study_recall_trial(study *s, int64_t id, store_status *status);

#endif
