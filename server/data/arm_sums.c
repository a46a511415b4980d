#include "server/data/arm_sums.h"

#include "proto/arrays.h"
#include "proto/recorded_values.h"
#include "server/data/modelled.h"

#include <stdlib.h>

/* A result, with its place in the order in which the results joined the model. */
typedef struct joined_result {
    int64_t batch;
    int kind; /* 0: imported, 1: a trial's, 2: late */
    int64_t major, minor;
    size_t arm; /* index among the candidates */
    double rewards[WIRE_MAX_MODELLED], errors[WIRE_MAX_MODELLED];
    bool has_errors;
    int64_t repeats;
    int64_t trial, observation; /* for amendments: one of the two is set; 0 after an amendment was undone */
    bool has_value;
} joined_result;

typedef struct gathering {
    int64_t *through; /* by batch */
    size_t n_batches, batches_capacity;
    const uint32_t *candidates;
    size_t n_candidates;
    joined_result *results;
    size_t n, capacity;
    int64_t amended_through;
    const study_config *config;
    bool no_memory;
} gathering;

static void take_batch(void *arg, const store_batch *row)
{
    gathering *g = arg;
    if (wire_grow(&g->through, &g->batches_capacity, g->n_batches + 1, 64, sizeof *g->through))
        g->through[g->n_batches++] = row->through_seq;
    else
        g->no_memory = true;
}

/* The batch that took in the result at this log position: the first batch whose model reaches it. */
static int64_t batch_of(const gathering *g, int64_t seq)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, g->n_batches, i, g->through[i] < seq);
    return (int64_t)place;
}

static int compare_candidate(const void *key, const void *entry)
{
    int64_t wanted = *(const int64_t *)key, candidate = *(const uint32_t *)entry;
    return (wanted > candidate) - (wanted < candidate);
}

/* Sets the rewards, if there is a value. */
static void read_rewards(gathering *g, joined_result *result, double value, const char *recorded)
{
    result->has_errors = result->has_value && wire_has_std_errors(recorded);
    if (result->has_value && !modelled_rewards(g->config, value, recorded, result->rewards))
        g->no_memory = true;
    if (result->has_errors && !modelled_std_errors(g->config, recorded, result->errors))
        g->no_memory = true;
}

static void take(gathering *g, int64_t candidate, const joined_result *result)
{
    const uint32_t *found =
        bsearch(&candidate, g->candidates, g->n_candidates, sizeof *g->candidates, compare_candidate);
    if (!found)
        return;
    if (!wire_grow(&g->results, &g->capacity, g->n + 1, 64, sizeof *g->results)) {
        g->no_memory = true;
        return;
    }
    g->results[g->n] = *result;
    g->results[g->n++].arm = (size_t)(found - g->candidates);
}

static void take_observation(void *arg, const store_imported *row)
{
    gathering *g = arg;
    joined_result result = {.batch = batch_of(g, row->told_seq),
                            .kind = 0,
                            .major = row->observation,
                            .repeats = row->repeats,
                            .observation = row->observation,
                            .has_value = row->has_value};
    read_rewards(g, &result, row->value, row->recorded);
    take(g, row->candidate, &result);
}

static void take_trial(void *arg, const store_trial *row)
{
    gathering *g = arg;
    joined_result result = {.batch = batch_of(g, row->told_seq),
                            .kind = 1,
                            .major = row->trial,
                            .repeats = row->repeats,
                            .trial = row->trial,
                            .has_value = row->has_value};
    read_rewards(g, &result, row->value, row->recorded);
    take(g, row->candidate, &result);
}

static void take_late(void *arg, const store_late_result *row)
{
    gathering *g = arg;
    joined_result result = {.batch = batch_of(g, row->told_seq),
                            .kind = 2,
                            .major = row->trial,
                            .minor = row->attempt,
                            .repeats = row->repeats,
                            .has_value = true};
    read_rewards(g, &result, row->value, row->recorded);
    take(g, row->candidate, &result);
}

