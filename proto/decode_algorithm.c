/* The algorithm of a study and its options. The server knows which options apply to which algorithm; options that no
 * algorithm has are refused here. */
#include "proto/algorithm_fields.h"
#include "proto/decode_study.h"

#include <stdlib.h>

/* "practical", "theory", "calibrated" or {"beta": b}, kept as "fixed" and beta. */
static void fill_confidence(wire_object *o, const char *const *words, wire_algorithm *algorithm)
{
    const json_t *json = wire_take(o, "confidence", WIRE_OPTIONAL);
    if (!json_is_object(json)) {
        wire_take_word_text(o, "confidence", WIRE_OPTIONAL, words, &algorithm->confidence);
        return;
    }
    wire_place at = wire_place_member(o->place, "confidence");
    wire_object fixed;
    if (!wire_object_open(&fixed, o->decoder, &at, json))
        return;
    algorithm->beta.given =
        wire_take_real(&fixed, "beta", WIRE_REQUIRED, &wire_nonnegative, &algorithm->beta.value);
    algorithm->confidence = wire_duplicate(o->decoder, "fixed");
    wire_object_close(&fixed);
}

/* {"type": "uniform"}, {"type": "spread"} or {"type": "uncertainty", "parallelism": P, "method": "cholesky"} */
static void fill_init(wire_object *o, const char *const *types, wire_algorithm *algorithm)
{
    const json_t *json = wire_take(o, "init", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "init");
    wire_object init;
    if (!json || !wire_object_open(&init, o->decoder, &at, json))
        return;
    static const char *const methods[] = {"cholesky", NULL};
    size_t type = 1; /* if it is not known, do not refuse the other members as well */
    if (wire_take_word(&init, "type", WIRE_REQUIRED, types, &type))
        algorithm->init = wire_duplicate(o->decoder, types[type]);
    if (type != 1) {
        wire_forbid(&init, "parallelism", "applies to the type \"uncertainty\" only");
        wire_forbid(&init, "method", "applies to the type \"uncertainty\" only");
    } else {
        wire_take_number(&init, "parallelism", &wire_positive, NULL, &algorithm->parallelism);
        wire_take_word_text(&init, "method", WIRE_OPTIONAL, methods, &algorithm->init_method);
    }
    wire_object_close(&init);
}

static void fill_field(wire_object *o, const wire_algorithm_field *field, wire_algorithm *a)
{
    void *member = wire_field_member(a, field);
    switch (field->kind) {
    case WIRE_FIELD_NUMBER:
        wire_take_number(o, field->name, &field->range, field->words, member);
        break;
    case WIRE_FIELD_INTEGER:
        wire_take_given_integer(o, field->name, (int64_t)field->range.min, (int64_t)field->range.max, member);
        break;
    case WIRE_FIELD_WORD:
        wire_take_word_text(o, field->name, WIRE_OPTIONAL, field->words, member);
        break;
    case WIRE_FIELD_SWITCH:
        a->standardize_rewards_given = wire_take_boolean(o, field->name, member);
        break;
    case WIRE_FIELD_KERNEL:
        wire_fill_kernel(o, member);
        break;
    case WIRE_FIELD_CONFIDENCE:
        fill_confidence(o, field->words, a);
        break;
    case WIRE_FIELD_INIT:
        fill_init(o, field->words, a);
        break;
    }
}

void wire_fill_algorithm(wire_object *definition, const char *const *names, wire_study *study)
{
    wire_algorithm *a = &study->algorithm;
    const json_t *json = wire_take(definition, "algorithm", WIRE_OPTIONAL);
    wire_place at = wire_place_member(definition->place, "algorithm");
    wire_object o;
    if (!json || !wire_object_open(&o, definition->decoder, &at, json))
        return;
    a->given = true;
    wire_take_word_text(&o, "name", WIRE_OPTIONAL, names, &a->name);
    for (const wire_algorithm_field *field = wire_algorithm_fields; field->name; field++)
        fill_field(&o, field, a);
    if (a->sample.given && a->population.given && a->sample.value > a->population.value) {
        wire_place sample = wire_place_member(&at, "sample");
        wire_refuse(o.decoder, &sample, "must be at most the population");
    }
    wire_object_close(&o);
}

void wire_algorithm_clear(wire_algorithm *algorithm)
{
    free(algorithm->name);
    free(algorithm->init_method);
    for (const wire_algorithm_field *field = wire_algorithm_fields; field->name; field++) {
        switch (field->kind) {
        case WIRE_FIELD_WORD:
        case WIRE_FIELD_CONFIDENCE:
        case WIRE_FIELD_INIT:
            free(*(char **)wire_field_member(algorithm, field));
            break;
        case WIRE_FIELD_KERNEL:
            free(algorithm->kernel.type);
            free(algorithm->kernel.lengthscales);
            break;
        case WIRE_FIELD_NUMBER:
        case WIRE_FIELD_INTEGER:
        case WIRE_FIELD_SWITCH:
            break;
        }
    }
}
