/* What the store remembers, in domain words: rows of studies, trials and all that belongs to them, and the
 * events that they follow from (store.h).
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

/* Names as in the API; NULL or false when there is no such. */
const char *study_state_name(study_state state);
bool study_state_parse(study_state *out, const char *name);
const char *trial_state_name(trial_state state);
bool trial_state_parse(trial_state *out, const char *name);

typedef struct store_study {
    int64_t study;          /* the store's own number, never used again */
    const char *id;         /* the user's name for it, unique among living studies */
    const char *definition; /* JSON: every value in force */
    study_state state;
    const char *state_reason; /* "" when there is none */
    int64_t epoch;
    int64_t created_at, updated_at; /* time of its first and of its last event */
    int64_t last_seq;               /* of its log */
    int64_t trials;                 /* given out ids: 1 … trials */
    int64_t by_state[TRIAL_STATES];
    int64_t issued;       /* trials handed out at least once */
    int64_t observations; /* rewards told or imported, amended ones once */
    int64_t batches;      /* planned so far */
    int64_t through_seq;  /* results up to this position of the log are in the last batch's model */
    int64_t best_trial;   /* 0: none yet; ties: the first */
    int64_t best_candidate;
    double best_value;
    int64_t candidates; /* 0: none uploaded */
    int64_t dimension;
    int64_t reference_candidates; /* the first so many: scaling statistics are over them */
    const char *digest;           /* of the candidates as uploaded, hexadecimal; "" */
    bool
        damaged; /* in a list of studies: its row cannot have been written; `study` and `id` only are given */
} store_study;

typedef struct store_trial {
    int64_t trial;
    trial_state state;
    int32_t attempt; /* last one, or the one it was told under; 0 before it is first handed out */
    int64_t batch;   /* that planned it; −1: a user's own */
    int64_t candidate;
    double variance;          /* start-of-batch variance, paper's scale; NaN when unknown */
    const char *worker;       /* of the last attempt; "" when none was named */
    int64_t issued_at;        /* last attempt; 0 */
    int64_t lease_expires_at; /* last attempt; 0 */
    bool has_value;
    double value; /* metric's own units and sign; a zero has none */
    const char *reason;
    int64_t repeats;      /* pulls the value is the mean of; at least 1 */
    const char *recorded; /* values of recorded metrics, a JSON object's text; "" */
    const char *metadata; /* told with the result, a JSON object's text; "" */
    int64_t told_at;      /* 0 */
    int64_t told_seq;     /* log position of the result, amended or not; 0 */
} store_trial;

/* A value told under another attempt than the one that completed the trial: one more measurement. */
typedef struct store_late_result {
    int64_t trial, candidate; /* candidate: the trial's; not stored again */
    int32_t attempt;
    double value;
    int64_t repeats;
    const char *recorded, *metadata; /* as of store_trial */
    int64_t told_at, told_seq;
} store_late_result;

/* What an amendment replaced. */
typedef struct store_amendment {
    int64_t trial, seq;
    int64_t amended_at;
    const char *reason; /* of the amendment; "" */
    trial_state was;
    bool had_value;
    double value; /* that it was; its repeats and recorded values too */
    int64_t repeats;
    const char *recorded;
    const char *was_reason;
} store_amendment;

typedef struct store_measurement {
    int64_t trial;
    int32_t attempt;
    int64_t step;
    double value; /* the last one told for this step */
    int64_t time;
} store_measurement;

typedef struct store_attempt {
    int32_t attempt;
    const char *worker;
    int64_t issued_at;
    int64_t lease_expires_at;
    int64_t ended_at;    /* 0: open */
    const char *outcome; /* "", that of the requeueing or telling, "superseded" (told by another attempt) */
} store_attempt;

typedef struct store_arm_sum {
    uint32_t arm;
    uint64_t count;
    double sum; /* the engine's units: its bits are kept */
} store_arm_sum;

typedef struct store_pick {
    uint32_t candidate;
    double variance;
} store_pick;

