/* Values that were reported for an attempt other than the one that completed the trial. */
#include "server/study/late_results.h"

#include "server/study/imported_best.h"
#include "server/study/known_front.h"
#include "server/study/news.h"
#include "server/study/trials.h"

#include <stdlib.h>
#include <string.h>

/* The results that an attempt has reported so far. */
typedef struct late_search {
    int32_t attempt;
    double value;
    int64_t repeats;
    const char *recorded;
    double cost;
    bool found, same;
} late_search;

bool study_same_cost(double told, double known)
{
    return told == 0 || told == known;
}

static void compare_late(void *arg, const store_late_result *late)
{
    late_search *search = arg;
    if (late->attempt != search->attempt)
        return;
    search->found = true;
    search->same |= late->value == search->value && late->repeats == search->repeats &&
                    strcmp(late->recorded, search->recorded) == 0 &&
                    study_same_cost(search->cost, late->cost);
}

/* Finds the highest attempt with which the trial was handed out. */
static void find_attempt(void *arg, const store_attempt *row)
{
    int32_t *highest = arg;
    if (row->attempt > *highest)
        *highest = row->attempt;
}

store_status study_judge_late(study *s, const trial *t, int32_t attempt, const told_result *told,
                              late_verdict *verdict)
{
    late_search search = {.attempt = attempt,
                          .value = told->value,
                          .repeats = told->repeats,
                          .recorded = told->recorded,
                          .cost = told->cost};
    store_error error = {0};
    const late_result *late;
    int32_t highest = 0;
    for (late = pending_results_first_late(s->results); late; late = pending_results_next_late(late))
        if (late->trial == t->id)
            compare_late(&search, &(store_late_result){.attempt = late->attempt,
                                                       .value = late->value,
                                                       .repeats = late->repeats,
                                                       .recorded = late->recorded,
                                                       .cost = late->cost});
    store_status status =
        store_read_late_results(s->app->store, s->number, t->id, 0, INT64_MAX, compare_late, &search, &error);
    if (status == STORE_OK && attempt > t->attempt)
        status = store_read_attempts(s->app->store, s->number, t->id, t->id, find_attempt, &highest, &error);
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
                             .recorded = result->recorded,
                             .cost = result->cost};
    store_event event = {.type = EVENT_LATE_RESULT_TOLD, .time = now};
    event.u.late.front = study_enters_front(s, result->value, result->recorded);
    if (!pending_results_add_late(s->results, &row))
        return false;
    event.u.late.trial = t->id;
    event.u.late.attempt = attempt;
    event.u.late.value = result->value;
    event.u.late.better = study_is_better(s, result->value, result->recorded);
    event.u.late.outdone = event.u.late.better && study_is_outdone(s, result->value);
    event.u.late.repeats = result->repeats;
    event.u.late.recorded = result->recorded;
    event.u.late.metadata = result->metadata;
    event.u.late.cost = result->cost;
    s->cost += result->cost;
    if (event.u.late.better) {
        s->best_trial = t->id;
        s->best_value = result->value;
    }
    commit_record(s->commit, &event);
    if (event.u.late.better && !event.u.late.outdone)
        study_tell_better(s, t->id, result->value);
    return true;
}
