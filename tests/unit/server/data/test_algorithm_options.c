/* The options of algorithms: proto's fields and the engine's options say the same of one another, and what the
 * server fills in is what the engine takes. */
#include "server/data/algorithm_options.h"

#include "bandit/engine.h"
#include "server/data/definition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_word(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void every_field_is_an_option(void **state)
{
    size_t n = 0;
    (void)state;
    for (const wire_algorithm_field *field = wire_algorithm_fields; field->name; field++, n++) {
        bool is_option = false;
        for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++)
            is_option |= strcmp(bandit_option_about((bandit_option)i)->name, field->name) == 0;
        assert_int_equal(is_option, strcmp(field->name, MAX_ARM_FAILURES_NAME) != 0);
    }
    assert_int_equal(n, BANDIT_OPTION_COUNT + 1);
}

static void fields_and_options_have_the_same_ranges(void **state)
{
    size_t numbers = 0;
    (void)state;
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
        const bandit_option_info *about = bandit_option_about((bandit_option)i);
        const wire_range *range = &algorithm_field(about->name)->range;
        if (about->kind != BANDIT_OPTION_IS_REAL && about->kind != BANDIT_OPTION_IS_INTEGER)
            continue;
        if (range->min != about->low || range->open_min != about->above_low)
            fail_msg("%s: from %g, and from %g", about->name, range->min, about->low);
        if (isfinite(about->high) && (range->max != about->high || range->open_max != about->below_high))
            fail_msg("%s: to %g, and to %g", about->name, range->max, about->high);
        numbers++;
    }
    assert_true(numbers > 15);
}

/* "fixed" is written as an object with `beta`, or as a number. */
static void fields_and_options_have_the_same_words(void **state)
{
    size_t enumerations = 0;
    (void)state;
    for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
        const bandit_option_info *about = bandit_option_about((bandit_option)i);
        const char *const *words = algorithm_field(about->name)->words;
        if (about->kind != BANDIT_OPTION_IS_WORD)
            continue;
        for (size_t k = 0; words[k]; k++)
            assert_true(has_word(about->words, words[k]));
        for (size_t k = 0; about->words[k]; k++)
            assert_int_equal(has_word(words, about->words[k]), strcmp(about->words[k], "fixed") != 0);
        enumerations++;
    }
    assert_int_equal(enumerations, 11);
}

/* Words are set in the order of the enumerations. */
static void words_are_the_enumerations(void **state)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    (void)state;
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_BATCH_RULE, "global_local"));
    assert_int_equal(o.batch_rule, BANDIT_BATCH_GLOBAL_LOCAL);
    static const bandit_confidence confidences[] = {BANDIT_CONFIDENCE_PRACTICAL, BANDIT_CONFIDENCE_THEORY,
                                                    BANDIT_CONFIDENCE_FIXED, BANDIT_CONFIDENCE_CALIBRATED};
    static const char *const names[] = {"practical", "theory", "fixed", "calibrated"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(bandit_option_set_word(&o, BANDIT_OPTION_CONFIDENCE, names[i]));
        assert_int_equal(o.confidence, confidences[i]);
    }
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_RESAMPLE, "persistent"));
    assert_int_equal(o.resample, BANDIT_RESAMPLE_PERSISTENT);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_RESAMPLE, "per_pull"));
    assert_int_equal(o.resample, BANDIT_RESAMPLE_PER_PULL);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_INIT, "uncertainty"));
    assert_int_equal(o.init, BANDIT_INIT_UNCERTAINTY);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_GAMMA, "bound"));
    assert_int_equal(o.gamma, BANDIT_GAMMA_BOUND);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_POSTERIOR, "features"));
    assert_int_equal(o.posterior, BANDIT_POSTERIOR_FEATURES);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_POSTERIOR, "dtc"));
    assert_int_equal(o.posterior, BANDIT_POSTERIOR_DTC);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_FEATURES, "eigen"));
    assert_int_equal(o.features, BANDIT_FEATURES_EIGEN);
    assert_true(bandit_option_set_word(&o, BANDIT_OPTION_IN_FLIGHT, "near"));
    assert_int_equal(o.in_flight, BANDIT_IN_FLIGHT_NEAR);
    assert_false(bandit_option_set_word(&o, BANDIT_OPTION_FEATURES, "fourier"));
    assert_int_equal(o.features, BANDIT_FEATURES_EIGEN);
}

