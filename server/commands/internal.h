/* Shared by the database commands: admin.c, check.c, copy.c, rebuilding.c and transfer.c. */
#ifndef SERVER_COMMANDS_INTERNAL_H
#define SERVER_COMMANDS_INTERNAL_H

#include "server/base/config.h"
#include "server/commands/admin.h"
#include "server/replay/rebuild.h"
#include "server/store/store.h"

#include <semaphore.h>

typedef struct admin_arguments {
    server_config config; /* db, threads, study_memory */
    const char *operands[2];
    int n_operands;
    const char *format, *id, *study, *scratch, *from, *to; /* NULL: not given */
    bool no_replay, quiet;
} admin_arguments;

/* Reads the command's options and operands. Returns 0 to continue, −1 after --help, or the exit status of a
 * wrong command line, which has been reported. *out borrows from argv and the environment. */
int admin_read_arguments(admin_arguments *out, int argc, char **argv, const admin_command *command,
                         int operands_min, int operands_max);

/* Prints what is wrong with the command line; returns ADMIN_USAGE. */
int admin_usage(const admin_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints why the command failed; returns ADMIN_FAILED. */
int admin_failed(const admin_command *command, const store_error *error, store_status status);

int admin_check(int argc, char **argv, const admin_command *command);
int admin_export(int argc, char **argv, const admin_command *command);
int admin_import(int argc, char **argv, const admin_command *command);
int admin_copy(int argc, char **argv, const admin_command *command);

/* ---- rebuilding.c: studies made from exported files ---------------------------------------------------- */

/* Sets *bytes to the next piece of the file, valid until the next call. After the last one, *n is 0. */
typedef store_status admin_piece(void *arg, const char **bytes, size_t *n, store_error *err);

/* Feeds the pieces to the rebuild, and waits for its writes. Problems of the content are added to *errors. */
store_status admin_rebuild(rebuild *r, admin_piece *next, void *arg, wire_errors *errors, store_error *err);

/* Loads the rebuilt study, as a server would. STORE_CORRUPT: it cannot be loaded, and why. */
store_status admin_try(rebuild *r, store *s, const server_config *config, store_error *error);

/* STORE_EXISTS: there is a study of this id. */
store_status admin_publish(rebuild *r);

/* The outcome of one write whose `done` is admin_note_outcome. `known` is 0 at first; admin_await destroys it. */
typedef struct admin_outcome {
    sem_t known;
    store_status status;
} admin_outcome;
void admin_note_outcome(void *arg, store_status status, int64_t study, int64_t last_seq);
store_status admin_await(admin_outcome *o);

#endif
