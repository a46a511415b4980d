#include "server/study/barred.h"

#include "server/study/failures.h"

#include <stdlib.h>
#include <string.h>

static const char infeasible[] = "the candidate is infeasible",
                  failing[] = "the candidate failed too often in a row",
                  evaluated[] = "the candidate has a result already";

bool study_is_barred_by_failures(trial_state state, int32_t attempt, const char *reason)
{
    return state == TRIAL_STOPPED && attempt == 0 && strcmp(reason, failing) == 0;
}

static int by_candidate(const void *x, const void *y)
{
    const candidate_outcomes *a = x, *b = y;
    return (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

static candidate_outcomes *find(const suspects *all, uint32_t candidate)
{
    const candidate_outcomes key = {.candidate = candidate};
    return bsearch(&key, all->list, all->n, sizeof *all->list, by_candidate);
}

void study_suspects_add(const study *s, suspects *to, uint32_t candidate, trial_state state)
{
    if (state != TRIAL_FAILED && state != TRIAL_INFEASIBLE && !study_pulls_once(s))
        return;
    if (to->n == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 16;
        candidate_outcomes *list = realloc(to->list, capacity * sizeof *list);
        if (!list) {
            to->no_memory = true;
            return;
        }
        to->list = list;
        to->capacity = capacity;
    }
    to->list[to->n++] = (candidate_outcomes){.candidate = candidate};
}

static void sort(suspects *all)
{
    size_t n = 0;
    qsort(all->list, all->n, sizeof *all->list, by_candidate);
    for (size_t i = 0; i < all->n; i++)
        if (n == 0 || all->list[i].candidate != all->list[n - 1].candidate)
            all->list[n++] = all->list[i];
    all->n = n;
}

/* The suspect of a trial, unless the trial has no result that the candidate's record does not count yet. */
static candidate_outcomes *find_uncounted(const suspects *all, const trial *t)
{
    bool counts = !t->joining && !study_is_barred_by_failures(t->state, t->attempt, t->reason);
    return counts ? find(all, t->candidate) : NULL;
}

/* Infeasible trials in a list. An amendment may have made them so after a batch began to include them. */
static void gather_infeasible(const study *s, const suspects *all, trial_list list)
{
    for (trial *t = trial_queue_first(s->queue, list); t; t = trial_queue_next(t)) {
        candidate_outcomes *o = t->state == TRIAL_INFEASIBLE ? find(all, t->candidate) : NULL;
        if (o)
            o->infeasible = true;
    }
}

/* The results of trials that no batch includes. */
static void gather_trials(const study *s, const suspects *all)
{
    candidate_outcomes *o;
    trial *t;
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t)) {
        o = find_uncounted(all, t);
        if (!o)
            continue;
        o->evaluated |= t->has_value;
        if (t->state != TRIAL_FAILED && t->id > o->succeeded)
            o->succeeded = t->id;
    }
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t)) {
        o = t->state == TRIAL_FAILED ? find_uncounted(all, t) : NULL;
        if (o)
            o->failures += t->id > o->succeeded;
    }
    gather_infeasible(s, all, TRIALS_REPORTED);
    gather_infeasible(s, all, TRIALS_JOINED);
}

void study_suspects_gather(const study *s, suspects *all)
{
    if (all->n == 0)
        return;
    sort(all);
    gather_trials(s, all);
    for (size_t i = 0; i < all->n; i++) {
        candidate_outcomes *o = &all->list[i];
        unsigned counted = study_counted_outcome(s, o->candidate);
        o->infeasible |= counted == ARM_INFEASIBLE;
        o->evaluated |= counted == ARM_EVALUATED;
        if (o->succeeded == 0 && counted <= ARM_FAILURES)
            o->failures += counted;
    }
    size_t n;
    const store_imported *imported = pending_results_observations(s->results, &n);
    for (size_t i = 0; i < n; i++) {
        candidate_outcomes *o = imported[i].has_value ? find(all, imported[i].candidate) : NULL;
        if (o)
            o->evaluated = true;
    }
}

const char *study_bar(const study *s, const suspects *all, const trial *pick)
{
    unsigned limit = s->config->max_arm_failures;
    const candidate_outcomes *o = pick->batch < 0 || all->n == 0 ? NULL : find(all, pick->candidate);
    if (!o)
        return NULL;
    if (o->infeasible)
        return infeasible;
    if (o->failures >= (limit < ARM_FAILURES ? limit : ARM_FAILURES) && pick->attempt == 0)
        return failing;
    return o->evaluated && study_pulls_once(s) ? evaluated : NULL;
}
