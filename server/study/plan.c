/* Plans batches: starts plans, and records them in a turn. */
#include "server/study/plan.h"

#include "server/base/log.h"
#include "server/study/failures.h"
#include "server/study/news.h"
#include "server/study/observations.h"
#include "server/study/plan_internal.h"
#include "server/study/remembered.h"
#include "server/study/stop_when.h"
#include "server/study/trials.h"
#include "server/study/turn_end.h"
#include "server/study/waiting.h"

#include <stdlib.h>
#include <string.h>

void plan_free(plan *p)
{
    if (!p)
        return;
    free(p->results);
    free(p->others);
    free(p->other_errors);
    free(p->amendments);
    free(p->amended);
    free(p->amended_sums);
    free(p->pending);
    free(p->withheld);
    free(p->always_withheld);
    free(p->failed);
    free(p->withheld_fixed);
    free(p->fixed);
    free(p->picks);
    free(p->points);
    free(p->added);
    free(p->stored_picks);
    free(p->dictionary);
    arm_errors_clear(&p->amended_errors);
    free(p->sums);
    free(p->state);
    free(p);
}

static void plan_done(study *s, study_job *job);

static void run_plan(study *s, engine_job *job)
{
    plan *p = (plan *)(void *)job;
    plan_compute(s, p);
    p->done.run = plan_done;
    study_post(s, &p->done);
}

/* ---- recording, in a turn of the study ----------------------------------------------------------------- */

static void describe_batch(const study *s, const plan *p, store_event *event)
{
    event->type = EVENT_BATCH_PLANNED;
    event->u.planned.batch = (store_batch){.batch = s->batches,
                                           .size = (int64_t)p->n_picks,
                                           .ratio = p->ratio,
                                           .stop_rule = p->stop_rule,
                                           .beta = p->description.beta,
                                           .dictionary_size = (int64_t)p->n_dictionary,
                                           .observations = (int64_t)p->description.observations,
                                           .update_seconds = p->update_seconds,
                                           .select_seconds = p->select_seconds,
                                           .started_at = p->started_at,
                                           .code_path = p->code_path,
                                           .advice = p->advice};
    event->u.planned.through_seq = p->through_seq;
    event->u.planned.dictionary = p->dictionary;
    event->u.planned.sums = p->sums;
    event->u.planned.n_sums = p->n_sums;
    event->u.planned.engine_state = p->state;
    event->u.planned.n_engine_state = p->n_state;
    event->u.planned.first_trial = s->trials + 1;
}

/* Describes the picks as an event of the log, which borrows from p. False: out of memory. */
static bool describe_picks(const study *s, plan *p, store_event *event)
{
    store_pick *picks = malloc((p->n_picks ? p->n_picks : 1) * sizeof *picks);
    if (!picks)
        return false;
    for (size_t i = 0; i < p->n_picks; i++)
        picks[i] = (store_pick){.candidate = p->picks[i].arm, .variance = p->picks[i].variance};
    p->stored_picks = picks;
    store_held held = {.values = p->fixed,
                       .n_values = p->fixed ? (size_t)s->dimension : 0,
                       .n_picks = p->n_picks - p->n_by_rule};
    store_points points = {.n = p->n_added, .dimension = s->dimension, .rows = p->added};
    *event = (store_event){.time = p->started_at};
    if (p->extends) {
        event->type = EVENT_BATCH_EXTENDED;
        event->u.extended.batch = s->batches - 1;
        event->u.extended.through_seq = p->through_seq;
        event->u.extended.ratio = p->ratio;
        event->u.extended.stop_rule = p->stop_rule;
        event->u.extended.first_trial = s->trials + 1;
        event->u.extended.picks = picks;
        event->u.extended.n_picks = p->n_picks;
        event->u.extended.held = held;
        event->u.extended.points = points;
    } else {
        describe_batch(s, p, event);
        event->u.planned.picks = picks;
        event->u.planned.n_picks = p->n_picks;
        event->u.planned.held = held;
        event->u.planned.points = points;
    }
    return true;
}

