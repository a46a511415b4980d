/* Reads the command line. */
#include "clients/banditctl/options.h"
#include "proto/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const option option_table[N_OPTIONS] = {
    [OPTION_URL] =
        {"url", 0, "URL", NULL, OPTION_TEXT, 0, 0,
         "the server, http(s)://HOST:PORT, HOST:PORT or unix:/path (BANDITD_URL; default http://127.0.0.1:8080)"},
    [OPTION_CACERT] =
        {"cacert", 0, "FILE", NULL, OPTION_TEXT, 0, 0,
         "trust the certificates in this file, in PEM, in place of the system's (BANDITD_CACERT)"},
    [OPTION_SORT] =
        {"sort", 0, "ORDER", "candidate", OPTION_TEXT, 0, 0,
         "candidate, mean, ucb, std, pulls or feasible_probability, the best or most first; mean.NAME: by this "
         "metric, also of ucb and std"},
    [OPTION_RETIRED] = {"retired", 0, "BOOLEAN", NULL, OPTION_TEXT, 0, 0,
                        "true: only retired candidates; false: only the others"},
    [OPTION_PULLS] = {"pulls", 0, "N", NULL, OPTION_INTEGER, 0, 1000000000,
                      "only candidates with this number of measurements; 0: those not measured yet"},
    [OPTION_KEY] = {"key", 0, NULL, NULL, OPTION_SWITCH, 0, 0,
                    "candidates are given by their keys, not by numbers"},
    [OPTION_JSON] = {"json", 0, NULL, NULL, OPTION_SWITCH, 0, 0, "print the server's response unchanged"},
    [OPTION_STATE] = {"state", 0, "STATE", NULL, OPTION_TEXT, 0, 0,
                      "only studies in this state: awaiting_candidates, active, paused, finished, error"},
    [OPTION_LABEL] = {"label", 0, "KEY:VALUE", NULL, OPTION_TEXT, 0, 0, "only studies with this label"},
    [OPTION_COUNT] = {"count", 0, "N", "1", OPTION_INTEGER, 1, 1000, "the number of trials"},
    [OPTION_WORKER] = {"worker", 0, "NAME", NULL, OPTION_TEXT, 0, 0,
                       "the worker's name; the same name gets its pending trials again"},
    [OPTION_WAIT] = {"wait", 0, "SECONDS", "0", OPTION_SECONDS, 0, 300, "the longest time to wait"},
    [OPTION_LEASE] = {"lease", 0, "SECONDS", NULL, OPTION_SECONDS, 1, 31536000,
                      "how long the worker may keep the trials (default: the study's lease)"},
    [OPTION_FRESH] = {"fresh", 0, NULL, NULL, OPTION_SWITCH, 0, 0,
                      "ask for new trials only; skip those already leased to this worker"},
    [OPTION_FIXED] = {"fixed", 0, "JSON", NULL, OPTION_TEXT, 0, 0,
                      "values of parameters that the trials must have: '{\"temperature\": 300}'"},
    [OPTION_OUTCOME] =
        {"state", 0, "STATE", NULL, OPTION_TEXT, 0, 0,
         "failed, infeasible or released, in place of a value; or stopped, with or without one"},
    [OPTION_REASON] = {"reason", 0, "TEXT", NULL, OPTION_TEXT, 0, 0, "the reason for the --state"},
    [OPTION_ATTEMPT] = {"attempt", 0, "N", NULL, OPTION_INTEGER, 1, 2147483647,
                        "the attempt that was evaluated, as printed by ask"},
    [OPTION_RETRY] = {"retry", 0, NULL, NULL, OPTION_SWITCH, 0, 0,
                      "with --state failed: hand the trial out again while attempts are left"},
    [OPTION_VALUES] =
        {"values", 0, "JSON", NULL, OPTION_TEXT, 0, 0,
         "values of several metrics, in place of VALUE: '{\"accuracy\": 0.8, \"seconds\": 12}'"},
    [OPTION_REPEATS] = {"repeats", 0, "N", NULL, OPTION_INTEGER, 1, 1000000,
                        "the number of evaluations that the value is the mean of"},
    [OPTION_STD_ERROR] = {"std-error", 0, "X", NULL, OPTION_TEXT, 0, 0,
                          "the standard error of VALUE; with --values by metric: '{\"accuracy\": 0.01}'"},
    [OPTION_COST] = {"cost", 0, "X", NULL, OPTION_TEXT, 0, 0,
                     "what the evaluation has cost, in any unit: a number from 0"},
    [OPTION_METADATA] = {"metadata", 0, "JSON", NULL, OPTION_TEXT, 0, 0,
                         "a JSON object to store with the result"},
    [OPTION_BROKEN] =
        {"broken", 0, "STATE", NULL, OPTION_TEXT, 0, 0,
         "infeasible: store trials and results at points that break a constraint, with this state"},
    [OPTION_IGNORE] = {"ignore", 0, "COLUMNS", NULL, OPTION_TEXT, 0, 0,
                       "columns of a CSV file to skip, such as date,operator"},
    [OPTION_FORMAT] = {"format", 0, "FORMAT", "ndjson", OPTION_TEXT, 0, 0,
                       "ndjson (the whole study) or csv (a table of its trials)"},
    [OPTION_INTERVAL] = {"interval", 0, "SECONDS", "1", OPTION_SECONDS, 0.1, 3600,
                         "the time between updates"},
    [OPTION_ONCE] = {"once", 0, NULL, NULL, OPTION_SWITCH, 0, 0, "show the study once and exit"},
    [OPTION_JOBS] = {"jobs", 'j', "N", "1", OPTION_INTEGER, 1, 1000,
                     "the number of commands to run in parallel"},
    [OPTION_NAME] = {"name", 0, "NAME", NULL, OPTION_TEXT, 0, 0,
                     "name the workers NAME-1, NAME-2, … (default: the host's name)"},
    [OPTION_WORK_LEASE] = {"lease", 0, "SECONDS", "60", OPTION_SECONDS, 1, 31536000,
                           "hand a trial to another worker after this long without a heartbeat"},
    [OPTION_TIMEOUT] = {"timeout", 0, "SECONDS", "0", OPTION_SECONDS, 0, 31536000,
                        "end a command that runs longer, and report its trial as failed; 0: no limit"},
    [OPTION_RETRY_FAILED] = {"retry", 0, NULL, NULL, OPTION_SWITCH, 0, 0,
                             "hand failed trials out again while attempts are left"},
    [OPTION_INFEASIBLE] = {"infeasible-status", 0, "N", NULL, OPTION_INTEGER, 1, 255,
                           "the exit status by which the command reports an infeasible point"},
    [OPTION_MAX_FAILURES] = {"max-failures", 0, "N", "20", OPTION_INTEGER, 1, 1000000,
                             "stop after this many failures in a row"},
    [OPTION_GIVE_UP] = {"give-up", 0, "SECONDS", "0", OPTION_SECONDS, 0, 31536000,
                        "stop if the server has not answered for this long; 0: never"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, NULL, OPTION_SWITCH, 0, 0,
                      "do not print a line per trial on standard error"},
};

