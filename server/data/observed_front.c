#include "server/data/observed_front.h"

#include "bandit/front.h"
#include "proto/arrays.h"
#include "server/data/modelled.h"

#include <math.h>
#include <stdlib.h>

static void take(observed_results *r, int64_t trial, int64_t observation, int64_t candidate, int64_t told_at,
                 int64_t told_seq, double value, const char *recorded)
{
    observed_result result = {.trial = trial,
                              .observation = observation,
                              .candidate = candidate,
                              .told_at = told_at,
                              .told_seq = told_seq};
    if (!modelled_values(r->config, value, recorded, result.values))
        r->failed = true;
    else if (!modelled_is_feasible(r->config, result.values))
        return;
    r->failed |= !wire_grow(&r->list, &r->capacity, r->n + 1, 64, sizeof *r->list);
    if (!r->failed)
        r->list[r->n++] = result;
}

static void take_trial(void *arg, const store_trial *row)
{
    if (row->has_value)
        take(arg, row->trial, 0, row->candidate, row->told_at, row->told_seq, row->value, row->recorded);
}

static void take_late(void *arg, const store_late_result *row)
{
    take(arg, row->trial, 0, row->candidate, row->told_at, row->told_seq, row->value, row->recorded);
}

static void take_imported(void *arg, const store_imported *row)
{
    if (row->has_value)
        take(arg, 0, row->observation, row->candidate, row->imported_at, row->told_seq, row->value,
             row->recorded);
}

store_status observed_results_read(observed_results *out, store *s, int64_t study, const study_config *config)
{
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    *out = (observed_results){.config = config};
    store_status status = store_read_trials(s, study, &told, SIZE_MAX, take_trial, out, &error);
    if (status == STORE_OK)
        status = store_read_late_results(s, study, 0, 0, INT64_MAX, take_late, out, &error);
    if (status == STORE_OK)
        status = store_read_observations(s, study, 0, INT64_MAX, take_imported, out, &error);
    return status == STORE_OK && out->failed ? STORE_NO_MEMORY : status;
}

void observed_results_clear(observed_results *r)
{
    free(r->list);
    free(r->front);
    *r = (observed_results){0};
}

void observed_results_rewards(const observed_results *r, size_t i, double *out)
{
    size_t k = 0;
    for (size_t j = 0; j < r->config->n_modelled; j++)
        if (r->config->metrics[j].objective)
            out[k++] = r->config->signs[j] * r->list[i].values[j];
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets the reference point, as rewards. `scratch`: n entries. */
static void find_reference(observed_results *r, const double *points, size_t k, double *scratch, double *out)
{
    const double beyond = 0.1;
    size_t objective = 0;
    r->inferred = !r->config->metrics[0].has_threshold;
    for (size_t j = 0; j < r->config->n_modelled; j++)
        if (!r->inferred && r->config->metrics[j].objective)
            out[objective++] = r->config->metrics[j].threshold;
    for (size_t j = 0; r->inferred && j < k; j++) {
        double nadir = INFINITY, ideal = -INFINITY;
        for (size_t f = 0; f < r->n_front; f++) {
            nadir = fmin(nadir, points[r->front[f] * k + j]);
            ideal = fmax(ideal, points[r->front[f] * k + j]);
        }
        for (size_t i = 0; i < r->n; i++)
            scratch[i] = points[i * k + j];
        qsort(scratch, r->n, sizeof *scratch, compare_numbers);
        out[j] = fmin(nadir - beyond * (ideal - nadir), scratch[r->n / 4]);
    }
}

store_status observed_results_rank(observed_results *r)
{
    size_t k = r->config->n_objectives, n = r->n;
    double *points = calloc(n * k + 1, sizeof *points), *scratch = malloc((n + 1) * sizeof *scratch);
    double reference[WIRE_MAX_OBJECTIVES] = {0};
    r->front = malloc((n + 1) * sizeof *r->front);
    bool fine = points && scratch && r->front;
    for (size_t i = 0; fine && i < n; i++)
        observed_results_rewards(r, i, points + i * k);
    if (fine) {
        r->n_front = bandit_front_find(points, n, k, r->front);
        r->has_reference = n > 0 || r->config->metrics[0].has_threshold;
    }
    if (fine && r->has_reference) {
        find_reference(r, points, k, scratch, reference);
        r->has_volume =
            bandit_hypervolume(&r->volume, points, n, k, reference, NULL) == BANDIT_OK && isfinite(r->volume);
    }
    for (size_t j = 0, objective = 0; fine && j < r->config->n_modelled; j++)
        if (r->config->metrics[j].objective) {
            r->reference[objective] = r->config->signs[j] * reference[objective] + 0.0; /* no -0.0 */
            objective++;
        }
    free(points);
    free(scratch);
    return fine ? STORE_OK : STORE_NO_MEMORY;
}

static int compare_trials(const void *a, const void *b)
{
    const observed_result *x = a, *y = b;
    if (x->trial != y->trial)
        return (x->trial > y->trial) - (x->trial < y->trial);
    if (x->observation != y->observation)
        return (x->observation > y->observation) - (x->observation < y->observation);
    return (x->told_seq > y->told_seq) - (x->told_seq < y->told_seq);
}

/* Sorts the results: trials by number, and imported results among them by time. False: out of memory. */
static bool sort_results(observed_results *r)
{
    size_t imported = 0, next = 0, out = 0;
    observed_result *sorted = malloc((r->n + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    qsort(r->list, r->n, sizeof *r->list, compare_trials);
    while (imported < r->n && r->list[imported].trial == 0)
        imported++;
    for (size_t i = imported; i < r->n; i++) {
        while (next < imported && r->list[next].told_at <= r->list[i].told_at)
            sorted[out++] = r->list[next++];
        sorted[out++] = r->list[i];
    }
    while (next < imported)
        sorted[out++] = r->list[next++];
    free(r->list);
    r->list = sorted;
    r->capacity = r->n;
    return true;
}

store_status observed_results_volumes(observed_results *r, observed_volume *add, void *arg, bool *whole)
{
    size_t k = r->config->n_objectives;
    bandit_volume *volume = NULL;
    double reference[WIRE_MAX_OBJECTIVES], rewards[WIRE_MAX_OBJECTIVES], reached = 0.0;
    bandit_status status = BANDIT_OK;
    *whole = true;
    for (size_t j = 0, objective = 0; j < r->config->n_modelled; j++)
        if (r->config->metrics[j].objective) {
            reference[objective] = r->config->signs[j] * r->reference[objective];
            objective++;
        }
    if (r->n == 0)
        return STORE_OK;
    if (!sort_results(r))
        return STORE_NO_MEMORY;
    status = bandit_volume_new(&volume, reference, k, NULL);
    for (size_t i = 0; status == BANDIT_OK && i < r->n; i++) {
        bool grows;
        observed_results_rewards(r, i, rewards);
        status = bandit_volume_add(volume, rewards, &grows, NULL);
        if (status == BANDIT_OK && grows)
            reached = bandit_volume_value(volume);
        if (status == BANDIT_OK && isfinite(reached))
            add(arg, &r->list[i], reached);
    }
    bandit_volume_free(volume);
    *whole = status != BANDIT_MEMORY_LIMIT;
    return status == BANDIT_NO_MEMORY ? STORE_NO_MEMORY : STORE_OK;
}
