/* Runs one study through the engine library, no server, and prints what came of it as one JSON object.
 *
 *   run_study < run.json
 *
 *   "problem"    path of a JSON file: {"points": [[…], …]} or {"kernel": [[…], …]}, and "means": […], the
 *                arms' expected rewards
 *   "study"      a definition as POST /v1/studies takes it
 *   "steps"      evaluations in all
 *   "noise"      {"type": "gaussian", "std": …} or {"type": "uniform", "width": …} (on [−width, width]), or
 *                {"type": "given", "values": […]}, one an evaluation
 *   "in_flight"  picks per batch where the algorithm has no rule of its own (async_ts); default: its rule
 *   "history"    rewards of so many uniformly drawn arms that are known from the start; or {"arms": […]}
 *   "seed"       of noise and history
 *   "cap"        CPU seconds of the engine after which the run ends early
 *   "predict"    true: also mean, std and ucb of every arm at the end
 *
 * The answer's curves are taken at the steps "t": cumulative regret, the gap of the best arm evaluated so
 * far, CPU seconds in the engine's calls. Regret is of expected rewards. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "server/data/definition.h"

#include "tests/bench/rates.h"

#include <cblas.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "run_study: %s: %s\n", what, detail);
    exit(1);
}

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK)
        fail(bandit_status_text(status), err->message);
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);
    if (!p)
        fail("memory", "none left");
    return p;
}

/* ---- the problem --------------------------------------------------------------------------------------- */

typedef struct problem {
    bandit_arms *arms;
    size_t n;
    double *means; /* n */
    double best, average;
} problem;

static void read_row(double *out, const json_t *row, size_t n, const char *what)
{
    if (json_array_size(row) != n)
        fail(what, "rows of different lengths");
    for (size_t j = 0; j < n; j++)
        out[j] = json_number_value(json_array_get(row, j));
}

static problem read_problem(const char *path, bandit_scaling scaling)
{
    json_error_t at;
    json_t *root = json_load_file(path, 0, &at);
    bandit_error err;
    problem p = {0};
    if (!root)
        fail(path, at.text);
    const json_t *points = json_object_get(root, "points"), *kernel = json_object_get(root, "kernel");
    const json_t *means = json_object_get(root, "means"), *rows = points ? points : kernel;

    p.n = json_array_size(rows);
    if (p.n == 0)
        fail(path, "points or kernel, and means, are needed");
    size_t dimension = json_array_size(json_array_get(rows, 0));
    must(points ? bandit_arms_new(&p.arms, p.n, dimension, &err)
                : bandit_arms_new_precomputed(&p.arms, p.n, &err),
         &err);
    double *row = allocate(dimension, sizeof *row);
    for (size_t i = 0; i < p.n; i++) {
        read_row(row, json_array_get(rows, i), dimension, path);
        must(bandit_arms_set_rows(p.arms, i, 1, row, &err), &err);
    }
    free(row);
    must(bandit_arms_finish(p.arms, scaling, p.n, &err), &err);

    p.means = allocate(p.n, sizeof *p.means);
    read_row(p.means, means, p.n, path);
    p.best = -INFINITY;
    for (size_t i = 0; i < p.n; i++) {
        p.best = fmax(p.best, p.means[i]);
        p.average += p.means[i] / (double)p.n;
    }
    json_decref(root);
    return p;
}

static void clear_problem(problem *p)
{
    bandit_arms_free(p->arms);
    free(p->means);
}

/* ---- the run's settings -------------------------------------------------------------------------------- */

static study_config *read_study(const json_t *study)
{
    wire_errors errors = {0};
    wire_study *definition = NULL;
    study_config *config = NULL;
    char *text = json_dumps(study, 0);
    if (!text)
        fail("study", "missing");
    bool fine = study_config_decode(&definition, text, strlen(text), &errors) == WIRE_OK &&
                study_config_complete(definition, &errors) == WIRE_OK &&
                study_config_new(&config, definition, &errors) == WIRE_OK;
    if (!fine)
        fail(errors.n > 0 ? errors.items[0].pointer : "study",
             errors.n > 0 ? errors.items[0].detail : "not a definition");
    free(text);
    wire_errors_clear(&errors);
    return config;
}

