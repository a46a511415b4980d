/* The algorithm of a study and its options. Which option applies to which algorithm is the server's
 * knowledge; what no algorithm takes is refused here. */
#include "proto/decode_study.h"

#include <float.h>
#include <stdlib.h>

static const char *const word_auto[] = {"auto", NULL};

/* "practical", "theory", "calibrated" or {"beta": b}, kept as "fixed" and beta. */
static void fill_confidence(wire_object *o, wire_algorithm *algorithm)
{
    static const char *const words[] = {"practical", "theory", "calibrated", NULL};
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

/* {"type": "uniform"} or {"type": "uncertainty", "parallelism": P} */
static void fill_init(wire_object *o, wire_algorithm *algorithm)
{
    static const char *const types[] = {"uniform", "uncertainty", NULL};
    const json_t *json = wire_take(o, "init", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "init");
    wire_object init;
    if (!json || !wire_object_open(&init, o->decoder, &at, json))
        return;
    size_t type = 1; /* when it is not known, do not refuse the parallelism as well */
    if (wire_take_word(&init, "type", WIRE_REQUIRED, types, &type))
        algorithm->init = wire_duplicate(o->decoder, types[type]);
    if (type == 0)
        wire_forbid(&init, "parallelism", "applies to the type \"uncertainty\" only");
    else
        wire_take_number(&init, "parallelism", &wire_positive, NULL, &algorithm->parallelism);
    wire_object_close(&init);
}

void wire_fill_algorithm(wire_object *definition, wire_study *study)
{
    static const char *const names[] = {
        "bbkb",    "bkb",       "gp_ucb", "igp_ucb", "gp_bucb",        "gp_ts",   "async_ts",
        "s_gp_ts", "pi_gp_ucb", "gp_ei",  "gp_pi",   "epsilon_greedy", "uniform", "regularized_evolution",
        NULL,
    };
    static const char *const theory[] = {"theory", NULL};
    static const char *const gammas[] = {"exact", "bound", NULL};
    static const char *const batch_rules[] = {"global", "global_local", NULL};
    static const char *const resamples[] = {"fresh", "persistent", "per_pull", NULL};
    static const char *const posteriors[] = {"svgp", "dtc", "features", NULL};
    static const char *const features[] = {"rff", "eigen", NULL};
    static const wire_range delta = {.min = 0, .open_min = true, .max = 1, .open_max = true};
    static const wire_range ratio_bound = {.min = 1, .max = DBL_MAX};

    wire_algorithm *a = &study->algorithm;
    const json_t *json = wire_take(definition, "algorithm", WIRE_OPTIONAL);
    wire_place at = wire_place_member(definition->place, "algorithm");
    wire_object o;
    if (!json || !wire_object_open(&o, definition->decoder, &at, json))
        return;
    a->given = true;
    wire_take_word_text(&o, "name", WIRE_OPTIONAL, names, &a->name);
    wire_fill_kernel(&o, &a->kernel);
    wire_take_number(&o, "lambda", &wire_positive, word_auto, &a->lambda);
    wire_take_number(&o, "noise_std", &wire_nonnegative, word_auto, &a->noise_std);
    wire_take_number(&o, "norm_bound", &wire_nonnegative, word_auto, &a->norm_bound);
    wire_take_number(&o, "delta", &delta, NULL, &a->delta);
    wire_take_number(&o, "q_bar", &wire_positive, theory, &a->q_bar);
    wire_take_number(&o, "ratio_bound", &ratio_bound, NULL, &a->ratio_bound);
    wire_take_word_text(&o, "batch_rule", WIRE_OPTIONAL, batch_rules, &a->batch_rule);
    fill_confidence(&o, a);
    wire_take_word_text(&o, "resample", WIRE_OPTIONAL, resamples, &a->resample);
    wire_take_given_integer(&o, "max_batch", 1, WIRE_MAX_BATCH, &a->max_batch);
    wire_take_given_integer(&o, "max_arm_failures", 1, WIRE_MAX_COUNT, &a->max_arm_failures);
    a->standardize_rewards_given = wire_take_boolean(&o, "standardize_rewards", &a->standardize_rewards);
    fill_init(&o, a);
    wire_take_number(&o, "gamma", &wire_nonnegative, gammas, &a->gamma);
    wire_take_number(&o, "gamma_scale", &wire_positive, NULL, &a->gamma_scale);
    wire_take_number(&o, "scale", &wire_positive, NULL, &a->scale);
    wire_take_number(&o, "epsilon", &wire_fraction, NULL, &a->epsilon);
    wire_take_number(&o, "zeta", &wire_nonnegative, NULL, &a->zeta);
    wire_take_given_integer(&o, "population", 1, WIRE_MAX_COUNT, &a->population);
    wire_take_given_integer(&o, "sample", 1, WIRE_MAX_COUNT, &a->sample);
    wire_take_word_text(&o, "posterior", WIRE_OPTIONAL, posteriors, &a->posterior);
    wire_take_word_text(&o, "features", WIRE_OPTIONAL, features, &a->features);
    wire_take_given_integer(&o, "inducing", 0, WIRE_MAX_COUNT, &a->inducing);
    wire_take_given_integer(&o, "prior_features", 0, WIRE_MAX_COUNT, &a->prior_features);
    wire_take_given_integer(&o, "dpp_steps", 0, WIRE_MAX_COUNT, &a->dpp_steps);
    wire_take_given_integer(&o, "initial_cells", 0, WIRE_MAX_COUNT, &a->initial_cells);
    if (a->sample.given && a->population.given && a->sample.value > a->population.value) {
        wire_place sample = wire_place_member(&at, "sample");
        wire_refuse(o.decoder, &sample, "must be at most the population");
    }
    wire_object_close(&o);
}

void wire_algorithm_clear(wire_algorithm *algorithm)
{
    free(algorithm->name);
    free(algorithm->kernel.type);
    free(algorithm->kernel.lengthscales);
    free(algorithm->confidence);
    free(algorithm->batch_rule);
    free(algorithm->resample);
    free(algorithm->init);
    free(algorithm->posterior);
    free(algorithm->features);
}
