/* GET /v1/algorithms: the engine's algorithms and options, and the values that the decoder accepts for them. */
#include "proto/encode.h"
#include "server/data/algorithm_options.h"

#include <math.h>

static const bandit_options defaults = BANDIT_OPTIONS_INIT;

/* The JSON type of a field's value. */
static const char *type_of(const wire_algorithm_field *field)
{
    switch (field->kind) {
    case WIRE_FIELD_NUMBER:
        return "number";
    case WIRE_FIELD_INTEGER:
        return "integer";
    case WIRE_FIELD_WORD:
    case WIRE_FIELD_CONFIDENCE:
        return "string";
    case WIRE_FIELD_SWITCH:
        return "boolean";
    case WIRE_FIELD_KERNEL:
    case WIRE_FIELD_INIT:
        break;
    }
    return "object";
}

static void encode_number(wire_writer *w, double value)
{
    if (value == floor(value))
        wire_integer_value(w, (int64_t)value);
    else
        wire_real(w, value);
}

/* A bound, unless it is merely the largest number of its type. */
static void encode_bound(wire_writer *w, const char *name, double value)
{
    if (value >= WIRE_MAX_COUNT)
        return;
    wire_key(w, name);
    encode_number(w, value);
}

static void encode_range(wire_writer *w, const wire_algorithm_field *field)
{
    bool number = field->kind == WIRE_FIELD_NUMBER;
    wire_object_begin(w);
    if (number || field->kind == WIRE_FIELD_INTEGER) {
        encode_bound(w, field->range.open_min ? "exclusive_minimum" : "minimum", field->range.min);
        encode_bound(w, field->range.open_max ? "exclusive_maximum" : "maximum", field->range.max);
    }
    if (field->words && field->kind != WIRE_FIELD_INIT) {
        wire_key(w, number ? "words" : "values");
        wire_array_begin(w);
        for (const char *const *word = field->words; *word; word++)
            wire_string(w, *word);
        wire_array_end(w);
    }
    wire_object_end(w);
}

/* The kernel of a study on candidates whose definition does not name one. */
static void encode_default_kernel(wire_writer *w)
{
    char type[] = "matern"; /* set here, so that nothing is allocated */
    wire_kernel kernel = {.type = type};
    completion found = {0};
    algorithm_kernel_complete(&kernel, WIRE_DOMAIN_CANDIDATES, &found);
    wire_encode_kernel(w, &kernel);
}

static void encode_default(wire_writer *w, const wire_algorithm_field *field, bandit_option option)
{
    const bandit_option_info *about = bandit_option_about(option);
    if (field->kind == WIRE_FIELD_KERNEL) {
        encode_default_kernel(w);
    } else if (about->learned) {
        wire_string(w, "auto");
    } else if (!about->has_default) {
        wire_null(w);
    } else if (about->kind == BANDIT_OPTION_IS_WORD) {
        wire_string(w, bandit_option_word(&defaults, option));
    } else {
        encode_number(w, bandit_option_number(&defaults, option));
    }
}

static void encode_begin(wire_writer *w, const wire_algorithm_field *field)
{
    wire_object_begin(w);
    wire_string_member(w, "name", field->name);
    wire_string_member(w, "type", type_of(field));
    wire_key(w, "default");
}

static void encode_end(wire_writer *w, const wire_algorithm_field *field, const char *description)
{
    wire_key(w, "range");
    encode_range(w, field);
    wire_string_member(w, "description", description);
    wire_object_end(w);
}

static void encode_option(wire_writer *w, bandit_option option)
{
    const bandit_option_info *about = bandit_option_about(option);
    const wire_algorithm_field *field = algorithm_field(about->name);
    encode_begin(w, field);
    encode_default(w, field, option);
    encode_end(w, field, about->description);
}

/* The option that the server has in addition to the engine's. */
static void encode_max_arm_failures(wire_writer *w)
{
    const wire_algorithm_field *field = algorithm_field(MAX_ARM_FAILURES_NAME);
    encode_begin(w, field);
    wire_integer_value(w, MAX_ARM_FAILURES_DEFAULT);
    encode_end(w, field, "After this number of failures in a row, a candidate is withheld.");
}

static void encode_algorithm(wire_writer *w, bandit_algorithm algorithm)
{
    wire_object_begin(w);
    wire_string_member(w, "name", bandit_algorithm_name(algorithm));
    wire_string_member(w, "description", bandit_algorithm_about(algorithm)->description);
    wire_key(w, "parameters");
    wire_array_begin(w);
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
        if (i == BANDIT_OPTION_INIT) /* the two are listed together, since both apply to every algorithm */
            encode_max_arm_failures(w);
        if (bandit_algorithm_takes(algorithm, (bandit_option)i))
            encode_option(w, (bandit_option)i);
    }
    wire_array_end(w);
    wire_object_end(w);
}

void algorithm_list_encode(wire_writer *w)
{
    wire_object_begin(w);
    wire_key(w, "algorithms");
    wire_array_begin(w);
    for (unsigned a = 0; a < BANDIT_ALGORITHMS; a++)
        encode_algorithm(w, (bandit_algorithm)a);
    wire_array_end(w);
    wire_object_end(w);
}
