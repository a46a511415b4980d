#include "server/study/barred.h"

#include "server/study/failures.h"

#include <string.h>

static const char infeasible[] = "the candidate is infeasible",
                  failing[] = "the candidate failed too often in a row",
                  evaluated[] = "the candidate has a result already";

bool study_is_barred_by_failures(trial_state state, int32_t attempt, const char *reason)
{
    return state == TRIAL_STOPPED && attempt == 0 && strcmp(reason, failing) == 0;
}

/* The results of a candidate: those that its record counts, and those that arrived later. */
typedef struct outcomes {
    bool infeasible, evaluated;
    unsigned failures; /* in a row, up to the last one */
} outcomes;

/* Does the trial have a result that its candidate's record does not count yet? */
static bool is_uncounted(const trial *t, uint32_t candidate)
{
    return t->candidate == candidate && !t->joining &&
           !study_is_barred_by_failures(t->state, t->attempt, t->reason);
}

static outcomes outcomes_of(const study *s, uint32_t candidate)
{
    unsigned counted = study_counted_outcome(s, candidate);
    outcomes o = {.infeasible = counted == ARM_INFEASIBLE, .evaluated = counted == ARM_EVALUATED};
    int64_t succeeded = 0; /* the last trial that did not fail */
    trial *t;
    size_t n;
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t)) {
        if (!is_uncounted(t, candidate))
            continue;
        o.infeasible |= t->state == TRIAL_INFEASIBLE;
        o.evaluated |= t->has_value;
        if (t->state != TRIAL_FAILED && t->id > succeeded)
            succeeded = t->id;
    }
    for (t = trial_queue_first(s->queue, TRIALS_JOINED); t; t = trial_queue_next(t)) /* amended ones */
        o.infeasible |= t->candidate == candidate && t->state == TRIAL_INFEASIBLE;
    for (t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        o.failures += is_uncounted(t, candidate) && t->state == TRIAL_FAILED && t->id > succeeded;
    if (succeeded == 0 && counted <= ARM_FAILURES)
        o.failures += counted;
    const store_imported *imported = pending_results_observations(s->results, &n);
    for (size_t i = 0; i < n; i++)
        o.evaluated |= imported[i].candidate == candidate && imported[i].has_value;
    return o;
}

const char *study_bar(const study *s, const trial *pick)
{
    unsigned limit = s->config->max_arm_failures;
    if (pick->batch < 0)
        return NULL;
    outcomes o = outcomes_of(s, pick->candidate);
    if (o.infeasible)
        return infeasible;
    if (o.failures >= (limit < ARM_FAILURES ? limit : ARM_FAILURES) && pick->attempt == 0)
        return failing;
    return o.evaluated && study_pulls_once(s) ? evaluated : NULL;
}
