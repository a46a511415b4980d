#include "server/study/estimates.h"

#include "proto/encode.h"
#include "proto/recorded_values.h"
#include "server/study/curves.h"
#include "server/study/trials.h"

#include <math.h>
#include <stdlib.h>

static bool is_wanted(const counting *now)
{
    return now && now->state == TRIAL_STOPPED && !now->finished && !now->estimated;
}

/* The complete trials; the caller frees them. NULL: out of memory. */
static stopping_complete *complete_trials(const struct study_curves *curves, size_t *n)
{
    stopping_complete *list = malloc((curves->n ? curves->n : 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < curves->n; i++) {
        const counting *now = curves_counting(curves, &curves->list[i]);
        if (now && now->state == TRIAL_COMPLETED && now->finished)
            list[(*n)++] = (stopping_complete){.curve = &curves->list[i].curve, .value = now->value};
    }
    return list;
}

/* The stored text of a standard error of the objective; NULL: out of memory. */
static char *error_text(const study *s, double error)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *errors, *text = NULL;
    size_t size;
    wire_object_begin(&w);
    wire_real_member(&w, s->config->objective->name, error);
    wire_object_end(&w);
    if (!wire_writer_finish(&w, &errors, &size))
        return NULL;
    text = wire_join_recorded("", errors);
    free(errors);
    return text;
}

static store_status record(study *s, int64_t number, double value, double error, int64_t now)
{
    store_status status;
    const trial *t = study_recall_trial(s, number, &status);
    if (!t)
        return status;
    /* The model does not know points that break a constraint of the space. */
    if (t->candidate >= study_candidates(s))
        return STORE_OK;
    char *text = error_text(s, error);
    store_late_result row = {.trial = number,
                             .candidate = t->candidate,
                             .attempt = ESTIMATED_ATTEMPT,
                             .value = value,
                             .repeats = 1,
                             .recorded = text ? text : ""};
    status = text && pending_results_add_late(s->results, &row) ? STORE_OK : STORE_NO_MEMORY;
    if (status == STORE_OK) {
        store_event event = {.type = EVENT_TRIAL_ESTIMATED, .time = now};
        event.u.estimated.trial = number;
        event.u.estimated.value = value;
        event.u.estimated.recorded = text;
        commit_record(s->commit, &event);
    }
    free(text);
    return status;
}

static store_status estimate_all(study *s, int64_t now)
{
    struct study_curves *curves = s->curves;
    store_status status = STORE_OK;
    stopping_complete *complete = NULL;
    size_t n = 0;
    for (size_t i = 0; status == STORE_OK && i < curves->n; i++) {
        double value, error;
        counting *at = curves_counting(curves, &curves->list[i]);
        if (!is_wanted(at))
            continue;
        if (!complete && !(complete = complete_trials(curves, &n)))
            return STORE_NO_MEMORY;
        if (!stopping_estimate(&value, &error, &curves->list[i].curve, complete, n) ||
            !(fabs(value) <= WIRE_MAX_VALUE) || !(error >= WIRE_MIN_STD_ERROR && error <= WIRE_MAX_VALUE))
            continue; /* not yet, or not a result that the model could take */
        at->estimated = true;
        status = record(s, curves->list[i].trial, value, error, now);
    }
    free(complete);
    return status;
}

void study_estimate_stopped(study *s, int64_t now)
{
    if (!s->config->estimates_stopped)
        return;
    store_status status = curves_load(s);
    if (status == STORE_OK)
        status = estimate_all(s, now);
    if (status != STORE_OK)
        commit_fail(s->commit, status); /* the turn fails, and the study is loaded again */
}
