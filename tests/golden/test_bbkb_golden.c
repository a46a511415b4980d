/* The engine, through its public interface, against the runs of an independent program.
 *
 * Every file of tests/golden/cases is one test: the same picks, dictionaries and reasons to stop, and widths,
 * means, variances, effective dimension and information gain to 1e-8 relative. bbkb_reference.py computed
 * them by the dense and slow way, make_cases.py wrote them and says what the fields are. */
#include "bandit/engine.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER   "tests/golden/cases"
#define RELATIVE 1e-8

enum { MAX_CASES = 100, AT_LEAST = 21 };

static json_t *member(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!value)
        fail_msg("the case has no \"%s\"", name);
    return value;
}

static double number(const json_t *object, const char *name)
{
    json_t *value = member(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *name)
{
    return json_string_value(member(object, name));
}

/* The numbers of an array, the caller's; *n is their count. */
static double *numbers(const json_t *array, size_t *n)
{
    *n = json_array_size(array);
    double *out = malloc((*n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < *n; i++)
        out[i] = json_number_value(json_array_get(array, i));
    return out;
}

/* `size` is the scale below which a difference counts as absolute. */
static void assert_close(double ours, double theirs, double size, const char *what, size_t batch)
{
    double allowed = RELATIVE * fmax(fabs(theirs), size);
    if (!(fabs(ours - theirs) <= allowed))
        fail_msg("batch %zu: %s is %.17g, the reference says %.17g", batch, what, ours, theirs);
}

/* ---- the problem --------------------------------------------------------------------------------------- */

static bandit_arms *read_arms(const json_t *problem)
{
    const json_t *gram = json_object_get(problem, "gram");
    const json_t *rows = gram ? gram : member(problem, "features");
    size_t n = json_array_size(rows), width = json_array_size(json_array_get(rows, 0));
    const char *scaling = text(problem, "scaling");
    bandit_arms *arms;
    bandit_error err;

    bandit_status status =
        gram ? bandit_arms_new_precomputed(&arms, n, &err) : bandit_arms_new(&arms, n, width, &err);
    assert_int_equal(status, BANDIT_OK);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        double *row = numbers(json_array_get(rows, i), &length);
        assert_int_equal(length, width);
        assert_int_equal(bandit_arms_set_rows(arms, i, 1, row, &err), BANDIT_OK);
        free(row);
    }
    bandit_scaling how = strcmp(scaling, "standardize") == 0 ? BANDIT_SCALING_STANDARDIZE
                         : strcmp(scaling, "unit") == 0      ? BANDIT_SCALING_UNIT
                                                             : BANDIT_SCALING_NONE;
    assert_int_equal(bandit_arms_finish(arms, how, n, &err), BANDIT_OK);
    return arms;
}

static bandit_kernel read_kernel(const json_t *kernel, double **lengthscales)
{
    const char *type = text(kernel, "type");
    bandit_kernel out = {0};

    *lengthscales = numbers(json_object_get(kernel, "lengthscales"), &out.n_lengthscales);
    out.lengthscales = *lengthscales;
    if (strcmp(type, "gaussian") == 0)
        out.type = BANDIT_KERNEL_GAUSSIAN;
    else if (strcmp(type, "linear") == 0)
        out.type = BANDIT_KERNEL_LINEAR;
    else if (strcmp(type, "precomputed") == 0)
        out.type = BANDIT_KERNEL_PRECOMPUTED;
    else {
        assert_string_equal(type, "matern");
        out.type = BANDIT_KERNEL_MATERN;
        out.nu = number(kernel, "nu");
    }
    return out;
}

static bandit_options read_options(const json_t *o, double **lengthscales)
{
    bandit_options out = BANDIT_OPTIONS_INIT;
    const char *confidence = text(o, "confidence"), *resample = text(o, "resample");

    assert_true(bandit_algorithm_parse(&out.algorithm, text(o, "algorithm")));
    out.kernel = read_kernel(member(o, "kernel"), lengthscales);
    out.lambda = number(o, "lam");
    out.noise_std = number(o, "noise_std");
    out.norm_bound = number(o, "norm_bound");
    out.delta = number(o, "delta");
    out.q_bar = number(o, "q_bar");
    out.q_bar_theory = json_is_true(member(o, "q_bar_theory"));
    out.ratio_bound = number(o, "ratio_bound");
    out.beta = number(o, "beta");
    out.max_batch = (size_t)number(o, "max_batch");
    out.parallelism = number(o, "parallelism");
    out.horizon = (uint64_t)number(o, "horizon");
    out.seed = (uint64_t)json_integer_value(member(o, "seed"));
    out.confidence = strcmp(confidence, "theory") == 0  ? BANDIT_CONFIDENCE_THEORY
                     : strcmp(confidence, "fixed") == 0 ? BANDIT_CONFIDENCE_FIXED
                                                        : BANDIT_CONFIDENCE_PRACTICAL;
    if (strcmp(text(o, "batch_rule"), "global_local") == 0)
        out.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
    if (strcmp(resample, "persistent") == 0)
        out.resample = BANDIT_RESAMPLE_PERSISTENT;
    else if (strcmp(resample, "per_pull") == 0)
        out.resample = BANDIT_RESAMPLE_PER_PULL;
    else
        assert_string_equal(resample, "fresh");
    if (strcmp(text(o, "init"), "uncertainty") == 0)
        out.init = BANDIT_INIT_UNCERTAINTY;
    return out;
}

/* ---- one run ------------------------------------------------------------------------------------------- */

typedef struct run {
    const json_t *problem;
    bandit_options options;
    bandit_engine *engine;
    size_t n_arms, told, handed_out;
    bandit_pick *out; /* picks whose rewards are out, oldest first */
    size_t n_out, capacity;
    bandit_result *results;  /* capacity */
    double *mean, *variance; /* n_arms */
} run;

/* The next reward of an arm, by the rule that make_cases.py states. */
static bandit_result reward(run *r, uint32_t arm)
{
    const json_t *rewards = member(r->problem, "rewards"), *noise = member(r->problem, "noise");
    double error = json_number_value(json_array_get(noise, r->told++ % json_array_size(noise)));
    return (bandit_result){
        .arm = arm, .repeats = 1, .reward = json_number_value(json_array_get(rewards, arm)) + error};
}

/* Begins a batch with the rewards that the case says have come in. */
static void begin(run *r, const json_t *expected, size_t batch)
{
    size_t told = (size_t)number(expected, "told"), n = 0;
    const json_t *own = member(expected, "own");
    bandit_error err;

    assert_true(told <= r->n_out && told + json_array_size(own) <= r->capacity);
    for (; n < told; n++) {
        r->results[n] = reward(r, r->out[n].arm);
        r->results[n].chosen = true;
        r->results[n].variance = r->out[n].variance;
    }
    for (size_t i = 0; i < json_array_size(own); i++)
        r->results[n++] = reward(r, (uint32_t)json_integer_value(json_array_get(own, i)));
    r->n_out -= told;
    memmove(r->out, r->out + told, r->n_out * sizeof *r->out);
    if (bandit_engine_begin_batch(r->engine, r->results, n, r->out, r->n_out, &bandit_executor_serial,
                                  &err) != BANDIT_OK)
        fail_msg("batch %zu: %s", batch, err.message);
}

static void check_posterior(run *r, const json_t *expected, size_t batch)
{
    const json_t *probes = member(r->problem, "probes");
    size_t n_shown, n_variances;
    double *means = numbers(member(expected, "means"), &n_shown);
    double *variances = numbers(member(expected, "variances"), &n_variances);
    double sum_means = 0.0, sum_variances = 0.0, largest = 0.0;
    bandit_error err;

    for (uint32_t i = 0; i < r->n_arms; i++) {
        bandit_prediction p;
        assert_int_equal(bandit_engine_predict_arms(r->engine, &i, 1, &p, &err), BANDIT_OK);
        r->mean[i] = p.mean;
        r->variance[i] = p.variance / r->options.lambda;
        sum_means += r->mean[i];
        sum_variances += r->variance[i];
        largest = fmax(largest, fabs(p.mean));
    }
    assert_true(n_shown == r->n_arms || n_shown == json_array_size(probes));
    assert_int_equal(n_shown, n_variances);
    for (size_t i = 0; i < n_shown; i++) {
        size_t arm = n_shown == r->n_arms ? i : (size_t)json_integer_value(json_array_get(probes, i));
        /* A mean that nearly cancels is held to the scale of the others. */
        assert_close(r->mean[arm], means[i], 1e-2 * largest, "a mean", batch);
        assert_close(r->variance[arm], variances[i], 0.0, "a variance", batch);
    }
    assert_close(sum_means, number(expected, "sum_means"), largest, "the sum of the means", batch);
    assert_close(sum_variances, number(expected, "sum_variances"), 0.0, "the sum of the variances", batch);
    free(means);
    free(variances);
}

static void check_description(run *r, const json_t *expected, size_t batch)
{
    const json_t *dictionary = member(expected, "dictionary");
    bandit_description d;

    bandit_engine_describe(r->engine, &d);
    assert_int_equal(d.batch, batch);
    assert_int_equal(d.observations, r->told);
    bool same = d.n_dictionary == json_array_size(dictionary);
    for (size_t i = 0; same && i < d.n_dictionary; i++)
        same = d.dictionary[i] == json_integer_value(json_array_get(dictionary, i));
    if (!same)
        fail_msg("batch %zu: another dictionary than the reference's", batch);
    assert_close(d.beta, number(expected, "alpha"), 0.0, "alpha", batch);
    assert_close(d.effective_dimension, number(expected, "effective_dimension"), 0.0,
                 "the effective dimension", batch);
    assert_close(d.information_gain, number(expected, "information_gain"), 0.0, "the information gain",
                 batch);
}

static void check_picks(run *r, const bandit_selection *selection, const json_t *expected, size_t batch)
{
    static const char *const stops[] = {
        [BANDIT_STOP_INITIAL] = "initial",           [BANDIT_STOP_GLOBAL] = "global",
        [BANDIT_STOP_GLOBAL_LOCAL] = "global_local", [BANDIT_STOP_MAX_BATCH] = "max_batch",
        [BANDIT_STOP_HORIZON] = "horizon",           [BANDIT_STOP_SEQUENTIAL] = "sequential"};
    const json_t *picks = member(expected, "picks");
    const bandit_pick *new = r->out + r->n_out - selection->n_picks;

    for (size_t i = 0; i < selection->n_picks && i < json_array_size(picks); i++) {
        if (new[i].arm != json_integer_value(json_array_get(picks, i)))
            fail_msg("batch %zu, pick %zu: arm %u, the reference picks %d", batch, i, new[i].arm,
                     (int)json_integer_value(json_array_get(picks, i)));
        assert_close(new[i].variance, r->variance[new[i].arm], 0.0, "a pick's variance", batch);
    }
    if (selection->n_picks != json_array_size(picks))
        fail_msg("batch %zu: %zu picks, the reference has %zu", batch, selection->n_picks,
                 json_array_size(picks));
    assert_close(selection->ratio, number(expected, "ratio"), 0.0, "the ratio", batch);
    assert_true((size_t)selection->stop_rule < sizeof stops / sizeof *stops);
    assert_non_null(stops[selection->stop_rule]);
    assert_string_equal(stops[selection->stop_rule], text(expected, "stop"));
}

static bandit_selection choose(run *r)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;

    limits.max_picks = r->capacity - r->n_out;
    if (r->options.horizon > 0)
        limits.remaining = r->options.horizon - r->handed_out;
    assert_int_equal(bandit_engine_select(r->engine, &limits, &bandit_executor_serial, r->out + r->n_out,
                                          &selection, &err),
                     BANDIT_OK);
    r->n_out += selection.n_picks;
    r->handed_out += selection.n_picks;
    return selection;
}