/* ---- the values of options ------------------------------------------------------------------------- */

static bool valid(const option *o, const char *value)
{
    double number;
    switch (o->kind) {
    case OPTION_SWITCH:
        return false; /* takes no value */
    case OPTION_TEXT:
        return *value != '\0';
    case OPTION_INTEGER:
    case OPTION_SECONDS:
        return wire_read_number(value, strlen(value), WIRE_NUMBER_LOOSE, &number) == WIRE_NUMBER_FINITE &&
               number >= o->min && number <= o->max && (o->kind == OPTION_SECONDS || number == floor(number));
    }
    return false;
}

bool option_given(const arguments *a, option_id id)
{
    return a->given[id] != NULL;
}

const char *option_text(const arguments *a, option_id id)
{
    return a->given[id];
}

double option_number(const arguments *a, option_id id)
{
    return a->given[id] ? strtod(a->given[id], NULL) : 0;
}

/* ---- reading the command line ---------------------------------------------------------------------- */

bool command_has_option(const command *c, option_id id)
{
    return (c->options | OPTIONS_COMMON) & OPTION_BIT(id);
}

const command *command_find(const command_list *commands, char *const *words, size_t n, size_t *used)
{
    for (size_t i = 0; i < commands->n; i++) {
        const char *name = commands->items[i].name, *space = strchr(name, ' ');
        size_t first = space ? (size_t)(space - name) : strlen(name);
        *used = space ? 2 : 1;
        if (n >= *used && strlen(words[0]) == first && strncmp(words[0], name, first) == 0 &&
            (!space || strcmp(words[1], space + 1) == 0))
            return &commands->items[i];
    }
    return NULL;
}

