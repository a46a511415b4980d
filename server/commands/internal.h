/* What the database commands share: admin.c, check.c and transfer.c. */
#ifndef SERVER_COMMANDS_INTERNAL_H
#define SERVER_COMMANDS_INTERNAL_H

#include "server/base/config.h"
#include "server/commands/admin.h"
#include "server/store/store.h"

typedef struct admin_arguments {
    server_config config; /* db, threads, study_memory */
    const char *operands[2];
    int n_operands;
    const char *format, *id, *study, *scratch; /* NULL: not given */
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

#endif
