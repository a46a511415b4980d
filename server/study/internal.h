/* The inside of a study, shared by study*.c only. */
#ifndef SERVER_STUDY_INTERNAL_H
#define SERVER_STUDY_INTERNAL_H

#include "server/data/definition.h"
#include "server/study/actor.h"
#include "server/study/commit.h"
#include "server/study/pending_results.h"
#include "server/study/plan_state.h"
#include "server/study/registry.h"
#include "server/study/requests.h"
#include "server/study/trial_queue.h"
#include "server/study/waiting_line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/* What is known of a candidate's outcomes, beside the number of failures in a row. */
enum {
    ARM_RETIRED = 255,
    ARM_INFEASIBLE = 254,
    ARM_EVALUATED = 253,
    ARM_FAILURES = 252 /* the most that are counted */
};

typedef struct engine_job {
    void (*run)(struct study *s, struct engine_job *job); /* on the engine's lane */
    struct engine_job *next;
} engine_job;

/* The engine lane's own: touched by engine jobs only. */
typedef struct engine_lane {
    bandit_arms *arms;
    bandit_engine *engine;
    size_t memory; /* as counted in the metrics */
} engine_lane;

struct study {
    app *app;
    registry *registry;
    char id[64];

    pthread_mutex_t lock; /* guards the next seven */
    study_job *jobs, **last_job;
    bool scheduled, tick_posted;
    engine_job *engine_jobs, **last_engine_job;
    bool engine_scheduled;
    pool_task turn, engine_turn;
    study_job tick;

    atomic_llong used_at; /* ms of the steady clock: the last request */
    atomic_bool resting;  /* at the next tick, leaves memory if nothing is going on */
    atomic_bool needed;   /* at the next tick, is loaded: leases may run out */
    /* When the registry's timer should post a tick; INT64_MAX: never. */
    atomic_llong wake_at;   /* ms of the steady clock: for who waits */
    atomic_llong lease_end; /* ms of the wall clock: the first lease to end */

    /* Everything below belongs to the turn. */
    bool loaded, deleted;
    study *next_gone; /* the registry's */
    int64_t staged;   /* the number of one that is tried before it is published; 0 */
    int64_t number;
    study_config
        *config; /* never changed, only replaced: engine jobs read the one that they were made with */
    study_state state;
    char state_reason[300];
    commit *commit;

    int64_t trials;      /* ids given out */
    int64_t batches;     /* planned */
    int64_t through_seq; /* results up to here are in the stored model */
    int64_t candidates, dimension, reference_candidates;
    char digest[80];
    int64_t best_trial;
    double best_value;
    trial_queue *queue;
    waiting_line *waiting;
    pending_results *results;
    plan_state *plans;
    size_t engine_jobs_out; /* at the engine */
    uint8_t *failures; /* per candidate: its last told pulls that failed in a row, or ARM_…; NULL: none */
    size_t failures_capacity;
    struct study_curves *curves; /* what trials have measured; NULL: not loaded */
    engine_lane engine;
};

/* ---- actor.c: turns and commits ------------------------------------------------------------------------ */

bool study_is_disposable(study *s); /* nothing is going on, and nothing in memory is worth keeping */
void study_post_tick(study *s);     /* a turn for what time has brought */

void study_post_engine(study *s, engine_job *job); /* the turn */
void study_engine_job_done(study *s);              /* the turn: a posted job has come back */

/* Is it the study of this number, for which the request's body was read? Another may have its name by now.
 * False: answered. */
bool study_is_meant(const study *s, study_request *request, int64_t number);

/* ---- load.c -------------------------------------------------------------------------------------------- */

store_status study_load(study *s, store_error *err);
void study_unload(study *s); /* everything but the engine lane, which drops itself */

/* ---- trials.c ------------------------------------------------------------------------------------------ */

/* What a lease that ran out too often leaves as the reason; such a trial stays open to a late result. */
extern const char study_lease_expired[];

/* A told result as the trial's row has it. */
typedef struct told_result {
    trial_state state;
    bool has_value;
    double value;
    int64_t repeats;
    const char *recorded, *metadata, *reason; /* NULL: "" */
} told_result;

/* A new one, into the queue; point: in an open space (copied), else NULL. NULL: out of memory. */
trial *study_queue_trial(study *s, int64_t id, int64_t batch, const bandit_pick *pick, const double *point);

