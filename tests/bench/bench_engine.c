/* Runs the engine alone, no server, on one problem, and prints what it cost as one JSON object.
 *
 *   bench_engine --data FILE.csv | --arms N --dimension D   (see problem.h)
 *     --bandwidth L --lambda X --ratio-bound C --steps T
 *     [--algorithm NAME] [--rule global|global_local] [--threads N] [--cap SECONDS] [--batches N] [--history
 * N] [--seed N]
 *
 * Pull s of the run earns the arm's reward plus noise of standard deviation 0.1; F = 1, q = 2, delta = 1/T,
 * the practical width, Gaussian kernel; algorithms other than bbkb have a Matérn 3/2 kernel, and s_gp_ts a
 * width divided by 10. With --history the study begins with one reward each of N arms spread over the set;
 * with --batches it ends after so many batches. The cap is in CPU seconds. Only the engine's calls are timed.
 */
#include "bandit/engine.h"

#include "core/base/stage_clock.h"
#include "tests/bench/pool.h"
#include "tests/bench/problem.h"
#include "tests/bench/rates.h"

#include <cblas.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_STD 0.1

typedef struct settings {
    const char *data;
    size_t n_arms, dimension, steps, batches, history, threads;
    double bandwidth, lambda, ratio_bound, cap;
    bandit_algorithm algorithm;
    bandit_batch_rule rule;
    uint64_t seed;
} settings;

/* What a run leaves behind. */
typedef struct outcome {
    double cpu, wall, model, dictionary_sum, regret;
    size_t told, batches, last_dictionary, engine_memory;
    bool capped;
    const char *code_path;
    json_t *curve, *picks;
} outcome;

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "bench_engine: %s: %s\n", what, detail);
    exit(1);
}

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK)
        fail(bandit_status_text(status), err->message);
}

/* ---- stages -------------------------------------------------------------------------------------------- */

static double stage_seconds[BANDIT_STAGES];

#ifdef BANDIT_PROFILE
bandit_stage bandit_stage_switch(bandit_stage next)
{
    static bandit_stage current = BANDIT_STAGE_OTHER;
    static double since;
    double now = bench_wall_seconds(); /* the process's CPU clock is a system call, too slow for a tile */
    bandit_stage left = current;

    stage_seconds[current] += now - since;
    since = now;
    current = next;
    return left;
}
static const bool profiled = true;
#else
static const bool profiled = false;
#endif

/* ---- settings ------------------------------------------------------------------------------------------ */

static double positive(const char *text, const char *name)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0))
        fail(name, "not a positive number");
    return value;
}

static settings parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"data", 1, NULL, 'd'},      {"arms", 1, NULL, 'a'},      {"dimension", 1, NULL, 'D'},
        {"bandwidth", 1, NULL, 'b'}, {"lambda", 1, NULL, 'l'},    {"ratio-bound", 1, NULL, 'c'},
        {"steps", 1, NULL, 't'},     {"rule", 1, NULL, 'r'},      {"threads", 1, NULL, 'j'},
        {"cap", 1, NULL, 'x'},       {"batches", 1, NULL, 'B'},   {"history", 1, NULL, 'h'},
        {"seed", 1, NULL, 's'},      {"algorithm", 1, NULL, 'A'}, {0}};
    settings s = {.batches = SIZE_MAX, .threads = 1, .cap = INFINITY, .seed = 1};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'd':
            s.data = optarg;
            break;
        case 'a':
            s.n_arms = (size_t)positive(optarg, "--arms");
            break;
        case 'D':
            s.dimension = (size_t)positive(optarg, "--dimension");
            break;
        case 'b':
            s.bandwidth = positive(optarg, "--bandwidth");
            break;
        case 'l':
            s.lambda = positive(optarg, "--lambda");
            break;
        case 'c':
            s.ratio_bound = positive(optarg, "--ratio-bound");
            break;
        case 't':
            s.steps = (size_t)positive(optarg, "--steps");
            break;
        case 'r':
            if (strcmp(optarg, "global_local") == 0)
                s.rule = BANDIT_BATCH_GLOBAL_LOCAL;
            else if (strcmp(optarg, "global") != 0)
                fail("--rule", "global or global_local");
            break;
        case 'j':
            s.threads = (size_t)positive(optarg, "--threads");
            break;
        case 'x':
            s.cap = positive(optarg, "--cap");
            break;
        case 'B':
            s.batches = (size_t)positive(optarg, "--batches");
            break;
        case 'h':
            s.history = (size_t)positive(optarg, "--history");
            break;
        case 'A':
            if (!bandit_algorithm_parse(&s.algorithm, optarg))
                fail("--algorithm", "no such algorithm");
            break;
        case 's':
            s.seed = (uint64_t)positive(optarg, "--seed");
            break;
        default:
            exit(2);
        }
    }
    if ((!s.data && (s.n_arms == 0 || s.dimension == 0)) || s.bandwidth == 0.0 || s.lambda == 0.0 ||
        s.ratio_bound == 0.0 || s.steps == 0)
        fail("arguments", "problem, bandwidth, lambda, ratio bound and steps are needed");
    if (profiled && s.threads > 1)
        fail("--threads", "the profile is of one thread");
    return s;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* One reward each of n arms spread over the set, which the engine did not choose. */
