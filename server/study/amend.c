/* Corrections of reported results. */
#include "server/study/amend.h"
#include "server/data/result_values.h"

#include "proto/changes.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/data/modelled.h"
#include "server/study/ask.h"
#include "server/study/every_result.h"
#include "server/study/imported_best.h"
#include "server/study/known_front.h"
#include "server/study/measure.h"
#include "server/study/requests.h"
#include "server/study/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char study_breaks_constraint[] =
    "the point breaks a constraint of an enumerated space, so it can have no value";

typedef struct amended_search {
    const told_result *result;
    bool found;
} amended_search;

static void compare_amended(void *arg, const store_amendment *row)
{
    amended_search *search = arg;
    const told_result *r = search->result;
    search->found |= row->was == r->state && row->had_value == r->has_value &&
                     (!r->has_value || (row->value == r->value && row->repeats == r->repeats &&
                                        strcmp(row->recorded, r->recorded) == 0));
}

store_status study_was_amended_from(study *s, const trial *t, const told_result *result, bool *so)
{
    amended_search search = {.result = result};
    store_error error = {0};
    store_status status =
        store_read_amendments(s->app->store, s->number, t->id, 0, compare_amended, &search, &error);
    *so = search.found;
    return status;
}

/* The search for the best of all reported values; among equal values, that of the lowest trial. */
typedef struct best_search {
    study *s;
    int64_t trial;
    double value;
} best_search;

static void consider(void *arg, int64_t id, double value, const char *recorded)
{
    best_search *b = arg;
    bool better = b->s->config->minimize ? value < b->value : value > b->value;
    bool first = b->trial == 0 || better || (value == b->value && id < b->trial);
    if (first && study_can_be_best(b->s, value, recorded)) {
        b->trial = id;
        b->value = value;
    }
}

store_status study_find_best(study *s)
{
    best_search b = {.s = s};
    store_status status = study_visit_results(s, consider, &b);
    s->best_trial = b.trial;
    s->best_value = b.value;
    return status;
}

/* Converts one side of the change. False: out of memory, or the stored values are not valid. */
static bool in_engine_units(const study *s, const told_result *result, uint32_t *repeats, double *reward,
                            double *others)
{
    double rewards[WIRE_MAX_MODELLED];
    if (!result->has_value)
        return true;
    if (!modelled_rewards(s->config, result->value, result->recorded, rewards))
        return false;
    *repeats = (uint32_t)result->repeats;
    *reward = rewards[0];
    memcpy(others, rewards + 1, (s->config->n_modelled - 1) * sizeof *others);
    return true;
}

bool study_fill_change(const study *s, bandit_amendment *change, const told_result *was,
                       const told_result *now)
{
    return in_engine_units(s, was, &change->was.repeats, &change->was.reward, change->was.others) &&
           in_engine_units(s, now, &change->now.repeats, &change->now.reward, change->now.others);
}

static told_result result_of(const trial *t)
{
    return (told_result){.state = t->state,
                         .has_value = t->has_value,
                         .value = t->value,
                         .repeats = t->repeats,
                         .recorded = t->recorded};
}

/* Applies the amendment; the caller records it. *front: the result is on the front now. */
static store_status amend(study *s, trial *t, const told_result *now, bool *front)
{
    told_result was = result_of(t);
    bool was_on_front = study_front_before(s, was.has_value, was.value, was.recorded);
    bool in_model = t->joined_by > 0 || t->joining;
    amendment a = {.trial = t->id, .told_seq = t->told_seq, .change = {.arm = t->candidate}};
    if (!study_fill_change(s, &a.change, &was, now))
        return STORE_NO_MEMORY;
    a.change.chosen = t->batch >= 0 && isfinite(t->variance);
    a.change.variance = a.change.chosen ? t->variance : 0.0;
    if (in_model && !pending_results_add_amendment(s->results, &a))
        return STORE_NO_MEMORY;
    t->state = now->state;
    t->has_value = now->has_value;
    t->value = now->has_value ? now->value : 0.0;
    t->repeats = now->repeats; /* also without a value: it may come back */
    if (!text_replace(&t->recorded, now->recorded) ||
        !text_replace(&t->reason, now->has_value ? "" : now->reason))
        return STORE_NO_MEMORY;
    if (t->joined_by > 0)
        t->joined_by = commit_number(s->commit); /* the amended row is stored with this write */
    study_note_progress(s, t);
    *front = study_front_after(s, was_on_front, now->has_value, now->value, now->recorded);
    store_status status = STORE_OK;
    if (s->best_trial == t->id)
        status = study_find_best(s);
    else if (now->has_value && study_is_better(s, now->value, now->recorded)) {
        s->best_trial = t->id;
        s->best_value = now->value;
    }
    return status;
}

