/* The records of the store: rows of studies, of trials and of their parts, and the events that they result from
 * (store.h).
 *
 * Times are milliseconds since 1970 UTC. Strings are UTF-8, NUL-terminated. */
#ifndef SERVER_STORE_RECORDS_H
#define SERVER_STORE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef enum study_state {
    STUDY_AWAITING_CANDIDATES,
    STUDY_ACTIVE,
    STUDY_PAUSED,
    STUDY_FINISHED,
    STUDY_ERROR
} study_state;
enum { STUDY_STATES = STUDY_ERROR + 1 };

typedef enum trial_state {
    TRIAL_QUEUED,
    TRIAL_PENDING,
    TRIAL_COMPLETED,
    TRIAL_FAILED,
    TRIAL_INFEASIBLE,
    TRIAL_STOPPED,
    TRIAL_STATES
} trial_state;

/* Names as in the API; false: there is no such name. */
const char *study_state_name(study_state state);
bool study_state_parse(study_state *out, const char *name);
const char *trial_state_name(trial_state state);
bool trial_state_parse(trial_state *out, const char *name);

typedef struct store_study {
    int64_t study;          /* the store's number, never reused */
    const char *id;         /* the user's name for it, unique among studies that are not deleted */
    const char *definition; /* JSON with every current value */
    study_state state;
    const char *state_reason; /* "": none */
    int64_t epoch;
    int64_t created_at, updated_at; /* time of its first and of its last event */
    int64_t last_seq;               /* end of its log */
    int64_t trials;                 /* their numbers are 1 … trials */
    int64_t by_state[TRIAL_STATES];
    int64_t issued;       /* trials handed out at least once */
    int64_t observations; /* reported or imported values; an amended one counts once */
    int64_t imported;     /* the numbers of imported results are 1 … imported */
    int64_t batches;      /* planned so far */
    int64_t through_seq;  /* results up to this position of the log are in the last batch's model */
    double cost;          /* the sum over all its results */
    int64_t best_trial;   /* without imported results; 0: none yet; if several are equal, the first */
    int64_t best_candidate;
    double best_value;
    int64_t candidates; /* 0: none uploaded */
    int64_t dimension;
    int64_t reference_candidates; /* scaling is computed from the first candidates; this is their number */
    const char *digest;           /* of the candidates as uploaded, hexadecimal; "": none */
    const char *advice;           /* of the last batch, as in store_batch */
    bool has_keys;                /* some candidates have keys */
    bool damaged; /* in a list of studies: its row is damaged, and only `study` and `id` are given */
} store_study;

typedef struct store_trial {
    int64_t trial;
    trial_state state;
    int32_t attempt; /* the last one, or the one that reported the result; 0: not handed out yet */
    int64_t batch;   /* the batch that planned it; −1: a user proposed it */
    int64_t candidate;
    double variance;          /* start-of-batch variance, paper's scale; NaN when unknown */
    const char *worker;       /* of the last attempt; "": unnamed */
    int64_t issued_at;        /* of the last attempt; 0: none */
    int64_t lease_expires_at; /* of the last attempt; 0: none */
    bool has_value;
    double value; /* in the metric's units and sign; never −0 */
    const char *reason;
    int64_t repeats;      /* number of pulls that the value is the mean of; at least 1 */
    double cost;          /* reported with its results, summed over its attempts; 0: none was reported */
    const char *recorded; /* other values and standard errors, as in proto/recorded_values.h; or "" */
    const char *metadata; /* reported with the result: a JSON object, or "" */
    int64_t told_at;      /* 0: not reported */
    int64_t told_seq;     /* log position of the result; amendments keep it; 0: not reported */
} store_trial;

enum { ESTIMATED_ATTEMPT = 0 };

/* A value that was reported for an attempt other than the one that completed the trial. It is one more observation. Or
 * the server's own estimate of the value of a stopped trial: then the attempt is ESTIMATED_ATTEMPT, and it is none. */
typedef struct store_late_result {
    int64_t trial, candidate; /* candidate: that of the trial */
    int32_t attempt;          /* ESTIMATED_ATTEMPT: an estimate */
    double value;
    int64_t repeats;
    double cost;                     /* 0: none was reported */
    const char *recorded, *metadata; /* as in store_trial */
    int64_t told_at, told_seq;
} store_late_result;

/* An amendment, with the result that it replaced. */
typedef struct store_amendment {
    int64_t trial;       /* 0: an imported result was amended */
    int64_t observation; /* its number; 0: a trial was amended */
    int64_t seq;
    int64_t amended_at;
    const char *reason; /* of the amendment; "": none */
    trial_state was;
    bool had_value;
    double value; /* the replaced value; `repeats` and `recorded` are replaced ones as well */
    int64_t repeats;
    const char *recorded;
    const char *was_reason;
} store_amendment;

typedef struct store_measurement {
    int64_t trial;
    int32_t attempt;
    int64_t step;
    double value; /* the latest one for this step */
    int64_t time;
} store_measurement;

