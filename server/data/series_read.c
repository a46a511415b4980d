#include "server/data/series_read.h"

#include "proto/arrays.h"
#include "server/data/definition.h"
#include "server/data/modelled.h"
#include "server/data/observed_front.h"

#include <math.h>
#include <stdlib.h>

/* ---- one objective without bounds ---------------------------------------------------------------------- */

/* The imported values, which join the trials' by time, and the series. */
typedef struct course {
    wire_series_point *imported;
    size_t n, capacity, next;
    series *series;
    bool no_memory;
} course;

static void take_imported(void *arg, const store_imported *row)
{
    course *c = arg;
    if (!row->has_value)
        return;
    c->no_memory |= !wire_grow(&c->imported, &c->capacity, c->n + 1, 64, sizeof *c->imported);
    if (!c->no_memory)
        c->imported[c->n++] = (wire_series_point){
            .observation = row->observation, .value = row->value, .told_at = row->imported_at};
}

/* Adds the imported values up to that time that have not been added yet. */
static void add_imported(course *c, int64_t told_at)
{
    while (c->next < c->n && c->imported[c->next].told_at <= told_at)
        series_add(c->series, &c->imported[c->next++]);
}

static void take_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    course *c = arg;
    const wire_series_point point = {.trial = trial, .value = value, .told_at = told_at};
    add_imported(c, told_at);
    series_add(c->series, &point);
}

static store_status read_course(course *c, store *s, int64_t study)
{
    store_error error = {0};
    store_status status = store_read_observations(s, study, 0, INT64_MAX, take_imported, c, &error);
    if (status == STORE_OK && c->no_memory)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_read_values(s, study, take_value, c, &error);
    if (status == STORE_OK)
        add_imported(c, INT64_MAX);
    free(c->imported);
    return status;
}

/* ---- another metric ------------------------------------------------------------------------------------ */

typedef struct other_metric {
    series *series;
    const wire_metric *metric;
} other_metric;

static void take_other(void *arg, const store_trial *row)
{
    other_metric *other = arg;
    const wire_series_point point = {
        .trial = row->trial,
        .value = row->has_value ? wire_recorded_value(row->recorded, other->metric->name) : (double)NAN,
        .told_at = row->told_at};
    if (!isnan(point.value))
        series_add(other->series, &point);
}

/* ---- one objective with bounds, and several ------------------------------------------------------------ */

typedef struct bounded {
    series *series;
    const study_config *config;
    bool failed;
} bounded;

static void take_bounded(void *arg, const store_trial *row)
{
    bounded *b = arg;
    double values[WIRE_MAX_MODELLED];
    const wire_series_point point = {.trial = row->trial, .value = row->value, .told_at = row->told_at};
    if (!row->has_value)
        return;
    if (modelled_values(b->config, row->value, row->recorded, values))
        series_add_bounded(b->series, &point, modelled_is_feasible(b->config, values));
    else
        b->failed = true;
}

static void take_volume(void *arg, int64_t trial, double volume, int64_t told_at)
{
    const wire_series_point point = {.trial = trial, .value = volume, .told_at = told_at};
    series_add(arg, &point);
}

static store_status read_volumes(series *s, store *from, int64_t study, const study_config *config)
{
    observed_results results = {0};
    bool whole;
    store_status status = observed_results_read(&results, from, study, config);
    if (status == STORE_OK)
        status = observed_results_rank(&results);
    if (status == STORE_OK)
        status = observed_results_volumes(&results, take_volume, s, &whole);
    observed_results_clear(&results);
    return status;
}

/* The hypervolumes, or the values of the only objective. *definition is taken. */
static store_status read_several(series *s, store *from, int64_t study, wire_study **definition, bool volumes)
{
    study_config *config = NULL;
    wire_errors errors = {0};
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    store_status status = study_config_status(study_config_new(&config, *definition, &errors));
    *definition = NULL;
    wire_errors_clear(&errors);
    bounded b = {.series = s, .config = config};
    if (status == STORE_OK && volumes)
        status = read_volumes(s, from, study, config);
    else if (status == STORE_OK)
        status = store_read_trials(from, study, &told, SIZE_MAX, take_bounded, &b, &error);
    study_config_free(config);
    return status == STORE_OK && b.failed ? STORE_NO_MEMORY : status;
}

store_status series_read(series *s, store *from, int64_t study, wire_study **definition,
                         const wire_metric *metric)
{
    store_error error = {0};
    course c = {.series = s};
    other_metric other = {s, metric};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    store_status status = STORE_OK;
    bool first = metric == wire_objective(*definition);
    if (!metric || (first && wire_count_objectives(*definition) == 1 && wire_has_several(*definition)))
        return read_several(s, from, study, definition, !metric);
    if (first)
        status = read_course(&c, from, study);
    else
        status = store_read_trials(from, study, &told, SIZE_MAX, take_other, &other, &error);
    wire_study_free(*definition);
    *definition = NULL;
    return status;
}
