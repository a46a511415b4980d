/* Keeps and loads the curves of a study's trials. */
#include "server/study/curves.h"

#include "proto/arrays.h"

#include <stdlib.h>
#include <string.h>

void study_drop_curves(study *s)
{
    if (!s->curves)
        return;
    for (size_t i = 0; i < s->curves->n; i++)
        stopping_curve_clear(&s->curves->list[i].curve);
    free(s->curves->list);
    free(s->curves->trials);
    free(s->curves);
    s->curves = NULL;
}

/* ---- storing ------------------------------------------------------------------------------------------- */

static bool is_before(const attempt_curve *c, int64_t number, int32_t attempt)
{
    return c->trial < number || (c->trial == number && c->attempt < attempt);
}

/* The index at which the curve is, or would be inserted. */
static size_t place_of(const struct study_curves *curves, int64_t number, int32_t attempt)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, curves->n, i, is_before(&curves->list[i], number, attempt));
    return place;
}

attempt_curve *curves_find(const struct study_curves *curves, int64_t number, int32_t attempt)
{
    size_t at = place_of(curves, number, attempt);
    bool found = at < curves->n && curves->list[at].trial == number && curves->list[at].attempt == attempt;
    return found ? &curves->list[at] : NULL;
}

bool curves_set(struct study_curves *curves, int64_t number, int32_t attempt, int64_t step, double value)
{
    attempt_curve *found = curves_find(curves, number, attempt);
    if (!found) {
        size_t at = place_of(curves, number, attempt);
        if (!wire_grow(&curves->list, &curves->capacity, curves->n + 1, 64, sizeof *curves->list))
            return false;
        memmove(curves->list + at + 1, curves->list + at, (curves->n - at) * sizeof *curves->list);
        curves->list[at] = (attempt_curve){.trial = number, .attempt = attempt};
        curves->n++;
        found = &curves->list[at];
    }
    return stopping_curve_set(&found->curve, step, value);
}

static bool set_counting(struct study_curves *curves, int64_t number, counting now)
{
    if ((size_t)number > curves->n_trials) {
        size_t n = 2 * (size_t)number;
        counting *trials = realloc(curves->trials, n * sizeof *trials);
        if (!trials)
            return false;
        memset(trials + curves->n_trials, 0, (n - curves->n_trials) * sizeof *trials);
        curves->trials = trials;
        curves->n_trials = n;
    }
    now.estimated |= curves->trials[number - 1].estimated;
    curves->trials[number - 1] = now;
    return true;
}

void study_note_progress(study *s, const trial *t)
{
    bool closed = t->state != TRIAL_QUEUED && t->state != TRIAL_PENDING;
    counting now = {
        .attempt = t->attempt, .state = t->state, .finished = closed && t->has_value, .value = t->value};
    if (s->curves && !set_counting(s->curves, t->id, now))
        study_drop_curves(s); /* loaded again when needed */
}

void study_forget_progress(study *s, const trial *t)
{
    attempt_curve *curve = s->curves ? curves_find(s->curves, t->id, t->attempt) : NULL;
    if (curve)
        stopping_curve_clear(&curve->curve);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static void take_measurement(void *arg, const store_measurement *row)
{
    struct study_curves *curves = arg;
    if (!curves_set(curves, row->trial, row->attempt, row->step, row->value))
        curves->failed = true;
}

static void take_trial(void *arg, const store_trial *row)
{
    struct study_curves *curves = arg;
    bool closed = row->state != TRIAL_QUEUED && row->state != TRIAL_PENDING;
    counting now = {.attempt = row->attempt,
                    .state = row->state,
                    .finished = closed && row->has_value,
                    .value = row->value};
    if (row->attempt > 0 && !set_counting(curves, row->trial, now))
        curves->failed = true;
}

static void note_estimate(struct study_curves *curves, int64_t number, int32_t attempt)
{
    if (attempt == ESTIMATED_ATTEMPT && number >= 1 && (size_t)number <= curves->n_trials)
        curves->trials[number - 1].estimated = true;
}

static void take_late(void *arg, const store_late_result *row)
{
    note_estimate(arg, row->trial, row->attempt);
}

/* Trials in memory may be newer than their rows in the store. */
static void note_all(study *s, trial_list list)
{
    const trial *t;
    for (t = trial_queue_first(s->queue, list); t; t = trial_queue_next(t))
        if (s->curves && t->attempt > 0)
            study_note_progress(s, t);
}

store_status curves_load(study *s)
{
    store_error error = {0};
    store_trial_filter all = {0};
    const late_result *l;
    if (s->curves)
        return STORE_OK;
    s->curves = calloc(1, sizeof *s->curves);
    store_status status = s->curves ? STORE_OK : STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_read_measurements(s->app->store, s->number, 0, take_measurement, s->curves, &error);
    if (status == STORE_OK)
        status = store_read_trials(s->app->store, s->number, &all, SIZE_MAX, take_trial, s->curves, &error);
    if (status == STORE_OK && s->config->estimates_stopped)
        status =
            store_read_late_results(s->app->store, s->number, 0, 0, INT64_MAX, take_late, s->curves, &error);
    if (status == STORE_OK && s->curves->failed)
        status = STORE_NO_MEMORY;
    if (status != STORE_OK) {
        study_drop_curves(s);
        return status;
    }
    for (int list = 0; list < TRIAL_LISTS; list++)
        note_all(s, (trial_list)list);
    for (l = pending_results_first_late(s->results); s->curves && l; l = pending_results_next_late(l))
        note_estimate(s->curves, l->trial, l->attempt);
    return s->curves ? STORE_OK : STORE_NO_MEMORY;
}

counting *curves_counting(const struct study_curves *curves, const attempt_curve *c)
{
    if ((size_t)c->trial > curves->n_trials)
        return NULL; /* released, and never handed out again */
    counting *now = &curves->trials[c->trial - 1];
    return now->attempt == c->attempt ? now : NULL;
}
