/* A trial's values by name, and the ways in which a command gets to know them: in its words, its environment
 * and a file. */
#ifndef CLIENTS_BANDITCTL_TRIAL_H
#define CLIENTS_BANDITCTL_TRIAL_H

#include "clients/banditctl/call.h"

/* The names that the values of a study's trials have: of its parameters, of its features, or x0, x1, … */
typedef struct trial_names {
    char **items;
    size_t n;
    bool given; /* false: x0, x1, … */
} trial_names;

void trial_names_init(trial_names *out, const json_t *study);
void trial_names_clear(trial_names *names);
/* Of the study that is the first operand; starts as {0}, and is cleared by the caller in any case. */
exit_status call_trial_names(const arguments *a, trial_names *out);

typedef struct trial_value {
    char *name, *text;
} trial_value;

typedef struct trial_values {
    trial_value *items;
    size_t n;
} trial_values;

/* The values of a trial as an ask answers it. A parameter that is not active has none. */
void trial_values_init(trial_values *out, const json_t *trial, const trial_names *names);
void trial_values_clear(trial_values *values);

/* What else a command may ask for: {study}, {trial}, … One struct a trial. */
typedef struct trial_context {
    const char *study, *worker;
    long long trial, attempt, candidate; /* candidate < 0: there is none */
    const trial_names *names;
    const trial_values *values;
} trial_context;

/* The words of a command with its {names} replaced: a new list that ends with NULL, freed by words_free.
 * NULL: a name is unknown; *unknown is a copy of it. With values NULL it only looks for unknown names, and
 * the words are worth nothing. */
char **trial_words(char *const *words, size_t n, const trial_context *context, char **unknown);
void words_free(char **words);

/* This process's environment with the trial's variables added; freed by words_free. */
char **trial_environment(const trial_context *context, const char *trial_file, const char *value_file);

/* What BANDIT_TRIAL_FILE holds: {"study", "trial", "attempt", "worker", "candidate", "parameters": {name:
 * value}}. `trial` as the ask answered it. Freed by the caller. */
char *trial_json(const trial_context *context, const json_t *trial, size_t *size);

#endif
