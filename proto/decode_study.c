/* The definition of a study, as sent to POST /v1/studies and as stored by the server. */
#include "proto/decode_study.h"
#include "proto/word_table.h"

#include <stdlib.h>
#include <string.h>

void wire_fill_study_id(wire_decoder *d, const wire_place *at, const json_t *json, char **out)
{
    if (!json_is_string(json))
        wire_refuse(d, at, "must be a string");
    else if (!wire_is_study_id(json_string_value(json), json_string_length(json)))
        wire_refuse(d, at,
                    "must have 1 to 63 characters a-z, 0-9, '.', '_' and '-', and start with a-z or 0-9");
    else
        *out = wire_duplicate(d, json_string_value(json));
}

static void fill_study_id(wire_object *o, const char *name, char **out)
{
    const json_t *json = wire_take(o, name, WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, name);
    if (json)
        wire_fill_study_id(o->decoder, &at, json, out);
}

static void fill_stopping(wire_object *definition, wire_stopping *stopping)
{
    static const char *const rules[] = {"median", "successive_halving", NULL};
    static const char *const lessons[] = {"estimate", "nothing", NULL};
    const json_t *json = wire_take(definition, "stopping", WIRE_OPTIONAL);
    wire_place at = wire_place_member(definition->place, "stopping");
    wire_object o;
    size_t rule = 0;
    if (!json || !wire_object_open(&o, definition->decoder, &at, json))
        return;
    bool understood = wire_take_word(&o, "rule", WIRE_REQUIRED, rules, &rule);
    wire_take_boolean(&o, "safe", &stopping->safe);
    wire_take_word_text(&o, "stopped", WIRE_OPTIONAL, lessons, &stopping->stopped);
    if (understood && rule == 0) {
        stopping->rule = WIRE_STOPPING_MEDIAN;
        wire_take_given_integer(&o, "min_steps", 1, WIRE_MAX_INTEGER, &stopping->min_steps);
        wire_take_given_integer(&o, "min_trials", 1, WIRE_MAX_INTEGER, &stopping->min_trials);
        wire_forbid(&o, "min_resource", "applies only to the rule \"successive_halving\"");
        wire_forbid(&o, "reduction", "applies only to the rule \"successive_halving\"");
    } else if (understood) {
        stopping->rule = WIRE_STOPPING_SUCCESSIVE_HALVING;
        wire_take_given_integer(&o, "min_resource", 1, WIRE_MAX_INTEGER, &stopping->min_resource);
        wire_take_given_integer(&o, "reduction", 2, WIRE_MAX_COUNT, &stopping->reduction);
        wire_forbid(&o, "min_steps", "applies only to the rule \"median\"");
        wire_forbid(&o, "min_trials", "applies only to the rule \"median\"");
    } else {
        static const char *const others[] = {"min_steps", "min_trials", "min_resource", "reduction"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            wire_has(&o, others[i]);
    }
    wire_object_close(&o);
}

/* A list of lengthscales must have one element per dimension. */
static void check_lengthscales(wire_object *o, const wire_study *study)
{
    const wire_kernel *kernel = &study->algorithm.kernel;
    if (kernel->n_lengthscales == 0 || !study->dimension.given ||
        (int64_t)kernel->n_lengthscales == study->dimension.value)
        return;
    wire_place algorithm = wire_place_member(o->place, "algorithm");
    wire_place at = wire_place_member(&algorithm, "kernel");
    wire_place list = wire_place_member(&at, "lengthscale");
    wire_refuse(o->decoder, &list, "must have one element for each of the %lld dimensions, not %zu",
                (long long)study->dimension.value, kernel->n_lengthscales);
}

/* The study that fill_study fills, and its other arguments. */
typedef struct study_filling {
    wire_study *study;
    const char *const *algorithms;
    wire_study_check *check; /* NULL: none */
    wire_word_table *tables; /* of a form */
    size_t n_tables;
} study_filling;

static void check_tables(wire_decoder *d)
{
    for (size_t i = 0; i < d->n_tables; i++)
        if (!d->tables[i].used)
            wire_refuse(
                d, NULL,
                "the form has a part \"%.200s\", but the space has no categorical parameter of this name",
                d->tables[i].name);
}

static void fill_study(wire_decoder *d, json_t *body, void *out)
{
    const study_filling *filling = out;
    static const char *const aims[] = {"best", "regret", NULL};
    static const char *const feedbacks[] = {"async", "batch", NULL};
    static const char *const repeats[] = {"auto", "never", NULL};
    static const wire_range lease = {.min = 1, .max = WIRE_MAX_LEASE_SECONDS};
    wire_study *study = filling->study;
    wire_object o;
    size_t before = d->errors->n;
    d->tables = filling->tables;
    d->n_tables = filling->n_tables;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    fill_study_id(&o, "id", &study->id);
    wire_take_string(&o, "display_name", WIRE_OPTIONAL, 0, WIRE_MAX_NAME, &study->display_name);
    wire_take_labels(&o, &study->labels);
    wire_take_object_text(&o, "metadata", WIRE_MAX_METADATA, &study->metadata);
    wire_take_word_text(&o, "aim", WIRE_OPTIONAL, aims, &study->aim);
    wire_fill_metrics(&o, study);
    wire_take_number(&o, "optimum", &wire_any, NULL, &study->optimum);
    wire_fill_domain(&o, study);
    wire_fill_algorithm(&o, filling->algorithms, study);
    wire_take_given_integer(&o, "horizon", 1, WIRE_MAX_INTEGER, &study->horizon);
    fill_study_id(&o, "history_from", &study->history_from);
    wire_fill_learn_from(&o, study);
    wire_take_given_integer(&o, "seed", 0, WIRE_MAX_INTEGER, &study->seed);
    wire_take_word_text(&o, "feedback", WIRE_OPTIONAL, feedbacks, &study->feedback);
    wire_take_word_text(&o, "repeats", WIRE_OPTIONAL, repeats, &study->repeats);
    wire_take_given_integer(&o, "min_in_flight", 1, WIRE_MAX_COUNT, &study->min_in_flight);
    wire_take_number(&o, "lease_seconds", &lease, NULL, &study->lease_seconds);
    wire_take_given_integer(&o, "max_attempts", 1, WIRE_MAX_COUNT, &study->max_attempts);
    fill_stopping(&o, &study->stopping);
    wire_fill_stop_when(&o, &study->stop_when, &study->n_stop_when);
    wire_object_close(&o);
    check_lengthscales(&o, study);
    check_tables(d);
    if (filling->check && d->errors->n > before)
        filling->check(study, d->errors);
}

wire_status wire_decode_study(wire_study **out, const char *body, size_t size, const char *const *algorithms,
                              wire_errors *errors)
{
    return wire_decode_study_checked(out, body, size, algorithms, NULL, errors);
}

static wire_status decode(wire_study **out, const char *body, size_t size, study_filling filling,
                          wire_errors *errors)
{
    *out = NULL;
    filling.study = calloc(1, sizeof *filling.study);
    if (!filling.study)
        return WIRE_NO_MEMORY;
    wire_status status = wire_decode_body(body, size, errors, fill_study, &filling);
    if (status == WIRE_OK)
        *out = filling.study;
    else
        wire_study_free(filling.study);
    return status;
}

wire_status wire_decode_study_checked(wire_study **out, const char *body, size_t size,
                                      const char *const *algorithms, wire_study_check *check,
                                      wire_errors *errors)
{
    return decode(out, body, size, (study_filling){.algorithms = algorithms, .check = check}, errors);
}

wire_status wire_decode_study_of_form(wire_study **out, const char *body, size_t size,
                                      const char *const *algorithms, wire_word_table *tables, size_t n_tables,
                                      wire_errors *errors)
{
    study_filling filling = {.algorithms = algorithms, .tables = tables, .n_tables = n_tables};
    return decode(out, body, size, filling, errors);
}

void wire_study_free(wire_study *study)
{
    if (!study)
        return;
    free(study->id);
    free(study->display_name);
    free(study->labels);
    free(study->metadata);
    free(study->aim);
    for (size_t i = 0; i < study->n_metrics; i++) {
        free(study->metrics[i].name);
        free(study->metrics[i].unit);
    }
    free(study->metrics);
    wire_domain_clear(study);
    wire_algorithm_clear(&study->algorithm);
    free(study->feedback);
    free(study->repeats);
    free(study->history_from);
    wire_learn_from_clear(study);
    free(study->stopping.stopped);
    free(study->stop_when);
    free(study);
}