/* The number of the first batch with a model. */
static size_t check_initial(run *r)
{
    const json_t *expected = member(r->problem, "initial");
    bandit_error err;

    if (json_array_size(expected) == 0) /* the study begins with history */
        return 0;
    assert_int_equal(bandit_engine_begin_batch(r->engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err),
                     BANDIT_OK);
    bandit_selection selection = choose(r);
    assert_int_equal(selection.n_picks, json_array_size(expected));
    assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
    for (size_t i = 0; i < r->n_out; i++)
        assert_int_equal(r->out[i].arm, json_integer_value(json_array_get(expected, i)));
    return 1;
}

static void follow(run *r)
{
    const json_t *batches = member(r->problem, "batches");

    size_t first = check_initial(r);
    assert_true(json_array_size(batches) > 5);
    for (size_t i = 0; i < json_array_size(batches); i++) {
        const json_t *expected = json_array_get(batches, i);
        begin(r, expected, first + i);
        check_description(r, expected, first + i);
        check_posterior(r, expected, first + i);
        bandit_selection selection = choose(r);
        check_picks(r, &selection, expected, first + i);
    }
}

static void case_test(void **state)
{
    json_error_t where;
    json_t *problem = json_load_file(*state, JSON_REJECT_DUPLICATES, &where);
    if (!problem)
        fail_msg("%s:%d: %s", (const char *)*state, where.line, where.text);

    double *lengthscales;
    bandit_error err;
    bandit_arms *arms = read_arms(problem);
    run r = {.problem = problem,
             .options = read_options(member(problem, "options"), &lengthscales),
             .n_arms = bandit_arms_count(arms),
             .capacity = 10000};
    r.out = malloc(r.capacity * sizeof *r.out);
    r.results = malloc(r.capacity * sizeof *r.results);
    r.mean = malloc(r.n_arms * sizeof *r.mean);
    r.variance = malloc(r.n_arms * sizeof *r.variance);
    assert_true(r.out && r.results && r.mean && r.variance);
    if (bandit_engine_new(&r.engine, arms, &r.options, 0, &err) != BANDIT_OK)
        fail_msg("%s: %s", err.field, err.message);

    follow(&r);

    bandit_engine_free(r.engine);
    bandit_arms_free(arms);
    free(r.out);
    free(r.results);
    free(r.mean);
    free(r.variance);
    free(lengthscales);
    json_decref(problem);
}

static int is_case(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

int main(void)
{
    struct CMUnitTest tests[MAX_CASES];
    char paths[MAX_CASES][sizeof FOLDER + 256];
    struct dirent **entries;

    int n = scandir(FOLDER, &entries, is_case, alphasort);
    if (n < AT_LEAST || n > MAX_CASES) {
        fprintf(stderr, "%d cases in " FOLDER " (run it from the project's folder)\n", n);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", FOLDER, entries[i]->d_name);
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
        tests[i] = (struct CMUnitTest){
            .name = entries[i]->d_name, .test_func = case_test, .initial_state = paths[i]};
    }
    int failed = _cmocka_run_group_tests("golden", tests, (size_t)n, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return failed;
}
