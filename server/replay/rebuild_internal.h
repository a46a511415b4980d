/* The state of a rebuild. Shared by rebuild.c, which writes, and check_entries.c and check_results.c, which check. */
#ifndef SERVER_REPLAY_REBUILD_INTERNAL_H
#define SERVER_REPLAY_REBUILD_INTERNAL_H

#include "bandit/arms.h"
#include "proto/keys.h"
#include "server/data/definition.h"
#include "server/data/upload.h"
#include "server/replay/rebuild.h"

#include <pthread.h>

struct held_write;

struct rebuild {
    store *store;
    store_lane *lane;
    char *id;
    bool staged, renamed, published;
    upload *upload; /* of the candidates; NULL: none */
    size_t rows, dimension;
    bool has_gaps; /* NaN, which only points of a space may have */
    double *few;   /* the rows, while they are few enough for an enumerated space; otherwise NULL */
    bool attached;

    store_write *write; /* being filled */
    size_t bytes;
    struct held_write *held, **last_held; /* full writes that wait for the candidates */

    /* The study as its entries have described it so far. */
    int64_t entries, candidates, columns, trials, batches;
    int64_t
        listed; /* candidates of an enumerated space; points after them break its constraints. 0: no such space */
    bool has_set, has_gone; /* has_set: the log's candidates were added; has_gone: they are missing */
    char digest[80];
    study_config *config;
    bandit_arms *space; /* without points; NULL: none */
    bool awaits;        /* the study's state is awaiting_candidates */
    bool named;         /* its first definition names the features */
    int64_t imported;   /* results so far */
    wire_keys keys;     /* of the first candidates; the others have none */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t on_their_way;
    bool freed; /* by its owner: the last write frees the memory */
    bool made;  /* the study exists in the store */
    int64_t number;
    store_status status;
    size_t most;
    void (*settled)(void *arg);
    void *settled_arg;
};

/* Keeps the first status other than STORE_OK. */
void rebuild_fail(rebuild *r, store_status status);

typedef struct rebuild_problem {
    char member[32]; /* of the payload; "": all of it */
    char what[240];  /* "": no problem */
    bool no_memory;  /* memory ran out during the check; the entry may be valid */
} rebuild_problem;

/* check_entries.c: checks the next entry, in addition to the store's own checks. It refuses everything that a request
 * would be refused for, and everything that would prevent loading or showing the study. It sets the event's content,
 * and keeps the data that the checks of later entries need. */
void rebuild_check(rebuild *r, store_event *event, rebuild_problem *problem);

/* Parts of rebuild_check. Each returns whether the entry is valid, and if not, sets *p. */

/* Both set *p and return false. */
bool rebuild_out_of_memory(rebuild_problem *p);
bool rebuild_refuse(rebuild_problem *p, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* check_definition.c: takes the definition that applies from this entry on. */
bool rebuild_take_definition(rebuild *r, const char *text, rebuild_problem *p);

/* text: may be NULL. most: characters, not bytes. */
bool rebuild_check_text(rebuild_problem *p, const char *member, const char *text, size_t most);
bool rebuild_check_trial(const rebuild *r, rebuild_problem *p, int64_t id);

/* check_results.c: each checks an entry of the type that it is named after. */
bool rebuild_check_trial_measured(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_trial_told(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_late_result_told(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_trial_estimated(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_trial_amended(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_observations_added(rebuild *r, store_event *event, rebuild_problem *p);
bool rebuild_check_observation_amended(rebuild *r, store_event *event, rebuild_problem *p);

bool rebuild_check_cost(double cost, rebuild_problem *p);

/* The best result of a trial, as an entry has it; trial 0: there is none. */
bool rebuild_check_best(const rebuild *r, rebuild_problem *p, int64_t trial, int64_t candidate, double value);

#endif