static void record_picks(study *s, plan *p)
{
    store_event event;
    int64_t batch = p->extends ? s->batches - 1 : s->batches;
    bool fine = describe_picks(s, p, &event);
    for (size_t i = 0; fine && i < p->n_picks; i++)
        fine = study_queue_trial(s, s->trials + 1 + (int64_t)i, batch, &p->picks[i],
                                 p->points ? p->points + i * p->source.dimension : NULL) != NULL;
    if (fine) {
        if (!p->extends) {
            s->through_seq = p->through_seq;
            s->batches++;
        }
        commit_record(s->commit, &event);
        if (!p->extends)
            study_tell_advice(s, p->advice);
        s->candidates += (int64_t)p->n_added;
        s->trials += (int64_t)p->n_picks;
        log_event(LOG_DEBUG, p->extends ? "batch_extended" : "batch_planned", "study", s->id, "batch",
                  log_format("%lld", (long long)batch), "picks", log_format("%zu", p->n_picks), "dictionary",
                  log_format("%zu", p->description.n_dictionary), "seconds",
                  log_format("%.4f", p->update_seconds + p->select_seconds), NULL);
    } else {
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    }
}

static void take_plan(study *s, plan *p)
{
    if (!p->fixed)
        plan_state_set_exhausted(s->plans, p->exhausted && p->n_picks == 0);
    if (!p->extends) {
        /* the results are part of a stored model once this turn's write is on disk */
        trial_queue_join(s->queue, commit_number(s->commit));
        pending_results_join(s->results, commit_number(s->commit));
    }
    plan_state_set_unfinished(s->plans, stop_rule_is_unfinished(p->stop_rule));
    if (p->fixed && !p->by_rule)
        plan_state_set_continues(s->plans, plan_state_continues(s->plans) || !p->extends);
    else
        plan_state_set_continues(s->plans, stop_rule_continues(p->stop_rule));
    if (!p->extends || p->n_picks > 0)
        record_picks(s, p);
    if (!p->extends)
        remembered_refresh(s);
    study_cancel_retired(s);    /* in case candidates were retired during the plan, */
    study_cancel_all_barred(s); /* or results arrived */
}

/* The ask gets the trials that were chosen for it. If it no longer waits, they stay queued. */
static void serve_fixed(study *s, const plan *p)
{
    int64_t first = s->trials - (int64_t)(p->n_picks - p->n_by_rule) + 1;
    study_serve_fixed(s, p->ask, first, p->n_picks - p->n_by_rule);
}

static void plan_done(study *s, study_job *job)
{
    plan *p = (plan *)((char *)job - offsetof(plan, done));
    study_engine_job_done(s);
    plan_state_end(s->plans);
    if (s->deleted || !s->loaded || commit_is_broken(s->commit)) {
        /* the memory of the study that it was planned for has been dropped */
    } else if (p->outcome.stored == STORE_CORRUPT) {
        study_set_state(s, STUDY_ERROR, "the database is damaged: `banditd check` says where", NULL);
        commit_break_after(s->commit);
    } else if (p->outcome.stored != STORE_OK) {
        if (p->outcome.stored != STORE_ABORTED) /* otherwise given up, or being loaded again */
            log_event(LOG_ERROR, "planning_failed", "study", s->id, "reason",
                      store_status_text(p->outcome.stored), NULL);
        study_answer_waiting(s, NULL); /* the next ask tries again */
        commit_break(s->commit);
    } else if (p->outcome.error.status != BANDIT_OK) {
        study_set_state(s, STUDY_ERROR, p->outcome.error.message, NULL);
        commit_break_after(s->commit);
    } else if (p->fixed) {
        study_begin_fixed(s, p->ask);
        take_plan(s, p);
        serve_fixed(s, p);
    } else if (p->ends) {
        char reason[200];
        stop_when_reason(reason, sizeof reason, p->ends, p->source.config->minimize);
        take_plan(s, p);
        if (s->state == STUDY_ACTIVE)
            study_set_state(s, STUDY_FINISHED, reason, NULL);
    } else if (s->config->never_repeats) {
        take_plan(s, p); /* even if no candidate is left, more may be added */
    } else if (p->exhausted && p->n_picks == 0 && trial_queue_open(s->queue) == 0 && study_pulls_once(s)) {
        take_plan(s, p);
        study_set_state(s, STUDY_FINISHED, "every point of the space has been evaluated", NULL);
    } else if (p->exhausted && p->n_picks == 0 && trial_queue_open(s->queue) == 0) {
        study_set_state(s, STUDY_ERROR, "no candidate is left that may be handed out", NULL);
        commit_break_after(s->commit);
    } else {
        take_plan(s, p);
    }
    plan_free(p);
}