static size_t import_history(bandit_result *results, const bench_problem *p, size_t n, uint64_t *noise_index)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = (uint32_t)(i * (p->n / n));
        double noise = NOISE_STD * bench_normal((*noise_index)++);
        results[i] = (bandit_result){.arm = arm, .repeats = 1, .reward = p->rewards[arm] + noise};
    }
    return n;
}

static void mark(outcome *out)
{
    json_array_append_new(out->curve, json_pack("[I, f]", (json_int_t)out->told, out->cpu));
}

static outcome run(const settings *s, const bench_problem *p, const bandit_options *options,
                   const bandit_executor *executor, double dgemm_rate, double kernel_entry)
{
    outcome out = {.curve = json_array(), .picks = json_array()};
    size_t capacity = options->max_batch > s->history ? options->max_batch : s->history;
    bandit_pick *picks = malloc(capacity * sizeof *picks);
    bandit_result *results = malloc(capacity * sizeof *results);
    bandit_engine *engine = NULL;
    bandit_error err;
    uint64_t noise_index = 0;
    if (!picks || !results)
        fail("run", "no memory");

    double cpu = bench_cpu_seconds(), wall = bench_wall_seconds();
    must(bandit_engine_new(&engine, p->arms, options, 0, &err), &err);
    size_t n_results = s->history > 0 ? import_history(results, p, s->history, &noise_index) : 0;
    for (;;) {
        bandit_stage_switch(BANDIT_STAGE_OTHER);
        must(bandit_engine_begin_batch(engine, results, n_results, NULL, 0, executor, &err), &err);

        bandit_description d;
        bandit_engine_describe(engine, &d);
        out.code_path = d.code_path;
        if (d.n_dictionary > 0) {
            double m = (double)d.n_dictionary, arms = (double)p->n;
            out.batches++;
            out.dictionary_sum += m;
            out.last_dictionary = d.n_dictionary;
            out.model += m * m * arms / (0.9 * dgemm_rate) + kernel_entry * m * arms;
        }
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        limits.max_picks = capacity;
        limits.remaining = s->steps - out.told;
        must(bandit_engine_select(engine, &limits, executor, picks, &selection, &err), &err);
        out.cpu += bench_cpu_seconds() - cpu;
        out.wall += bench_wall_seconds() - wall;

        n_results = selection.n_picks;
        for (size_t i = 0; i < n_results; i++) {
            uint32_t arm = picks[i].arm;
            double noise = NOISE_STD * bench_normal(noise_index++);
            results[i] = (bandit_result){.arm = arm,
                                         .repeats = 1,
                                         .reward = p->rewards[arm] + noise,
                                         .chosen = true,
                                         .variance = picks[i].variance};
            out.regret += p->best - p->rewards[arm];
            json_array_append_new(out.picks, json_integer(arm));
        }
        out.told += n_results;
        mark(&out);
        out.capped = out.cpu > s->cap;
        if (out.told >= s->steps || out.capped || out.batches >= s->batches)
            break;
        cpu = bench_cpu_seconds();
        wall = bench_wall_seconds();
    }
    out.engine_memory = bandit_engine_memory(engine);
    bandit_engine_free(engine);
    free(picks);
    free(results);
    return out;
}

