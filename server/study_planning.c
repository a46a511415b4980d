/* Planning batches: on the engine lane, from what the actor has gathered; and back. */
#include "server/study_engine.h"

#include "server/clock.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/study_sums.h"

#include <assert.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct planning {
    engine_job job;
    study_job done;
    engine_source source;
    bool closes;   /* no picks: the study is finished */
    bool extends;  /* more picks for the batch in force, beyond its bound; otherwise a new batch */
    size_t beyond; /* picks to have in the end, beyond the bound if need be (no idle workers) */
    bool ordinary; /* picks as the batch's rule has them */
    /* Picks for one ask, made at once, with some parameters held. */
    const waiting_ask *ask; /* whose, if it still waits; otherwise only a name. NULL: for whoever comes */
    double *fixed;          /* one a parameter, NaN: open */
    size_t n_fixed;
    uint32_t *withheld_fixed; /* in an enumerated space: also those with other values */
    size_t n_withheld_fixed;
    bandit_result *results;
    size_t n_results;
    bandit_amendment *amendments; /* of results that earlier batches took in */
    size_t n_amendments;
    uint32_t *amended; /* their candidates, ascending, each once; as many sums */
    bandit_arm_sum *amended_sums;
    size_t n_amended;
    int64_t joined_through; /* log position up to which results were in the model before */
    bandit_pick *pending;   /* still out, by trial (asynchronous feedback) */
    size_t n_pending;
    uint32_t *withheld; /* with room for every candidate where `once` is set */
    size_t n_withheld;
    bool once; /* no arm twice */
    uint64_t remaining;
    size_t max_picks;
    int64_t through_seq, first_trial;
    /* what comes back */
    engine_outcome outcome;
    bandit_pick *picks;
    size_t n_picks, n_ordinary; /* those for the ask come last */
    double *points;             /* in an open space: n_picks x parameters */
    size_t n_added;             /* points that had not been visited, the arms after the source's, */
    double *added;              /* n_added x parameters */
    store_pick *stored_picks;   /* the same as the log has them */
    double ratio;
    const char *stop_rule;
    bool exhausted; /* no arm was left that may be chosen */
    bandit_description description;
    uint32_t *dictionary; /* copies: the engine may plan on before they are stored */
    size_t n_dictionary;  /* as stored: none where the results alone make the model */
    store_arm_sum *sums;
    size_t n_sums;
    unsigned char *state;
    size_t n_state;
    int64_t started_at;
    double update_seconds, select_seconds;
};

static void planning_free(planning *p)
{
    free(p->results);
    free(p->amendments);
    free(p->amended);
    free(p->amended_sums);
    free(p->pending);
    free(p->withheld);
    free(p->withheld_fixed);
    free(p->fixed);
    free(p->picks);
    free(p->points);
    free(p->added);
    free(p->stored_picks);
    free(p->dictionary);
    free(p->sums);
    free(p->state);
    free(p);
}

/* ---- on the engine lane -------------------------------------------------------------------------------- */

static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, from, size);
    return copy;
}

static int compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The sums that results and amendments have changed, as the engine has them now. */
static bool changed_sums(planning *p, const bandit_checkpoint *checkpoint)
{
    size_t n = p->n_results + p->n_amended;
    uint32_t *arms = malloc((n ? n : 1) * sizeof *arms);
    p->sums = malloc((n ? n : 1) * sizeof *p->sums);
    if (!arms || !p->sums) {
        free(arms);
        return false;
    }
    for (size_t i = 0; i < p->n_results; i++)
        arms[i] = p->results[i].arm;
    for (size_t i = 0; i < p->n_amended; i++)
        arms[p->n_results + i] = p->amended[i];
    qsort(arms, n, sizeof *arms, compare_arms);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && arms[i] == arms[i - 1])
            continue;
        while (at < checkpoint->n_sums && checkpoint->sums[at].arm < arms[i])
            at++; /* both ascend */
        store_arm_sum *sum = &p->sums[p->n_sums++];
        *sum = (store_arm_sum){.arm = arms[i]};
        if (at < checkpoint->n_sums && checkpoint->sums[at].arm == arms[i]) {
            sum->count = checkpoint->sums[at].count;
            sum->sum = checkpoint->sums[at].sum;
        }
    }
    free(arms);
    return true;
}