typedef struct store_attempt {
    int64_t trial;
    int32_t attempt;
    const char *worker;
    int64_t issued_at;
    int64_t lease_expires_at;
    int64_t ended_at;    /* 0: open */
    const char *outcome; /* "": open; of EVENT_TRIAL_REQUEUED; the reported state; or "superseded" */
} store_attempt;

typedef struct store_arm_sum {
    uint32_t arm;
    uint64_t count;
    double sum; /* in the engine's units; every bit is kept */
} store_arm_sum;

typedef struct store_pick {
    uint32_t candidate;
    double variance;
} store_pick;

/* Parameters that an ask fixed, for the last n_picks picks of a batch or an extension. */
typedef struct store_held {
    const double *values; /* coded, one per parameter; NaN: not fixed */
    size_t n_values;      /* 0: none was fixed */
    size_t n_picks;
} store_held;

/* Points of a space that no earlier pick visited. They get the next candidate numbers. */
typedef struct store_points {
    size_t n;
    int64_t dimension;  /* parameters */
    const double *rows; /* n x dimension, coded; NaN: an inactive parameter */
} store_points;

typedef struct store_batch {
    int64_t batch; /* from 0 */
    int64_t size;
    double ratio;
    const char *stop_rule;
    double beta;
    int64_t dictionary_size;
    int64_t observations; /* in the model at its start */
    double update_seconds, select_seconds;
    int64_t started_at;
    const char *code_path;
    int64_t through_seq; /* when read: results up to here are in its model */
    const char *advice;  /* the advice that its model gives the user, a word of the API; "": none */
} store_batch;

/* An imported value. */
typedef struct store_observation {
    uint32_t candidate;
    int64_t repeats;      /* number of pulls that the value is the mean of */
    double value;         /* in the metric's units and sign */
    const char *recorded; /* as in store_trial; NULL: "" */
    double cost;          /* 0: none was reported */
} store_observation;

/* The current state of an imported result. */
typedef struct store_imported {
    int64_t observation; /* its number, from 1 in the order of import */
    int64_t told_seq;    /* log position of the import; amendments keep it */
    int64_t imported_at;
    uint32_t candidate;
    trial_state state; /* completed, or failed or infeasible: an amendment took the value back */
    bool has_value;
    double value;         /* 0 without one */
    int64_t repeats;      /* at least 1 */
    double cost;          /* 0: none was reported */
    const char *recorded; /* as in store_trial */
    const char *reason;   /* of the amendment that took the value back; "": none */
} store_imported;

/* A token. Only the hash of its secret is stored. */
typedef struct store_token {
    int64_t number; /* the store's, ascending; 0 in a new token */
    const char *id; /* public, unique */
    unsigned char hash[32];
    const char *role;
    const char *study; /* id of the only study that it grants access to; "": all */
    const char *description;
    int64_t created_at;
    int64_t expires_at; /* 0: never */
} store_token;

/* A setting of the whole server, by name. */
typedef struct store_setting {
    const char *name, *value;
} store_setting;

/* The key that a user has given to a candidate. */
typedef struct store_key {
    int64_t candidate;
    const char *key;
} store_key;

/* ---- events -------------------------------------------------------------------------------------------- */

/* X(enumerator, name in the log). Names are stored: never change one. For each, event_list.c, apply.c and
 * server/replay/check_*.c have an entry of that name. */
#define STORE_EVENT_LIST(X)                                                                                  \
    X(EVENT_STUDY_CREATED, study_created)                                                                    \
    X(EVENT_STUDY_CHANGED, study_changed)                                                                    \
    X(EVENT_CANDIDATES_SET, candidates_set)                                                                  \
    X(EVENT_CANDIDATES_ADDED, candidates_added)                                                              \
    X(EVENT_CANDIDATES_RETIRED, candidates_retired)                                                          \
    X(EVENT_BATCH_PLANNED, batch_planned)                                                                    \
    X(EVENT_BATCH_EXTENDED, batch_extended)                                                                  \
    X(EVENT_TRIAL_ISSUED, trial_issued)                                                                      \
    X(EVENT_TRIAL_RENEWED, trial_renewed)                                                                    \
    X(EVENT_TRIAL_REQUEUED, trial_requeued)                                                                  \
    X(EVENT_TRIAL_TOLD, trial_told)                                                                          \
    X(EVENT_OBSERVATIONS_ADDED, observations_added)                                                          \
    X(EVENT_TRIAL_PROPOSED, trial_proposed)                                                                  \
    X(EVENT_LATE_RESULT_TOLD, late_result_told)                                                              \
    X(EVENT_TRIAL_AMENDED, trial_amended)                                                                    \
    X(EVENT_TRIAL_MEASURED, trial_measured)                                                                  \
    X(EVENT_OBSERVATION_AMENDED, observation_amended)                                                        \
    X(EVENT_CANDIDATES_RESTORED, candidates_restored)                                                        \
    X(EVENT_CANDIDATES_KEYED, candidates_keyed)                                                              \
    X(EVENT_TRIAL_ESTIMATED, trial_estimated)