/* The text of lambda's option names the algorithms that have a default of their own. */
static void lambda_names_its_exceptions(void **state)
{
    const char *text = bandit_option_about(BANDIT_OPTION_LAMBDA)->description;
    (void)state;
    for (unsigned a = 0; a < BANDIT_ALGORITHMS; a++) {
        char name[40];
        snprintf(name, sizeof name, " %s", bandit_algorithm_name((bandit_algorithm)a));
        bool named = false;
        for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
            named |= strchr(" ,.", at[strlen(name)]) != NULL;
        assert_int_equal(named, bandit_algorithm_about((bandit_algorithm)a)->lambda_by_horizon);
    }
}

/* A study that says no more than its algorithm's name. */
static study_config *completed(const char *name, const char *more)
{
    char text[400];
    wire_errors errors = {0};
    wire_study *study;
    study_config *config;
    snprintf(text, sizeof text,
             "{\"metric\":{\"name\":\"y\",\"goal\":\"maximize\"},\"domain\":{\"type\":\"candidates\","
             "\"dimension\":2},\"algorithm\":{\"name\":\"%s\"%s}}",
             name, more);
    assert_int_equal(study_config_decode(&study, text, strlen(text), &errors), WIRE_OK);
    assert_int_equal(study_config_complete(study, &errors), WIRE_OK);
    assert_int_equal(study_config_new(&config, study, &errors), WIRE_OK);
    wire_errors_clear(&errors);
    return config;
}

/* Of every algorithm: all that applies is filled in but for gamma_scale and what is of spaces or of learn_from only, nothing else is, and
 * options with a default of the engine's have it. */
static void defaults_are_the_engines(void **state)
{
    const bandit_options defaults = BANDIT_OPTIONS_INIT;
    (void)state;
    for (unsigned a = 0; a < BANDIT_ALGORITHMS; a++) {
        bandit_algorithm algorithm = (bandit_algorithm)a;
        study_config *config = completed(bandit_algorithm_name(algorithm), "");
        assert_int_equal(config->options.algorithm, algorithm);
        for (unsigned i = 0; i < BANDIT_OPTION_COUNT; i++) {
            bandit_option option = (bandit_option)i;
            const bandit_option_info *about = bandit_option_about(option);
            bool given = wire_field_is_given(&config->wire->algorithm, algorithm_field(about->name));
            bool expected = bandit_algorithm_takes(algorithm, option) &&
                            option != BANDIT_OPTION_GAMMA_SCALE && option != BANDIT_OPTION_IN_FLIGHT &&
                            option != BANDIT_OPTION_WARP_UNIT &&  /* of spaces */
                            option != BANDIT_OPTION_REFERENCE &&  /* of several objectives */
                            option != BANDIT_OPTION_SOURCE_TRUST; /* of learn_from */
            if (given != expected)
                fail_msg("%s: %s", bandit_algorithm_name(algorithm), about->name);
            if (!about->has_default)
                continue;
            if (about->kind == BANDIT_OPTION_IS_WORD)
                assert_string_equal(bandit_option_word(&config->options, option),
                                    bandit_option_word(&defaults, option));
            else
                assert_true(bandit_option_number(&config->options, option) ==
                            bandit_option_number(&defaults, option));
        }
        assert_int_equal(config->max_arm_failures, MAX_ARM_FAILURES_DEFAULT);
        study_config_free(config);
    }
}

