#include "server/study/turn_end.h"

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/study/engine_lane.h"
#include "server/study/lease.h"
#include "server/study/news.h"
#include "server/study/observations.h"
#include "server/study/patch.h"
#include "server/study/plan.h"
#include "server/study/points.h"
#include "server/study/propose.h"
#include "server/study/trial_memory.h"
#include "server/study/trials.h"
#include "server/study/waiting.h"

#include <string.h>

int64_t study_horizon(const study *s)
{
    return s->config->wire->horizon.given ? s->config->wire->horizon.value : INT64_MAX;
}

/* Sets the state, and records the event with it. */
static void set_state(study *s, store_event *event, study_state state, const char *reason)
{
    size_t n = strnlen(reason, sizeof s->state_reason - 1);
    study_tell_state(s, state, reason);
    s->state = state;
    memmove(s->state_reason, reason, n); /* memmove, because `reason` may be state_reason */
    s->state_reason[n] = '\0';
    event->type = EVENT_STUDY_CHANGED;
    event->time = clock_now();
    event->u.changed.state = state;
    event->u.changed.reason = reason;
    commit_record(s->commit, event);
    log_event(LOG_INFO, "study_state", "study", s->id, "state", study_state_name(state), "reason",
              *reason ? reason : NULL, NULL);
}

void study_set_state(study *s, study_state state, const char *reason, const char *definition)
{
    store_event event = {.u.changed = {.definition = definition}};
    set_state(s, &event, state, reason);
}

void study_set_bounds(study *s, study_state state, const char *reason, const char *definition,
                      int64_t best_candidate)
{
    store_event event = {.u.changed = {.definition = definition,
                                       .finds_best = true,
                                       .best_trial = s->best_trial,
                                       .best_candidate = best_candidate,
                                       .best_value = s->best_value}};
    set_state(s, &event, state, reason);
}

void study_after_turn(study *s)
{
    int64_t now = clock_now();
    bool more = study_restate_leases(s, now);
    study_expire_leases(s, now);
    plan_state_delay(s->plans, false);
    study_run_deferred(s);
    if (s->state == STUDY_ACTIVE && trial_queue_open(s->queue) == 0 && s->trials >= study_horizon(s))
        study_set_state(s, STUDY_FINISHED, "", NULL);
    study_start_renewal(s);
    study_start_placing(s);
    if (s->batches > 0 && study_may_plan(s) && !plan_state_is_unfinished(s->plans) &&
        trial_queue_open(s->queue) == 0 && !s->config->asynchronous)
        study_plan_batch(s, 0); /* so that the next ask finds the batch ready */
    if (s->state == STUDY_FINISHED && s->batches > 0 && trial_queue_open(s->queue) == 0 &&
        study_has_news(s) && !plan_state_is_busy(s->plans) && !commit_is_broken(s->commit))
        study_close_model(s);
    study_serve_waiting(s, now);
    study_tell_abandoned(s);
    trial_queue_drop_joined(s->queue, commit_done(s->commit));
    pending_results_drop_joined(s->results, commit_done(s->commit));
    study_count_trials(s);
    study_free_old_configs(s);
    atomic_store(&s->timing.wake_at, more ? 0 : study_next_wake(s));
    atomic_store(&s->timing.lease_end, trial_queue_next_expiry(s->queue));
}
