/* Gathers the input of a plan in a turn: results, trials in flight, and candidates that may not be picked. The engine
 * does not know the points of an enumerated space that break its constraints; results at such points do not count. */
#include "proto/recorded_values.h"
#include "server/data/modelled.h"
#include "server/study/barred.h"
#include "server/study/engine_lane.h"
#include "server/study/failures.h"
#include "server/study/plan_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_by_id(const void *a, const void *b)
{
    int64_t x = (*(trial *const *)a)->id, y = (*(trial *const *)b)->id;
    return (x > y) - (x < y);
}

static bandit_result imported(const study *s, const store_imported *observation)
{
    return (bandit_result){.arm = observation->candidate,
                           .repeats = (uint32_t)observation->repeats,
                           .reward = s->config->minimize ? -observation->value : observation->value};
}

static int compare_late(const void *a, const void *b)
{
    const late_result *x = *(const late_result *const *)a, *y = *(const late_result *const *)b;
    if (x->trial != y->trial)
        return (x->trial > y->trial) - (x->trial < y->trial);
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* Adds the reported standard errors to the result that was added last. */
static bool add_std_errors(const study *s, plan *p, const char *recorded)
{
    double errors[WIRE_MAX_MODELLED];
    size_t others = s->config->n_modelled - 1;
    if (!wire_has_std_errors(recorded))
        return true;
    if (!modelled_std_errors(s->config, recorded, errors))
        return false;
    double *own = p->other_errors + (p->n_results - 1) * others;
    if (others > 0)
        memcpy(own, errors + 1, others * sizeof *own);
    p->results[p->n_results - 1].error = errors[0];
    p->results[p->n_results - 1].other_errors = others > 0 ? own : NULL;
    return true;
}

/* Adds the rewards of the metrics after the first to the result that was added last. False: out of memory, or the
 * stored values are not valid. */
static bool add_others(const study *s, plan *p, double value, const char *recorded)
{
    double rewards[WIRE_MAX_MODELLED];
    size_t others = s->config->n_modelled - 1;
    if (!add_std_errors(s, p, recorded))
        return false;
    if (others == 0)
        return true;
    if (!modelled_rewards(s->config, value, recorded, rewards))
        return false;
    double *own = p->others + (p->n_results - 1) * others;
    memcpy(own, rewards + 1, others * sizeof *own);
    p->results[p->n_results - 1].others = own;
    return true;
}

/* The result of a trial. A trial that a user proposed has no variance, because the engine did not choose it. */
static bandit_result told_trial(const study *s, const trial *t)
{
    bool chosen = t->batch >= 0 && isfinite(t->variance);
    return (bandit_result){.arm = t->candidate,
                           .repeats = (uint32_t)t->repeats,
                           .reward = s->config->minimize ? -t->value : t->value,
                           .chosen = chosen,
                           .variance = chosen ? t->variance : 0.0};
}

static bandit_result told_late(const study *s, const late_result *late)
{
    return (bandit_result){.arm = late->candidate,
                           .repeats = (uint32_t)late->repeats,
                           .reward = s->config->minimize ? -late->value : late->value};
}

static bool gather_told(const study *s, plan *p, trial **told, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const trial *t = told[i];
        if (!t->has_value || t->candidate >= p->source.candidates)
            continue;
        p->results[p->n_results++] = told_trial(s, t);
        if (!add_others(s, p, t->value, t->recorded))
            return false;
    }
    return true;
}

static bool gather_late(const study *s, plan *p, const late_result **late, size_t n)
{
    const late_result *l;
    size_t filled = 0;
    for (l = pending_results_first_late(s->results); l; l = pending_results_next_late(l))
        if (l->joined_by == 0)
            late[filled++] = l;
    qsort(late, n, sizeof(late_result *), compare_late);
    for (size_t i = 0; i < n; i++) {
        p->results[p->n_results++] = told_late(s, late[i]);
        if (!add_others(s, p, late[i]->value, late[i]->recorded))
            return false;
    }
    return true;
}

static bool gather_imported(const study *s, plan *p, const store_imported *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!list[i].has_value || list[i].candidate >= p->source.candidates)
            continue;
        p->results[p->n_results++] = imported(s, &list[i]);
        if (!add_others(s, p, list[i].value, list[i].recorded))
            return false;
    }
    return true;
}