typedef struct noise {
    enum { NOISE_GAUSSIAN, NOISE_UNIFORM, NOISE_GIVEN } type;
    double size;
    uint64_t seed;
    const json_t *values;
} noise;

static noise read_noise(const json_t *spec, uint64_t seed)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    noise out = {.seed = ~seed};

    if (type && strcmp(type, "gaussian") == 0) {
        out.type = NOISE_GAUSSIAN;
        out.size = json_number_value(json_object_get(spec, "std"));
    } else if (type && strcmp(type, "uniform") == 0) {
        out.type = NOISE_UNIFORM;
        out.size = json_number_value(json_object_get(spec, "width"));
    } else if (type && strcmp(type, "given") == 0) {
        out.type = NOISE_GIVEN;
        out.values = json_object_get(spec, "values");
    } else {
        fail("noise", "gaussian, uniform or given");
    }
    return out;
}

/* Noise of evaluation t, from 1; the seed is the complement of the study's, so that the streams are apart. */
static double draw(const noise *from, size_t t)
{
    switch (from->type) {
    case NOISE_GAUSSIAN:
        return from->size * bandit_random_normal(from->seed, t, BANDIT_PURPOSE_UNIFORM, 0);
    case NOISE_UNIFORM:
        return from->size * (2.0 * bandit_random_uniform(from->seed, t, BANDIT_PURPOSE_UNIFORM, 0) - 1.0);
    case NOISE_GIVEN:
        break;
    }
    if (t > json_array_size(from->values))
        fail("noise", "fewer values than evaluations");
    return json_number_value(json_array_get(from->values, t - 1));
}

/* ---- the run ------------------------------------------------------------------------------------------- */

typedef struct record {
    json_t *t, *regret, *gap, *seconds, *batches, *dictionary;
    double sum_regret, best_gap, cpu;
} record;

static bool is_mark(size_t t, size_t steps)
{
    if (t <= 10 || t == steps)
        return true;
    double per_decade = 40.0;
    double before = floor(per_decade * log10((double)t - 1.0)), now = floor(per_decade * log10((double)t));
    return now > before || t % 500 == 0;
}

static void append(json_t *array, double value)
{
    if (json_array_append_new(array, json_real(value)) != 0)
        fail("answer", "no memory");
}

static void take(record *r, const problem *p, size_t t, size_t steps, uint32_t arm)
{
    double gap = p->best - p->means[arm];

    r->sum_regret += gap;
    r->best_gap = fmin(r->best_gap, gap);
    if (is_mark(t, steps)) {
        append(r->t, (double)t);
        append(r->regret, r->sum_regret);
        append(r->gap, r->best_gap);
        append(r->seconds, r->cpu);
    }
}

/* Rewards that are known before the first pick. */
static size_t known_before(bandit_result **out, const json_t *spec, const problem *p, const noise *noises,
                           uint64_t seed)
{
    const json_t *arms = json_object_get(spec, "arms");
    size_t n = arms ? json_array_size(arms) : (size_t)json_integer_value(spec);

    *out = allocate(n, sizeof **out);
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = arms ? (uint32_t)json_integer_value(json_array_get(arms, i))
                            : (uint32_t)bandit_random_below(~seed, i, BANDIT_PURPOSE_INITIAL_ARM, 1, p->n);
        if (arm >= p->n)
            fail("history", "no such arm");
        double reward = p->means[arm] + draw(noises, SIZE_MAX / 2 + i);
        (*out)[i] = (bandit_result){.arm = arm, .repeats = 1, .reward = reward};
    }
    return n;
}

static void predict(json_t *answer, const bandit_engine *engine, const problem *p)
{
    bandit_prediction *all = allocate(p->n, sizeof *all);
    uint32_t *arms = allocate(p->n, sizeof *arms);
    json_t *mean = json_array(), *std = json_array();
    bandit_error err;

    for (size_t i = 0; i < p->n; i++)
        arms[i] = (uint32_t)i;
    must(bandit_engine_predict_arms(engine, arms, p->n, all, &err), &err);
    for (size_t i = 0; i < p->n; i++) {
        append(mean, all[i].mean);
        append(std, sqrt(all[i].variance));
    }
    json_object_set_new(answer, "mean", mean);
    json_object_set_new(answer, "std", std);
    free(all);
    free(arms);
}

