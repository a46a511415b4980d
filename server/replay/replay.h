/* Replays a log: rebuilds a study from its log alone in a scratch database, replans every batch from the data that it
 * was planned from, and compares everything with the original. */
#ifndef SERVER_REPLAY_REPLAY_H
#define SERVER_REPLAY_REPLAY_H

#include "server/base/computing.h"
#include "server/base/config.h"
#include "server/store/store.h"

typedef struct replay_options {
    const server_config *config; /* study_memory */
    struct computing *computing;
    const char *scratch; /* a file that does not exist; it and SQLite's files next to it are left behind */
    store_check_row *difference;                /* called with a line of text for each difference */
    void (*progress)(void *arg, int64_t entry); /* called with the number of entries replayed so far */
    void *arg;                                  /* for both callbacks */
} replay_options;

typedef struct replay_result {
    int64_t entries, batches, differences;
} replay_result;

/* Replays the study with this id in the snapshot. After the first batch that differs, no more batches are
 * replanned, since later differences follow from it. STORE_OK: the replay is complete, with or without
 * differences. */
store_status replay_study(store *snapshot, const char *id, const replay_options *options, replay_result *out,
                          store_error *err);

#endif