static void keep_state(planning *p, const bandit_engine *engine)
{
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_engine_describe(engine, &p->description);
    p->n_dictionary = checkpoint.n_dictionary;
    p->dictionary = copy_of(checkpoint.dictionary, checkpoint.n_dictionary * sizeof *p->dictionary);
    if (!p->dictionary || !changed_sums(p, &checkpoint) ||
        !engine_state_pack(&p->state, &p->n_state, p->first_trial, p->pending, p->n_pending, checkpoint.state,
                           checkpoint.n_state))
        p->outcome.stored = STORE_NO_MEMORY;
}

static const char *stop_rule_name(bandit_stop_rule rule)
{
    switch (rule) {
    case BANDIT_STOP_INITIAL:
        return "initial";
    case BANDIT_STOP_GLOBAL:
        return "global";
    case BANDIT_STOP_GLOBAL_LOCAL:
        return "global_local";
    case BANDIT_STOP_MAX_BATCH:
        return "max_batch";
    case BANDIT_STOP_HORIZON:
        return "horizon";
    case BANDIT_STOP_SEQUENTIAL:
        return "sequential";
    case BANDIT_STOP_EXHAUSTED:
        return "exhausted";
    case BANDIT_STOP_NONE:
        break;
    }
    return "max_batch"; /* the room for picks is the largest batch */
}

/* Keeps the list in order. */
static void withhold(uint32_t *list, size_t *n, uint32_t arm)
{
    size_t i = *n;
    while (i > 0 && list[i - 1] > arm)
        i--;
    if (i > 0 && list[i - 1] == arm)
        return;
    memmove(list + i + 1, list + i, (*n - i) * sizeof *list);
    list[i] = arm;
    ++*n;
}

/* One call of select; appends to the picks. False when it was the last. */
static bool select_some(study *s, planning *p, size_t max_picks, bool beyond_bound, bool fixed)
{
    bandit_executor executor = pool_executor(s->app->pool);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    limits.max_picks = max_picks;
    limits.remaining = p->remaining - p->n_picks;
    limits.beyond_bound = beyond_bound;
    limits.withheld = p->withheld;
    limits.n_withheld = p->n_withheld;
    if (fixed && p->withheld_fixed) {
        limits.withheld = p->withheld_fixed;
        limits.n_withheld = p->n_withheld_fixed;
    } else if (fixed) {
        limits.fixed = p->fixed;
    }
    if (bandit_engine_select(s->engine.engine, &limits, &executor, p->picks + p->n_picks, &selection,
                             &p->outcome.error) != BANDIT_OK)
        return false;
    for (size_t i = 0; p->once && i < selection.n_picks; i++) {
        withhold(p->withheld, &p->n_withheld, p->picks[p->n_picks + i].arm);
        if (p->withheld_fixed)
            withhold(p->withheld_fixed, &p->n_withheld_fixed, p->picks[p->n_picks + i].arm);
    }
    p->n_picks += selection.n_picks;
    p->ratio = selection.ratio;
    p->exhausted = selection.stop_rule == BANDIT_STOP_EXHAUSTED;
    p->stop_rule = stop_rule_name(selection.stop_rule);
    if (beyond_bound && selection.n_picks > 0)
        p->stop_rule = fixed ? "fixed" : "min_in_flight";
    return selection.n_picks > 0 && (beyond_bound || selection.stop_rule == BANDIT_STOP_NONE);
}

/* Appends at most so many picks. */
static void select_picks(study *s, planning *p, size_t max_picks, bool beyond_bound, bool fixed)
{
    size_t end = p->n_picks + max_picks;
    if (!p->once)
        select_some(s, p, max_picks, beyond_bound, fixed);
    else
        while (p->n_picks < end && select_some(s, p, 1, beyond_bound, fixed))
            continue;
}

/* Results that earlier batches took in and that have changed since. */
static void amend_model(study *s, planning *p)
{
    engine_outcome *out = &p->outcome;
    if (!engine_fine(out) || p->n_amendments == 0 || p->source.batches == 0)
        return;
    out->stored =
        study_arm_sums(s->app->store, p->source.number, p->source.config->minimize, p->joined_through,
                       p->through_seq, p->amended, p->n_amended, p->amended_sums);
    if (out->stored == STORE_OK)
        bandit_engine_amend(s->engine.engine, p->amendments, p->n_amendments, p->amended_sums, p->n_amended,
                            &out->error);
}