/* Values that an ask held, for the last of a batch's or an extension's picks. */
typedef struct store_held {
    const double *values; /* coded, one a parameter, NaN: open */
    size_t n_values;      /* 0: nothing was held */
    size_t n_picks;
} store_held;

/* Points of a space that picks are the first to visit: they get the next numbers. */
typedef struct store_points {
    size_t n;
    int64_t dimension;  /* parameters */
    const double *rows; /* n x dimension, coded, NaN: not active */
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
    int64_t through_seq; /* as read: results up to here are in its model */
} store_batch;

/* An imported reward. */
typedef struct store_observation {
    uint32_t candidate;
    int64_t repeats; /* the value is the mean of so many */
    double value;    /* metric's own units and sign */
} store_observation;

/* A token. Its secret is nowhere: only the hash is stored. */
typedef struct store_token {
    int64_t number; /* the store's own, ascending; 0 for a new one */
    const char *id; /* public, unique */
    unsigned char hash[32];
    const char *role;
    const char *study; /* id of the one study it is for; "": all */
    const char *description;
    int64_t created_at;
    int64_t expires_at; /* 0: never */
} store_token;

/* ---- events -------------------------------------------------------------------------------------------- */

/* X(enumerator, name in the log). Names are stored: never change one. Each has its members in event_list.c. */
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
    X(EVENT_TRIAL_MEASURED, trial_measured)

typedef enum store_event_type {
#define X(enumerator, name) enumerator,
    STORE_EVENT_LIST(X)
#undef X
        STORE_EVENT_TYPES
} store_event_type;

const char *store_event_name(store_event_type type);

/* An event, as its writer gives it. Every pointer is copied by store_write_add. */
typedef struct store_event {
    store_event_type type;
    int64_t time;
    union {
        struct {
            const char *id;
            const char *definition;
            study_state state;
        } created; /* the store gives the study its number */
        struct {
            const char *definition; /* NULL: as before */
            study_state state;
            const char *reason;
        } changed;
        struct {
            int64_t content; /* of a finished upload; 0: gone, since a later event of the log replaces it */
            int64_t count, dimension;
            const char *digest;
        } candidates;
        struct {
            int64_t first;       /* the number of candidates so far */
            store_points points; /* of a space; or rows of features */
        } added;
        struct {
            const uint32_t *list; /* that were not retired before */
            size_t n;
        } retired;
        struct {
            store_batch batch;
            /* Results with told_seq <= through_seq that no earlier batch took in are in its model. */
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
            int64_t batch;       /* the last one: gets more picks, and this ratio and stop rule */
            int64_t through_seq; /* end of the log when they were planned; 0: just before this event */
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
            bool attempt_counts; /* false: the attempt is given back (released) */
        } requeued;
        struct {
            int64_t trial;
            int32_t attempt;   /* that told it; 0: none, or the open one: what has ended stays */
            trial_state state; /* completed, failed, infeasible, stopped */
            bool has_value;
            double value;
            bool better; /* is now the study's best */
            const char *reason;
            int64_t repeats; /* 0 stands for 1 */
            const char *recorded, *metadata;
        } told;
        struct {
            int64_t trial; /* the study's next number: a queued trial that no batch planned */
            store_pick pick;
        } proposed;
        struct {
            int64_t trial; /* one with a value */
            int32_t attempt;
            double value;
            bool better;
            int64_t repeats;
            const char *recorded, *metadata;
        } late;
        struct {
            int64_t trial;     /* a told one */
            trial_state state; /* completed, failed, infeasible, stopped */
            bool has_value;
            double value;
            const char *recorded;
            const char *reason; /* why it is amended */
            int64_t best_trial; /* the study's best from now on; 0: none */
            int64_t best_candidate;
            double best_value;
        } amended;
        struct {
            int64_t trial; /* a pending one */
            int32_t attempt;
            int64_t step;
            double value;
        } measured;
        struct {
            const store_observation *list;
            size_t n;
        } observed;
    } u;
} store_event;

#endif