typedef enum store_event_type {
#define X(enumerator, name) enumerator,
    STORE_EVENT_LIST(X)
#undef X
        STORE_EVENT_TYPES
} store_event_type;

const char *store_event_name(store_event_type type);

/* An event. store_write_add copies everything that it points to. */
typedef struct store_event {
    store_event_type type;
    int64_t time;
    union {
        struct {
            const char *id;
            const char *definition;
            study_state state;
        } created; /* the store assigns the study's number */
        struct {
            const char *definition; /* NULL: unchanged */
            study_state state;
            const char *reason;
            bool finds_best; /* bounds have changed, and so has the best result of a trial: */
            int64_t best_trial, best_candidate; /* 0, 0 and 0: no result keeps the bounds */
            double best_value;
        } changed;
        struct {
            int64_t content; /* of a finished upload; 0: dropped, since a later event replaces it */
            int64_t count, dimension;
            const char *digest;
        } candidates;
        struct {
            int64_t first;       /* the number of candidates before the event */
            store_points points; /* points of a space, or rows of features */
        } added;
        struct {
            const uint32_t *list; /* before the event, none of them is retired; to restore, all of them are */
            size_t n;
        } retired, restored;
        struct {
            int64_t first;           /* the first candidate; 0: all earlier keys are dropped */
            const char *const *keys; /* of `first` and the next ones; "": the candidate has none */
            size_t n;
        } keyed;
        struct {
            store_batch batch;
            /* Its model has the results with told_seq <= through_seq. */
            int64_t through_seq;
            const uint32_t *dictionary; /* batch.dictionary_size entries */
            const store_arm_sum *sums;  /* those that changed since the last batch */
            size_t n_sums;
            const unsigned char *engine_state;
            size_t n_engine_state;
            int64_t first_trial; /* picks become queued trials first_trial, first_trial + 1 … */
            const store_pick *picks;
            size_t n_picks;
            store_held held;
            store_points points;
        } planned;
        struct {
            int64_t batch;       /* the last batch; it gets more picks, and this ratio and stop rule */
            int64_t through_seq; /* end of the log when the picks were planned; 0: just before this event */
            double ratio;
            const char *stop_rule;
            int64_t first_trial;
            const store_pick *picks;
            size_t n_picks;
            store_held held;
            store_points points;
        } extended;
        struct {
            int64_t trial;
            int32_t attempt;
            const char *worker;
            int64_t lease_expires_at;
        } issued, renewed;
        struct {
            int64_t trial;
            const char *outcome; /* of the attempt that ended: "expired", "released", "failed" */
            bool attempt_counts; /* false: a released attempt, whose number is used again */
            double cost;         /* of the attempt; 0: none was reported */
        } requeued;
        struct {
            int64_t trial;
            int32_t attempt;   /* the one that reported the result; 0: the current one, if any */
            trial_state state; /* completed, failed, infeasible, stopped */
            bool has_value;
            double value;
            bool better;  /* the result is now the best of a trial */
            bool outdone; /* … but an imported result is better */
            bool front;   /* with several objectives: it is now on the front */
            const char *reason;
            int64_t repeats; /* 0 means 1 */
            const char *recorded, *metadata;
            double cost; /* of this attempt; 0: none was reported */
        } told;
        struct {
            int64_t trial; /* the next number; no batch planned this trial */
            store_pick pick;
        } proposed;
        struct {
            int64_t trial; /* it has a value */
            int32_t attempt;
            double value;
            bool better, outdone, front; /* as in `told` */
            int64_t repeats;
            const char *recorded, *metadata;
            double cost; /* 0: none was reported */
        } late;
        struct {
            int64_t trial; /* it was stopped without a value */
            double value;
            const char *recorded; /* with the estimate's standard error */
        } estimated;
        struct {
            int64_t trial;     /* it has a result */
            trial_state state; /* completed, failed, infeasible, stopped */
            bool has_value;
            double value;
            int64_t repeats; /* the trial's from now on; 0: as before, but 1 without a value */
            const char *recorded;
            const char *reason; /* of the amendment */
            int64_t best_trial; /* the trial with the best result now; 0: none */
            int64_t best_candidate;
            double best_value;
            bool outdone; /* best_trial is this trial, but an imported result is better */
            bool front;   /* as in `told` */
        } amended;
        struct {
            int64_t trial; /* it is pending */
            int32_t attempt;
            int64_t step;
            double value;
        } measured;
        struct {
            const store_observation *list; /* they get the next numbers */
            size_t n;
        } observed;
        struct {
            int64_t observation;
            trial_state state; /* completed, failed, infeasible */
            bool has_value;
            double value;
            const char *recorded;
            const char *reason;
        } reobserved;
    } u;
} store_event;

#endif