static json_t *stages_json(void)
{
    if (!profiled)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f}", "kernel", stage_seconds[BANDIT_STAGE_KERNEL], "product",
                     stage_seconds[BANDIT_STAGE_PRODUCT], "factor", stage_seconds[BANDIT_STAGE_FACTOR],
                     "selection", stage_seconds[BANDIT_STAGE_SELECTION]);
}

int main(int argc, char **argv)
{
    settings s = parse(argc, argv);
    openblas_set_num_threads(1);
    bench_problem problem =
        s.data ? bench_problem_read(s.data) : bench_problem_synthetic(s.n_arms, s.dimension);
    bandit_options options = BANDIT_OPTIONS_INIT;
    options.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &s.bandwidth, .n_lengthscales = 1};
    if (s.algorithm != BANDIT_BBKB)
        options.kernel = (bandit_kernel){
            .type = BANDIT_KERNEL_MATERN, .nu = 1.5, .lengthscales = &s.bandwidth, .n_lengthscales = 1};
    options.algorithm = s.algorithm;
    options.scale = s.algorithm == BANDIT_S_GP_TS ? 10.0 : 1.0;
    options.lambda = s.lambda;
    options.noise_std = NOISE_STD;
    options.delta = 1.0 / (double)s.steps;
    options.ratio_bound = s.ratio_bound;
    options.batch_rule = s.rule;
    options.horizon = s.steps;
    options.seed = s.seed;

    bench_pool *pool = bench_pool_new(s.threads);
    bandit_executor executor = s.threads == 1 ? bandit_executor_serial : bench_pool_executor(pool);
    double dgemm_rate = bench_dgemm_rate(), kernel_entry = bench_kernel_entry(problem.arms, &options.kernel);

    bench_memory_mark();
    size_t before = bench_memory_now();
    memset(stage_seconds, 0, sizeof stage_seconds);
    outcome out = run(&s, &problem, &options, &executor, dgemm_rate, kernel_entry);
    size_t peak = bench_memory_peak();
    double mb = 1024.0 * 1024.0;

    json_t *json = json_pack(
        "{s:I, s:I, s:f, s:f, s:f, s:I, s:b, s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s, "
        "s:o, "
        "s:o, "
        "s:o}",
        "arms", (json_int_t)problem.n, "dimension", (json_int_t)problem.dimension, "cpu_seconds", out.cpu,
        "wall_seconds", out.wall, "parallel_seconds", bench_pool_parallel_seconds(pool), "steps",
        (json_int_t)out.told, "capped", out.capped, "batches", (json_int_t)out.batches, "dictionary_mean",
        out.batches > 0 ? out.dictionary_sum / (double)out.batches : 0.0, "dictionary_last",
        (json_int_t)out.last_dictionary, "regret_ratio",
        out.regret / (double)out.told / (problem.best - problem.average), "peak_mb",
        peak > before ? (double)(peak - before) / mb : 0.0, "engine_mb", (double)out.engine_memory / mb,
        "arms_mb", (double)bandit_arms_memory(problem.arms) / mb, "model_seconds", out.model, "dgemm_gflops",
        1e-9 * dgemm_rate, "kernel_entry_ns", 1e9 * kernel_entry, "blas_core", openblas_get_corename(),
        "code_path", out.code_path, "stages", stages_json(), "curve", out.curve, "picks", out.picks);
    if (!json || json_dumpf(json, stdout, JSON_COMPACT) != 0)
        fail("output", "cannot write");
    putchar('\n');
    json_decref(json);
    bench_pool_free(pool);
    bench_problem_clear(&problem);
    return 0;
}
