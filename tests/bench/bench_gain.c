/* What an ask under log_ei costs on a list, against bbkb on the same posterior: CPU milliseconds to begin a batch
 * and to choose its picks, on one thread, and their ratio; a row for each number of candidates, noise and picks.
 *
 * Both engines begin with the same rewards of a smooth function, then take one more for each batch, so that their
 * dictionaries are the same. Medians of REPEATS batches. An argument is the largest number of candidates. */
#include "bandit/engine.h"
#include "tests/bench/problem.h"
#include "tests/bench/rates.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 7, HISTORY = 300, DIMENSION = 6, MOST_PICKS = 96 };

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "bench_gain: %s: %s\n", what, detail);
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

/* The reward that a study gets as its `index`-th, of an arm that nobody chose. */
static bandit_result result_of(const bench_problem *problem, double noise, size_t index)
{
    uint32_t arm = (uint32_t)((index * 2654435761u + 12345u) % problem->n);
    return (bandit_result){
        .arm = arm, .repeats = 1, .reward = problem->rewards[arm] - 0.5 + noise * bench_normal(index)};
}

/* An engine and the CPU milliseconds of its batches. */
typedef struct timed_engine {
    bandit_engine *engine;
    double begins[REPEATS], selects[REPEATS];
} timed_engine;

static void start(timed_engine *t, const bench_problem *problem, bandit_algorithm algorithm, double noise)
{
    static const double lengthscale = 2.5;
    bandit_result history[HISTORY];
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_error err;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = 1;
    o.noise_std = noise;
    o.lambda = noise > 0.0 ? noise * noise : 1e-6;
    o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
    must(bandit_engine_new(&t->engine, problem->arms, &o, 0, &err), &err);
    for (size_t i = 0; i < HISTORY; i++)
        history[i] = result_of(problem, noise, i);
    must(bandit_engine_begin_batch(t->engine, history, HISTORY, NULL, 0, &bandit_executor_serial, &err),
         &err);
}

static void run_batch(timed_engine *t, const bandit_result *result, size_t n_picks, double *begin,
                      double *select)
{
    bandit_pick picks[MOST_PICKS];
    bandit_selection selection;
    bandit_error err;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = n_picks;
    limits.beyond_bound = true;
    double begun = bench_cpu_seconds();
    must(bandit_engine_begin_batch(t->engine, result, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    double selecting = bench_cpu_seconds();
    must(bandit_engine_select(t->engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    *begin = 1e3 * (selecting - begun);
    *select = 1e3 * (bench_cpu_seconds() - selecting);
}

static double median(double *list)
{
    qsort(list, REPEATS, sizeof *list, compare_doubles);
    return list[REPEATS / 2];
}

/* Prints the medians of both algorithms. Their batches take turns, so that a change of the machine's speed weighs on both. */
static void compare(const bench_problem *problem, double noise, size_t n_picks)
{
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_LOG_EI};
    timed_engine engines[2];
    double begin[2], select[2];
    size_t dictionary[2];
    for (size_t a = 0; a < 2; a++)
        start(&engines[a], problem, algorithms[a], noise);
    for (size_t i = 0; i < REPEATS + 2; i++) {
        bandit_result one = result_of(problem, noise, HISTORY + i);
        size_t at = i < 2 ? 0 : i - 2; /* the first batches keep a reference for those to come */
        for (size_t a = 0; a < 2; a++)
            run_batch(&engines[a], &one, n_picks, &engines[a].begins[at], &engines[a].selects[at]);
    }
    for (size_t a = 0; a < 2; a++) {
        bandit_description description;
        bandit_engine_describe(engines[a].engine, &description);
        dictionary[a] = description.n_dictionary;
        bandit_engine_free(engines[a].engine);
        begin[a] = median(engines[a].begins);
        select[a] = median(engines[a].selects);
    }
    printf("%10zu  %5.2g  %5zu  %5zu, %5zu  %14.1f %8.1f  %14.1f %8.1f  %6.2f\n", problem->n, noise, n_picks,
           dictionary[0], dictionary[1], begin[0], select[0], begin[1], select[1],
           (begin[1] + select[1]) / (begin[0] + select[0]));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {10000, 100000, 1000000}, picks[] = {1, MOST_PICKS};
    static const double noises[] = {0.0, 0.1};
    double most = argc > 1 ? atof(argv[1]) : 1e6;
    openblas_set_num_threads(1);
    printf(
        "candidates  noise  picks   dictionary     bbkb: begin   select   log_ei: begin   select   ratio\n");
    for (size_t i = 0; i < 3 && (double)counts[i] <= most; i++) {
        bench_problem problem = bench_problem_synthetic(counts[i], DIMENSION);
        for (size_t j = 0; j < 2; j++)
            for (size_t k = 0; k < 2; k++)
                compare(&problem, noises[j], picks[k]);
        bench_problem_clear(&problem);
    }
    return 0;
}