/* Hands a queued trial out, or renews the lease of a pending one. False: out of memory. */
bool study_issue(study *s, trial *t, const wire_ask *ask, int64_t now);
/* Closes a queued trial, because its candidate was retired. */
void study_cancel_trial(study *s, trial *t, int64_t now);
/* Ends an attempt without a result: back into the queue, or out of it when its candidate was retired. */
void study_requeue(study *s, trial *t, const char *outcome, bool counts, int64_t now);
/* attempt: that told it; 0: none did, and its attempts stay as they ended. */
void study_close_trial(study *s, trial *t, const told_result *result, int32_t attempt, int64_t now);
bool study_is_better(const study *s, double value);
void study_expire_leases(study *s, int64_t now);
/* The trial, in memory or brought back from the store; NULL: `*status` says why. */
trial *study_recall_trial(study *s, int64_t id, store_status *status);

/* ---- observations.c ------------------------------------------------------------------------------------ */

bool study_has_news(const study *s); /* results that the model in force does not know */

/* ---- points.c ------------------------------------------------------------------------------------------ */

/* Called in a turn with the arms of a request's points; those that are new have been recorded. Answers. */
typedef void study_placed(study *s, study_request *request, const uint32_t *arms);

/* Finds the request's n points (n x the width of the space, coded, its own) and calls back, perhaps in a
 * later turn; answers itself when it cannot. The answer of a request with a key gets a write of its own. */
void study_place_points(study *s, study_request *request, const double *points, size_t n,
                        study_placed *placed);
/* The same for points that all are new: features of a set of candidates that grows. */
void study_append_points(study *s, study_request *request, const double *points, size_t n,
                         study_placed *placed);
void study_start_placing(study *s);  /* the next, if nothing is out that may number points */
void study_refuse_placing(study *s); /* all that wait: the study is gone */
bool study_places_with_key(const study *s, const study_request *request); /* is one with its key there? */

/* Adds new points, n rows, to the study. */
void study_record_points(study *s, const double *rows, size_t n);

/* ---- candidates.c -------------------------------------------------------------------------------------- */

size_t study_cancel_retired(study *s); /* closes_model what is queued of retired candidates: how many */

/* ---- values.c ------------------------------------------------------------------------------------------ */

/* The values of a result: sets `value` to the objective's; *recorded becomes the text of the recorded
 * metrics' ("" without any, the caller's). `at` is the JSON pointer of the result, "" or "/results/3".
 * False: refused, the problems are in *errors, or out of memory (*recorded is NULL). */
bool study_read_values(const study *s, wire_result *result, const char *at, char **recorded,
                       wire_errors *errors);

/* ---- late_results.c ------------------------------------------------------------------------------------ */

/* What is known of a told trial beside its row. */
typedef enum late_verdict { LATE_NEW, LATE_SAME, LATE_OTHER, LATE_NEVER_ISSUED } late_verdict;
/* A value told under `attempt` of a trial that was completed under another one. */
store_status study_judge_late(study *s, const trial *t, int32_t attempt, double value, int64_t repeats,
                              const char *recorded, late_verdict *verdict);
bool study_tell_late(study *s, trial *t, int32_t attempt, const told_result *result, int64_t now);

/* ---- amend.c ------------------------------------------------------------------------------------------- */

/* Is this what was told before an amendment? */
store_status study_was_amended_from(study *s, const trial *t, const told_result *result, bool *so);

/* ---- measure.c ----------------------------------------------------------------------------------------- */

void study_drop_curves(study *s);
void study_note_progress(study *s, const trial *t);   /* its attempt, or its state, is another */
void study_forget_progress(study *s, const trial *t); /* what it measured: its attempt is given back */

/* ---- propose.c ----------------------------------------------------------------------------------------- */

void study_run_deferred(study *s); /* users' own trials that waited for a batch */
void study_fail_deferred(study *s, store_status status);

/* ---- load.c, again ------------------------------------------------------------------------------------- */

/* The record of failures anew, from what is stored: everything that was recorded must be on disk. */
store_status study_recount_failures(study *s);

/* ---- ask.c --------------------------------------------------------------------------------------------- */

enum { ASK_MAXIMUM = 1000 }; /* trials of one ask */

