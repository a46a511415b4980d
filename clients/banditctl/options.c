#include "clients/banditctl/options.h"
#include "clients/banditctl/commands.h"
#include "proto/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind { SWITCH, TEXT, INTEGER, SECONDS } option_kind;

typedef struct option {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a switch */
    const char *fallback; /* default; NULL: none */
    option_kind kind;
    double min, max; /* of numbers */
    const char *meaning;
} option;

static const option options[N_OPTIONS] = {
    [OPTION_URL] =
        {"url", 0, "URL", NULL, TEXT, 0, 0,
         "the server, http://HOST:PORT or unix:/path (BANDITD_URL; default http://127.0.0.1:8080)"},
    [OPTION_JSON] = {"json", 0, NULL, NULL, SWITCH, 0, 0, "print the server's answer as it is"},
    [OPTION_STATE] = {"state", 0, "STATE", NULL, TEXT, 0, 0,
                      "only studies in this state: awaiting_candidates, active, paused, finished, error"},
    [OPTION_LABEL] = {"label", 0, "KEY:VALUE", NULL, TEXT, 0, 0, "only studies with this label"},
    [OPTION_COUNT] = {"count", 0, "N", "1", INTEGER, 1, 1000, "how many trials"},
    [OPTION_WORKER] = {"worker", 0, "NAME", NULL, TEXT, 0, 0,
                       "who asks; the same name gets the trials it holds again"},
    [OPTION_WAIT] = {"wait", 0, "SECONDS", "0", SECONDS, 0, 300, "how long to wait at most"},
    [OPTION_LEASE] = {"lease", 0, "SECONDS", NULL, SECONDS, 1, 31536000,
                      "how long the trials may be kept (default: the study's)"},
    [OPTION_FRESH] = {"fresh", 0, NULL, NULL, SWITCH, 0, 0, "not those that this worker holds already"},
    [OPTION_FIXED] = {"fixed", 0, "JSON", NULL, TEXT, 0, 0,
                      "values that the trials have, in a space: '{\"temperature\": 300}'"},
    [OPTION_OUTCOME] = {"state", 0, "STATE", NULL, TEXT, 0, 0,
                        "failed, infeasible, stopped or released, instead of a value (stopped: or with one)"},
    [OPTION_REASON] = {"reason", 0, "TEXT", NULL, TEXT, 0, 0, "why, with a state"},
    [OPTION_ATTEMPT] = {"attempt", 0, "N", NULL, INTEGER, 1, 2147483647,
                        "the attempt that measured it, as the trial was handed out"},
    [OPTION_RETRY] = {"retry", 0, NULL, NULL, SWITCH, 0, 0,
                      "with --state failed: hand it out again while attempts remain"},
    [OPTION_VALUES] = {"values", 0, "JSON", NULL, TEXT, 0, 0,
                       "instead of a value those of several metrics: '{\"accuracy\": 0.8, \"seconds\": 12}'"},
    [OPTION_REPEATS] = {"repeats", 0, "N", NULL, INTEGER, 1, 1000000,
                        "the value is the mean of so many evaluations"},
    [OPTION_METADATA] = {"metadata", 0, "JSON", NULL, TEXT, 0, 0, "an object to keep with the result"},
    [OPTION_FORMAT] = {"format", 0, "FORMAT", "ndjson", TEXT, 0, 0,
                       "ndjson (complete) or csv (a table of the trials)"},
    [OPTION_INTERVAL] = {"interval", 0, "SECONDS", "1", SECONDS, 0.1, 3600, "time between looks"},
    [OPTION_ONCE] = {"once", 0, NULL, NULL, SWITCH, 0, 0, "look once"},
    [OPTION_JOBS] = {"jobs", 'j', "N", "1", INTEGER, 1, 1000, "how many commands run at once"},
    [OPTION_NAME] = {"name", 0, "NAME", NULL, TEXT, 0, 0,
                     "of the workers, with -1, -2, … added (default: the host's name)"},
    [OPTION_WORK_LEASE] = {"lease", 0, "SECONDS", "60", SECONDS, 1, 31536000,
                           "after so long without a sign of life a trial goes to another worker"},
    [OPTION_TIMEOUT] = {"timeout", 0, "SECONDS", "0", SECONDS, 0, 31536000,
                        "ends a command that runs longer, and the trial has failed; 0: never"},
    [OPTION_RETRY_FAILED] = {"retry", 0, NULL, NULL, SWITCH, 0, 0,
                             "hand failed trials out again while attempts remain"},
    [OPTION_INFEASIBLE] = {"infeasible-status", 0, "N", NULL, INTEGER, 1, 255,
                           "the exit status by which a command says that its point is infeasible"},
    [OPTION_MAX_FAILURES] = {"max-failures", 0, "N", "20", INTEGER, 1, 1000000,
                             "stop after so many failures in a row"},
    [OPTION_GIVE_UP] = {"give-up", 0, "SECONDS", "0", SECONDS, 0, 31536000,
                        "stop when the server has not answered for so long; 0: never"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, NULL, SWITCH, 0, 0, "do not report each trial on standard error"},
};