/* The trials whose results no batch includes yet, by number. The caller frees the list. NULL: out of memory. */
static trial **reported_trials(const study *s, size_t *n)
{
    size_t filled = 0;
    *n = 0;
    for (const trial *t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        ++*n;
    trial **told = malloc((*n + 1) * sizeof(trial *));
    if (!told)
        return NULL;
    for (trial *t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        told[filled++] = t;
    qsort(told, *n, sizeof(trial *), compare_by_id);
    return told;
}

/* Gathers the results since the last batch: imports in the order of the log, then trials by number, then late
 * results by trial and attempt. Sums are rounded in this order, so it must not depend on the order of
 * arrival. */
static bool gather_results(const study *s, plan *p)
{
    const late_result *l;
    size_t n_told, n_late = 0, n_imported, others = s->config->n_modelled - 1;
    const store_imported *list = pending_results_observations(s->results, &n_imported);
    for (l = pending_results_first_late(s->results); l; l = pending_results_next_late(l))
        n_late += l->joined_by == 0;
    trial **told = reported_trials(s, &n_told);
    const late_result **late = malloc((n_late + 1) * sizeof(late_result *));
    size_t most = n_told + n_late + n_imported;
    p->results = malloc((most + 1) * sizeof *p->results);
    p->others = calloc(most * others + 1, sizeof *p->others);
    p->other_errors = calloc(most * others + 1, sizeof *p->other_errors);
    bool fine = told && late && p->results && p->others && p->other_errors;
    fine = fine && gather_imported(s, p, list, n_imported) && gather_told(s, p, told, n_told) &&
           gather_late(s, p, late, n_late);
    free(told);
    free(late);
    return fine;
}

/* Counts the failures and successes among the results that join now, by candidate. */
static bool count_outcomes(study *s, const plan *p)
{
    size_t n, n_told;
    const store_imported *list = pending_results_observations(s->results, &n);
    trial **told = reported_trials(s, &n_told);
    bool fine = told;
    for (size_t i = 0; fine && i < n && study_pulls_once(s); i++)
        if (list[i].has_value && list[i].candidate < p->source.candidates)
            fine = study_count_outcome(s, list[i].candidate, TRIAL_COMPLETED, true);
    for (size_t i = 0; fine && i < n_told; i++) {
        trial *t = told[i];
        t->joining = true;
        if (!study_is_barred_by_failures(t->state, t->attempt, t->reason))
            fine = study_count_outcome(s, t->candidate, t->state, t->has_value);
    }
    free(told);
    return fine;
}

/* Gathers the amendments of results that the model includes. Amendments of results that join now have already
 * changed these results. */
static bool gather_amendments(const study *s, plan *p)
{
    size_t n, arms = 0;
    const amendment *amendments = pending_results_amendments(s->results, &n);
    p->joined_through = s->through_seq;
    if (n == 0)
        return true;
    p->amendments = malloc(n * sizeof *p->amendments);
    p->amended = malloc(n * sizeof *p->amended);
    p->amended_sums = malloc(n * s->config->n_modelled * sizeof *p->amended_sums);
    if (!p->amendments || !p->amended || !p->amended_sums)
        return false;
    for (size_t i = 0; i < n; i++) {
        const amendment *a = &amendments[i];
        if (a->told_seq > s->through_seq || a->change.arm >= p->source.candidates)
            continue; /* not in the model, or at a point that breaks a constraint */
        p->amendments[p->n_amendments++] = a->change;
        p->amended[arms++] = a->change.arm;
    }
    qsort(p->amended, arms, sizeof *p->amended, plan_compare_arms);
    for (size_t i = 0; i < arms; i++)
        if (i == 0 || p->amended[i] != p->amended[i - 1])
            p->amended[p->n_amended++] = p->amended[i];
    return true;
}

/* Gathers the trials in flight, by number and not by time, so that a replay of the log gathers them in the
 * same order. */
static bool gather_pending(const study *s, plan *p)
{
    trial *t;
    size_t n = 0;
    if (!s->config->asynchronous || trial_queue_open(s->queue) == 0)
        return true;
    trial **open = malloc(trial_queue_open(s->queue) * sizeof(trial *));
    p->pending = malloc(trial_queue_open(s->queue) * sizeof *p->pending);
    if (open && p->pending) {
        for (t = trial_queue_first(s->queue, TRIALS_QUEUED); t; t = trial_queue_next(t))
            open[n++] = t;
        for (t = trial_queue_first(s->queue, TRIALS_PENDING); t; t = trial_queue_next(t))
            open[n++] = t;
        qsort(open, n, sizeof(trial *), compare_by_id);
        for (size_t i = 0; i < n; i++)
            p->pending[p->n_pending++] =
                (bandit_pick){.arm = open[i]->candidate, .variance = open[i]->variance};
    }
    free(open);
    return n > 0;
}

static plan *plan_new(const study *s)
{
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    const wire_study *definition = s->config->wire;
    p->remaining = definition->horizon.given ? (uint64_t)(definition->horizon.value - s->trials) : UINT64_MAX;
    p->source = engine_source_of(s);
    p->first_trial = s->trials + 1;
    p->batch = s->batches;
    memcpy(p->advice, s->advice, sizeof p->advice);
    p->ratio = 1; /* the ratio of a batch without picks */
    return p;
}

static bool gather_withheld(const study *s, plan *p)
{
    p->repeats = study_pick_repeats(s, s->batches == (p->extends ? 1 : 0));
    return study_withheld(s, p->repeats, &p->withheld, &p->n_withheld) &&
           (p->repeats != PICKS_DIFFER ||
            study_withheld(s, PICKS_REPEAT, &p->always_withheld, &p->n_always_withheld)) &&
           study_failed(s, &p->failed, &p->n_failed);
}

/* What the model of the next batch is made from. */
static bool gather_model(const study *s, plan *p)
{
    p->through_seq = commit_next_seq(s->commit) - 1;
    return gather_amendments(s, p) && gather_results(s, p) && gather_pending(s, p);
}

plan *plan_gather(study *s, bool closes_model)
{
    plan *p = plan_new(s);
    if (!p)
        return NULL;
    p->closes_model = closes_model;
    p->by_rule = !closes_model;
    if (closes_model)
        p->stop_rule = stop_rule_name(BANDIT_STOP_HORIZON);
    pending_results_begin(s->results);
    if (gather_model(s, p) && (p->n_amendments == 0 || study_recount_failures(s) == STORE_OK) &&
        count_outcomes(s, p) && gather_withheld(s, p))
        return p;
    plan_free(p);
    return NULL;
}

plan *plan_gather_preview(const study *s)
{
    plan *p = plan_new(s);
    if (p && !gather_model(s, p)) {
        plan_free(p);
        p = NULL;
    }
    return p;
}

plan *plan_gather_extension(study *s)
{
    plan *p = plan_new(s);
    if (!p)
        return NULL;
    p->extends = true;
    p->unfinished = plan_state_is_unfinished(s->plans);
    p->by_rule = plan_state_continues(s->plans);
    p->through_seq = commit_next_seq(s->commit) - 1;
    if (gather_withheld(s, p))
        return p;
    plan_free(p);
    return NULL;
}
