/* What the parts of a running server share. Visible to http and the folders above it. */
#ifndef SERVER_APP_H
#define SERVER_APP_H

#include "server/base/budget.h"
#include "server/base/computing.h"
#include "server/base/config.h"
#include "server/base/pool.h"
#include "server/store/store.h"

#include <stdatomic.h>

struct auth;
struct definition_cache;
struct events;
struct metrics;
struct notify;
struct registry;
struct series_cache;

typedef struct app {
    const server_config *config;
    store *store;
    pool *pool;
    struct computing *computing;
    struct auth *auth;
    struct registry *registry;
    int64_t started_at;              /* ms of the boot clock; 0: not serving */
    atomic_int_fast64_t clock_jumps; /* how often the wall clock was set since then */
    atomic_size_t engine_bytes;      /* held by all engines and their candidates */
    atomic_size_t trial_bytes;       /* held by all trials in memory */
    atomic_uint_fast64_t evicted;    /* studies or engines removed from memory since the start */
    struct events *events;
    struct metrics *metrics;
    struct notify *notify;                /* NULL: nobody is notified */
    struct definition_cache *definitions; /* NULL: none are kept */
    struct series_cache *series;          /* answers to requests for series */
    atomic_size_t waiting;                /* asks that wait for a trial */
    /* Budgets: how much each caller holds; NULL: not counted. */
    budget *places;       /* for asks that wait; --max-waiting */
    budget *streams;      /* of events */
    budget *reads;        /* long requests in progress; --max-reads */
    budget *buffered;     /* bytes of bodies and answers; --max-buffered */
    atomic_bool stopping; /* new requests are refused */
    /* A study has been deleted, and its id is free from now on. number: the study's, in the store. The writer thread
     * calls this; it may be NULL. */
    void (*study_deleted)(struct app *a, int64_t number, const char *id);
} app;

#endif