/* Whether a command of two words begins with this word. */
static bool begins_command(const command_list *commands, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < commands->n; i++)
        if (strncmp(commands->items[i].name, word, n) == 0 && commands->items[i].name[n] == ' ')
            return true;
    return false;
}

/* The option that `word` (--name, --name=value or -x) names, or -1. *value is the text after "=", or NULL. */
static int find_option(const command *c, const char *word, const char **value)
{
    *value = NULL;
    for (int id = 0; id < N_OPTIONS; id++) {
        const option *o = &option_table[id];
        size_t n = strlen(o->name);
        if (!command_has_option(c, (option_id)id))
            continue;
        if (o->letter && word[0] == '-' && word[1] == o->letter) {
            *value = word[2] ? word + 2 : NULL;
            return id;
        }
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, o->name, n) == 0 &&
            (word[2 + n] == '\0' || word[2 + n] == '=')) {
            *value = word[2 + n] ? word + 3 + n : NULL;
            return id;
        }
    }
    return -1;
}

/* Reads the option at argv[*i] and its value, which may be the next word. */
static bool read_option(arguments *out, int argc, char **argv, int *i)
{
    const char *value;
    int id = find_option(out->command, argv[*i], &value);
    if (id < 0) {
        fprintf(stderr, "banditctl: unknown option '%s' (see banditctl %s --help)\n", argv[*i],
                out->command->name);
        return false;
    }
    const option *o = &option_table[id];
    if (!o->argument && !value) {
        out->given[id] = "true";
        return true;
    }
    if (o->argument && !value && *i + 1 < argc)
        value = argv[++*i];
    if (!value) {
        fprintf(stderr, "banditctl: --%s requires a value (%s)\n", o->name, o->argument);
        return false;
    }
    if (!valid(o, value)) {
        if (!o->argument)
            fprintf(stderr, "banditctl: --%s takes no value\n", o->name);
        else if (o->kind == OPTION_TEXT)
            fprintf(stderr, "banditctl: --%s must not be empty\n", o->name);
        else
            fprintf(stderr, "banditctl: --%s must be %s from %.15g to %.15g, not '%s'\n", o->name,
                    o->kind == OPTION_INTEGER ? "a whole number" : "a number", o->min, o->max, value);
        return false;
    }
    out->given[id] = value;
    return true;
}

static bool is_number(const char *text)
{
    double number;
    return wire_read_number(text, strlen(text), WIRE_NUMBER_LOOSE, &number) != WIRE_NUMBER_NONE;
}

/* Whether this word is an option that takes the next word as its value, of any command. */
static bool takes_next_word(const char *word)
{
    for (int id = 0; id < N_OPTIONS; id++)
        if (strcmp(word + 2, option_table[id].name) == 0)
            return option_table[id].argument != NULL;
    return false;
}

/* Moves the options that stand before the command behind it. It also does this if there is no such command, so that
 * the command is refused, and not an option. */