/* Why an ask gets fewer trials than it asks for. */
const char *study_shortage(const study *s);
/* Serves one ask with n trials that it holds already, and with what can be handed out now. False: there is
 * nothing, and the ask is not answered. */
bool study_serve(study *s, study_request *request, const wire_ask *ask, bool from_queue, trial **trials,
                 size_t n, int64_t now);
/* Answers an ask with these trials. */
void study_answer_ask(study *s, study_request *request, trial **trials, size_t n, const char *reason);
/* Answers with one trial as it stands. */
void study_answer_trial(study *s, study_request *request, const trial *t);

/* ---- waiting.c ----------------------------------------------------------------------------------------- */

void study_serve_waiting(study *s, int64_t now);
/* Answers every waiting ask: with what there is and this reason, or (NULL) that the study is gone. */
void study_answer_waiting(study *s, const char *reason);
bool study_may_plan(const study *s);
/* The ask of this number, with fixed parameters, if it still waits, gets n trials from this one on; begin:
 * before they are recorded. */
void study_begin_fixed(study *s, uint64_t number);
void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n);
int64_t study_next_wake(const study *s); /* ms of the steady clock: when waits end; INT64_MAX: never */

/* ---- turn_end.c ---------------------------------------------------------------------------------------- */

int64_t study_horizon(const study *s); /* INT64_MAX: none */
void study_set_state(study *s, study_state state, const char *reason, const char *definition);
void study_after_turn(study *s); /* leases, planning, waiting asks, timer */

/* ---- patch.c, first ------------------------------------------------------------------------------------ */

/* The pending trial that the request means, at the attempt that it gives; NULL: answered. */
trial *study_held_trial(study *s, study_request *request, wire_integer attempt);

/* ---- patch.c ------------------------------------------------------------------------------------------- */

/* Takes the new definition in force; old ones are kept until no engine job can be reading them. */
void study_replace_config(study *s, study_config *config);
void study_free_old_configs(study *s);

/* ---- plan.c -------------------------------------------------------------------------------------------- */

/* A new batch from what has been told; with at least `beyond` picks, whatever the bound says. */
void study_start_planning(study *s, size_t min_picks);

/* The last results of a finished study join the model; nothing is picked. */
void study_close_model(study *s);

/* `beyond` more picks for the batch in force. */
void study_extend_batch(study *s, size_t min_picks);

/* No point is worth a second pull: the space is enumerated, and evaluations have no noise. */
bool study_pulls_once(const study *s);

/* Candidates that may not be picked now, ascending; *out is the caller's to free. *once: neither what is out
 * nor what has been evaluated may be, and there is room for every candidate. False: out of memory. */
bool study_withheld(const study *s, uint32_t **out, size_t *n, bool *once);
/* Points of an open space whose last trials failed or were infeasible, ascending; *out is the caller's to
 * free. False: out of memory. */
bool study_failed(const study *s, uint32_t **out, size_t *n);
bool study_is_retired(const study *s, uint32_t candidate);
bool study_mark_retired(study *s, uint32_t candidate); /* in memory; false: there is none */

/* Plans once more, on the calling thread, one of the pool, what an event of the log says was planned: a
 * batch, or more picks for one, with the study as it is when loaded from a log that ends at its through_seq.
 * Nothing else may be going on in the study. Fills *event, but for its times and first trial, with what comes
 * of it this time, or *refusal with what the engine says. Both borrow from *out, which plan_free frees.
 */
typedef struct plan plan;
store_status plan_again(study *s, const store_event *recorded, store_event *event, plan **out,
                        const char **refusal);
void plan_free(plan *p); /* NULL is fine */

/* Picks for an ask that holds parameters, made at once: of the batch in force, or of a new one when results
 * have come in and nothing is queued. */
void study_plan_fixed(study *s, const waiting_ask *ask);

/* A closed trial enters its arm's record of failures, in the order of trials. False: out of memory. */
bool study_count_outcome(study *s, uint32_t arm, trial_state state);

/* ---- engine_lane.c ------------------------------------------------------------------------------------- */

/* On the engine lane, or while nothing is at it: frees the engine, to be loaded again when needed. */
void study_drop_engine(study *s);

/* On the engine lane: counts what it holds now. */
void study_count_memory(study *s);

/* The candidates or the options have changed: the engine, if there is one, is of the old ones. */
void study_renew_engine(study *s);
void study_start_renewal(study *s);

#endif