/* What is given arrives in the engine's options. */
static void given_options_arrive(void **state)
{
    study_config *config = completed(
        "gp_ucb", ",\"gamma\":\"bound\",\"delta\":0.25,\"noise_std\":0.5,\"standardize_rewards\":false");
    (void)state;
    assert_int_equal(config->options.gamma, BANDIT_GAMMA_BOUND);
    assert_true(config->options.gamma_scale == 1.0);
    assert_true(config->wire->algorithm.gamma_scale.given);
    assert_true(config->options.delta == 0.25);
    assert_true(config->options.noise_std == 0.5 && config->options.lambda == 0.25);
    assert_false(config->options.learn_noise || config->options.standardize_rewards);
    study_config_free(config);
    config = completed("gp_ucb", ",\"gamma\":3.5");
    assert_int_equal(config->options.gamma, BANDIT_GAMMA_FIXED);
    assert_true(config->options.gamma_value == 3.5);
    study_config_free(config);
    config = completed("bbkb", ",\"confidence\":{\"beta\":2},\"q_bar\":\"theory\",\"max_batch\":7");
    assert_int_equal(config->options.confidence, BANDIT_CONFIDENCE_FIXED);
    assert_true(config->options.beta == 2.0 && config->options.q_bar_theory);
    assert_int_equal(config->options.max_batch, 7);
    study_config_free(config);
    config = completed("regularized_evolution", ",\"population\":4");
    assert_int_equal(config->options.population, 4);
    assert_int_equal(config->options.sample, 4);
    study_config_free(config);
    config = completed("igp_ucb", ",\"init\":{\"type\":\"uncertainty\",\"parallelism\":5}");
    assert_int_equal(config->options.init, BANDIT_INIT_UNCERTAINTY);
    assert_true(config->options.parallelism == 5.0 && config->options.lambda == 1.0);
    study_config_free(config);
}

/* Noise or a kernel that is given leaves scale and mean to be learned; the papers' options do not. */
static void what_is_given_does_not_end_learning(void **state)
{
    static const char *const learned[] = {
        "",
        ",\"noise_std\":2",
        ",\"noise_std\":0",
        ",\"kernel\":{\"type\":\"gaussian\",\"lengthscale\":0.5}",
        ",\"noise_std\":2,\"kernel\":{\"type\":\"linear\"},\"confidence\":{\"beta\":2}",
        ",\"lambda\":\"auto\",\"norm_bound\":\"auto\",\"noise_std\":2",
    };
    static const char *const papers[] = {
        ",\"standardize_rewards\":false",
        ",\"norm_bound\":1",
        ",\"lambda\":0.25",
        ",\"confidence\":\"theory\"",
    };
    (void)state;
    for (size_t i = 0; i < sizeof learned / sizeof *learned; i++) {
        study_config *config = completed("bbkb", learned[i]);
        const bandit_options *o = &config->options;
        if (!o->standardize_rewards || !o->learn_norm_bound || !o->lambda_from_noise)
            fail_msg("%s ends the learning of scale and mean", learned[i]);
        assert_int_equal(o->learn_noise, !strstr(learned[i], "noise_std"));
        assert_true(o->learn_noise || o->noise_std == (strstr(learned[i], ":0") ? 0.0 : 2.0));
        study_config_free(config);
    }
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++) {
        char fields[96];
        snprintf(fields, sizeof fields, ",\"noise_std\":0.5%s", papers[i]);
        study_config *config = completed("bbkb", fields);
        const bandit_options *o = &config->options;
        if (o->standardize_rewards || o->learn_norm_bound || o->lambda_from_noise)
            fail_msg("%s does not select the papers' units", papers[i]);
        assert_true(o->norm_bound == 1.0 && o->lambda == 0.25 && o->noise_std == 0.5);
        study_config_free(config);
    }
    study_config *both = completed("bbkb", ",\"norm_bound\":3,\"standardize_rewards\":true");
    assert_true(both->options.standardize_rewards && both->options.norm_bound == 3.0);
    study_config_free(both);
}

