#include "server/data/series_read.h"

#include "proto/arrays.h"
#include "server/data/definition.h"
#include "server/data/modelled.h"
#include "server/data/observed_front.h"

#include <math.h>
#include <stdlib.h>

/* ---- one objective without bounds ---------------------------------------------------------------------- */

/* A value, and whether it keeps the bounds. */
typedef struct course_value {
    wire_series_point point;
    bool feasible;
} course_value;

typedef struct course_values {
    course_value *list;
    size_t n, capacity, next; /* the first `next` are in the series */
} course_values;

/* The series, and the values that are placed among those of trials: imported ones by time, late results after the value
 * of their trial. */
typedef struct course {
    course_values imported, late;
    series *series;
    const study_config *config; /* of one objective with bounds; otherwise NULL */
    const wire_metric *other;   /* a metric other than the first objective; otherwise NULL */
    bool failed;                /* out of memory, or a stored row is not valid */
} course;

static bool keeps_bounds(course *c, double value, const char *recorded)
{
    double values[WIRE_MAX_MODELLED];
    if (!c->config)
        return true;
    if (!modelled_values(c->config, value, recorded, values))
        c->failed = true;
    return !c->failed && modelled_is_feasible(c->config, values);
}

static double value_of(const course *c, double value, const char *recorded)
{
    return c->other ? wire_recorded_value(recorded, c->other->name) : value;
}

static void put_aside(course *c, course_values *to, wire_series_point point, double objective,
                      const char *recorded)
{
    point.value = value_of(c, objective, recorded);
    if (isnan(point.value))
        return;
    c->failed |= !wire_grow(&to->list, &to->capacity, to->n + 1, 64, sizeof *to->list);
    bool feasible = keeps_bounds(c, objective, recorded);
    if (!c->failed)
        to->list[to->n++] = (course_value){point, feasible};
}

static void take_imported(void *arg, const store_imported *row)
{
    course *c = arg;
    const wire_series_point point = {.observation = row->observation, .told_at = row->imported_at};
    if (row->has_value)
        put_aside(c, &c->imported, point, row->value, row->recorded);
}

static void take_late(void *arg, const store_late_result *row)
{
    course *c = arg;
    const wire_series_point point = {.trial = row->trial, .told_at = row->told_at};
    if (row->attempt != ESTIMATED_ATTEMPT)
        put_aside(c, &c->late, point, row->value, row->recorded);
}

static int compare_trials(const void *a, const void *b)
{
    const wire_series_point *x = &((const course_value *)a)->point, *y = &((const course_value *)b)->point;
    if (x->trial != y->trial)
        return x->trial < y->trial ? -1 : 1;
    return (x->told_at > y->told_at) - (x->told_at < y->told_at);
}

/* Adds the imported values up to that time that are not added yet. */
static void add_imported(course *c, int64_t told_at)
{
    course_values *from = &c->imported;
    for (; from->next < from->n && from->list[from->next].point.told_at <= told_at; from->next++)
        series_add_bounded(c->series, &from->list[from->next].point, from->list[from->next].feasible);
}

/* Adds the late results of trials before this one that are not added yet. */
static void add_late(course *c, int64_t trial)
{
    course_values *from = &c->late;
    for (; from->next < from->n && from->list[from->next].point.trial < trial; from->next++) {
        const course_value *late = &from->list[from->next];
        add_imported(c, late->point.told_at);
        series_add_bounded(c->series, &late->point, late->feasible);
    }
}

static void take_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    course *c = arg;
    const wire_series_point point = {.trial = trial, .value = value, .told_at = told_at};
    add_late(c, trial);
    add_imported(c, told_at);
    series_add(c->series, &point);
}

static void take_row(void *arg, const store_trial *row)
{
    course *c = arg;
    double value = value_of(c, row->value, row->recorded);
    const wire_series_point point = {.trial = row->trial, .value = value, .told_at = row->told_at};
    if (!row->has_value || isnan(value))
        return;
    add_late(c, row->trial);
    add_imported(c, row->told_at);
    series_add_bounded(c->series, &point, keeps_bounds(c, row->value, row->recorded));
}

static store_status read_course(course *c, store *s, int64_t study)
{
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    store_status status = store_read_observations(s, study, 0, INT64_MAX, take_imported, c, &error);
    if (status == STORE_OK)
        status = store_read_late_results(s, study, 0, 0, INT64_MAX, take_late, c, &error);
    if (c->late.n > 0)
        qsort(c->late.list, c->late.n, sizeof *c->late.list, compare_trials);
    if (status == STORE_OK && !c->config && !c->other)
        status = store_read_values(s, study, take_value, c, &error);
    else if (status == STORE_OK)
        status = store_read_trials(s, study, &told, SIZE_MAX, take_row, c, &error);
    if (status == STORE_OK) {
        add_late(c, INT64_MAX);
        add_imported(c, INT64_MAX);
    }
    free(c->imported.list);
    free(c->late.list);
    return status == STORE_OK && c->failed ? STORE_NO_MEMORY : status;
}

/* ---- one objective with bounds, and several ------------------------------------------------------------ */

static void take_volume(void *arg, const observed_result *result, double volume)
{
    const wire_series_point point = {.trial = result->trial,
                                     .observation = result->observation,
                                     .value = volume,
                                     .told_at = result->told_at};
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

/* Adds the hypervolumes, or the values of the only objective. Takes ownership of *definition. */
static store_status read_several(series *s, store *from, int64_t study, wire_study **definition, bool volumes)
{
    study_config *config = NULL;
    wire_errors errors = {0};
    store_status status = study_config_status(study_config_new(&config, *definition, &errors));
    *definition = NULL;
    wire_errors_clear(&errors);
    course bounded = {.series = s, .config = config};
    if (!volumes)
        series_expect_bounds(s);
    if (status == STORE_OK && volumes)
        status = read_volumes(s, from, study, config);
    else if (status == STORE_OK)
        status = read_course(&bounded, from, study);
    study_config_free(config);
    return status;
}

store_status series_read(series *s, store *from, int64_t study, wire_study **definition,
                         const wire_metric *metric)
{
    course c = {.series = s};
    store_status status = STORE_OK;
    bool first = metric == wire_objective(*definition);
    if (!metric || (first && wire_count_objectives(*definition) == 1 && wire_has_several(*definition)))
        return read_several(s, from, study, definition, !metric);
    c.other = first ? NULL : metric;
    status = read_course(&c, from, study);
    wire_study_free(*definition);
    *definition = NULL;
    return status;
}
