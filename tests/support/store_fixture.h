/* What the tests of the store share: writes that wait, a text of everything a study has, a random history. */
#ifndef TESTS_SUPPORT_STORE_FIXTURE_H
#define TESTS_SUPPORT_STORE_FIXTURE_H

#include "server/store/store.h"

#include <pthread.h>

/* Collects `done`s. */
typedef struct store_waiter {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t n; /* done so far */
    store_status first_failure;
    store_status last_status;
    int64_t study, last_seq; /* of the last one */
} store_waiter;

#define STORE_WAITER_INIT                                                                                    \
    {                                                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                              \
    }

void store_waiter_done(void *arg, store_status status, int64_t study, int64_t last_seq); /* a store_done */
void store_waiter_wait(store_waiter *waiter, size_t n); /* until n are done */

/* Probes, and waits for the outcome; err may be NULL. */
store_status store_fixture_probe(store *s, store_error *err);

/* One write of these events, without waiting. */
void store_fixture_submit(store_lane *lane, const store_event *events, size_t n, store_waiter *waiter);

/* The same, waits; its status. study may be NULL. */
store_status store_fixture_write(store_lane *lane, const store_event *events, size_t n, int64_t *study);

/* A lane for the living study of that id. */
store_lane *store_fixture_lane(store *s, const char *id, int64_t *study);

/* Uploads candidate i, feature j = i + j / 1024 in blocks of block_rows; the content's number. */
int64_t store_fixture_upload(store *s, int64_t count, int64_t dimension, int64_t block_rows);

store_event store_fixture_created(const char *id, int64_t time);

/* Everything the store tells about a study, its number aside, doubles as bits. The caller frees it. With
 * `log`, its log too. */
char *store_fixture_dump(store *s, const char *id, bool log);

/* Makes a study with candidates and writes `steps` random events of every kind, a few a write, waiting for
 * none but the last. The same seed gives the same history. */
void store_fixture_history(store *s, const char *id, uint64_t seed, size_t steps);

/* Makes the study `id` of `from` in `to`, from its log alone (and its candidates, which are content): every
 * entry is decoded and written as an event. */
void store_fixture_replay(store *from, store *to, const char *id);

/* The study's tables are what its log makes of an empty store. */
void store_fixture_expect_rebuilt(store *s, const char *id);

/* Opens a database that must open; says why when it does not. */
store *store_fixture_open(const char *path);

/* store_check finds nothing. */
void store_fixture_expect_sound(const char *path);

#endif
