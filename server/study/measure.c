#include "server/study/curves.h"

#include "proto/changes.h"
#include "server/base/clock.h"
#include "server/study/heartbeat.h"
#include "server/study/requests.h"

#include <stdlib.h>

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
        const counting *now = curves_counting(curves, &curves->list[i]);
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
        const counting *now = curves_counting(s->curves, &s->curves->list[i]);
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
        store_status status = curves_load(s);
        if (status != STORE_OK)
            return status;
        study_note_progress(s, t);
        if (!s->curves || !curves_set(s->curves, t->id, t->attempt, measurement->step, measurement->value))
            return STORE_NO_MEMORY;
        status = decide(stop, s, &curves_find(s->curves, t->id, t->attempt)->curve);
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