static json_t *run(const json_t *spec, const problem *p, const study_config *config)
{
    const bandit_options *options = &config->options;
    size_t steps = (size_t)json_integer_value(json_object_get(spec, "steps"));
    size_t in_flight = (size_t)json_integer_value(json_object_get(spec, "in_flight"));
    const json_t *cap_given = json_object_get(spec, "cap");
    double cap = cap_given ? json_number_value(cap_given) : INFINITY;
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(spec, "seed"));
    noise noises = read_noise(json_object_get(spec, "noise"), seed);
    record r = {.t = json_array(),
                .regret = json_array(),
                .gap = json_array(),
                .seconds = json_array(),
                .batches = json_array(),
                .dictionary = json_array(),
                .best_gap = INFINITY};
    size_t room = in_flight > 0 ? in_flight : options->max_batch;
    bandit_pick *picks = allocate(room, sizeof *picks);
    bandit_result *results = allocate(room, sizeof *results), *history = NULL;
    bandit_engine *engine = NULL;
    bandit_error err;
    size_t n_history = known_before(&history, json_object_get(spec, "history"), p, &noises, seed);
    const bandit_result *next = history;
    size_t n_next = n_history, done = 0;
    bool goes_on = true;

    double cpu = bench_cpu_seconds();
    must(bandit_engine_new(&engine, p->arms, options, 0, &err), &err);
    while (goes_on) {
        bandit_description d;
        bandit_selection selection = {0};
        must(bandit_engine_begin_batch(engine, next, n_next, NULL, 0, &bandit_executor_serial, &err), &err);
        bandit_engine_describe(engine, &d);
        if (done < steps) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            limits.max_picks = room < steps - done ? room : steps - done;
            limits.remaining = steps - done;
            limits.beyond_bound = in_flight > 0;
            must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err),
                 &err);
        }
        r.cpu += bench_cpu_seconds() - cpu;
        for (size_t i = 0; i < selection.n_picks; i++) {
            done++;
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = p->means[picks[i].arm] + draw(&noises, done),
                                         .chosen = true,
                                         .variance = picks[i].variance};
            take(&r, p, done, steps, picks[i].arm);
        }
        if (selection.n_picks > 0) {
            append(r.batches, (double)selection.n_picks);
            append(r.dictionary, (double)d.n_dictionary);
        }
        next = results;
        n_next = selection.n_picks;
        goes_on = n_next > 0 && r.cpu < cap;
        cpu = bench_cpu_seconds();
    }

    json_t *answer =
        json_pack("{sI so so so so so so sf sf sb}", "steps", (json_int_t)done, "t", r.t, "regret", r.regret,
                  "gap", r.gap, "seconds", r.seconds, "batches", r.batches, "dictionary", r.dictionary,
                  "uniform_regret", p->best - p->average, "cpu_seconds", r.cpu, "capped", done < steps);
    if (json_is_true(json_object_get(spec, "predict")))
        predict(answer, engine, p);
    bandit_engine_free(engine);
    free(picks);
    free(results);
    free(history);
    return answer;
}

int main(void)
{
    json_error_t at;
    json_t *spec = json_loadf(stdin, JSON_REJECT_DUPLICATES, &at);
    if (!spec)
        fail("standard input", at.text);
    const char *path = json_string_value(json_object_get(spec, "problem"));
    if (!path)
        fail("problem", "missing");
    study_config *config = read_study(json_object_get(spec, "study"));
    problem p = read_problem(path, config->scaling);
    json_t *answer = run(spec, &p, config);
    char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        fail("answer", "no memory");
    puts(text);
    free(text);
    json_decref(answer);
    json_decref(spec);
    clear_problem(&p);
    study_config_free(config);
    return 0;
}
