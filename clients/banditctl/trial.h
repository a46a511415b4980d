/* A trial's values by name, and their way to a command: in its arguments, its environment and a file. */
#ifndef CLIENTS_BANDITCTL_TRIAL_H
#define CLIENTS_BANDITCTL_TRIAL_H

#include "clients/banditctl/call.h"

/* The names of the values of a study's trials: its parameters, its features, or x0, x1, … */
typedef struct trial_names {
    char **items;
    size_t n;
    bool given; /* false: the names are x0, x1, … */
} trial_names;

void trial_names_init(trial_names *out, const json_t *study);
void trial_names_clear(trial_names *names);
/* Reads the names of the study that is the first operand. `out` starts as {0}; the caller always clears it.
 */
exit_status call_trial_names(const arguments *a, trial_names *out);

typedef struct trial_value {
    char *name, *text;
} trial_value;

typedef struct trial_values {
    trial_value *items;
    size_t n;
} trial_values;

/* The values of a trial from the response to an ask. A parameter that is not active has no value. */
void trial_values_init(trial_values *out, const json_t *trial, const trial_names *names);
void trial_values_clear(trial_values *values);
/* Prints " name=value" for each, unless the names are x0, x1, … */
void trial_values_print(const trial_values *values, const trial_names *names);

/* What else a command may use: {study}, {trial}, … One struct per trial. */
typedef struct trial_context {
    const char *study, *worker;
    long long trial, attempt, candidate; /* candidate < 0: none */
    const trial_names *names;
    const trial_values *values;
} trial_context;

/* The words of a command with its {names} replaced: a new list that ends with NULL; free it with words_free.
 * NULL: a name is unknown, and *unknown is a copy of it. If context->values is NULL, it only looks for
 * unknown names, and the words are not usable. */
char **trial_words(char *const *words, size_t n, const trial_context *context, char **unknown);
void words_free(char **words);

/* This process's environment with the trial's variables added; free it with words_free. */
char **trial_environment(const trial_context *context, const char *trial_file, const char *value_file);

/* The content of BANDIT_TRIAL_FILE: {"study", "trial", "attempt", "worker", "candidate", "parameters": {name:
 * value}}. `trial` is from the response to an ask. The caller frees the result. */
char *trial_json(const trial_context *context, const json_t *trial, size_t *size);

#endif
