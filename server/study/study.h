/* A study in memory, for the files of server/study and for replay. It has five parts whose structs are private:
 * commit, trial_queue, waiting_line, pending_results and plan_state. actor.c creates and frees a study; load.c loads
 * and unloads it. */
#ifndef SERVER_STUDY_STUDY_H
#define SERVER_STUDY_STUDY_H

#include "server/data/best_value.h"
#include "server/data/definition.h"
#include "server/data/stop_rule.h"
#include "server/study/actor.h"
#include "server/study/commit.h"
#include "server/study/pending_results.h"
#include "server/study/plan_state.h"
#include "server/study/remembered.h"
#include "server/study/trial_queue.h"
#include "server/study/waiting_line.h"
#include <pthread.h>
#include <stdatomic.h>

/* A job of the engine lane; embedded in its owner's memory. */
typedef struct engine_job {
    void (*run)(study *s, struct engine_job *job);
    struct engine_job *next;
} engine_job;

typedef struct told_history told_history;

/* Used only by engine jobs, or while there are none. */
/* The front of the results, for known_front.c. */
typedef struct known_front {
    bool known;
    bool large;     /* too large to be kept */
    double *points; /* n x n_objectives, as rewards */
    size_t n;
} known_front;

typedef struct engine_lane {
    bandit_arms *arms;
    bandit_engine *engine;
    struct insight_cache *insights; /* answers about the model; NULL: none yet */
    struct {                        /* for preview.c: the model that the next batch would begin with */
        bandit_engine *engine;      /* NULL: none */
        struct insight_cache *insights;
        int64_t through_seq; /* the position in the log of what it includes */
    } preview;
    told_history *told;   /* for stop_when.c: the results so far; NULL: not read */
    atomic_size_t memory; /* bytes, as included in the metrics; any thread may read it */
} engine_lane;

struct study {
    app *app;
    char id[64];

    /* Used by actor.c: the jobs that wait for a turn, and those that wait for the engine lane. */
    struct {
        pthread_mutex_t lock; /* guards the rest */
        study_job *jobs, **last_job;
        bool scheduled, tick_posted;
        engine_job *engine_jobs, **last_engine_job;
        bool engine_scheduled;
        pool_task turn;
        computing_job engine_turn;
        computing_account *account; /* of its engine jobs */
        study_job tick;
    } mail;

    /* Shared with the registry's timer. */
    struct {
        atomic_llong used_at; /* ms of the steady clock: time of the last request */
        atomic_bool resting;  /* at the next tick, the study is evicted if it is idle */
        atomic_bool needed;   /* at the next tick, the study is loaded, because its leases may expire */
        /* When the timer should post a tick; INT64_MAX: never. */
        atomic_llong wake_at;   /* ms of the steady clock: for waiting asks */
        atomic_llong lease_end; /* ms of the boot clock: when the first lease expires */
        study *next_gone;       /* link of the registry's list of deleted studies */
    } timing;

    /* The rest is only used in turns. */
    commit *commit;
    workers *workers;
    trial_queue *queue;
    waiting_line *waiting;
    pending_results *results;
    plan_state *plans;

    bool loaded, deleted;
    study_request *held_back, **last_held_back; /* for actor.c: they wait until the study is loaded again */
    int64_t staged; /* the number of a staged study that is being checked; 0: none */
    int64_t number;
    study_config
        *config; /* never changed, only replaced, because an engine job reads the one that it was made with */
    study_state state;
    char state_reason[300];

    int64_t trials;        /* numbered so far */
    int64_t imported;      /* imported results, numbered so far */
    int64_t batches;       /* planned so far */
    uint64_t expiry_write; /* number of the last write that ended leases */
    int64_t clock_jumps;   /* the app's clock_jumps that the stored ends of leases include; −1: unknown */
    int64_t through_seq;   /* the stored model includes results up to this position of the log */
    int64_t candidates, dimension, reference_candidates;
    char digest[80];
    bool has_keys;            /* some candidates have keys, which are only in the store */
    char advice[ADVICE_SIZE]; /* of the last batch; "": none */
    int64_t best_trial;       /* of the trials alone; 0: none */
    double best_value, cost;  /* cost: the sum over all results */
    bool knows_best_imported; /* for imported_best.c: the next member is valid */
    best_value best_imported;
    known_front front;
    remembered remembered[REMEMBERED_KINDS];
    int64_t forgotten; /* how often the remembered answers were forgotten */

    size_t trial_bytes;     /* of its trials, as included in the metrics */
    size_t engine_jobs_out; /* posted, and not yet finished in a turn */
    uint16_t *failures;     /* for failures.c: the record of each candidate; NULL: nothing to record */
    size_t failures_capacity;
    struct study_curves *curves; /* for measure.c: intermediate measurements of trials; NULL: not loaded */
    engine_lane engine;
};

/* How many candidates the engine knows. In an enumerated space these are the points that keep the constraints. Points
 * that break a constraint have numbers after these, if a user has reported or proposed them. */
static inline int64_t study_candidates(const study *s)
{
    return s->config->parameters && s->reference_candidates > 0 ? s->reference_candidates : s->candidates;
}

#endif
