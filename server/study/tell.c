/* Takes reported results. Each result is checked against its trial, and either all results of a request are accepted or
 * none. */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/result_values.h"
#include "server/study/amend.h"
#include "server/study/estimates.h"
#include "server/study/late_results.h"
#include "server/study/requests.h"
#include "server/study/stop_when.h"
#include "server/study/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum verdict { ACCEPT, DUPLICATE, LATE, VERDICTS } verdict;

typedef struct telling {
    const wire_tell *tell;
    verdict *verdicts; /* one per result */
    trial **trials;    /* one per result: the trial that it is for; NULL for some duplicates */
    char **recorded;   /* one per result: the text of its recorded metrics; NULL: it was refused */
    wire_errors errors;
    bool invalid; /* a result is invalid; otherwise the refused results contradict known ones */
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

static told_result told_of(const telling *t, size_t i)
{
    const wire_result *result = &t->tell->results[i];
    return (told_result){.state = outcome_state(result),
                         .has_value = result->has_value,
                         .value = result->value,
                         .repeats = result->repeats.given ? result->repeats.value : 1,
                         .recorded = t->recorded[i],
                         .metadata = result->metadata,
                         .reason = result->reason,
                         .cost = result->cost};
}

static bool same_values(const told_result *a, const told_result *b)
{
    return a->has_value == b->has_value &&
           (!a->has_value ||
            (a->value == b->value && a->repeats == b->repeats && strcmp(a->recorded, b->recorded) == 0));
}

static void take_told_cost(void *arg, int64_t seq, const store_event *event)
{
    (void)seq;
    if (event->type == EVENT_TRIAL_TOLD)
        *(double *)arg = event->u.told.cost;
}

/* Judges a result that is already known. For the same attempt, its cost must be the same; the cost of another attempt
 * is not counted. */
static store_status judge_again(study *s, telling *t, size_t i, trial *target)
{
    const wire_result *result = &t->tell->results[i];
    store_error error = {0};
    store_status status = STORE_OK;
    t->verdicts[i] = DUPLICATE;
    if (result->cost == 0 || (result->attempt.given && result->attempt.value != target->attempt))
        return STORE_OK;
    if (isnan(target->told_cost))
        status = store_read_events(s->app->store, s->number, target->told_seq - 1, 1, take_told_cost,
                                   &target->told_cost, &error);
    if (status == STORE_OK && !study_same_cost(result->cost, target->told_cost))
        refuse(t, i, "cost", true, "the trial already has this result with a different cost");
    return status;
}

/* Judges a result for a closed trial: a duplicate, a late result, or a contradiction. */
static store_status judge_told(study *s, telling *t, size_t i, trial *target)
{
    const wire_result *result = &t->tell->results[i];
    told_result told = told_of(t, i);
    told_result known = {.has_value = target->has_value,
                         .value = target->value,
                         .repeats = target->repeats,
                         .recorded = target->recorded};
    bool amended, has_attempt = result->attempt.given;
    int32_t attempt = has_attempt ? (int32_t)result->attempt.value : target->attempt;
    late_verdict late = LATE_OTHER;
    if (told.state == target->state && same_values(&told, &known))
        return judge_again(s, t, i, target);
    store_status status = study_was_amended_from(s, target, &told, &amended);
    if (status == STORE_OK && amended)
        return judge_again(s, t, i, target);
    if (status == STORE_OK && attempt != target->attempt)
        status = study_judge_late(s, target, attempt, &told, &late);
    if (status != STORE_OK)
        return status;
    if (late == LATE_NEVER_ISSUED)
        refuse(t, i, "attempt", false, "the trial had no such attempt");
    else if (told.has_value && target->has_value && late == LATE_SAME)
        t->verdicts[i] = DUPLICATE;
    else if (told.has_value && target->has_value && late == LATE_NEW)
        t->verdicts[i] = LATE;
    else
        refuse(t, i, "trial", true, "the trial already has a different result");
    return STORE_OK;
}

static store_status judge_trial(study *s, telling *t, size_t i, trial *target)
{
    const wire_result *result = &t->tell->results[i];
    bool open = target->state == TRIAL_QUEUED || target->state == TRIAL_PENDING;
    bool expired = target->state == TRIAL_FAILED && strcmp(target->reason, study_lease_expired) == 0;
    if (!open && !expired)
        return judge_told(s, t, i, target);
    if (result->attempt.given && result->attempt.value > target->attempt) {
        refuse(t, i, "attempt", false, "the trial had no such attempt");
    } else if (target->state == TRIAL_QUEUED && target->attempt == 0) {
        refuse(t, i, "trial", true, "the trial is queued: no worker has it");
    } else {
        bool current = !result->attempt.given || result->attempt.value == target->attempt;
        bool held = target->state == TRIAL_PENDING && current;
        /* A trial that is already in the queue again cannot be released. */
        t->verdicts[i] = result->outcome == WIRE_RELEASED && !held ? DUPLICATE : ACCEPT;
    }
    return STORE_OK;
}

/* The index of an earlier result for the same trial in the same request, or SIZE_MAX. */
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
    char at[32];
    size_t problems = t->errors.n;
    snprintf(at, sizeof at, "/results/%zu", i);
    if (!result_values_read(s->config, result, at, &t->recorded[i], &t->errors)) {
        t->invalid = true;
        return t->errors.n > problems ? STORE_OK : STORE_NO_MEMORY;
    }
    size_t k = earlier_result(t->tell, i);
    if (k != SIZE_MAX) {
        told_result earlier = told_of(t, k), told = told_of(t, i);
        if (!t->recorded[k])
            t->verdicts[i] = DUPLICATE; /* the earlier result is refused, and so is the request */
        else if (earlier.state == told.state && same_values(&earlier, &told) &&
                 study_same_cost(told.cost, earlier.cost))
            t->verdicts[i] = DUPLICATE;
        else
            refuse(t, i, "trial", true, "has two different results in this request");
        return STORE_OK;
    }
    store_status status;
    trial *target = t->trials[i] = study_recall_trial(s, result->trial, &status);
    return target ? judge_trial(s, t, i, target) : status;
}