/* In an enumerated space, what an ask's fixed parameters leave out is withheld. */
static void withhold_others(const study *s, planning *p)
{
    const bandit_arms *arms = s->engine.arms;
    size_t n = bandit_arms_count(arms), width = bandit_arms_point_width(arms), at = 0;
    double *point = malloc(width * sizeof *point);
    p->withheld_fixed = malloc(n * sizeof *p->withheld_fixed);
    if (!point || !p->withheld_fixed)
        p->outcome.stored = STORE_NO_MEMORY;
    for (size_t i = 0; engine_fine(&p->outcome) && i < n; i++) {
        while (at < p->n_withheld && p->withheld[at] < i)
            at++;
        bandit_arms_coded(arms, i, point);
        bool wanted = at == p->n_withheld || p->withheld[at] != i;
        for (size_t j = 0; j < width; j++)
            wanted &= isnan(p->fixed[j]) || p->fixed[j] == point[j];
        if (!wanted)
            p->withheld_fixed[p->n_withheld_fixed++] = (uint32_t)i;
    }
    free(point);
}

/* The picks of one ask: made at once, outside the queue. */
static void select_fixed(study *s, planning *p)
{
    if (!bandit_arms_is_open_space(s->engine.arms))
        withhold_others(s, p);
    if (engine_fine(&p->outcome))
        select_picks(s, p, p->n_fixed, true, true);
}

/* In an open space: where the picks are, and which of the points are new. */
static void take_points(const study *s, planning *p)
{
    const bandit_arms *arms = s->engine.arms;
    if (!bandit_arms_is_open_space(arms))
        return;
    size_t known = p->source.candidates, width = p->source.dimension;
    p->n_added = bandit_arms_count(arms) - known;
    p->points = malloc((p->n_picks + 1) * width * sizeof *p->points);
    p->added = malloc((p->n_added + 1) * width * sizeof *p->added);
    if (!p->points || !p->added) {
        p->outcome.stored = STORE_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < p->n_picks; i++)
        bandit_arms_coded(arms, p->picks[i].arm, p->points + i * width);
    for (size_t i = 0; i < p->n_added; i++)
        bandit_arms_coded(arms, known + i, p->added + i * width);
}

static void compute(study *s, planning *p)
{
    engine_outcome *out = &p->outcome;
    bandit_executor executor = pool_executor(s->app->pool);
    p->started_at = clock_now();
    double start = clock_steady();
    engine_ensure(s, &p->source, out);
    p->picks = malloc((p->max_picks + p->n_fixed + 1) * sizeof *p->picks);
    if (!p->picks)
        out->stored = STORE_NO_MEMORY;
    amend_model(s, p);
    if (engine_fine(out) && !p->extends)
        bandit_engine_begin_batch(s->engine.engine, p->results, p->n_results, p->pending, p->n_pending,
                                  &executor, &out->error);
    double updated = clock_steady();
    if (engine_fine(out) && p->ordinary)
        select_picks(s, p, p->max_picks, false, false);
    if (engine_fine(out) && p->n_picks < p->beyond)
        select_picks(s, p, p->beyond - p->n_picks, true, false);
    p->n_ordinary = p->n_picks;
    if (engine_fine(out) && p->fixed)
        select_fixed(s, p);
    if (engine_fine(out))
        take_points(s, p);
    p->update_seconds = updated - start;
    p->select_seconds = clock_steady() - updated;
    if (engine_fine(out))
        keep_state(p, s->engine.engine);
    if (!engine_fine(out))
        study_drop_engine(s); /* it may be ahead of what is stored */
    else
        metrics_count_batch(s->app->metrics, p->update_seconds, p->select_seconds);
    study_count_memory(s);
}

static void planning_done(study *s, study_job *job);

static void run_planning(study *s, engine_job *job)
{
    planning *p = (planning *)(void *)job;
    compute(s, p);
    p->done.run = planning_done;
    study_post(s, &p->done);
}

/* ---- back in the study's turn -------------------------------------------------------------------------- */