/* Rows are in the order of the log. The first amendment after the limit has the values that were valid at the limit. */
static void undo_amendment(void *arg, const store_amendment *row)
{
    gathering *g = arg;
    for (size_t i = 0; i < g->n; i++) {
        joined_result *result = &g->results[i];
        bool same = row->trial ? result->trial == row->trial : result->observation == row->observation;
        if (!same)
            continue;
        result->has_value = row->had_value;
        read_rewards(g, result, row->value, row->recorded);
        result->repeats = row->repeats;
        result->trial = result->observation = 0; /* later amendments replaced later values */
    }
}

static int compare_integers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_results(const void *x, const void *y)
{
    const joined_result *a = x, *b = y;
    if (a->batch != b->batch)
        return compare_integers(a->batch, b->batch);
    if (a->kind != b->kind)
        return a->kind - b->kind;
    if (a->major != b->major)
        return compare_integers(a->major, b->major);
    return compare_integers(a->minor, b->minor);
}

/* Adds the results up, in their order. */
static void add_up(const gathering *g, bandit_arm_sum *sums)
{
    size_t n = g->n_candidates;
    for (size_t j = 0; j < g->config->n_modelled; j++) {
        bandit_arm_sum *of_metric = sums + j * n;
        for (size_t i = 0; i < n; i++)
            of_metric[i] = (bandit_arm_sum){.arm = g->candidates[i]};
        for (size_t i = 0; i < g->n; i++) {
            const joined_result *result = &g->results[i];
            if (!result->has_value)
                continue;
            bandit_arm_sum *sum = &of_metric[result->arm];
            sum->count += (uint64_t)result->repeats;
            /* The engine adds bandit_result.repeats times the mean. */
            sum->sum += (uint32_t)result->repeats * result->rewards[j];
        }
    }
}

/* Lists the results with standard errors, in their order. */
static bool list_errors(const gathering *g, arm_errors *out)
{
    size_t others = g->config->n_modelled - 1;
    out->results = calloc(g->n + 1, sizeof *out->results);
    out->others = calloc(2 * g->n * others + 1, sizeof *out->others);
    if (!out->results || !out->others)
        return false;
    for (size_t i = 0; i < g->n; i++) {
        const joined_result *from = &g->results[i];
        double *own = out->others + 2 * out->n * others;
        if (!from->has_errors || !from->has_value)
            continue;
        for (size_t j = 0; j < others; j++) {
            own[j] = from->rewards[j + 1];
            own[others + j] = from->errors[j + 1];
        }
        out->results[out->n++] = (bandit_result){.arm = g->candidates[from->arm],
                                                 .repeats = (uint32_t)from->repeats,
                                                 .reward = from->rewards[0],
                                                 .error = from->errors[0],
                                                 .others = others > 0 ? own : NULL,
                                                 .other_errors = others > 0 ? own + others : NULL};
    }
    return true;
}

void arm_errors_clear(arm_errors *errors)
{
    free(errors->results);
    free(errors->others);
    *errors = (arm_errors){0};
}

store_status study_arm_sums(store *from, int64_t study, const study_config *config, int64_t joined_through,
                            int64_t amended_through, const uint32_t *candidates, size_t n,
                            bandit_arm_sum *sums, arm_errors *errors)
{
    gathering g = {
        .candidates = candidates, .n_candidates = n, .amended_through = amended_through, .config = config};
    store_trial_filter told = {.told = true, .told_through = joined_through};
    store_error error = {0};
    store_status status = store_read_batches(from, study, -1, SIZE_MAX, take_batch, &g, &error);
    if (status == STORE_OK)
        status = store_read_observations(from, study, 0, joined_through, take_observation, &g, &error);
    if (status == STORE_OK)
        status = store_read_trials(from, study, &told, SIZE_MAX, take_trial, &g, &error);
    if (status == STORE_OK)
        status = store_read_late_results(from, study, 0, 0, joined_through, take_late, &g, &error);
    if (status == STORE_OK)
        status = store_read_amendments(from, study, 0, amended_through, undo_amendment, &g, &error);
    if (status == STORE_OK && g.no_memory)
        status = STORE_NO_MEMORY;
    if (g.n > 0)
        qsort(g.results, g.n, sizeof *g.results, compare_results);
    add_up(&g, sums);
    *errors = (arm_errors){0};
    if (status == STORE_OK && !list_errors(&g, errors))
        status = STORE_NO_MEMORY;
    free(g.through);
    free(g.results);
    return status;
}