/* ---- starting ------------------------------------------------------------------------------------------ */

/* If each pick requires a separate search, at most LOOKAHEAD picks are planned before they are requested. While no
 * result is reported, the batch continues with more picks; a result ends it.
 *
 * A plan that takes longer than a second or two hands out the picks that it has, and other jobs may use the engine
 * before the batch is extended (plan_compute.c).
 *
 * If picks do not depend on results, a batch is planned in parts of PART picks, or of as many as are requested, so
 * that a large batch neither delays the first asks nor is in the queue as a whole. All parts together have the picks
 * of a batch that is planned at once. */
enum { LOOKAHEAD = 16, PART = 64 };

static bool has_limited_lookahead(const study *s)
{
    const bandit_options *o = &s->config->options;
    return s->config->parameters && s->reference_candidates == 0 && s->config->asynchronous &&
           o->max_batch > LOOKAHEAD && o->algorithm != BANDIT_UNIFORM &&
           o->algorithm != BANDIT_REGULARIZED_EVOLUTION;
}

static void set_limits(const study *s, plan *p, size_t min_picks)
{
    if (p->n_fixed > p->remaining)
        p->n_fixed = (size_t)p->remaining;
    p->min_picks = min_picks > p->remaining ? (size_t)p->remaining : min_picks;
    p->part = min_picks > PART ? min_picks : PART;
    if (p->unfinished)
        p->min_picks = 0; /* picks beyond the rule are left to the plan after the last part */
    p->limited_lookahead = has_limited_lookahead(s);
    p->max_picks = p->limited_lookahead ? LOOKAHEAD : s->config->options.max_batch;
    if (p->max_picks < p->min_picks)
        p->max_picks = p->min_picks;
    if (p->remaining < p->max_picks)
        p->max_picks = (size_t)p->remaining;
}

static void start(study *s, plan *p, size_t min_picks)
{
    set_limits(s, p, min_picks);
    plan_state_begin(s->plans);
    p->job.run = run_plan;
    study_post_engine(s, &p->job);
}

static void start_batch(study *s, size_t min_picks, bool closes_model)
{
    /* Sums of amended candidates are read from the store, so it must have all recorded events. */
    size_t n_amendments;
    pending_results_amendments(s->results, &n_amendments);
    plan_state_delay(s->plans, n_amendments > 0 && (commit_last(s->commit) != commit_done(s->commit)));
    if (plan_state_is_delayed(s->plans))
        return;
    plan *p = plan_gather(s, closes_model);
    if (p)
        start(s, p, min_picks);
    else
        commit_fail(s->commit,
                    STORE_NO_MEMORY); /* failures may be counted only in part, so load the study again */
}

void study_plan_batch(study *s, size_t min_picks)
{
    start_batch(s, min_picks, false);
}

void study_close_model(study *s)
{
    start_batch(s, 0, true);
}

void study_extend_batch(study *s, size_t min_picks)
{
    plan *p = plan_gather_extension(s);
    if (p)
        start(s, p, min_picks); /* otherwise the next turn tries again */
}

