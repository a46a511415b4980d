#include "clients/banditctl/trial.h"
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/json.h"
#include "clients/banditctl/printable.h"
#include "proto/encode.h"
#include "proto/json_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names and values ------------------------------------------------------------------------------ */

void trial_names_init(trial_names *out, const json_t *study)
{
    const json_t *domain = json_object_get(study, "domain");
    const json_t *list = json_object_get(domain, "parameters");
    const bool parameters = json_is_array(list);
    if (!parameters)
        list = json_object_get(domain, "names");
    out->given = json_is_array(list);
    out->n = out->given ? json_array_size(list) : (size_t)json_count(domain, "dimension");
    out->items = allocate(out->n, sizeof *out->items);
    for (size_t i = 0; i < out->n; i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = parameters ? json_text(item, "name", "") : json_string_value(item);
        out->items[i] = name ? duplicate(name) : format_text("x%zu", i);
    }
}

void trial_names_clear(trial_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
    *names = (trial_names){0};
}

exit_status call_trial_names(const arguments *a, trial_names *out)
{
    char *path = study_path(a->operands[0], "");
    http_request request = {.method = "GET", .path = path, .cancel = -1};
    json_t *study;
    arguments quiet = *a;
    quiet.given[OPTION_JSON] = NULL;
    exit_status status = call(&quiet, &request, &study);
    if (status == STATUS_OK)
        trial_names_init(out, study);
    json_decref(study);
    free(path);
    return status;
}

/* The value of the i-th name, borrowed; NULL if the trial has none. */
static const json_t *value_of(const json_t *trial, const trial_names *names, size_t i)
{
    const json_t *parameters = json_object_get(trial, "parameters");
    return parameters ? json_object_get(parameters, names->items[i])
                      : json_array_get(json_object_get(trial, "point"), i);
}

void trial_values_init(trial_values *out, const json_t *trial, const trial_names *names)
{
    *out = (trial_values){.items = allocate(names->n, sizeof *out->items)};
    for (size_t i = 0; i < names->n; i++) {
        const json_t *value = value_of(trial, names, i);
        if (value)
            out->items[out->n++] = (trial_value){duplicate(names->items[i]), value_text(value)};
    }
}

void trial_values_clear(trial_values *values)
{
    for (size_t i = 0; i < values->n; i++) {
        free(values->items[i].name);
        free(values->items[i].text);
    }
    free(values->items);
    *values = (trial_values){0};
}

void trial_values_print(const trial_values *values, const trial_names *names)
{
    for (size_t i = 0; names->given && i < values->n; i++) {
        char *name = printable(values->items[i].name), *text = printable(values->items[i].text);
        printf(" %s=%s", name, text);
        free(name);
        free(text);
    }
}

char *trial_json(const trial_context *context, const json_t *trial, size_t *size)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_string_member(&w, "study", context->study);
    wire_integer_member(&w, "trial", context->trial);
    wire_integer_member(&w, "attempt", context->attempt);
    wire_string_member(&w, "worker", context->worker);
    if (context->candidate >= 0)
        wire_integer_member(&w, "candidate", context->candidate);
    wire_key(&w, "parameters");
    wire_object_begin(&w);
    for (size_t i = 0; i < context->names->n; i++) {
        const json_t *value = value_of(trial, context->names, i);
        if (value) {
            wire_key(&w, context->names->items[i]);
            wire_write_json(&w, value);
        }
    }
    wire_object_end(&w);
    wire_object_end(&w);
    return writer_text(&w, size);
}

/* ---- {name} in the words of a command -------------------------------------------------------------- */

/* The text that replaces a name; NULL if the name is unknown. The caller frees it. */
static char *lookup(const trial_context *c, const char *name)
{
    for (size_t i = 0; i < c->names->n; i++) {
        if (strcmp(c->names->items[i], name) != 0)
            continue;
        for (size_t k = 0; c->values && k < c->values->n; k++)
            if (strcmp(c->values->items[k].name, name) == 0)
                return duplicate(c->values->items[k].text);
        return duplicate(""); /* not active in this trial */
    }
    if (strcmp(name, "study") == 0)
        return duplicate(c->study);
    if (strcmp(name, "worker") == 0)
        return duplicate(c->worker);
    if (strcmp(name, "trial") == 0)
        return format_text("%lld", c->trial);
    if (strcmp(name, "attempt") == 0)
        return format_text("%lld", c->attempt);
    if (strcmp(name, "candidate") == 0)
        return c->candidate >= 0 ? format_text("%lld", c->candidate) : duplicate("");
    return NULL;
}

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || (*text && strchr("_.-", *text)))
        text++;
    return *text == '\0';
}

