/* What an ask costs with three objectives and two bounds, against one objective on the same list: CPU milliseconds to
 * begin a batch and to choose its picks, on one thread, and their ratio divided by the number of metrics.
 *
 * Both engines learn as studies do. They begin with the same results of arms that nobody chose, then take as many for
 * each batch as it has picks. Medians of REPEATS batches. Arguments: the numbers of candidates and of results. */
#include "bandit/engine.h"
#include "tests/bench/problem.h"
#include "tests/bench/rates.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 5, DIMENSION = 6, METRICS = 5, MOST_PICKS = 96 };

typedef struct results {
    bandit_result *list;
    double (*others)[METRICS - 1];
} results;

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "bench_several: %s: %s\n", what, detail);
    exit(1);
}

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK)
        fail(bandit_status_text(status), err->message);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A smooth function of the arm's features, another one for each metric, and noise. */
static double value_of(uint32_t arm, size_t metric, size_t index)
{
    const uint64_t first = (uint64_t)1 << 40; /* of the features, as in bench_problem_synthetic */
    double sum = 0.05 * bench_normal(METRICS * index + metric);
    for (size_t j = 0; j < DIMENSION; j++) {
        double x = bench_normal(first + (uint64_t)arm * DIMENSION + j);
        sum += sin(x * (1.0 + 0.1 * (double)metric) + (double)(j + 2 * metric)) / sqrt((double)DIMENSION);
    }
    return sum;
}

static results draw_results(const bench_problem *problem, size_t n)
{
    results r = {.list = calloc(n, sizeof *r.list), .others = calloc(n, sizeof *r.others)};
    if (!r.list || !r.others)
        fail("out of memory", "");
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = (uint32_t)((i * 2654435761u + 12345u) % problem->n);
        for (size_t j = 1; j < METRICS; j++)
            r.others[i][j - 1] = value_of(arm, j, i);
        r.list[i] =
            (bandit_result){.arm = arm, .repeats = 1, .reward = value_of(arm, 0, i), .others = r.others[i]};
    }
    return r;
}

static bandit_options options(const bandit_metric *metrics, size_t n_metrics)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = BANDIT_LOG_EI;
    o.revision = BANDIT_LATEST_REVISION;
    o.learn_lengthscale = o.learn_noise = o.standardize_rewards = true;
    o.lambda_from_noise = o.warp_rewards = true;
    o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
    o.metrics = metrics;
    o.n_metrics = n_metrics;
    return o;
}

/* Median CPU milliseconds of begin_batch and of a select of n_picks picks. */
static void measure(const bench_problem *problem, const results *r, size_t n_results, size_t n_picks,
                    const bandit_metric *metrics, size_t n_metrics, double *begin_ms, double *select_ms)
{
    bandit_options o = options(metrics, n_metrics);
    bandit_pick picks[MOST_PICKS];
    bandit_selection selection;
    bandit_engine *engine;
    bandit_error err;
    double begins[REPEATS], selects[REPEATS];
    must(bandit_engine_new(&engine, problem->arms, &o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, r->list, n_results, NULL, 0, &bandit_executor_serial, &err), &err);
    for (size_t i = 0; i < REPEATS + 1; i++) {
        const bandit_result *more = r->list + n_results + i * n_picks;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.max_picks = n_picks;
        limits.beyond_bound = true;
        double start = bench_cpu_seconds();
        must(bandit_engine_begin_batch(engine, more, n_picks, NULL, 0, &bandit_executor_serial, &err), &err);
        double begun = bench_cpu_seconds();
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
        if (i == 0)
            continue; /* the first batch keeps a reference for those to come */
        begins[i - 1] = 1e3 * (begun - start);
        selects[i - 1] = 1e3 * (bench_cpu_seconds() - begun);
    }
    bandit_engine_free(engine);
    qsort(begins, REPEATS, sizeof *begins, compare_doubles);
    qsort(selects, REPEATS, sizeof *selects, compare_doubles);
    *begin_ms = begins[REPEATS / 2];
    *select_ms = selects[REPEATS / 2];
}

int main(int argc, char **argv)
{
    static const size_t picks[] = {1, MOST_PICKS};
    const bandit_metric metrics[METRICS] = {
        {.objective = true, .has_threshold = true, .threshold = 0.0, .low = -INFINITY, .high = INFINITY},
        {.objective = true, .has_threshold = true, .threshold = 0.0, .low = -INFINITY, .high = INFINITY},
        {.objective = true, .has_threshold = true, .threshold = 0.0, .low = -INFINITY, .high = INFINITY},
        {.low = -0.5, .high = INFINITY},
        {.low = -0.5, .high = 0.5},
    };
    size_t n = argc > 1 ? (size_t)atof(argv[1]) : 100000, n_results = argc > 2 ? (size_t)atof(argv[2]) : 5000;
    openblas_set_num_threads(1);
    bench_problem problem = bench_problem_synthetic(n, DIMENSION);
    results r = draw_results(&problem, n_results + (size_t)(REPEATS + 1) * MOST_PICKS);
    printf("candidates  results  picks   one: begin   select   five: begin   select   ratio / 5\n");
    for (size_t k = 0; k < 2; k++) {
        double b[2], s[2];
        measure(&problem, &r, n_results, picks[k], NULL, 0, &b[0], &s[0]);
        measure(&problem, &r, n_results, picks[k], metrics, METRICS, &b[1], &s[1]);
        printf("%10zu  %7zu  %5zu  %11.1f %8.1f  %12.1f %8.1f  %10.2f\n", n, n_results, picks[k], b[0], s[0],
               b[1], s[1], (b[1] + s[1]) / (b[0] + s[0]) / METRICS);
        fflush(stdout);
    }
    bench_problem_clear(&problem);
    free(r.list);
    free(r.others);
    return 0;
}
