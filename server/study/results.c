/* What is told of a trial after its first result, and what results carry beside a value: recorded metrics,
 * late values, amendments. */
#include "proto/changes.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/study/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trials that only the store knows ------------------------------------------------------------------ */

typedef struct recalling {
    study *s;
    trial *found;
    bool no_memory;
} recalling;

static void read_told(void *arg, const store_trial *row)
{
    recalling *r = arg;
    trial *t = study_trial_of_row(row);
    if (t)
        t->joined_by = 1; /* not for the next batch: in the list that is swept as soon as nothing needs it */
    if (t && study_add_trial(r->s, t))
        r->found = t;
    else
        r->no_memory = true;
}

trial *study_recall_trial(study *s, int64_t id, store_status *status)
{
    recalling r = {.s = s, .found = study_find_trial(s, id)};
    store_error error = {0};
    *status = STORE_OK;
    if (!r.found)
        *status = store_read_trial(s->app->store, s->number, id, read_told, &r, &error);
    if (*status == STORE_OK && r.no_memory)
        *status = STORE_NO_MEMORY;
    return *status == STORE_OK ? r.found : NULL;
}

/* ---- the values of a result ---------------------------------------------------------------------------- */

/* The name as part of a JSON pointer (RFC 6901). */
static const char *escaped(const char *name, char text[2 * 4 * WIRE_MAX_NAME + 1])
{
    char *out = text;
    for (const char *c = name; *c && out < text + 2 * 4 * WIRE_MAX_NAME - 1; c++) {
        if (*c == '~' || *c == '/')
            *out++ = '~';
        *out++ = *c == '~' ? '0' : *c == '/' ? '1' : *c;
    }
    *out = '\0';
    return text;
}

static void refuse_value(wire_errors *errors, const char *at, const char *name, const char *why)
{
    char text[2 * 4 * WIRE_MAX_NAME + 1], pointer[sizeof text + 64];
    snprintf(pointer, sizeof pointer, "%s/values/%s", at, escaped(name, text));
    wire_errors_add(errors, pointer, "%s", why);
}

static const wire_named_value *value_of(const wire_result *result, const char *name)
{
    for (size_t i = 0; result->values && i < result->n_values; i++)
        if (strcmp(result->values[i].name, name) == 0)
            return &result->values[i];
    return NULL;
}

/* The text of what was told of the recorded metrics, in the order of the definition; NULL: out of memory. */
static char *recorded_text(const wire_study *definition, const wire_result *result)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text;
    size_t size;
    bool any = false;
    wire_object_begin(&w);
    for (size_t i = 0; result->values && i < definition->n_metrics; i++) {
        const wire_metric *metric = &definition->metrics[i];
        const wire_named_value *value = metric->recorded ? value_of(result, metric->name) : NULL;
        if (!value)
            continue;
        any = true;
        wire_key(&w, metric->name);
        wire_real(&w, value->value);
    }
    wire_object_end(&w);
    if (!any) {
        wire_writer_clear(&w);
        return strdup("");
    }
    wire_writer_finish(&w, &text, &size);
    return text;
}

bool study_read_values(const study *s, wire_result *result, const char *at, char **recorded,
                       wire_errors *errors)
{
    const wire_study *definition = s->config->wire;
    const char *objective = s->config->objective->name;
    size_t before = errors->n;
    *recorded = NULL;
    if (result->values) {
        const wire_named_value *value = value_of(result, objective);
        for (size_t i = 0; i < result->n_values; i++) {
            size_t k = 0;
            while (k < definition->n_metrics &&
                   strcmp(definition->metrics[k].name, result->values[i].name) != 0)
                k++;
            if (k == definition->n_metrics)
                refuse_value(errors, at, result->values[i].name, "the study declares no such metric");
        }
        if (value) {
            result->has_value = true;
            result->value = value->value;
        } else {
            refuse_value(errors, at, objective, "is the study's objective, and must be there");
        }
    }
    if (errors->n != before)
        return false;
    *recorded = recorded_text(definition, result);
    return *recorded != NULL;
}

/* ---- late values --------------------------------------------------------------------------------------- */

static void free_late(late_result *late)
{
    free(late->recorded);
    free(late);
}

bool study_keep_late(study *s, const store_late_result *row)
{
    late_result *late = calloc(1, sizeof *late);
    if (!late)
        return false;
    *late = (late_result){.trial = row->trial,
                          .attempt = row->attempt,
                          .candidate = (uint32_t)row->candidate,
                          .value = row->value,
                          .repeats = row->repeats};
    if (!study_set_text(&late->recorded, row->recorded)) {
        free_late(late);
        return false;
    }
    TAILQ_INSERT_TAIL(&s->late, late, link);
    return true;
}

void study_drop_late(study *s, uint64_t committed)
{
    late_result *late, *next;
    for (late = TAILQ_FIRST(&s->late); late; late = next) {
        next = TAILQ_NEXT(late, link);
        if (committed < UINT64_MAX && (late->joined_by == 0 || late->joined_by > committed))
            continue;
        TAILQ_REMOVE(&s->late, late, link);
        free_late(late);
    }
}

