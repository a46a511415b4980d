/* What a log says, said again: a study is built from its log alone in a database beside it, every batch is
 * planned again by the engine from what was known when it was planned, and all is compared. */
#ifndef SERVER_REPLAY_REPLAY_H
#define SERVER_REPLAY_REPLAY_H

#include "server/base/config.h"
#include "server/base/pool.h"
#include "server/store/store.h"

typedef struct replay_options {
    const server_config *config; /* study_memory */
    pool *pool;
    const char *scratch;         /* a file that is not there; it and those that SQLite keeps beside it stay */
    store_check_row *difference; /* is given a line of text for each difference found */
    void (*progress)(void *arg, int64_t entry); /* so many entries are through */
    void *arg;                                  /* of both */
} replay_options;

typedef struct replay_result {
    int64_t entries, batches, differences;
} replay_result;

/* Replays the study of that id in the snapshot. After the first difference in what the engine does nothing
 * more is planned, since the rest follows from it. STORE_OK: all was looked at, whatever was found. */
store_status replay_study(store *snapshot, const char *id, const replay_options *options, replay_result *out,
                          store_error *err);

#endif