static void apply(study *s, telling *t, size_t i, int64_t now)
{
    const wire_result *result = &t->tell->results[i];
    trial *target = t->trials[i];
    told_result told = told_of(t, i);
    int32_t attempt = result->attempt.given ? (int32_t)result->attempt.value : target->attempt;
    if (t->verdicts[i] == LATE) {
        if (!study_tell_late(s, target, attempt, &told, now))
            commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    } else if (result->outcome == WIRE_RELEASED) {
        study_requeue(s, target, "released", false, result->cost, now);
    } else if (result->outcome == WIRE_FAILED && result->retry && target->state == TRIAL_PENDING &&
               target->attempt < s->config->wire->max_attempts.value) {
        study_requeue(s, target, "failed", true, result->cost, now);
    } else {
        study_close_trial(s, target, &told, attempt, now);
    }
}

void study_tell(study *s, study_request *request)
{
    telling t = {.tell = request->context};
    store_status status = STORE_OK;
    int64_t counts[VERDICTS] = {0}, now = clock_now();
    size_t n = t.tell->n;
    t.verdicts = calloc(n, sizeof *t.verdicts);
    t.trials = calloc(n, sizeof(trial *));
    t.recorded = calloc(n, sizeof(char *));
    if (!t.verdicts || !t.trials || !t.recorded)
        status = STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        status = judge(s, &t, i);
    if (status != STORE_OK) {
        reply_store_problem(request, status);
    } else if (t.errors.n > 0) {
        reply_problem(request, t.invalid ? REPLY_INVALID : REPLY_CONFLICT, &t.errors,
                      "no result was accepted: errors lists the results that cannot be");
    } else {
        for (size_t i = 0; i < n; i++) {
            counts[t.verdicts[i]]++;
            if (t.verdicts[i] != DUPLICATE)
                apply(s, &t, i, now);
        }
        suspects suspected = {0};
        for (size_t i = 0; i < n; i++)
            if (t.verdicts[i] != DUPLICATE && !trial_is_open(t.trials[i]))
                study_suspects_add(s, &suspected, t.trials[i]->candidate, t.trials[i]->state);
        study_cancel_barred(s, &suspected);
        study_estimate_stopped(s, now);
        stop_when_spent(s);
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_tell_answer(&w, counts[ACCEPT], counts[DUPLICATE], counts[LATE]);
        commit_hold(s->commit, request);
        reply_json(request, &w);
    }
    wire_errors_clear(&t.errors);
    for (size_t i = 0; t.recorded && i < n; i++)
        free(t.recorded[i]);
    free(t.recorded);
    free(t.verdicts);
    free(t.trials);
}