/* What the attempt has told before. */
typedef struct late_search {
    int32_t attempt;
    double value;
    int64_t repeats;
    const char *recorded;
    bool found, same;
} late_search;

static void compare_late(late_search *search, int32_t attempt, double value, int64_t repeats,
                         const char *recorded)
{
    if (attempt != search->attempt)
        return;
    search->found = true;
    search->same |=
        value == search->value && repeats == search->repeats && strcmp(recorded, search->recorded) == 0;
}

static void compare_stored(void *arg, const store_late_result *row)
{
    compare_late(arg, row->attempt, row->value, row->repeats, row->recorded);
}

/* Has the trial ever been handed out under that attempt? */
static void find_attempt(void *arg, const store_attempt *row)
{
    int32_t *highest = arg;
    if (row->attempt > *highest)
        *highest = row->attempt;
}

store_status study_judge_late(study *s, const trial *t, int32_t attempt, double value, int64_t repeats,
                              const char *recorded, late_verdict *verdict)
{
    late_search search = {.attempt = attempt, .value = value, .repeats = repeats, .recorded = recorded};
    store_error error = {0};
    late_result *late;
    int32_t highest = 0;
    TAILQ_FOREACH (late, &s->late, link)
        if (late->trial == t->id)
            compare_late(&search, late->attempt, late->value, late->repeats, late->recorded);
    store_status status = store_read_late_results(s->app->store, s->number, t->id, 0, INT64_MAX,
                                                  compare_stored, &search, &error);
    if (status == STORE_OK && attempt > t->attempt)
        status = store_read_attempts(s->app->store, s->number, t->id, find_attempt, &highest, &error);
    if (attempt > t->attempt && attempt > highest)
        *verdict = LATE_NEVER_ISSUED;
    else
        *verdict = !search.found ? LATE_NEW : search.same ? LATE_SAME : LATE_OTHER;
    return status;
}

bool study_tell_late(study *s, trial *t, int32_t attempt, const told_result *result, int64_t now)
{
    store_late_result row = {.trial = t->id,
                             .candidate = t->candidate,
                             .attempt = attempt,
                             .value = result->value,
                             .repeats = result->repeats,
                             .recorded = result->recorded};
    if (!study_keep_late(s, &row))
        return false;
    store_event event = {.type = EVENT_LATE_RESULT_TOLD, .time = now};
    event.u.late.trial = t->id;
    event.u.late.attempt = attempt;
    event.u.late.value = result->value;
    event.u.late.better = study_is_better(s, result->value);
    event.u.late.repeats = result->repeats;
    event.u.late.recorded = result->recorded;
    event.u.late.metadata = result->metadata;
    if (event.u.late.better) {
        s->best_trial = t->id;
        s->best_value = result->value;
    }
    study_record(s, &event);
    return true;
}

/* ---- amendments ---------------------------------------------------------------------------------------- */

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

bool study_keep_amendment(study *s, const amendment *a)
{
    amendment *grown = realloc(s->amendments, (s->n_amendments + 1) * sizeof *grown);
    if (!grown)
        return false;
    s->amendments = grown;
    grown[s->n_amendments++] = *a;
    return true;
}

void study_drop_amendments(study *s, size_t n)
{
    s->n_amendments -= n;
    s->n_amendments_joining = 0;
    if (s->n_amendments > 0) {
        memmove(s->amendments, s->amendments + n, s->n_amendments * sizeof *s->amendments);
        return;
    }
    free(s->amendments);
    s->amendments = NULL;
}

/* The best value among all that was told; ties: the lowest trial. */
typedef struct best_search {
    study *s;
    int64_t trial;
    double value;
} best_search;

static void consider(best_search *b, int64_t id, double value)
{
    bool better = b->s->config->minimize ? value < b->value : value > b->value;
    if (b->trial == 0 || better || (value == b->value && id < b->trial)) {
        b->trial = id;
        b->value = value;
    }
}

static void consider_stored(void *arg, int64_t id, double value, int64_t told_at)
{
    best_search *b = arg;
    (void)told_at;
    if (!study_find_trial(b->s, id)) /* memory may know better */
        consider(b, id, value);
}

static void consider_late(void *arg, const store_late_result *row)
{
    consider(arg, row->trial, row->value);
}

static store_status find_best(study *s)
{
    best_search b = {.s = s};
    store_error error = {0};
    const trial *t;
    const late_result *late;
    store_status status = store_read_values(s->app->store, s->number, consider_stored, &b, &error);
    if (status == STORE_OK)
        status =
            store_read_late_results(s->app->store, s->number, 0, 0, INT64_MAX, consider_late, &b, &error);
    TAILQ_FOREACH (t, &s->told, link)
        if (t->has_value)
            consider(&b, t->id, t->value);
    TAILQ_FOREACH (t, &s->joined, link)
        if (t->has_value)
            consider(&b, t->id, t->value);
    TAILQ_FOREACH (late, &s->late, link)
        consider(&b, late->trial, late->value);
    s->best_trial = b.trial;
    s->best_value = b.value;
    return status;
}