static bool add_pick(study *s, const bandit_pick *pick, const double *point, int64_t batch, int64_t id)
{
    store_trial row = {.trial = id,
                       .state = TRIAL_QUEUED,
                       .batch = batch,
                       .candidate = pick->arm,
                       .variance = pick->variance,
                       .worker = "",
                       .reason = "",
                       .recorded = "",
                       .metadata = ""};
    trial *t = study_trial_of_row(&row);
    if (t && point && !study_set_point(s, t, point)) {
        study_free_trial(t);
        return false;
    }
    return t && study_add_trial(s, t);
}

static void describe_batch(const study *s, const planning *p, store_event *event)
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
                                           .code_path = p->description.code_path};
    event->u.planned.through_seq = p->through_seq;
    event->u.planned.dictionary = p->dictionary;
    event->u.planned.sums = p->sums;
    event->u.planned.n_sums = p->n_sums;
    event->u.planned.engine_state = p->state;
    event->u.planned.n_engine_state = p->n_state;
    event->u.planned.first_trial = s->trials + 1;
}

/* What goes into the log; borrows from p. False: out of memory. */
static bool describe_picks(const study *s, planning *p, store_event *event)
{
    store_pick *picks = malloc((p->n_picks ? p->n_picks : 1) * sizeof *picks);
    if (!picks)
        return false;
    for (size_t i = 0; i < p->n_picks; i++)
        picks[i] = (store_pick){.candidate = p->picks[i].arm, .variance = p->picks[i].variance};
    p->stored_picks = picks;
    store_held held = {.values = p->fixed,
                       .n_values = p->fixed ? (size_t)s->dimension : 0,
                       .n_picks = p->n_picks - p->n_ordinary};
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

static void record_picks(study *s, planning *p)
{
    store_event event;
    int64_t batch = p->extends ? s->batches - 1 : s->batches;
    bool fine = describe_picks(s, p, &event);
    for (size_t i = 0; fine && i < p->n_picks; i++)
        fine = add_pick(s, &p->picks[i], p->points ? p->points + i * p->source.dimension : NULL, batch,
                        s->trials + 1 + (int64_t)i);
    if (fine) {
        if (!p->extends) {
            s->through_seq = p->through_seq;
            s->batches++;
        }
        study_record(s, &event);
        s->candidates += (int64_t)p->n_added;
        s->trials += (int64_t)p->n_picks;
        log_event(LOG_DEBUG, p->extends ? "batch_extended" : "batch_planned", "study", s->id, "batch",
                  log_format("%lld", (long long)batch), "picks", log_format("%zu", p->n_picks), "dictionary",
                  log_format("%zu", p->description.n_dictionary), "seconds",
                  log_format("%.4f", p->update_seconds + p->select_seconds), NULL);
    } else {
        s->write_status = STORE_NO_MEMORY; /* fails the turn, and the study is loaded again */
    }
}

/* Results that the new batch has taken in are part of a stored model once this turn's write is on disk. */
static void retire_joined(study *s)
{
    trial *t, *next;
    late_result *late;
    TAILQ_FOREACH (late, &s->late, link)
        if (late->joining) {
            late->joining = false;
            late->joined_by = s->submitted + 1;
        }
    for (t = TAILQ_FIRST(&s->told); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (!t->joining)
            continue; /* told since */
        TAILQ_REMOVE(&s->told, t, link);
        t->joining = false;
        t->joined_by = s->submitted + 1;
        TAILQ_INSERT_TAIL(&s->joined, t, link);
    }
}

static void take_plan(study *s, planning *p)
{
    if (!p->fixed)
        s->exhausted = p->exhausted && p->n_picks == 0;
    if (!p->extends) {
        retire_joined(s);
        study_drop_observations(s, s->n_observations_joining);
        study_drop_amendments(s, s->n_amendments_joining);
    }
    s->batch_goes_on = p->fixed && !p->ordinary && (s->batch_goes_on || !p->extends);
    if (!p->extends || p->n_picks > 0)
        record_picks(s, p);
    study_cancel_retired(s); /* those retired while it was being planned */
}

/* The ask gets what was chosen for it, unless it is no longer there: then they wait for the next one. */
static void serve_fixed(study *s, const planning *p)
{
    int64_t first = s->trials - (int64_t)(p->n_picks - p->n_ordinary) + 1;
    study_serve_fixed(s, p->ask, first, p->n_picks - p->n_ordinary);
}

static void planning_done(study *s, study_job *job)
{
    planning *p = (planning *)((char *)job - offsetof(planning, done));
    s->engine_jobs_out--;
    s->planning = false;
    if (s->deleted || !s->loaded || atomic_load(&s->broken)) {
        /* what it was planned for is gone */
    } else if (p->outcome.stored != STORE_OK) {
        log_event(LOG_ERROR, "planning_failed", "study", s->id, "reason",
                  store_status_text(p->outcome.stored), NULL);
        study_answer_waiting(s, NULL); /* the next ask tries again */
        study_load_again(s);
    } else if (p->outcome.error.status != BANDIT_OK) {
        study_set_state(s, STUDY_ERROR, p->outcome.error.message, NULL);
        study_load_again(s);
    } else if (p->fixed) {
        study_begin_fixed(s, p->ask);
        take_plan(s, p);
        serve_fixed(s, p);
    } else if (p->exhausted && p->n_picks == 0 && s->n_open == 0 && study_pulls_once(s)) {
        take_plan(s, p);
        study_set_state(s, STUDY_FINISHED, "every point of the space has been evaluated", NULL);
    } else if (p->exhausted && p->n_picks == 0 && s->n_open == 0) {
        study_set_state(s, STUDY_ERROR, "no candidate is left that may be handed out", NULL);
        study_load_again(s);
    } else {
        take_plan(s, p);
    }
    planning_free(p);
}

/* ---- before: what the actor gathers -------------------------------------------------------------------- */

/* Room for every candidate that there is now. */
static bool grow_failures(study *s)
{
    size_t n = s->failures_capacity ? s->failures_capacity : 1;
    if (s->failures && s->failures_capacity >= (size_t)s->candidates)
        return true;
    while (n < (size_t)s->candidates)
        n *= 2;
    uint8_t *grown = realloc(s->failures, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + s->failures_capacity, 0, n - s->failures_capacity);
    s->failures = grown;
    s->failures_capacity = n;
    return true;
}

bool study_pulls_once(const study *s)
{
    const bandit_options *options = &s->config->options;
    return s->config->parameters && s->reference_candidates > 0 && options->noise_std == 0 &&
           !s->config->wire->algorithm.noise_std.word;
}

bool study_count_outcome(study *s, uint32_t arm, trial_state state)
{
    bool failed = state == TRIAL_FAILED || state == TRIAL_INFEASIBLE;
    bool evaluated = state == TRIAL_COMPLETED && study_pulls_once(s);
    if (!s->failures && !failed && !evaluated)
        return true;
    if (!grow_failures(s))
        return false;
    uint8_t *count = &s->failures[arm];
    if (*count == ARM_RETIRED || *count == ARM_INFEASIBLE)
        return true;
    if (state == TRIAL_INFEASIBLE)
        *count = ARM_INFEASIBLE;
    else if (evaluated)
        *count = ARM_EVALUATED;
    else if (*count <= ARM_FAILURES)
        *count = !failed ? 0 : *count < ARM_FAILURES ? (uint8_t)(*count + 1) : *count;
    return true;
}

bool study_is_retired(const study *s, uint32_t candidate)
{
    return s->failures && candidate < s->failures_capacity && s->failures[candidate] == ARM_RETIRED;
}

bool study_mark_retired(study *s, uint32_t candidate)
{
    if (!grow_failures(s))
        return false;
    s->failures[candidate] = ARM_RETIRED;
    return true;
}

static bool is_withheld(const study *s, size_t arm)
{
    if (!s->failures || arm >= s->failures_capacity)
        return false;
    unsigned limit = s->config->max_arm_failures;
    return s->failures[arm] >= (limit < ARM_FAILURES ? limit : ARM_FAILURES);
}

/* Where a point is worth one pull, those that are out, or told and not yet counted, are withheld as well;
 * *out is the caller's to free. */
static bool mark_open(bool **out, const study *s)
{
    trial *t;
    *out = NULL;
    if (!study_pulls_once(s))
        return true;
    if (!(*out = calloc((size_t)s->candidates, sizeof **out)))
        return false;
    TAILQ_FOREACH (t, &s->queued, link)
        (*out)[t->candidate] = true;
    TAILQ_FOREACH (t, &s->pending, link)
        (*out)[t->candidate] = true;
    TAILQ_FOREACH (t, &s->told, link)
        (*out)[t->candidate] = true;
    for (size_t i = 0; i < s->n_observations; i++)
        (*out)[s->observations[i].candidate] = true;
    return true;
}

static bool withheld_arms(const study *s, planning *p)
{
    size_t n = 0, candidates = (size_t)s->candidates;
    bool *open;
    p->once = study_pulls_once(s);
    if (!s->failures && !p->once)
        return true;
    if (!mark_open(&open, s))
        return false;
    for (size_t i = 0; i < candidates && !p->once; i++)
        n += is_withheld(s, i);
    if (p->once)
        n = candidates;
    if (n > 0 && !(p->withheld = malloc(n * sizeof *p->withheld))) {
        free(open);
        return false;
    }
    for (size_t i = 0; i < candidates; i++)
        if (is_withheld(s, i) || (open && open[i]))
            p->withheld[p->n_withheld++] = (uint32_t)i;
    free(open);
    return true;
}

static int compare_by_id(const void *a, const void *b)
{
    int64_t x = (*(trial *const *)a)->id, y = (*(trial *const *)b)->id;
    return (x > y) - (x < y);
}

static bandit_result imported(const study *s, const store_observation *observation)
{
    return (bandit_result){.arm = observation->candidate,
                           .repeats = (uint32_t)observation->repeats,
                           .reward = s->config->minimize ? -observation->value : observation->value};
}

static int compare_late(const void *a, const void *b)
{
    const late_result *x = *(late_result *const *)a, *y = *(late_result *const *)b;
    if (x->trial != y->trial)
        return (x->trial > y->trial) - (x->trial < y->trial);
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* A user's own trial has no variance: the engine did not choose it. */
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

static bool gather_told(study *s, planning *p, trial **told, size_t n)
{
    trial *t;
    size_t filled = 0;
    TAILQ_FOREACH (t, &s->told, link)
        told[filled++] = t;
    qsort(told, n, sizeof(trial *), compare_by_id);
    for (size_t i = 0; i < n; i++) {
        t = told[i];
        t->joining = true;
        if (!study_count_outcome(s, t->candidate, t->state))
            return false;
        if (t->has_value)
            p->results[p->n_results++] = told_trial(s, t);
    }
    return true;
}

static void gather_late(study *s, planning *p, late_result **late, size_t n)
{
    late_result *l;
    size_t filled = 0;
    TAILQ_FOREACH (l, &s->late, link)
        if (l->joined_by == 0)
            late[filled++] = l;
    qsort(late, n, sizeof(late_result *), compare_late);
    for (size_t i = 0; i < n; i++) {
        late[i]->joining = true;
        p->results[p->n_results++] = told_late(s, late[i]);
    }
}

/* What has been imported and told since the last batch: imports in the order of the log, then trials by
 * number, then late results. Which worker was faster must not show in the model's bits. study_sums.h adds up
 * in the same order. */
static bool gather_results(study *s, planning *p)
{
    trial *t;
    late_result *l;
    size_t n_told = 0, n_late = 0;
    TAILQ_FOREACH (t, &s->told, link)
        n_told++;
    TAILQ_FOREACH (l, &s->late, link)
        n_late += l->joined_by == 0;
    trial **told = malloc((n_told + 1) * sizeof(trial *));
    late_result **late = malloc((n_late + 1) * sizeof(late_result *));
    p->results = malloc((n_told + n_late + s->n_observations + 1) * sizeof *p->results);
    bool fine = told && late && p->results;
    if (fine) {
        for (size_t i = 0; fine && i < s->n_observations; i++) {
            p->results[p->n_results++] = imported(s, &s->observations[i]);
            fine =
                !study_pulls_once(s) || study_count_outcome(s, s->observations[i].candidate, TRIAL_COMPLETED);
        }
        s->n_observations_joining = s->n_observations;
        fine = fine && gather_told(s, p, told, n_told);
        gather_late(s, p, late, n_late);
    }
    free(told);
    free(late);
    return fine;
}

/* Amendments of what is in the model; others have changed what joins it now. */
static bool gather_amendments(study *s, planning *p)
{
    size_t n = s->n_amendments, arms = 0;
    s->n_amendments_joining = n;
    p->joined_through = s->through_seq;
    if (n == 0)
        return true;
    p->amendments = malloc(n * sizeof *p->amendments);
    p->amended = malloc(n * sizeof *p->amended);
    p->amended_sums = malloc(n * sizeof *p->amended_sums);
    if (!p->amendments || !p->amended || !p->amended_sums)
        return false;
    for (size_t i = 0; i < n; i++) {
        const amendment *a = &s->amendments[i];
        if (a->told_seq > s->through_seq)
            continue;
        p->amendments[p->n_amendments++] = a->change;
        p->amended[arms++] = a->change.arm;
    }
    qsort(p->amended, arms, sizeof *p->amended, compare_arms);
    for (size_t i = 0; i < arms; i++)
        if (i == 0 || p->amended[i] != p->amended[i - 1])
            p->amended[p->n_amended++] = p->amended[i];
    return p->n_amendments == 0 || study_recount_failures(s) == STORE_OK;
}

/* What is out, by trial; trial numbers rather than times decide, so that replay comes to the same. */
static bool gather_pending(study *s, planning *p)
{
    trial *t;
    size_t n = 0;
    if (!s->config->asynchronous || s->n_open == 0)
        return true;
    trial **open = malloc(s->n_open * sizeof(trial *));
    p->pending = malloc(s->n_open * sizeof *p->pending);
    if (open && p->pending) {
        TAILQ_FOREACH (t, &s->queued, link)
            open[n++] = t;
        TAILQ_FOREACH (t, &s->pending, link)
            open[n++] = t;
        qsort(open, n, sizeof(trial *), compare_by_id);
        for (size_t i = 0; i < n; i++)
            p->pending[p->n_pending++] =
                (bandit_pick){.arm = open[i]->candidate, .variance = open[i]->variance};
    }
    free(open);
    return n > 0;
}

static planning *planning_new(study *s)
{
    planning *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    const wire_study *definition = s->config->wire;
    p->remaining = definition->horizon.given ? (uint64_t)(definition->horizon.value - s->trials) : UINT64_MAX;
    p->source = engine_source_of(s);
    p->first_trial = s->trials + 1;
    p->job.run = run_planning;
    p->ratio = 1; /* of a batch without picks */
    return p;
}

static void set_limits(const study *s, planning *p, size_t beyond)
{
    if (p->n_fixed > p->remaining)
        p->n_fixed = (size_t)p->remaining;
    p->beyond = beyond > p->remaining ? (size_t)p->remaining : beyond;
    p->max_picks = s->config->options.max_batch > p->beyond ? s->config->options.max_batch : p->beyond;
    if (p->remaining < p->max_picks)
        p->max_picks = (size_t)p->remaining;
}

static void start(study *s, planning *p, size_t beyond)
{
    set_limits(s, p, beyond);
    s->planning = true;
    study_post_engine(s, &p->job);
}

/* A new batch, from what has been told. NULL: out of memory, and the study must be loaded again. */
static planning *gather(study *s, bool closes)
{
    planning *p = planning_new(s);
    if (!p)
        return NULL;
    p->closes = closes;
    p->ordinary = !closes;
    if (closes)
        p->stop_rule = stop_rule_name(BANDIT_STOP_HORIZON);
    if (gather_amendments(s, p) && gather_results(s, p) && gather_pending(s, p) && withheld_arms(s, p)) {
        p->through_seq = study_next_seq(s) - 1;
        return p;
    }
    planning_free(p);
    return NULL;
}

/* More picks for the batch in force. NULL: out of memory. */
static planning *gather_extension(study *s)
{
    planning *p = planning_new(s);
    if (!p)
        return NULL;
    p->extends = true;
    p->ordinary = s->batch_goes_on;
    p->through_seq = study_next_seq(s) - 1;
    if (withheld_arms(s, p))
        return p;
    planning_free(p);
    return NULL;
}

static void plan(study *s, size_t beyond, bool closes)
{
    /* Amendments are taken in from what is stored. */
    s->delayed = s->n_amendments > 0 && (s->write || atomic_load(&s->committed) != s->submitted);
    if (s->delayed)
        return;
    planning *p = gather(s, closes);
    if (p)
        start(s, p, beyond);
    else
        s->write_status = STORE_NO_MEMORY; /* the record of failures may be counted half: load again */
}

void study_start_planning(study *s, size_t beyond)
{
    plan(s, beyond, false);
}

void study_close_model(study *s)
{
    plan(s, 0, true);
}

void study_extend_batch(study *s, size_t beyond)
{
    planning *p = gather_extension(s);
    if (p)
        start(s, p, beyond); /* otherwise the next turn tries again */
}

/* The last n picks are to have these values (one a parameter, NaN: open). False: out of memory. */
static bool hold_values(const study *s, planning *p, const double *values, size_t n)
{
    size_t size = (size_t)s->dimension * sizeof *p->fixed;
    p->n_fixed = n;
    p->stop_rule = "fixed";
    p->fixed = malloc(size);
    if (p->fixed)
        memcpy(p->fixed, values, size);
    return p->fixed != NULL;
}

void study_plan_fixed(study *s, const waiting_ask *ask)
{
    bool news = s->batches == 0 || (s->config->asynchronous && study_has_news(s) && TAILQ_EMPTY(&s->queued));
    planning *p = news ? gather(s, false) : gather_extension(s);
    if (!p || !hold_values(s, p, ask->fixed, (size_t)ask->ask->count)) {
        study_plan_free(p);
        s->write_status = STORE_NO_MEMORY; /* the record of failures may be counted half: load again */
        return;
    }
    p->ask = ask;
    p->ordinary = news && !s->config->asynchronous; /* such a batch is planned whole */
    start(s, p, 0);
}

/* ---- once more, from the log --------------------------------------------------------------------------- */

/* The limits that were in force then: at most as many picks as were made lie beyond the bound, and all of an
 * extension do. Where no more were left, one more was asked for. */
static void set_limits_again(const study *s, planning *p, const char *stop_rule, size_t n_picks)
{
    bool exhausted = strcmp(stop_rule, stop_rule_name(BANDIT_STOP_EXHAUSTED)) == 0;
    bool beyond = (!p->fixed && (p->extends || exhausted)) || strcmp(stop_rule, "min_in_flight") == 0;
    set_limits(s, p, n_picks + exhausted);
    if (!beyond)
        p->beyond = 0;
}

store_status study_plan_again(study *s, const store_event *recorded, store_event *event, planning **out,
                              const char **refusal)
{
    bool extends = recorded->type == EVENT_BATCH_EXTENDED;
    const char *stop_rule = extends ? recorded->u.extended.stop_rule : recorded->u.planned.batch.stop_rule;
    size_t n_picks = extends ? recorded->u.extended.n_picks : recorded->u.planned.n_picks;
    bool closes = !extends && n_picks == 0 && strcmp(stop_rule, stop_rule_name(BANDIT_STOP_HORIZON)) == 0;
    bool exhausted = strcmp(stop_rule, stop_rule_name(BANDIT_STOP_EXHAUSTED)) == 0;
    planning *p = extends ? gather_extension(s) : gather(s, closes);
    *out = NULL;
    if (!p)
        return STORE_NO_MEMORY;
    const store_held *held = extends ? &recorded->u.extended.held : &recorded->u.planned.held;
    if (held->n_values > 0) {
        if (held->n_values != (size_t)s->dimension || held->n_picks > n_picks ||
            !hold_values(s, p, held->values, held->n_picks + exhausted)) {
            study_plan_free(p);
            return STORE_NO_MEMORY;
        }
        n_picks -= held->n_picks;
        p->ordinary = !extends && !s->config->asynchronous;
    }
    set_limits_again(s, p, stop_rule, n_picks);
    compute(s, p);
    *out = p;
    *refusal = p->outcome.error.status != BANDIT_OK ? p->outcome.error.message : NULL;
    if (p->outcome.stored || *refusal)
        return p->outcome.stored;
    return describe_picks(s, p, event) ? STORE_OK : STORE_NO_MEMORY;
}

void study_plan_free(planning *p)
{
    if (p)
        planning_free(p);
}