/* A definition of a space, completed as a new study's is, or as it was stored. NULL: it is refused. */
static study_config *of_space(const char *name, const char *domain, const char *more, bool complete)
{
    char text[512];
    wire_study *study = NULL;
    study_config *config = NULL;
    wire_errors errors = {0};
    snprintf(text, sizeof text,
             "{\"metric\":{\"name\":\"y\",\"goal\":\"maximize\"},\"domain\":%s,"
             "\"algorithm\":{\"name\":\"%s\"%s}}",
             domain, name, more);
    assert_int_equal(study_config_decode(&study, text, strlen(text), &errors), WIRE_OK);
    if (complete && study_config_complete(study, &errors) != WIRE_OK)
        wire_study_free(study);
    else
        assert_int_equal(study_config_new(&config, study, &errors), WIRE_OK);
    wire_errors_clear(&errors);
    return config;
}

/* New studies of spaces have it; what was stored before there was a choice keeps its picks; lists have none. */
static void points_in_flight_of_spaces(void **state)
{
    static const char space[] =
        "{\"type\":\"space\",\"parameters\":[{\"name\":\"x\",\"type\":\"double\",\"min\":0,\"max\":1}]}";
    static const char list[] = "{\"type\":\"candidates\",\"dimension\":2}";
    (void)state;
    study_config *config = of_space("gp_ei", space, "", true);
    assert_int_equal(config->options.in_flight, BANDIT_IN_FLIGHT_NEAR);
    assert_string_equal(config->wire->algorithm.in_flight, "near");
    study_config_free(config);
    config = of_space("log_ei", space, "", true);
    assert_int_equal(config->options.in_flight, BANDIT_IN_FLIGHT_SURPASS);
    assert_string_equal(config->wire->algorithm.in_flight, "surpass");
    study_config_free(config);
    config = of_space("gp_ei", space, ",\"in_flight\":\"all\"", true);
    assert_int_equal(config->options.in_flight, BANDIT_IN_FLIGHT_ALL);
    study_config_free(config);
    assert_null(of_space("gp_ei", list, ",\"in_flight\":\"all\"", true));
    config = of_space("gp_ei", list, "", true);
    assert_null(config->wire->algorithm.in_flight);
    study_config_free(config);
}

/* New studies have the latest revision; what was stored before there were revisions has the first one. */
static void revisions_of_new_and_of_stored_studies(void **state)
{
    static const char list[] = "{\"type\":\"candidates\",\"dimension\":2}";
    (void)state;
    study_config *config = of_space("bbkb", list, "", true);
    assert_int_equal(config->options.revision, BANDIT_LATEST_REVISION);
    assert_int_equal(config->wire->algorithm.revision.value, BANDIT_LATEST_REVISION);
    study_config_free(config);
    config = of_space("log_ei", list, ",\"revision\":1", true);
    assert_int_equal(config->options.revision, BANDIT_FIRST_REVISION);
    study_config_free(config);
    static const char stored[] = ",\"kernel\":{\"type\":\"linear\"}";
    config = of_space("log_ei", list, stored, false);
    assert_false(config->wire->algorithm.revision.given);
    assert_int_equal(config->options.revision, BANDIT_FIRST_REVISION);
    study_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_an_option),
        cmocka_unit_test(fields_and_options_have_the_same_ranges),
        cmocka_unit_test(fields_and_options_have_the_same_words),
        cmocka_unit_test(words_are_the_enumerations),
        cmocka_unit_test(lambda_names_its_exceptions),
        cmocka_unit_test(defaults_are_the_engines),
        cmocka_unit_test(given_options_arrive),
        cmocka_unit_test(what_is_given_does_not_end_learning),
        cmocka_unit_test(points_in_flight_of_spaces),
        cmocka_unit_test(revisions_of_new_and_of_stored_studies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
