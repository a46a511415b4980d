#include "server/study/measure.h"

#include "proto/arrays.h"
#include "proto/changes.h"
#include "server/base/clock.h"
#include "server/data/stopping.h"
#include "server/study/heartbeat.h"
#include "server/study/requests.h"

#include <stdlib.h>
#include <string.h>

/* The curve of one attempt: its measurements. */
typedef struct attempt_curve {
    int64_t trial;
    int32_t attempt;
    stopping_curve curve;
} attempt_curve;

/* The attempt of a trial whose curve is used for comparison: the current one, or the one that completed the
 * trial. */
typedef struct counting {
    int32_t attempt;
    bool finished; /* with a value */
    double value;
} counting;

/* All curves, in memory from the first measurement until the study leaves memory. */
struct study_curves {
    attempt_curve *list; /* ascending by trial and attempt */
    size_t n, capacity;
    counting *trials; /* by number, from 1 */
    size_t n_trials;
    bool failed;
};

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

static attempt_curve *find_curve(const struct study_curves *curves, int64_t number, int32_t attempt)
{
    size_t at = place_of(curves, number, attempt);
    bool found = at < curves->n && curves->list[at].trial == number && curves->list[at].attempt == attempt;
    return found ? &curves->list[at] : NULL;
}

/* Adds a measurement to a curve. False: out of memory. */
static bool set_point(struct study_curves *curves, int64_t number, int32_t attempt, int64_t step,
                      double value)
{
    attempt_curve *found = find_curve(curves, number, attempt);
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
    curves->trials[number - 1] = now;
    return true;
}

void study_note_progress(study *s, const trial *t)
{
    bool closed = t->state != TRIAL_QUEUED && t->state != TRIAL_PENDING;
    counting now = {.attempt = t->attempt, .finished = closed && t->has_value, .value = t->value};
    if (s->curves && !set_counting(s->curves, t->id, now))
        study_drop_curves(s); /* loaded again when needed */
}