/* Requires these values for the last n picks (one per parameter, NaN: not fixed). False: out of memory. */
static bool fix_values(const study *s, plan *p, const double *values, size_t n)
{
    size_t size = (size_t)s->dimension * sizeof *p->fixed;
    p->n_fixed = n;
    p->stop_rule = STOP_RULE_FIXED;
    p->fixed = malloc(size);
    if (p->fixed)
        memcpy(p->fixed, values, size);
    return p->fixed != NULL;
}

void study_plan_fixed(study *s, const waiting_ask *ask)
{
    bool news = s->batches == 0 ||
                (s->config->asynchronous && study_has_news(s) && !plan_state_is_unfinished(s->plans) &&
                 trial_queue_is_empty(s->queue, TRIALS_QUEUED));
    plan *p = news ? plan_gather(s, false) : plan_gather_extension(s);
    if (!p || !fix_values(s, p, ask->fixed, (size_t)ask->ask->count - ask->n_held)) {
        plan_free(p);
        commit_fail(s->commit,
                    STORE_NO_MEMORY); /* failures may be counted only in part, so load the study again */
        return;
    }
    p->ask = ask->number;
    p->by_rule =
        news && !s->config->asynchronous; /* with batch feedback, such a batch also has its own picks */
    start(s, p, 0);
}

/* ---- replanning, from the log -------------------------------------------------------------------------- */

/* Sets the limits that the recorded plan had. If picks may have been beyond the rule's bound (in an extension, or by
 * its stop rule), at most as many as it made were. If it ran out of candidates, one more pick had been requested. */
static void set_limits_again(const study *s, plan *p, const char *stop_rule, size_t n_picks)
{
    bool exhausted = strcmp(stop_rule, stop_rule_name(BANDIT_STOP_EXHAUSTED)) == 0;
    bool beyond = (!p->fixed && (p->extends || exhausted)) || strcmp(stop_rule, STOP_RULE_MIN_IN_FLIGHT) == 0;
    set_limits(s, p, n_picks + exhausted);
    p->part = stop_rule_is_unfinished(stop_rule) ? n_picks : SIZE_MAX;
    p->replans = true;
    if (!beyond)
        p->min_picks = 0;
}

store_status plan_again(study *s, const store_event *recorded, store_event *event, plan **out,
                        const char **refusal)
{
    bool extends = recorded->type == EVENT_BATCH_EXTENDED;
    const char *stop_rule = extends ? recorded->u.extended.stop_rule : recorded->u.planned.batch.stop_rule;
    size_t n_picks = extends ? recorded->u.extended.n_picks : recorded->u.planned.n_picks;
    bool closes_model =
        !extends && n_picks == 0 && strcmp(stop_rule, stop_rule_name(BANDIT_STOP_HORIZON)) == 0;
    bool exhausted = strcmp(stop_rule, stop_rule_name(BANDIT_STOP_EXHAUSTED)) == 0;
    plan *p = extends ? plan_gather_extension(s) : plan_gather(s, closes_model);
    *out = NULL;
    if (!p)
        return STORE_NO_MEMORY;
    p->found_none = exhausted && n_picks == 0;
    const store_held *held = extends ? &recorded->u.extended.held : &recorded->u.planned.held;
    if (held->n_values > 0) {
        bool fits = held->n_values == (size_t)s->dimension && held->n_picks <= n_picks;
        if (!fits || !fix_values(s, p, held->values, held->n_picks + exhausted)) {
            plan_free(p);
            return fits ? STORE_NO_MEMORY : STORE_CORRUPT;
        }
        n_picks -= held->n_picks;
        p->by_rule = !extends && !s->config->asynchronous;
    }
    set_limits_again(s, p, stop_rule, n_picks);
    plan_compute(s, p);
    *out = p;
    if (p->outcome.stored != STORE_OK)
        return p->outcome.stored;
    *refusal = p->outcome.error.status != BANDIT_OK ? p->outcome.error.message : NULL;
    if (*refusal)
        return STORE_OK;
    return describe_picks(s, p, event) ? STORE_OK : STORE_NO_MEMORY;
}
