/* What an ask costs on a space of doubles: milliseconds to begin a batch and to choose its picks, one row for
 * each number of parameters and of members of the dictionary, on one thread.
 *
 * Rewards come from a fixed smooth function at as many points of a low-discrepancy design as the dictionary
 * is to have members, with small noise, so that none is left out. Medians of REPEATS batches. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 7, PICKS = 10, MOST_PARAMETERS = 20 };

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "bench_space: %s: %s\n", what, detail);
    exit(1);
}

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK)
        fail(bandit_status_text(status), err->message);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

static double reward(const bandit_arms *arms, uint32_t arm, size_t d)
{
    double x[MOST_PARAMETERS], sum = 0.0;
    bandit_arms_coded(arms, arm, x);
    for (size_t j = 0; j < d; j++)
        sum += sin(5.0 * x[j] + (double)j) / sqrt((double)d);
    return sum;
}

/* One pick at a time from batches whose model holds `members` rewards. */
static void row(bandit_algorithm algorithm, size_t d, size_t members)
{
    bandit_parameter parameters[MOST_PARAMETERS];
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_error err = {0};
    double lengthscale = 0.3 * sqrt((double)d), begin[REPEATS], first[REPEATS], next[REPEATS];
    for (size_t i = 0; i < d; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    must(bandit_arms_new_space(&arms, parameters, d, &err), &err);
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = 1;
    o.lambda = 1e-4;
    o.noise_std = 0.01;
    o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);

    bandit_pick *picks = calloc(members + PICKS, sizeof *picks);
    bandit_result *results = calloc(members + PICKS, sizeof *results);
    if (!picks || !results)
        fail("out of memory", "");
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    limits.beyond_bound = true;
    limits.max_picks = members;
    must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    size_t n = selection.n_picks, members_now = 0;
    for (int k = 0; k < REPEATS; k++) {
        for (size_t i = 0; i < n; i++)
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = reward(arms, picks[i].arm, d),
                                         .chosen = true,
                                         .variance = picks[i].variance};
        double start = milliseconds();
        must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
        begin[k] = milliseconds() - start;
        bandit_description about;
        bandit_engine_describe(engine, &about);
        if (k == 0)
            members_now = about.n_dictionary;
        limits.max_picks = 1;
        start = milliseconds();
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
        first[k] = milliseconds() - start;
        limits.max_picks = PICKS - 1;
        start = milliseconds();
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks + 1, &selection, &err),
             &err);
        next[k] = (milliseconds() - start) / (PICKS - 1);
        n = 1; /* of ten picks one is told, so that the model hardly grows */
    }
    printf("| %s | %zu | %zu | %.1f | %.1f | %.1f |\n", bandit_algorithm_name(algorithm), d, members_now,
           median(begin, REPEATS), median(first, REPEATS), median(next, REPEATS));
    fflush(stdout);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    free(picks);
    free(results);
}

int main(void)
{
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_EI, BANDIT_S_GP_TS};
    openblas_set_num_threads(1);
    printf("| algorithm | parameters | members | begin, ms | first pick, ms | further picks, ms each |\n");
    printf("|---|---:|---:|---:|---:|---:|\n");
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        row(algorithms[a], 2, 50);
        row(algorithms[a], 6, 100);
        row(algorithms[a], 6, 300);
        row(algorithms[a], 20, 100);
        row(algorithms[a], 20, 300);
    }
    return 0;
}