void study_forget_progress(study *s, const trial *t)
{
    attempt_curve *curve = s->curves ? find_curve(s->curves, t->id, t->attempt) : NULL;
    if (curve)
        stopping_curve_clear(&curve->curve);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static void take_measurement(void *arg, const store_measurement *row)
{
    struct study_curves *curves = arg;
    if (!set_point(curves, row->trial, row->attempt, row->step, row->value))
        curves->failed = true;
}

static void take_trial(void *arg, const store_trial *row)
{
    struct study_curves *curves = arg;
    bool closed = row->state != TRIAL_QUEUED && row->state != TRIAL_PENDING;
    counting now = {.attempt = row->attempt, .finished = closed && row->has_value, .value = row->value};
    if (row->attempt > 0 && !set_counting(curves, row->trial, now))
        curves->failed = true;
}

/* Trials in memory may be newer than their rows in the store. */
static void note_all(study *s, trial_list list)
{
    const trial *t;
    for (t = trial_queue_first(s->queue, list); t; t = trial_queue_next(t))
        if (s->curves && t->attempt > 0)
            study_note_progress(s, t);
}

/* Called before the first measurement since the study was loaded, so the store already has all measurements. */
static store_status load_curves(study *s)
{
    store_error error = {0};
    store_trial_filter all = {0};
    if (s->curves)
        return STORE_OK;
    s->curves = calloc(1, sizeof *s->curves);
    store_status status = s->curves ? STORE_OK : STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_read_measurements(s->app->store, s->number, 0, take_measurement, s->curves, &error);
    if (status == STORE_OK)
        status = store_read_trials(s->app->store, s->number, &all, SIZE_MAX, take_trial, s->curves, &error);
    if (status == STORE_OK && s->curves->failed)
        status = STORE_NO_MEMORY;
    if (status != STORE_OK) {
        study_drop_curves(s);
        return status;
    }
    for (int list = 0; list < TRIAL_LISTS; list++)
        note_all(s, (trial_list)list);
    return s->curves ? STORE_OK : STORE_NO_MEMORY;
}

/* ---- deciding ------------------------------------------------------------------------------------------ */

/* The trial of the curve if it is the curve that is used for comparison; otherwise NULL. */
static const counting *counting_of(const struct study_curves *curves, const attempt_curve *c)
{
    if ((size_t)c->trial > curves->n_trials)
        return NULL; /* released, and never handed out again */
    const counting *now = &curves->trials[c->trial - 1];
    return now->attempt == c->attempt ? now : NULL;
}

/* For each trial except `without` the curve that is used for comparison; with `finished`, only for finished trials. The
 * caller frees *out. */
static bool select_curves(const stopping_curve ***out, size_t *n, const struct study_curves *curves,
                          bool finished, const stopping_curve *without)
{
    *n = 0;
    *out = malloc((curves->n ? curves->n : 1) * sizeof(stopping_curve *));
    if (!*out)
        return false;
    for (size_t i = 0; i < curves->n; i++) {
        const counting *now = counting_of(curves, &curves->list[i]);
        if (now && (now->finished || !finished) && &curves->list[i].curve != without)
            (*out)[(*n)++] = &curves->list[i].curve;
    }
    return true;
}

/* Judges a trial by its curve or by the beginning of its curve; `whole` is the complete curve. */
static store_status judge(bool *stop, const study *s, const stopping_curve *curve,
                          const stopping_curve *whole)
{
    const wire_stopping *rule = &s->config->wire->stopping;
    bool minimize = s->config->minimize, median = rule->rule == WIRE_STOPPING_MEDIAN, fine = true;
    const stopping_curve **others;
    size_t n;
    *stop = false;
    if (!select_curves(&others, &n, s->curves, median, median ? whole : NULL))
        return STORE_NO_MEMORY;
    if (median)
        fine =
            stopping_median(stop, curve, others, n, rule->min_steps.value, rule->min_trials.value, minimize);
    else
        *stop = stopping_halving(curve, others, n, rule->min_resource.value, rule->reduction.value, minimize);
    free(others);
    return fine ? STORE_OK : STORE_NO_MEMORY;
}

/* The curve of the finished trial with the best value; if several are equal, of the first. NULL: there is none. */
static const stopping_curve *best_curve(const study *s)
{
    const stopping_curve *best = NULL;
    double value = 0.0;
    for (size_t i = 0; i < s->curves->n; i++) {
        const counting *now = counting_of(s->curves, &s->curves->list[i]);
        if (!now || !now->finished)
            continue;
        if (!best || (s->config->minimize ? now->value < value : now->value > value)) {
            best = &s->curves->list[i].curve;
            value = now->value;
        }
    }
    return best;
}

static store_status decide(bool *stop, const study *s, const stopping_curve *curve)
{
    store_status status = judge(stop, s, curve, curve);
    const stopping_curve *best =
        status == STORE_OK && *stop && s->config->wire->stopping.safe ? best_curve(s) : NULL;
    if (!best)
        return status;
    bool stops_best;
    stopping_curve start = stopping_curve_until(best, curve->steps[curve->n - 1]);
    status = judge(&stops_best, s, &start, best);
    *stop = status == STORE_OK && !stops_best;
    return status;
}

/* Stores and records the measurement. *stop: the trial should stop. */
static store_status measure(study *s, const trial *t, const wire_measurement *measurement, bool *stop)
{
    *stop = false;
    if (s->config->wire->stopping.rule != WIRE_STOPPING_NONE) {
        store_status status = load_curves(s);
        if (status != STORE_OK)
            return status;
        study_note_progress(s, t);
        if (!s->curves || !set_point(s->curves, t->id, t->attempt, measurement->step, measurement->value))
            return STORE_NO_MEMORY;
        status = decide(stop, s, &find_curve(s->curves, t->id, t->attempt)->curve);
        if (status != STORE_OK)
            return status;
    }
    store_event event = {.type = EVENT_TRIAL_MEASURED, .time = clock_now()};
    event.u.measured.trial = t->id;
    event.u.measured.attempt = t->attempt;
    event.u.measured.step = measurement->step;
    event.u.measured.value = measurement->value;
    commit_record(s->commit, &event);
    return STORE_OK;
}

void study_measure(study *s, study_request *request)
{
    const wire_measurement *measurement = request->context;
    trial *t = study_pending_trial(s, request, measurement->attempt);
    bool stop;
    if (!t)
        return;
    store_status status = measure(s, t, measurement, &stop);
    if (status != STORE_OK) {
        study_drop_curves(s); /* they may have the measurement that was not recorded */
        reply_store_problem(request, status);
        return;
    }
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_measurement_answer(&w, stop);
    commit_hold(s->commit, request);
    reply_json(request, &w);
}