#define BIT(id) (UINT64_C(1) << (id))
#define COMMON  (BIT(OPTION_URL) | BIT(OPTION_JSON))
#define ANY     SIZE_MAX

static const command commands[] = {
    {"study create", "FILE", 1, 1, 0, command_study_create,
     "creates a study from its definition (JSON) and prints its id; - reads standard input", NULL},
    {"study import", "FILE", 1, 1, 0, command_study_import,
     "makes the study that `export` wrote and prints its id; - reads standard input", NULL},
    {"study list", "", 0, 0, BIT(OPTION_STATE) | BIT(OPTION_LABEL), command_study_list,
     "lists studies: id, state, trials completed, horizon, best value", NULL},
    {"study show", "STUDY", 1, 1, 0, command_study_show, "shows a study's state and counters", NULL},
    {"study pause", "STUDY", 1, 1, 0, command_study_state, "hands out no new trials", NULL},
    {"study resume", "STUDY", 1, 1, 0, command_study_state,
     "goes on with a paused study, or with one in state error", NULL},
    {"study finish", "STUDY", 1, 1, 0, command_study_state, "ends a study; its workers stop", NULL},
    {"study delete", "STUDY", 1, 1, 0, command_study_delete, "deletes a study and all that belongs to it",
     NULL},
    {"candidates upload", "STUDY FILE", 2, 2, 0, command_candidates_upload,
     "uploads candidates from a .csv, .json or .npy file", NULL},
    {"ask", "STUDY", 1, 1,
     BIT(OPTION_COUNT) | BIT(OPTION_WORKER) | BIT(OPTION_WAIT) | BIT(OPTION_LEASE) | BIT(OPTION_FRESH) |
         BIT(OPTION_FIXED),
     command_ask, "asks for trials",
     "Prints one line a trial: its number, its attempt, its candidate and its named values."},
    {"tell", "STUDY TRIAL [VALUE]", 2, 3,
     BIT(OPTION_OUTCOME) | BIT(OPTION_REASON) | BIT(OPTION_ATTEMPT) | BIT(OPTION_RETRY) | BIT(OPTION_VALUES) |
         BIT(OPTION_REPEATS) | BIT(OPTION_METADATA),
     command_tell, "tells what came out of a trial", NULL},
    {"best", "STUDY", 1, 1, 0, command_best, "shows the best value told and the point the model recommends",
     NULL},
    {"predict", "STUDY CANDIDATE…", 2, ANY, 0, command_predict,
     "predicts the metric of candidates: candidate, mean, standard deviation, optimistic bound",
     "A candidate is a number, or in a space a point as JSON: '{\"level\": 3, \"fast\": true}'."},
    {"export", "STUDY", 1, 1, BIT(OPTION_FORMAT), command_export, "writes a study to standard output", NULL},
    {"watch", "STUDY", 1, 1, BIT(OPTION_INTERVAL) | BIT(OPTION_ONCE), command_watch,
     "follows a study until it is done",
     "On a terminal it draws progress, rate, workers and the best value so far; elsewhere it prints a line a "
     "look."},
    {"work", "STUDY -- COMMAND…", 2, ANY,
     BIT(OPTION_JOBS) | BIT(OPTION_NAME) | BIT(OPTION_WORK_LEASE) | BIT(OPTION_TIMEOUT) |
         BIT(OPTION_RETRY_FAILED) | BIT(OPTION_INFEASIBLE) | BIT(OPTION_MAX_FAILURES) | BIT(OPTION_GIVE_UP) |
         BIT(OPTION_QUIET),
     command_work, "asks for trials, runs a command for each and tells its value, until the study is done",
     "In the command, {NAME} is replaced by the value of that name in the trial, and {candidate}, {trial}, "
     "{attempt}, "
     "{worker} and {study} by those; an unknown name is an error. ${NAME} is left to the shell, and {{NAME}} "
     "stands for "
     "the text {NAME}. The same comes in the environment: BANDIT_STUDY, BANDIT_TRIAL, BANDIT_ATTEMPT, "
     "BANDIT_WORKER, "
     "BANDIT_CANDIDATE, BANDIT_PARAM_NAME for each value (in capitals, other characters as _), and as JSON "
     "in the file "
     "that BANDIT_TRIAL_FILE names.\n"
     "The trial's value is the last line that the command prints, or the content of the file that "
     "BANDIT_VALUE_FILE "
     "names if the command writes it: a number, or a JSON object of metrics and their values. A command that "
     "exits with "
     "another status than 0, is killed by a signal, takes too long or prints no such value has failed.\n"
     "The commands that run at once are workers of their own names, the same after a restart: what a killed "
     "worker was "
     "at is given to it again. SIGTERM or SIGINT: the running commands end and are told, then the exit "
     "status is 8; at "
     "the second one they are killed and their trials go back to the queue."},
    {"ping", "", 0, 0, BIT(OPTION_WAIT), command_ping, "asks whether the server is ready", NULL},
    {"version", "", 0, 0, 0, command_version, "prints the version of banditctl", NULL},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const char *const status_texts[] = {
    [STATUS_OK] = "done; of work: the study is done",
    [STATUS_FAILED] = "the server refused it, or something failed",
    [STATUS_USAGE] = "the command line is wrong",
    [STATUS_UNREACHABLE] = "the server does not answer, or is not ready",
    [STATUS_NOT_FOUND] = "there is no such study, trial or candidate",
    [STATUS_CONFLICT] = "the study or the trial is in a state that does not allow it",
    [STATUS_DENIED] = "the token is missing or does not allow it",
    [STATUS_NOTHING] = "ask: there is no trial to hand out now",
    [STATUS_INTERRUPTED] = "work: stopped by a signal before the study was done",
};

/* ---- the values of options ------------------------------------------------------------------------- */

static bool valid(const option *o, const char *value)
{
    double number;
    switch (o->kind) {
    case SWITCH:
        return false; /* takes none */
    case TEXT:
        return *value != '\0';
    case INTEGER:
    case SECONDS:
        return wire_read_number(value, strlen(value), WIRE_NUMBER_LOOSE, &number) == WIRE_NUMBER_FINITE &&
               number >= o->min && number <= o->max && (o->kind == SECONDS || number == floor(number));
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

static uint64_t options_of(const command *c)
{
    return c->options | COMMON;
}

/* The command that these words begin with; *used: how many of them name it. */
static const command *find_command(char *const *words, size_t n, size_t *used)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        const char *space = strchr(commands[i].name, ' ');
        size_t first = space ? (size_t)(space - commands[i].name) : strlen(commands[i].name);
        *used = space ? 2 : 1;
        if (n >= *used && strlen(words[0]) == first && strncmp(words[0], commands[i].name, first) == 0 &&
            (!space || strcmp(words[1], space + 1) == 0))
            return &commands[i];
    }
    return NULL;
}

/* Is it the first of a command's two words? */
static bool begins_command(const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; i < N_COMMANDS; i++)
        if (strncmp(commands[i].name, word, n) == 0 && commands[i].name[n] == ' ')
            return true;
    return false;
}

