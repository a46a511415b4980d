/* What banditctl can be told: one table of options and one of commands drive the command line, --help, the
 * manual page (made from --help) and the shell's completion. */
#ifndef CLIENTS_BANDITCTL_OPTIONS_H
#define CLIENTS_BANDITCTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_id {
    OPTION_URL,
    OPTION_JSON,
    OPTION_STATE,
    OPTION_LABEL,
    OPTION_COUNT,
    OPTION_WORKER,
    OPTION_WAIT,
    OPTION_LEASE,
    OPTION_FRESH,
    OPTION_FIXED,
    OPTION_OUTCOME,
    OPTION_REASON,
    OPTION_ATTEMPT,
    OPTION_RETRY,
    OPTION_VALUES,
    OPTION_REPEATS,
    OPTION_METADATA,
    OPTION_FORMAT,
    OPTION_INTERVAL,
    OPTION_ONCE,
    OPTION_JOBS,
    OPTION_NAME,
    OPTION_WORK_LEASE,
    OPTION_TIMEOUT,
    OPTION_RETRY_FAILED,
    OPTION_INFEASIBLE,
    OPTION_MAX_FAILURES,
    OPTION_GIVE_UP,
    OPTION_QUIET,
    N_OPTIONS
} option_id;

typedef struct arguments {
    const struct command *command;
    const char *given[N_OPTIONS]; /* NULL: not given and no default */
    char *const *operands;
    size_t n_operands;
} arguments;

/* Exit statuses; the text is in the table of options.c. */
typedef enum exit_status {
    STATUS_OK,
    STATUS_FAILED,
    STATUS_USAGE,
    STATUS_UNREACHABLE,
    STATUS_NOT_FOUND,
    STATUS_CONFLICT,
    STATUS_DENIED,
    STATUS_NOTHING,
    STATUS_INTERRUPTED
} exit_status;

typedef struct command {
    const char *name;     /* one word or two */
    const char *operands; /* as in the usage line */
    size_t min_operands, max_operands;
    uint64_t options; /* bits of option_id, besides those that every command has */
    exit_status (*run)(const arguments *a);
    const char *summary;
    const char *more; /* further sentences of its help, or NULL */
} command;

typedef enum arguments_outcome { ARGUMENTS_RUN, ARGUMENTS_HELP, ARGUMENTS_WRONG } arguments_outcome;

/* Reads argv[1 …]; the arrays are borrowed. ARGUMENTS_HELP: out->command is NULL for the general help.
 * ARGUMENTS_WRONG: said why on standard error. */
arguments_outcome arguments_read(arguments *out, int argc, char **argv);

/* Help on one command, or on all (NULL), on standard output. */
void help_print(const command *c);

/* What could stand at the end of these words, one a line; `studies` is called where a study's id could. */
void complete_words(char *const *words, size_t n, void (*studies)(const char *prefix));

/* The options of a command. Numbers have been checked when they were read. */
bool option_given(const arguments *a, option_id id);
const char *option_text(const arguments *a, option_id id);
double option_number(const arguments *a, option_id id);

#endif
