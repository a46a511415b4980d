/* Forks of studies, with the same definition or a changed one. */
#include "proto/changes.h"
#include "proto/json_decode.h"
#include "proto/json_parse.h"

#include <stdlib.h>
#include <string.h>

/* A fork may change how the search uses the results, but not what the results measure. */
static const char *const changeable[] = {"seed",        "aim",     "repeats",  "algorithm",
                                         "constraints", "horizon", "feedback", "stop_when"};
static const char *const fixed[] = {"metric",     "metrics", "optimum",       "domain",  "history_from",
                                    "learn_from", "state",   "min_in_flight", "stopping"};

static void take_changes(wire_object *o, wire_fork *fork)
{
    wire_writer w = WIRE_WRITER_INIT;
    size_t size, n = 0;
    wire_object_begin(&w);
    for (size_t i = 0; i < sizeof changeable / sizeof *changeable; i++) {
        const json_t *member = wire_take(o, changeable[i], WIRE_OPTIONAL);
        if (!member)
            continue;
        wire_key(&w, changeable[i]);
        wire_write_json(&w, member);
        n++;
    }
    wire_object_end(&w);
    if (n == 0)
        wire_writer_clear(&w);
    else if (!wire_writer_finish(&w, &fork->changes, &size))
        o->decoder->no_memory = true;
}

static void fill_fork(wire_decoder *d, json_t *body, void *out)
{
    wire_fork *fork = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    bool given = wire_take_string(&o, "id", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &fork->id);
    wire_take_given_integer(&o, "at_trial", 1, WIRE_MAX_INTEGER, &fork->at_trial);
    if (given && fork->id && !wire_is_study_id(fork->id, strlen(fork->id))) {
        wire_place at = wire_place_member(NULL, "id");
        wire_refuse(d, &at,
                    "must have 1 to 63 characters a-z, 0-9, '.', '_' and '-', and start with a-z or 0-9");
    }
    take_changes(&o, fork);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        wire_forbid(&o, fixed[i], "cannot be changed by a fork; create a study with history_from");
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(fork)

void wire_fork_free(wire_fork *fork)
{
    if (!fork)
        return;
    free(fork->id);
    free(fork->changes);
    free(fork);
}

/* The text of a JSON object. */
static wire_status read_object(json_t **out, const char *text)
{
    wire_errors errors = {0};
    wire_status status = wire_parse(out, text, strlen(text), &errors);
    wire_errors_clear(&errors);
    if (status == WIRE_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        status = WIRE_INVALID;
    }
    return status;
}

static bool set_text(json_t *object, const char *name, const char *text)
{
    return json_object_set_new(object, name, json_string(text)) == 0;
}

static bool is_word(const json_t *json, const char *word)
{
    return json_is_string(json) && strcmp(json_string_value(json), word) == 0;
}

/* False: out of memory. */
static bool change(json_t *definition, json_t *changes, const wire_fork *fork, const char *from)
{
    const char *name;
    json_t *value;
    bool fine = true, aims = json_object_get(changes, "aim") != NULL;
    if (aims && !json_object_get(changes, "algorithm"))
        json_object_del(definition, "algorithm");
    if (!aims && !json_object_get(definition, "aim"))
        fine = set_text(definition, "aim", "regret");
    if (is_word(json_object_get(changes, "feedback"), "batch"))
        json_object_del(definition, "min_in_flight"); /* it applies only to asynchronous feedback */
    json_object_foreach(changes, name, value)
    {
        bool in_domain = strcmp(name, "constraints") == 0;
        json_t *owner = in_domain ? json_object_get(definition, "domain") : definition;
        if (json_is_null(value))
            json_object_del(owner, name);
        else
            fine = fine && json_object_set(owner, name, value) == 0;
    }
    return fine && set_text(definition, "id", fork->id) && set_text(definition, "history_from", from);
}

wire_status wire_change_definition(char **out, size_t *size, const char *definition, const wire_fork *fork,
                                   const char *from)
{
    json_t *old = NULL, *changes = NULL;
    wire_status status = read_object(&old, definition);
    *out = NULL;
    if (status == WIRE_OK)
        status = read_object(&changes, fork->changes);
    if (status == WIRE_OK && !change(old, changes, fork, from))
        status = WIRE_NO_MEMORY;
    if (status == WIRE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_write_json(&w, old);
        if (!wire_writer_finish(&w, out, size))
            status = WIRE_NO_MEMORY;
    }
    json_decref(old);
    json_decref(changes);
    return status;
}