static void move_leading_options(const command_list *commands, int argc, char **argv)
{
    int k = 1;
    while (k < argc && strncmp(argv[k], "--", 2) == 0 && argv[k][2] && strcmp(argv[k], "--help") != 0 &&
           strcmp(argv[k], "--version") != 0)
        k += takes_next_word(argv[k]) ? 2 : 1;
    size_t used;
    if (k == 1 || k >= argc)
        return;
    if (!command_find(commands, argv + k, (size_t)(argc - k), &used))
        used = begins_command(commands, argv[k]) && k + 1 < argc && argv[k + 1][0] != '-' ? 2 : 1;
    for (size_t i = 0; i < used; i++) { /* moves each word of the command's name over the options */
        char *word = argv[k + (int)i];
        memmove(argv + i + 2, argv + i + 1, (size_t)(k - 1) * sizeof *argv);
        argv[i + 1] = word;
    }
}

/* `help`, `help COMMAND`, and --help after the first word of commands with two words. */
static bool asks_for_help(arguments *out, const command_list *commands, int argc, char **argv)
{
    size_t used;
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return true;
    bool help = strcmp(argv[1], "help") == 0;
    const char *word = help && argc > 2 ? argv[2] : argv[1];
    bool group = begins_command(commands, word);
    if (help && argc > 2) {
        out->command = command_find(commands, argv + 2, (size_t)argc - 2, &used);
        out->topic = !out->command && group ? word : NULL;
        return out->command || group;
    }
    bool alone = argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
    if (!help && group && alone && !command_find(commands, argv + 1, 1, &used))
        out->topic = word;
    return help || out->topic;
}

/* Says that these words are not a command and, after the first word of commands with two words, which words may
 * follow. */
static void refuse_command(const command_list *commands, int argc, char **argv)
{
    size_t n = strlen(argv[1]);
    bool group = begins_command(commands, argv[1]);
    if (!group) {
        fprintf(stderr, "banditctl: unknown command '%s' (see banditctl --help)\n", argv[1]);
        return;
    }
    if (argc > 2 && argv[2][0] != '-')
        fprintf(stderr, "banditctl: unknown command '%s %s'; ", argv[1], argv[2]);
    else
        fprintf(stderr, "banditctl: ");
    fprintf(stderr, "'%s' must be followed by one of:", argv[1]);
    for (size_t i = 0; i < commands->n; i++)
        if (strncmp(commands->items[i].name, argv[1], n) == 0 && commands->items[i].name[n] == ' ')
            fprintf(stderr, " %s", commands->items[i].name + n + 1);
    fprintf(stderr, " (see banditctl %s --help)\n", argv[1]);
}

arguments_outcome arguments_read(arguments *out, const command_list *commands, int argc, char **argv)
{
    size_t used;
    *out = (arguments){0};
    move_leading_options(commands, argc, argv);
    if (asks_for_help(out, commands, argc, argv))
        return ARGUMENTS_HELP;
    if (strcmp(argv[1], "help") == 0) { /* of something that is not a command */
        argv++;
        argc--;
    }
    if (strcmp(argv[1], "--version") == 0) {
        static char version[] = "version";
        argv[1] = version;
    }
    out->command = command_find(commands, argv + 1, (size_t)argc - 1, &used);
    if (!out->command) {
        refuse_command(commands, argc, argv);
        return ARGUMENTS_WRONG;
    }
    for (int id = 0; id < N_OPTIONS; id++)
        if (command_has_option(out->command, (option_id)id))
            out->given[id] = option_table[id].by_default;

    /* Operands move to the front of argv, over the options. */
    int to = 1 + (int)used;
    out->operands = argv + to;
    for (int i = to; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (++i < argc)
                argv[to++] = argv[i];
        } else if (argv[i][0] != '-' || argv[i][1] == '\0' || is_number(argv[i])) {
            argv[to++] = argv[i];
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return ARGUMENTS_HELP;
        } else if (!read_option(out, argc, argv, &i)) {
            return ARGUMENTS_WRONG;
        }
    }
    out->n_operands = (size_t)(argv + to - out->operands);
    if (out->n_operands < out->command->min_operands || out->n_operands > out->command->max_operands) {
        fprintf(stderr, "usage: banditctl %s [options] %s\n", out->command->name, out->command->operands);
        return ARGUMENTS_WRONG;
    }
    return ARGUMENTS_RUN;
}
