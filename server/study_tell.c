/* Telling: what each result is, given the trial as it stands; all of them or none. */
#include "server/clock.h"
#include "server/log.h"
#include "server/study_internal.h"

#include <stdlib.h>
#include <string.h>

typedef enum verdict { ACCEPT, DUPLICATE } verdict;

typedef struct telling {
    const wire_tell *tell;
    verdict *verdicts; /* one a result */
    trial **trials;    /* one a result: what it applies to; NULL for duplicates of closed trials */
    wire_errors errors;
    bool invalid; /* at least one 422, not only 409s */
} telling;

static void refuse(telling *t, size_t i, const char *member, bool conflict, const char *detail)
{
    wire_errors_add(&t->errors, log_format("/results/%zu/%s", i, member), "%s", detail);
    if (!conflict)
        t->invalid = true;
}

static trial_state outcome_state(const wire_result *result)
{
    switch (result->outcome) {
    case WIRE_COMPLETED:
        return TRIAL_COMPLETED;
    case WIRE_FAILED:
        return TRIAL_FAILED;
    case WIRE_INFEASIBLE:
        return TRIAL_INFEASIBLE;
    case WIRE_STOPPED:
        return TRIAL_STOPPED;
    case WIRE_RELEASED:
        break;
    }
    return TRIAL_QUEUED;
}

static bool same_value(bool has_a, double a, bool has_b, double b)
{
    return has_a == has_b && (!has_a || a == b);
}

/* A closed trial that only the store knows, brought back for a late result. */
typedef struct reading {
    study *s;
    trial *found;
    bool no_memory;
} reading;

static void read_closed(void *arg, const store_trial *row)
{
    reading *r = arg;
    trial *t = study_trial_of_row(row);
    if (t)
        t->joined_by = 1; /* not for the next batch: in the list that is swept as soon as nothing needs it */
    if (t && study_add_trial(r->s, t))
        r->found = t;
    else
        r->no_memory = true;
}

/* The value of the one objective, from "values"; false: refused. */
static bool objective_value(const study *s, telling *t, size_t i, wire_result *result)
{
    const char *name = s->config->wire->metrics[0].name;
    size_t before = t->errors.n;
    bool found = false;
    if (!result->values)
        return true;
    for (size_t k = 0; k < result->n_values; k++) {
        if (strcmp(result->values[k].name, name) == 0) {
            result->has_value = found = true;
            result->value = result->values[k].value;
        } else {
            refuse(t, i, log_format("values/%s", result->values[k].name), false,
                   "the study declares no such metric");
        }
    }
    if (!found)
        refuse(t, i, log_format("values/%s", name), false, "is the study's objective, and must be there");
    return t->errors.n == before;
}

static bool check_built(telling *t, size_t i, const wire_result *result)
{
    size_t before = t->errors.n;
    if (result->repeats.given)
        refuse(t, i, "repeats", false, "is not built yet");
    if (result->metadata)
        refuse(t, i, "metadata", false, "is not built yet");
    return t->errors.n == before;
}

/* What this result is, given the trial as it stands. */
static void judge_trial(telling *t, size_t i, const wire_result *result, trial *target)
{
    bool open = target->state == TRIAL_QUEUED || target->state == TRIAL_PENDING;
    bool expired = target->state == TRIAL_FAILED && strcmp(target->reason, study_lease_expired) == 0;
    if (result->attempt.given && (result->attempt.value < 1 || result->attempt.value > target->attempt)) {
        refuse(t, i, "attempt", false, "the trial has had no such attempt");
    } else if (target->state == TRIAL_QUEUED && target->attempt == 0) {
        refuse(t, i, "trial", true, "the trial is queued: nobody holds it");
    } else if (open || expired) {
        bool current = !result->attempt.given || result->attempt.value == target->attempt;
        bool held = target->state == TRIAL_PENDING && current;
        /* What has gone back to the queue already cannot be released again. */
        t->verdicts[i] = result->outcome == WIRE_RELEASED && !held ? DUPLICATE : ACCEPT;
    } else if (outcome_state(result) == target->state &&
               same_value(result->has_value, result->value, target->has_value, target->value)) {
        t->verdicts[i] = DUPLICATE;
    } else {
        refuse(t, i, "trial", true, "the trial has been told otherwise already");
    }
}

/* An earlier result of the same request for the same trial, or SIZE_MAX. */
static size_t earlier_result(const wire_tell *tell, size_t i)
{
    for (size_t k = i; k-- > 0;)
        if (tell->results[k].trial == tell->results[i].trial)
            return k;
    return SIZE_MAX;
}

static store_status judge(study *s, telling *t, size_t i)
{
    wire_result *result = &t->tell->results[i];
    if (result->trial < 1 || result->trial > s->trials) {
        refuse(t, i, "trial", false, "there is no such trial");
        return STORE_OK;
    }
    if (!check_built(t, i, result) || !objective_value(s, t, i, result))
        return STORE_OK;
    size_t k = earlier_result(t->tell, i);
    if (k != SIZE_MAX) {
        const wire_result *earlier = &t->tell->results[k];
        if (outcome_state(earlier) == outcome_state(result) &&
            same_value(earlier->has_value, earlier->value, result->has_value, result->value))
            t->verdicts[i] = DUPLICATE;
        else
            refuse(t, i, "trial", true, "is told twice in this request, differently");
        return STORE_OK;
    }
    trial *target = study_find_trial(s, result->trial);
    if (!target) {
        reading r = {.s = s};
        store_error error = {0};
        store_status status =
            store_read_trial(s->app->store, s->number, result->trial, read_closed, &r, &error);
        if (status == STORE_OK && r.no_memory)
            status = STORE_NO_MEMORY;
        if (status != STORE_OK)
            return status;
        target = r.found;
    }
    t->trials[i] = target;
    judge_trial(t, i, result, target);
    return STORE_OK;
}

static void apply(study *s, trial *t, const wire_result *result, int64_t now)
{
    int32_t attempt = result->attempt.given ? (int32_t)result->attempt.value : t->attempt;
    if (result->outcome == WIRE_RELEASED)
        study_requeue(s, t, "released", false, true, now);
    else if (result->outcome == WIRE_FAILED && result->retry && t->state == TRIAL_PENDING &&
             t->attempt < s->config->wire->max_attempts.value)
        study_requeue(s, t, "failed", true, false, now);
    else
        study_close_trial(s, t, outcome_state(result), result->has_value, result->value, result->reason,
                          attempt, now);
}

void study_tell(study *s, http_request *request)
{
    telling t = {.tell = request->context};
    store_status status = STORE_OK;
    int64_t counts[2] = {0}, now = clock_now();
    size_t n = t.tell->n;
    t.verdicts = calloc(n, sizeof *t.verdicts);
    t.trials = calloc(n, sizeof(trial *));
    if (!t.verdicts || !t.trials)
        status = STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        status = judge(s, &t, i);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
    } else if (t.errors.n > 0) {
        http_answer_problem(request, t.invalid ? 422 : 409, &t.errors,
                            "nothing was accepted: the results at fault are listed in errors");
    } else {
        for (size_t i = 0; i < n; i++) {
            counts[t.verdicts[i]]++;
            if (t.verdicts[i] != DUPLICATE)
                apply(s, t.trials[i], &t.tell->results[i], now);
        }
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_tell_answer(&w, counts[ACCEPT], counts[DUPLICATE], 0);
        study_hold(s, request);
        http_answer_json(request, 200, &w);
    }
    wire_errors_clear(&t.errors);
    free(t.verdicts);
    free(t.trials);
}
