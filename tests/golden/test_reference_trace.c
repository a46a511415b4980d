/* The engine's parts, driven step by step, against a trace recorded by an implementation of other hands:
 * $BANDITD_DATA/reference/trace_small.json, its Batch_BKB cases. Its dictionaries, first log-sum and first
 * width are taken as given (its `note` says why); chosen arms must be the same, and means, variances,
 * log-sums and later widths agree to 1e-8 relative. */
#include "core/posterior/ledger.h"
#include "core/posterior/sparse_posterior.h"
#include "core/selection/confidence.h"
#include "core/selection/selection.h"

#include "tests/support/must.h"
#include "tests/support/skip.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RELATIVE 1e-8

static json_t *trace; /* NULL: not at hand */

static double at(const json_t *array, size_t i)
{
    assert_true(i < json_array_size(array));
    return json_number_value(json_array_get(array, i));
}

static double number(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        fail_msg("the trace has no number \"%s\" here", name);
    return json_number_value(value);
}

static void assert_close(double ours, double theirs, const char *what, size_t t0)
{
    if (!(fabs(ours - theirs) <= RELATIVE * fabs(theirs)))
        fail_msg("at t = %zu %s is %.17g, the trace says %.17g", t0, what, ours, theirs);
}

typedef struct replay {
    bandit_arms *arms;
    double lengthscale;
    bandit_options options;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_selector selector;
    bandit_ledger ledger;
    bandit_log_sums log_sums;
    size_t n, told;
    double *mean, *variance; /* n */
    uint32_t *dictionary;
    size_t n_dictionary;
} replay;

static void open_case(replay *r, const json_t *c)
{
    const json_t *rows = json_object_get(trace, "X");
    size_t dimension = json_array_size(json_array_get(rows, 0));
    double *row = malloc(dimension * sizeof *row);
    bandit_error err;

    *r = (replay){.n = json_array_size(rows), .lengthscale = number(c, "s"), .options = BANDIT_OPTIONS_INIT};
    r->options.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &r->lengthscale, .n_lengthscales = 1};
    r->options.lambda = number(c, "lam");
    r->options.noise_std = sqrt(number(c, "noise_variance"));
    r->options.norm_bound = number(c, "F");
    r->options.delta = number(c, "delta");
    r->options.ratio_bound = number(c, "C");
    r->mean = malloc(r->n * sizeof *r->mean);
    r->variance = malloc(r->n * sizeof *r->variance);
    r->dictionary = malloc(r->n * sizeof *r->dictionary);
    assert_true(row && r->mean && r->variance && r->dictionary);

    must(bandit_arms_new(&r->arms, r->n, dimension, &err), &err);
    for (size_t i = 0; i < r->n; i++) {
        for (size_t j = 0; j < dimension; j++)
            row[j] = at(json_array_get(rows, i), j);
        must(bandit_arms_set_rows(r->arms, i, 1, row, &err), &err);
    }
    must(bandit_arms_finish(r->arms, BANDIT_SCALING_NONE, r->n, &err), &err);
    must(bandit_covariance_init(&r->covariance, &r->options.kernel, r->arms, &err), &err);
    free(row);
}

static void close_case(replay *r)
{
    bandit_selector_clear(&r->selector);
    bandit_posterior_clear(&r->posterior);
    bandit_covariance_clear(&r->covariance);
    bandit_ledger_clear(&r->ledger);
    bandit_arms_free(r->arms);
    free(r->mean);
    free(r->variance);
    free(r->dictionary);
}

/* Noiseless rewards of these arms join the ledger; `chosen`: and the log-sum, by the engine's rule. */
static void tell(replay *r, const json_t *arms, bool chosen)
{
    size_t n = json_array_size(arms);
    bandit_result *results = calloc(n + 1, sizeof *results);
    bandit_ledger next = {0};
    bandit_error err;

    assert_non_null(results);
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = (uint32_t)at(arms, i);
        results[i] = (bandit_result){.arm = arm,
                                     .repeats = 1,
                                     .reward = at(json_object_get(trace, "y"), arm),
                                     .chosen = chosen,
                                     .variance = chosen ? r->variance[arm] : 0.0};
    }
    must(bandit_ledger_add(&next, &r->ledger, r->n, results, n, &err), &err);
    bandit_ledger_clear(&r->ledger);
    r->ledger = next;
    if (chosen) {
        must(bandit_log_sums_add(&r->log_sums, &r->posterior, results, n, &err), &err);
        r->told += n;
    }
    free(results);
}

static void build(replay *r, const json_t *dictionary)
{
    bandit_error err;
    if (dictionary) {
        r->n_dictionary = json_array_size(dictionary);
        for (size_t i = 0; i < r->n_dictionary; i++)
            r->dictionary[i] = (uint32_t)at(dictionary, i);
    }
    must(bandit_posterior_build(&r->posterior, &r->covariance, r->options.lambda, r->dictionary,
                                r->n_dictionary, r->ledger.sums, r->ledger.n, &err),
         &err);
    bandit_posterior_evaluate_plainly(&r->posterior); /* the trace has more digits than the cancelling form */
    must(bandit_posterior_evaluate_all(&r->posterior, &bandit_executor_serial, r->mean, r->variance, &err),
         &err);
}

