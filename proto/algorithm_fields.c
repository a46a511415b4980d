#include "proto/algorithm_fields.h"

#include <float.h>
#include <stddef.h>

#define FIELD(is, member) .name = #member, .kind = WIRE_FIELD_##is, .offset = offsetof(wire_algorithm, member)
#define ABOVE(bound)      .range = {.min = (bound), .open_min = true, .max = DBL_MAX}
#define AT_LEAST(bound)   .range = {.min = (bound), .max = DBL_MAX}
#define WORDS(...)                                                                                           \
    .words = (const char *const[])                                                                           \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

/* clang-format off */
const wire_algorithm_field wire_algorithm_fields[] = {
    {FIELD(KERNEL, kernel)},
    {FIELD(NUMBER, lambda), ABOVE(0), WORDS("auto")},
    {FIELD(NUMBER, noise_std), AT_LEAST(0), WORDS("auto")},
    {FIELD(NUMBER, norm_bound), AT_LEAST(0), WORDS("auto")},
    {FIELD(NUMBER, delta), .range = {.open_min = true, .max = 1, .open_max = true}},
    {FIELD(NUMBER, q_bar), ABOVE(0), WORDS("theory")},
    {FIELD(NUMBER, ratio_bound), AT_LEAST(1)},
    {FIELD(WORD, batch_rule), WORDS("global", "global_local")},
    {FIELD(CONFIDENCE, confidence), WORDS("practical", "theory", "calibrated")},
    {FIELD(WORD, resample), WORDS("fresh", "persistent", "per_pull")},
    {FIELD(INTEGER, max_batch), .range = {.min = 1, .max = WIRE_MAX_BATCH}},
    {FIELD(INTEGER, max_arm_failures), .range = {.min = 1, .max = WIRE_MAX_COUNT}},
    {FIELD(SWITCH, standardize_rewards)},
    {FIELD(INIT, init), WORDS("uniform", "uncertainty", "spread")},
    {FIELD(NUMBER, gamma), AT_LEAST(0), WORDS("exact", "bound")},
    {FIELD(NUMBER, gamma_scale), ABOVE(0)},
    {FIELD(NUMBER, scale), ABOVE(0)},
    {FIELD(NUMBER, epsilon), .range = {.max = 1}},
    {FIELD(NUMBER, zeta), AT_LEAST(0)},
    {FIELD(NUMBER, agreeing_repeats), .range = {.max = 1}},
    {FIELD(WORD, warp_unit), WORDS("quartiles", "better_half", "in_turn")},
    {FIELD(WORD, source_trust), WORDS("evidence", "agreement")},
    {FIELD(WORD, reference), WORDS("quartile", "second_worst")},
    {FIELD(INTEGER, population), .range = {.min = 1, .max = WIRE_MAX_COUNT}},
    {FIELD(INTEGER, sample), .range = {.min = 1, .max = WIRE_MAX_COUNT}},
    {FIELD(WORD, posterior), WORDS("svgp", "dtc", "features")},
    {FIELD(WORD, features), WORDS("rff", "eigen")},
    {FIELD(INTEGER, inducing), .range = {.min = 0, .max = WIRE_MAX_COUNT}},
    {FIELD(INTEGER, prior_features), .range = {.min = 0, .max = WIRE_MAX_COUNT}},
    {FIELD(INTEGER, dpp_steps), .range = {.min = 0, .max = WIRE_MAX_COUNT}},
    {FIELD(INTEGER, initial_cells), .range = {.min = 0, .max = WIRE_MAX_COUNT}},
    {FIELD(WORD, in_flight), WORDS("all", "near", "once", "surpass")},
    {FIELD(INTEGER, revision), .range = {.min = 1, .max = 11}},
    {.name = NULL},
};
/* clang-format on */

bool wire_field_is_given(const wire_algorithm *algorithm, const wire_algorithm_field *field)
{
    const void *value = wire_field_value(algorithm, field);
    switch (field->kind) {
    case WIRE_FIELD_NUMBER:
        return ((const wire_number *)value)->given;
    case WIRE_FIELD_INTEGER:
        return ((const wire_integer *)value)->given;
    case WIRE_FIELD_WORD:
    case WIRE_FIELD_CONFIDENCE:
    case WIRE_FIELD_INIT:
        return *(char *const *)value != NULL;
    case WIRE_FIELD_SWITCH:
        return algorithm->standardize_rewards_given;
    case WIRE_FIELD_KERNEL:
        return algorithm->kernel.given;
    }
    return false;
}
