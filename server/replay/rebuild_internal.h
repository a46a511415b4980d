/* The inside of a rebuild: what of the study is known so far, shared by the writing and the looking. */
#ifndef SERVER_REPLAY_REBUILD_INTERNAL_H
#define SERVER_REPLAY_REBUILD_INTERNAL_H

#include "bandit/arms.h"
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
    double *few;   /* the rows, while they are no more than a space that is listed has; NULL */
    bool attached;

    store_write *write; /* being filled */
    size_t bytes;
    struct held_write *held, **last_held; /* full ones that wait for the candidates */

    /* The study as its entries have described it so far. */
    int64_t entries, candidates, columns, trials, batches;
    bool has_set, has_gone; /* its last candidates were uploaded; and are not there */
    char digest[80];
    study_config *config;
    bandit_arms *space; /* without points; NULL: none */
    bool awaits;        /* its candidates: by its state */
    bool observed;      /* rewards were imported */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    size_t on_their_way;
    bool freed; /* by its owner: the last write frees the memory */
    bool made;  /* the study is in the store */
    int64_t number;
    store_status status;
    size_t most;
    void (*settled)(void *arg);
    void *settled_arg;
};

/* Keeps the first status that is none of STORE_OK. */
void rebuild_fail(rebuild *r, store_status status);

typedef struct rebuild_problem {
    char member[32]; /* of the payload; "": all of it */
    char what[240];  /* "": there is none */
} rebuild_problem;

/* check_entries.c: what is wrong with entry `seq`, as far as the store does not see it itself. Everything
 * that requests are refused for is, and whatever would keep the study from being loaded or shown. Changes the
 * event's content, and keeps what later entries are held against. */
void rebuild_check(rebuild *r, int64_t seq, store_event *event, rebuild_problem *problem);

/* What it is made of. All say whether the entry is fine, and if not, in *p, what is wrong. */

/* -> false */
bool rebuild_refuse(rebuild_problem *p, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* text: NULL is fine; most: characters, not bytes. */
bool rebuild_check_text(rebuild_problem *p, const char *member, const char *text, size_t most);
bool rebuild_check_trial(const rebuild *r, rebuild_problem *p, int64_t id);

/* check_results.c: an entry of that type. */
bool rebuild_check_measured(const rebuild *r, const store_event *event, rebuild_problem *p);
bool rebuild_check_told(const rebuild *r, const store_event *event, rebuild_problem *p);
bool rebuild_check_late(const rebuild *r, const store_event *event, rebuild_problem *p);
bool rebuild_check_amended(const rebuild *r, const store_event *event, rebuild_problem *p);
bool rebuild_check_observed(rebuild *r, const store_event *event, rebuild_problem *p);

#endif