static void in_engine_units(const study *s, bandit_amendment *change, const told_result *was,
                            const told_result *now)
{
    double sign = s->config->minimize ? -1.0 : 1.0;
    if (was->has_value) {
        change->was.repeats = (uint32_t)was->repeats;
        change->was.reward = sign * was->value;
    }
    if (now->has_value) {
        change->now.repeats = (uint32_t)now->repeats;
        change->now.reward = sign * now->value;
    }
}

static told_result result_of(const trial *t)
{
    return (told_result){.state = t->state,
                         .has_value = t->has_value,
                         .value = t->value,
                         .repeats = t->repeats,
                         .recorded = t->recorded};
}

/* The amendment of a told trial, applied and recorded. */
static store_status amend(study *s, trial *t, const told_result *now)
{
    told_result was = result_of(t);
    bool in_model = t->joined_by > 0 || t->joining;
    amendment a = {.trial = t->id, .told_seq = t->told_seq, .change = {.arm = t->candidate}};
    in_engine_units(s, &a.change, &was, now);
    a.change.chosen = t->batch >= 0 && isfinite(t->variance);
    a.change.variance = a.change.chosen ? t->variance : 0.0;
    if (in_model && !study_keep_amendment(s, &a))
        return STORE_NO_MEMORY;
    t->state = now->state;
    t->has_value = now->has_value;
    t->value = now->has_value ? now->value : 0.0;
    if (!now->has_value)
        t->repeats = 1;
    if (!study_set_text(&t->recorded, now->recorded) ||
        !study_set_text(&t->reason, now->has_value ? "" : now->reason))
        return STORE_NO_MEMORY;
    if (t->joined_by > 0)
        t->joined_by = s->submitted + 1; /* the store knows it so from then on */
    study_note_progress(s, t);
    store_status status = STORE_OK;
    if (s->best_trial == t->id)
        status = find_best(s);
    else if (now->has_value && study_is_better(s, now->value)) {
        s->best_trial = t->id;
        s->best_value = now->value;
    }
    return status;
}

static void record_amendment(study *s, const trial *t, uint32_t best_candidate, const char *reason,
                             int64_t time)
{
    store_event event = {.type = EVENT_TRIAL_AMENDED, .time = time};
    event.u.amended.trial = t->id;
    event.u.amended.state = t->state;
    event.u.amended.has_value = t->has_value;
    event.u.amended.value = t->value;
    event.u.amended.recorded = t->recorded;
    event.u.amended.reason = reason ? reason : "";
    event.u.amended.best_trial = s->best_trial;
    event.u.amended.best_candidate = s->best_trial ? best_candidate : 0;
    event.u.amended.best_value = s->best_value;
    study_record(s, &event);
}

void study_amend(study *s, http_request *request)
{
    wire_result *result = &((wire_amendment *)request->context)->result;
    wire_errors errors = {0};
    store_status status = STORE_OK;
    char *recorded = NULL;
    int64_t time = clock_now();
    trial *t = NULL;
    if (request->number >= 1 && request->number <= s->trials)
        t = study_recall_trial(s, request->number, &status);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
        return;
    }
    if (!t) {
        http_answer_problem(request, 404, NULL, "there is no trial %lld", (long long)request->number);
        return;
    }
    if (t->state == TRIAL_QUEUED || t->state == TRIAL_PENDING) {
        http_answer_problem(request, 409, NULL, "the trial is %s: only what was told can be amended",
                            trial_state_name(t->state));
        return;
    }
    if (!study_read_values(s, result, "", &recorded, &errors)) {
        http_answer_undecodable(request, errors.n > 0 ? WIRE_INVALID : WIRE_NO_MEMORY, &errors);
        goto out;
    }
    told_result now = {.has_value = result->has_value,
                       .value = result->value,
                       .repeats = t->repeats,
                       .recorded = result->has_value && !result->values ? t->recorded : recorded,
                       .reason = result->reason};
    if (result->has_value)
        now.state = t->state == TRIAL_STOPPED ? TRIAL_STOPPED : TRIAL_COMPLETED;
    else
        now.state = result->outcome == WIRE_INFEASIBLE ? TRIAL_INFEASIBLE : TRIAL_FAILED;
    status = amend(s, t, &now);
    const trial *best = t;
    if (status == STORE_OK && s->best_trial && s->best_trial != t->id)
        best = study_recall_trial(s, s->best_trial, &status);
    if (status != STORE_OK) {
        s->write_status = status; /* the memory is ahead of the log: thrown away, and loaded again */
        http_answer_store_problem(request, status);
        goto out;
    }
    record_amendment(s, t, best->candidate, result->reason, time);
    log_event(LOG_INFO, "trial_amended", "study", s->id, "trial", log_format("%lld", (long long)t->id), NULL);
    study_hold(s, request);
    study_answer_trial(s, request, t);
out:
    free(recorded);
    wire_errors_clear(&errors);
}