static void check_start(const replay *r, const json_t *c, const json_t *batch)
{
    const json_t *probes = json_object_get(c, "probe_arms");
    double sum_means = 0.0, sum_variances = 0.0;

    for (size_t i = 0; i < r->n; i++) {
        sum_means += r->mean[i];
        sum_variances += r->variance[i];
    }
    assert_true(json_array_size(probes) > 0);
    for (size_t i = 0; i < json_array_size(probes); i++) {
        size_t arm = (size_t)at(probes, i);
        assert_close(r->mean[arm], at(json_object_get(batch, "probe_means"), i), "a mean", r->told);
        assert_close(r->variance[arm], at(json_object_get(batch, "probe_variances"), i), "a variance",
                     r->told);
    }
    assert_close(sum_means, number(batch, "sum_means"), "the sum of the means", r->told);
    assert_close(sum_variances, number(batch, "sum_variances"), "the sum of the variances", r->told);
    assert_close(r->log_sums.c1, number(batch, "logdet"), "the log-sum", r->told);
}

/* The batch's picks, by the global rule; the trace cuts its last batch at the horizon. */
static void check_batch(replay *r, const json_t *batch, double alpha, size_t horizon)
{
    const json_t *arms = json_object_get(batch, "arms"), *top = json_object_get(batch, "top2");
    double ratio = 1.0;
    size_t n = 0;
    bandit_error err;

    must(bandit_selector_start(&r->selector, &r->posterior, alpha, r->mean, r->variance, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        double value = bandit_selector_value(&r->selector, (uint32_t)at(top, i));
        assert_close(value, at(json_object_get(batch, "ucb_top2"), i), "a bound at the top", r->told);
    }
    do {
        uint32_t arm;
        assert_true(bandit_selector_best(&r->selector, NULL, 0, &arm));
        if (n >= json_array_size(arms) || arm != (uint32_t)at(arms, n))
            fail_msg("at t = %zu, pick %zu of %zu is arm %u", r->told, n, json_array_size(arms), arm);
        ratio += bandit_selector_hallucinate(&r->selector, arm);
        n++;
    } while (ratio <= r->options.ratio_bound && r->told + n < horizon);
    if (n != json_array_size(arms))
        fail_msg("at t = %zu the batch ends after %zu picks, the trace's after %zu", r->told, n,
                 json_array_size(arms));
}

static void check_final(replay *r, const json_t *c)
{
    const json_t *final = json_object_get(c, "final_state");
    const json_t *means = json_object_get(final, "means"), *variances = json_object_get(final, "variances");

    build(r, json_object_get(final, "dict"));
    assert_int_equal(json_array_size(means), r->n);
    for (size_t i = 0; i < r->n; i++) {
        assert_close(r->mean[i], at(means, i), "a final mean", r->told);
        assert_close(r->variance[i], at(variances, i), "a final variance", r->told);
    }
    assert_close(r->log_sums.c1, number(final, "logdet"), "the final log-sum", r->told);
    assert_close(bandit_confidence_alpha(&r->options, &r->log_sums), number(final, "beta"), "the final width",
                 r->told);
}

static void case_test(void **state)
{
    if (!trace)
        skip_because("set BANDITD_DATA to a folder that holds reference/trace_small.json");
    const json_t *c = *state, *init = json_object_get(c, "init_state");
    const json_t *batches = json_object_get(c, "batches");
    size_t horizon = json_array_size(json_object_get(c, "arms"));
    replay r;

    open_case(&r, c);
    tell(&r, json_object_get(c, "init"), false);
    r.log_sums.c1 = number(init, "logdet");
    build(&r, json_object_get(init, "dict"));
    assert_true(json_array_size(batches) > 0);
    for (size_t i = 0; i < json_array_size(batches); i++) {
        const json_t *batch = json_array_get(batches, i);
        double alpha = number(batch, "beta");
        if (i > 0) {
            build(&r, json_object_get(batch, "dict"));
            assert_close(bandit_confidence_alpha(&r.options, &r.log_sums), alpha, "the width", r.told);
        }
        check_start(&r, c, batch);
        check_batch(&r, batch, alpha, horizon);
        tell(&r, json_object_get(batch, "arms"), true);
    }
    assert_int_equal(r.told, horizon);
    check_final(&r, c);
    close_case(&r);
}

int main(void)
{
    enum { MAX_CASES = 50 };
    struct CMUnitTest tests[MAX_CASES] = {{.name = "Batch_BKB", .test_func = case_test}};
    char names[MAX_CASES][64];
    size_t n = 0;
    const char *folder = getenv("BANDITD_DATA");
    char path[4096];

    if (folder) {
        json_error_t where;
        snprintf(path, sizeof path, "%s/reference/trace_small.json", folder);
        trace = json_load_file(path, 0, &where);
        if (!trace && access(path, F_OK) == 0) {
            fprintf(stderr, "%s:%d: %s\n", path, where.line, where.text);
            return 1;
        }
    }
    const json_t *cases = json_object_get(trace, "cases");
    for (size_t i = 0; i < json_array_size(cases) && n < MAX_CASES; i++) {
        json_t *c = json_array_get(cases, i);
        const char *algorithm = json_string_value(json_object_get(c, "algo"));
        const char *rule = json_string_value(json_object_get(c, "dict_rule"));
        if (!algorithm || strcmp(algorithm, "Batch_BKB") != 0)
            continue;
        snprintf(names[n], sizeof names[n], "Batch_BKB %zu: dictionary %s", i, rule ? rule : "?");
        tests[n] = (struct CMUnitTest){.name = names[n], .test_func = case_test, .initial_state = c};
        n++;
    }
    if (trace && n == 0) {
        fprintf(stderr, "%s has no Batch_BKB case\n", path);
        return 1;
    }
    int failed = _cmocka_run_group_tests("reference trace", tests, n > 0 ? n : 1, NULL, NULL);
    json_decref(trace);
    return failed;
}