/* The option that `word` (--name, --name=value or -x) names; *value: what stands behind the =, or NULL. */
static int find_option(const command *c, const char *word, const char **value)
{
    *value = NULL;
    for (int id = 0; id < N_OPTIONS; id++) {
        const option *o = &options[id];
        size_t n = strlen(o->name);
        if (!(options_of(c) & BIT(id)))
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

/* Takes the option at argv[*i], and its value behind it. */
static bool read_option(arguments *out, int argc, char **argv, int *i)
{
    const char *value;
    int id = find_option(out->command, argv[*i], &value);
    if (id < 0) {
        fprintf(stderr, "banditctl: unknown option '%s' (banditctl %s --help lists them)\n", argv[*i],
                out->command->name);
        return false;
    }
    const option *o = &options[id];
    if (!o->argument && !value) {
        out->given[id] = "true";
        return true;
    }
    if (o->argument && !value && *i + 1 < argc)
        value = argv[++*i];
    if (!value) {
        fprintf(stderr, "banditctl: --%s wants a value (%s)\n", o->name, o->argument);
        return false;
    }
    if (!valid(o, value)) {
        if (!o->argument)
            fprintf(stderr, "banditctl: --%s takes no value\n", o->name);
        else if (o->kind == TEXT)
            fprintf(stderr, "banditctl: --%s must not be empty\n", o->name);
        else
            fprintf(stderr, "banditctl: --%s wants %s from %.15g to %.15g, not '%s'\n", o->name,
                    o->kind == INTEGER ? "a whole number" : "a number", o->min, o->max, value);
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

arguments_outcome arguments_read(arguments *out, int argc, char **argv)
{
    size_t used;
    *out = (arguments){0};
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return ARGUMENTS_HELP;
    if (strcmp(argv[1], "--version") == 0) {
        static char version[] = "version";
        argv[1] = version;
    }
    out->command = find_command(argv + 1, (size_t)argc - 1, &used);
    if (!out->command) {
        bool two = argc > 2 && begins_command(argv[1]);
        fprintf(stderr, "banditctl: unknown command '%s%s%s' (banditctl --help lists them)\n", argv[1],
                two ? " " : "", two ? argv[2] : "");
        return ARGUMENTS_WRONG;
    }
    for (int id = 0; id < N_OPTIONS; id++)
        if (options_of(out->command) & BIT(id))
            out->given[id] = options[id].fallback;

    /* Operands are moved to the front, over the words that were options. */
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

/* ---- help ------------------------------------------------------------------------------------------ */

/* A sentence or more in lines of at most 100 columns, the first of which has `used` already. */
static void print_wrapped(const char *text, size_t indent, size_t used)
{
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (used + 1 + word > 100) {
            printf("\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            putchar(' ');
            used++;
        }
        printf("%.*s", (int)word, text);
        used += word;
        text += word;
        if (*text == '\n') {
            printf("\n%*s", (int)indent, "");
            used = indent;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void print_option(int id)
{
    const option *o = &options[id];
    char form[64], meaning[256];
    snprintf(form, sizeof form, "%s%.1s%s--%s%s%s", o->letter ? "-" : "", o->letter ? &o->letter : "",
             o->letter ? ", " : "", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    snprintf(meaning, sizeof meaning, "%s%s%s%s", o->meaning, o->fallback ? " (default " : "",
             o->fallback ? o->fallback : "", o->fallback ? ")" : "");
    printf("  %-24s ", form);
    print_wrapped(meaning, 27, 27);
}

static void print_options(uint64_t set)
{
    for (int id = 0; id < N_OPTIONS; id++)
        if (set & BIT(id))
            print_option(id);
}

static void print_command_help(const command *c)
{
    printf("usage: banditctl %s [options]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    print_wrapped(c->summary, 0, 0);
    if (c->more) {
        putchar('\n');
        print_wrapped(c->more, 0, 0);
    }
    puts("\noptions:");
    print_options(options_of(c));
}

void help_print(const command *c)
{
    if (c) {
        print_command_help(c);
        return;
    }
    puts("usage: banditctl COMMAND [options] …\n\nThe client of a banditd server. banditctl COMMAND --help "
         "says "
         "more of each command.\n\ncommands:");
    for (int i = 0; i < N_COMMANDS; i++) {
        char form[64];
        snprintf(form, sizeof form, "%s %s", commands[i].name, commands[i].operands);
        /* "…" is one column of three bytes. */
        printf("  %-*s ", strstr(form, "…") ? 32 : 30, form);
        print_wrapped(commands[i].summary, 33, 33);
    }
    puts("\noptions of every command:");
    print_options(COMMON);
    puts("\nenvironment:\n"
         "  BANDITD_URL              the server, when --url is not given\n"
         "  BANDITD_TOKEN            the token that is sent to it\n"
         "\nexit status:");
    for (size_t i = 0; i < sizeof status_texts / sizeof *status_texts; i++)
        printf("  %-24zu %s\n", i, status_texts[i]);
}

/* ---- completion ------------------------------------------------------------------------------------ */

static void offer(const char *word, const char *prefix)
{
    if (strncmp(word, prefix, strlen(prefix)) == 0)
        puts(word);
}

static int first_word(const char *name)
{
    return (int)strcspn(name, " ");
}

/* Commands of the same first word stand together in the table. */
static void offer_commands(char *const *words, size_t n)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        char first[32], before[32];
        const char *name = commands[i].name, *previous = i ? commands[i - 1].name : "";
        snprintf(first, sizeof first, "%.*s", first_word(name), name);
        snprintf(before, sizeof before, "%.*s", first_word(previous), previous);
        if (n == 1 && strcmp(first, before) != 0)
            offer(first, words[0]);
        else if (n == 2 && name[first_word(name)] == ' ' && strcmp(words[0], first) == 0)
            offer(name + first_word(name) + 1, words[1]);
    }
}

void complete_words(char *const *words, size_t n, void (*studies)(const char *prefix))
{
    size_t used;
    if (n == 0)
        return;
    const command *c = find_command(words, n - 1, &used);
    if (!c) {
        offer_commands(words, n);
        return;
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (strcmp(words[i], "--") == 0)
            return; /* the user's own command */
    const char *prefix = words[n - 1];
    if (*prefix == '-') {
        for (int id = 0; id < N_OPTIONS; id++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", options[id].name);
            if (options_of(c) & BIT(id))
                offer(name, prefix);
        }
    } else if (n == used + 1 && strncmp(c->operands, "STUDY", 5) == 0) {
        studies(prefix);
    }
}