typedef struct text_buffer {
    char *data;
    size_t size;
} text_buffer;

static void append(text_buffer *b, const char *text, size_t n)
{
    b->data = reallocate(b->data, b->size + n + 1);
    memcpy(b->data + b->size, text, n);
    b->size += n;
    b->data[b->size] = '\0';
}

/* Replaces the text that begins at `at`, a '{'. Returns the number of characters that it consumed, or 0 if
 * the name is unknown; *unknown is then a copy of it. */
static size_t replace(text_buffer *out, const char *at, bool after_dollar, const trial_context *c,
                      char **unknown)
{
    const bool quoted = at[1] == '{';
    const char *begin = at + 1 + quoted, *end = begin + strcspn(begin, "{}");
    size_t taken = 1;
    if (after_dollar || *end != '}' || end == begin || (quoted && end[1] != '}')) {
        append(out, at, 1);
        return taken;
    }
    char *name = strndup(begin, (size_t)(end - begin));
    if (!name)
        out_of_memory();
    char *text = lookup(c, name);
    if (quoted && (text || is_identifier(name))) {
        append(out, at + 1, strlen(name) + 2);
        taken = strlen(name) + 4;
    } else if (text && !quoted) {
        append(out, text, strlen(text));
        taken = strlen(name) + 2;
    } else if (!quoted && is_identifier(name)) {
        *unknown = duplicate(name);
        taken = 0;
    } else {
        append(out, at, 1);
    }
    free(name);
    free(text);
    return taken;
}

/* Replaces the names in one word. NULL: a name is unknown, and *unknown is a copy of it. */
static char *substitute(const char *word, const trial_context *c, char **unknown)
{
    text_buffer out = {duplicate(""), 0};
    for (const char *at = word; *at;) {
        size_t taken = 1;
        if (*at == '{')
            taken = replace(&out, at, at > word && at[-1] == '$', c, unknown);
        else
            append(&out, at, 1);
        if (taken == 0) {
            free(out.data);
            return NULL;
        }
        at += taken;
    }
    return out.data;
}

char **trial_words(char *const *words, size_t n, const trial_context *context, char **unknown)
{
    char **replaced = allocate(n + 1, sizeof *replaced);
    *unknown = NULL;
    for (size_t i = 0; i < n; i++) {
        replaced[i] = substitute(words[i], context, unknown);
        if (!replaced[i]) {
            words_free(replaced);
            return NULL;
        }
    }
    return replaced;
}

void words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* ---- the environment ------------------------------------------------------------------------------- */

static char *parameter_variable(const trial_value *value)
{
    char *variable = format_text("BANDIT_PARAM_%s=%s", value->name, value->text);
    for (size_t i = 0; variable[i] != '='; i++) {
        unsigned char c = (unsigned char)variable[i];
        variable[i] = isalnum(c) ? (char)toupper(c) : '_';
    }
    return variable;
}

char **trial_environment(const trial_context *context, const char *trial_file, const char *value_file)
{
    size_t kept = 0, n = 0;
    while (environ[n])
        n++;
    char **all = allocate(n + 8 + context->values->n, sizeof *all);
    /* A worker that runs inside a command of another worker must not pass on that worker's variables. */
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "BANDIT_", 7) != 0)
            all[kept++] = duplicate(environ[i]);
    all[kept++] = format_text("BANDIT_STUDY=%s", context->study);
    all[kept++] = format_text("BANDIT_WORKER=%s", context->worker);
    all[kept++] = format_text("BANDIT_TRIAL=%lld", context->trial);
    all[kept++] = format_text("BANDIT_ATTEMPT=%lld", context->attempt);
    all[kept++] = format_text("BANDIT_TRIAL_FILE=%s", trial_file);
    all[kept++] = format_text("BANDIT_VALUE_FILE=%s", value_file);
    if (context->candidate >= 0)
        all[kept++] = format_text("BANDIT_CANDIDATE=%lld", context->candidate);
    for (size_t i = 0; i < context->values->n; i++)
        all[kept++] = parameter_variable(&context->values->items[i]);
    return all;
}