/* repeats: as of the event. */
static void record_amendment(study *s, const trial *t, int64_t repeats, uint32_t best_candidate, bool front,
                             const char *reason, int64_t time)
{
    store_event event = {.type = EVENT_TRIAL_AMENDED, .time = time};
    event.u.amended.trial = t->id;
    event.u.amended.state = t->state;
    event.u.amended.has_value = t->has_value;
    event.u.amended.value = t->value;
    event.u.amended.repeats = repeats;
    event.u.amended.recorded = t->recorded;
    event.u.amended.reason = reason ? reason : "";
    event.u.amended.best_trial = s->best_trial;
    event.u.amended.best_candidate = s->best_trial ? best_candidate : 0;
    event.u.amended.best_value = s->best_value;
    event.u.amended.outdone = s->best_trial == t->id && study_is_outdone(s, s->best_value);
    event.u.amended.front = front;
    commit_record(s->commit, &event);
}

/* The trial whose result the request amends; NULL: the request was refused. */
static trial *amendable(study *s, study_request *request, const wire_result *result)
{
    store_status status = STORE_OK;
    trial *t = NULL;
    if (request->number >= 1 && request->number <= s->trials)
        t = study_recall_trial(s, request->number, &status);
    if (status != STORE_OK)
        reply_store_problem(request, status);
    else if (!t)
        reply_problem(request, REPLY_NOT_FOUND, NULL, "there is no trial %lld", (long long)request->number);
    else if (t->state == TRIAL_QUEUED || t->state == TRIAL_PENDING)
        reply_problem(request, REPLY_CONFLICT, NULL, "the trial is %s: only a reported result can be amended",
                      trial_state_name(t->state));
    else if (result->has_value && t->candidate >= study_candidates(s))
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", study_breaks_constraint);
    else
        return t;
    return NULL;
}

void study_amend(study *s, study_request *request)
{
    wire_result *result = &((wire_amendment *)request->context)->result;
    wire_errors errors = {0};
    char *recorded = NULL;
    int64_t time = clock_now();
    trial *t = amendable(s, request, result);
    if (!t)
        return;
    if (!result_values_read(s->config, result, "", &recorded, &errors)) {
        reply_undecodable(request, errors.n > 0 ? WIRE_INVALID : WIRE_NO_MEMORY, &errors);
        goto out;
    }
    char *amended = result_values_amended(s->config, result, t->recorded, recorded);
    free(recorded);
    recorded = amended;
    if (!recorded) {
        reply_store_problem(request, STORE_NO_MEMORY);
        goto out;
    }
    told_result now = {.has_value = result->has_value,
                       .value = result->value,
                       .repeats = result->repeats.given ? result->repeats.value : t->repeats,
                       .recorded = recorded,
                       .reason = result->reason};
    int64_t implied = now.has_value ? t->repeats : 1; /* by an event without repeats */
    if (result->has_value)
        now.state = t->state == TRIAL_STOPPED ? TRIAL_STOPPED : TRIAL_COMPLETED;
    else
        now.state = result->outcome == WIRE_INFEASIBLE ? TRIAL_INFEASIBLE : TRIAL_FAILED;
    bool front = false;
    store_status status = amend(s, t, &now, &front);
    const trial *best = t;
    if (status == STORE_OK && s->best_trial && s->best_trial != t->id)
        best = study_recall_trial(s, s->best_trial, &status);
    if (status != STORE_OK) {
        commit_fail(s->commit, status); /* the memory is ahead of the log, so the study is loaded again */
        reply_store_problem(request, status);
        goto out;
    }
    record_amendment(s, t, now.repeats == implied ? 0 : now.repeats, best->candidate, front, result->reason,
                     time);
    suspects suspected = {0};
    study_suspects_add(s, &suspected, t->candidate, t->state);
    study_cancel_barred(s, &suspected);
    log_event(LOG_INFO, "trial_amended", "study", s->id, "trial", log_format("%lld", (long long)t->id), NULL);
    commit_hold(s->commit, request);
    study_answer_trial(s, request, t);
out:
    free(recorded);
    wire_errors_clear(&errors);
}
