/* The command line of banditctl. A table of options and a table of commands (commands.c) drive the command
 * line, --help, the manual page (made from --help) and the shell's completion. */
#ifndef CLIENTS_BANDITCTL_OPTIONS_H
#define CLIENTS_BANDITCTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_id {
    OPTION_URL,
    OPTION_CACERT,
    OPTION_JSON,
    OPTION_SORT,
    OPTION_RETIRED,
    OPTION_PULLS,
    OPTION_KEY,
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
    OPTION_STD_ERROR,
    OPTION_COST,
    OPTION_METADATA,
    OPTION_BROKEN,
    OPTION_IGNORE,
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

#define OPTION_BIT(id) (UINT64_C(1) << (id))
/* The options that every command has. */
#define OPTIONS_COMMON (OPTION_BIT(OPTION_URL) | OPTION_BIT(OPTION_CACERT) | OPTION_BIT(OPTION_JSON))

typedef enum option_kind { OPTION_SWITCH, OPTION_TEXT, OPTION_INTEGER, OPTION_SECONDS } option_kind;

typedef struct option {
    const char *name;
    char letter;            /* 0: none */
    const char *argument;   /* its name in the help; NULL: a switch */
    const char *by_default; /* NULL: no default */
    option_kind kind;
    double min, max; /* of numbers */
    const char *meaning;
} option;

extern const option option_table[N_OPTIONS];

typedef struct arguments {
    const struct command *command;
    const char *topic;            /* of ARGUMENTS_HELP: the first word of commands to list, or NULL */
    const char *given[N_OPTIONS]; /* NULL: not given, and no default */
    char *const *operands;
    size_t n_operands;
} arguments;

/* The texts of these exit statuses are in help.c. */
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
    uint64_t options; /* bits of option_id, without OPTIONS_COMMON */
    exit_status (*run)(const arguments *a);
    const char *summary;
    const char *more; /* further sentences of its help, or NULL */
} command;

typedef struct command_list {
    const command *items; /* commands with the same first word stand together */
    size_t n;
} command_list;

/* The command that these words begin with, or NULL. *used is the number of words in its name. */
const command *command_find(const command_list *commands, char *const *words, size_t n, size_t *used);

/* Whether the command has this option. */
bool command_has_option(const command *c, option_id id);

typedef enum arguments_outcome { ARGUMENTS_RUN, ARGUMENTS_HELP, ARGUMENTS_WRONG } arguments_outcome;

/* Reads argv[1 …], borrows its strings and reorders it. ARGUMENTS_HELP: out->command is NULL for the general
 * help. ARGUMENTS_WRONG: the error was printed on standard error. */
arguments_outcome arguments_read(arguments *out, const command_list *commands, int argc, char **argv);

/* The options of a command. Numbers were checked when the command line was read. */
bool option_given(const arguments *a, option_id id);
const char *option_text(const arguments *a, option_id id);
double option_number(const arguments *a, option_id id);

#endif
