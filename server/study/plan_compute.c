/* The part of a plan that the engine computes, on the engine lane. */
#include "server/base/blas.h"
#include "server/base/clock.h"
#include "server/data/arm_sums.h"
#include "server/study/engine_lane.h"
#include "server/study/plan_internal.h"
#include "server/study/stop_when.h"
#include "server/watch/metrics.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, from, size);
    return copy;
}

int plan_compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Takes the engine's current sums of the arms whose sums results and amendments have changed. */
static bool changed_sums(plan *p, const bandit_checkpoint *checkpoint)
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
    qsort(arms, n, sizeof *arms, plan_compare_arms);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && arms[i] == arms[i - 1])
            continue;
        while (at < checkpoint->n_sums && checkpoint->sums[at].arm < arms[i])
            at++; /* both lists are ascending */
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

static void keep_state(plan *p, const bandit_engine *engine)
{
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_engine_describe(engine, &p->description);
    bool blas = p->description.has_model;
    snprintf(p->code_path, sizeof p->code_path, "%s%s%s", p->description.code_path, blas ? "+" : "",
             blas ? blas_kernels() : "");
    p->n_dictionary = checkpoint.n_dictionary;
    p->dictionary = copy_of(checkpoint.dictionary, checkpoint.n_dictionary * sizeof *p->dictionary);
    if (!p->dictionary || !changed_sums(p, &checkpoint) ||
        !engine_state_pack(&p->state, &p->n_state, p->first_trial, p->pending, p->n_pending, checkpoint.state,
                           checkpoint.n_state))
        p->outcome.stored = STORE_NO_MEMORY;
}

/* Adds an arm to an ascending list, unless the list has it. */
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

/* Must the plan end here, so that other jobs may use the engine? A few picks are made in any case. With batch feedback,
 * so are the picks that must be in flight, because there a batch that has ended by its rule is not extended. */
static bool is_long(plan *p)
{
    enum { AT_LEAST = 16 };
    size_t least = p->source.config->asynchronous || p->min_picks < AT_LEAST ? AT_LEAST : p->min_picks;
    p->stopped = !p->replans && p->n_picks >= least && clock_steady() >= p->stops_at;
    return p->stopped;
}

/* Calls select once, and appends its picks. False: it was the last call. */
static bool select_some(study *s, plan *p, size_t max_picks, bool beyond_bound, bool fixed)
{
    bandit_executor executor = computing_executor(s->app->computing);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    limits.max_picks = max_picks;
    limits.remaining = p->remaining - p->n_picks;
    limits.beyond_bound = beyond_bound;
    limits.withheld = p->withheld;
    limits.n_withheld = p->n_withheld;
    limits.failed = p->failed;
    limits.n_failed = p->n_failed;
    /* while picks differ, the defaults may only be in flight, and may be picked again */
    limits.defaults_or_none = p->repeats == PICKS_DIFFER || p->found_none;
    if (fixed && p->withheld_fixed) {
        limits.withheld = p->withheld_fixed;
        limits.n_withheld = p->n_withheld_fixed;
    } else if (fixed) {
        limits.fixed = p->fixed;
    }
    if (bandit_engine_select(s->engine.engine, &limits, &executor, p->picks + p->n_picks, &selection,
                             &p->outcome.error) != BANDIT_OK)
        return false;
    for (size_t i = 0; p->repeats != PICKS_REPEAT && i < selection.n_picks; i++) {
        withhold(p->withheld, &p->n_withheld, p->picks[p->n_picks + i].arm);
        if (p->withheld_fixed)
            withhold(p->withheld_fixed, &p->n_withheld_fixed, p->picks[p->n_picks + i].arm);
    }
    p->n_picks += selection.n_picks;
    p->ratio =
        fmin(selection.ratio, DBL_MAX); /* with many picks beyond the bound, the product may overflow */
    p->exhausted = selection.stop_rule == BANDIT_STOP_EXHAUSTED;
    p->stop_rule = selection.stop_rule != BANDIT_STOP_NONE ? stop_rule_name(selection.stop_rule)
                   : p->limited_lookahead                  ? STOP_RULE_PLANNED_AHEAD
                   : p->in_parts                           ? STOP_RULE_UNFINISHED
                                                           : stop_rule_name(selection.stop_rule);
    if (beyond_bound && selection.n_picks > 0)
        p->stop_rule = fixed ? STOP_RULE_FIXED : STOP_RULE_MIN_IN_FLIGHT;
    return selection.n_picks > 0 && (beyond_bound || selection.stop_rule == BANDIT_STOP_NONE);
}

/* All candidates have been picked once. From now on they may be picked again. */
static void allow_repeats(plan *p)
{
    free(p->withheld);
    p->withheld = p->always_withheld;
    p->n_withheld = p->n_always_withheld;
    p->always_withheld = NULL;
    p->repeats = PICKS_REPEAT;
}

/* How many picks the next call of select may make: one, if each pick is withheld from the next call. */
static size_t at_once(const plan *p, size_t left)
{
    size_t most = p->repeats != PICKS_REPEAT ? 1 : p->limited_lookahead ? 16 : 64;
    return left < most ? left : most;
}

/* Appends at most max_picks picks. */
static void select_picks(study *s, plan *p, size_t max_picks, bool beyond_bound, bool fixed)
{
    const size_t end = p->n_picks + max_picks;
    const char *rule = NULL; /* the rule of the picks so far, when later picks may repeat others */
    bool more = p->n_picks < end;
    while (more) {
        size_t before = p->n_picks;
        bool repeat = p->repeats == PICKS_REPEAT;
        more = select_some(s, p, at_once(p, end - before), beyond_bound, fixed);
        if (!more && p->repeats == PICKS_DIFFER && p->exhausted) {
            allow_repeats(p);
            more = true;
        } else if (repeat && beyond_bound && p->n_picks == before && rule) {
            p->stop_rule = rule; /* the end of the candidates does not change the rule of those picks */
        }
        if (repeat && p->n_picks > before)
            rule = p->stop_rule;
        more = more && p->n_picks < end && (fixed || !is_long(p));
    }
}

/* Reserves memory for adding all picks to the withheld arms. */
static bool make_room(plan *p)
{
    size_t most = p->n_withheld + p->max_picks + p->n_fixed + 1;
    uint32_t *grown = p->repeats == PICKS_REPEAT ? NULL : realloc(p->withheld, most * sizeof *grown);
    p->withheld = grown ? grown : p->withheld;
    return grown || p->repeats == PICKS_REPEAT;
}

/* Amends results that the model includes. */
static void amend_model(study *s, plan *p)
{
    engine_outcome *out = &p->outcome;
    if (!engine_fine(out) || p->n_amendments == 0 || p->source.batches == 0)
        return;
    out->stored =
        study_arm_sums(s->app->store, p->source.number, p->source.config, p->joined_through, p->through_seq,
                       p->amended, p->n_amended, p->amended_sums, &p->amended_errors);
    if (out->stored == STORE_OK)
        bandit_engine_amend(s->engine.engine, p->amendments, p->n_amendments, p->amended_sums, p->n_amended,
                            p->amended_errors.results, p->amended_errors.n, &out->error);
}

void plan_take_results(study *s, plan *p)
{
    bandit_executor executor = computing_executor(s->app->computing);
    bandit_description before = {0};
    amend_model(s, p);
    if (!engine_fine(&p->outcome))
        return;
    bandit_engine_describe(s->engine.engine, &before);
    p->results_before = before.observations;
    if (!p->extends)
        bandit_engine_begin_batch(s->engine.engine, p->results, p->n_results, p->pending, p->n_pending,
                                  &executor, &p->outcome.error);
}

/* In an enumerated space, withholds candidates with other values than the fixed ones. */
static void withhold_others(const study *s, plan *p)
{
    const bandit_arms *arms = s->engine.arms;
    size_t n = bandit_arms_count(arms), width = bandit_arms_point_width(arms), at = 0;
    double *point = malloc(width * sizeof *point);
    uint32_t *list = malloc(n * sizeof *list);
    for (size_t i = 0; point && list && i < n; i++) {
        while (at < p->n_withheld && p->withheld[at] < i)
            at++;
        bandit_arms_coded(arms, i, point);
        bool wanted = at == p->n_withheld || p->withheld[at] != i;
        for (size_t j = 0; j < width; j++)
            wanted &= isnan(p->fixed[j]) || p->fixed[j] == point[j];
        if (!wanted)
            list[p->n_withheld_fixed++] = (uint32_t)i;
    }
    p->withheld_fixed = list;
    if (!point || !list)
        p->outcome.stored = STORE_NO_MEMORY;
    free(point);
}

/* Makes the picks of an ask that fixes parameters. They do not wait in the queue. */
static void select_fixed(study *s, plan *p)
{
    if (p->repeats == PICKS_DIFFER)
        allow_repeats(p); /* there may be few points with these values */
    if (!bandit_arms_is_open_space(s->engine.arms))
        withhold_others(s, p);
    if (engine_fine(&p->outcome))
        select_picks(s, p, p->n_fixed, true, true);
}

/* In an open space: collects the points of the picks, and the new points among them. */
static void take_points(const study *s, plan *p)
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

/* Checks that all figures are finite. JSON cannot represent others, so the study stops with this error. */
static void check_figures(plan *p)
{
    if (!isfinite(p->description.beta))
        bandit_error_set(&p->outcome.error, BANDIT_NUMERICAL, "", "%s", engine_beyond_doubles);
}

/* A plan that has taken this long ends with the picks that it has. */
#define LONGEST_SECONDS 1.5

/* Limits the plan to a part if its picks do not depend on results: those of `uniform`, and those before the first
 * reward (see plan.c). */
static void limit_to_part(const study *s, plan *p)
{
    const bandit_options *o = &p->source.config->options;
    bandit_description about = {0};
    bandit_engine_describe(s->engine.engine, &about);
    bool initial = o->init == BANDIT_INIT_UNCERTAINTY && about.observations == 0;
    p->in_parts = p->replans ? p->part < SIZE_MAX
                             : (o->algorithm == BANDIT_UNIFORM || initial) && !p->limited_lookahead;
    if (p->in_parts && p->max_picks > p->part)
        p->max_picks = p->part;
    else
        p->in_parts = false;
}

/* Judges the rules of `stop_when`. A rule may advise to end the study. If one ends the study, this batch is its last
 * one and has no picks. */
static void judge_rules(study *s, plan *p)
{
    const stop_before before = {.results = p->results_before, .advice = p->advice};
    stop_verdict verdict = {0};
    const char *rule;
    int64_t since;
    if (p->n_amendments > 0) /* in every batch, since the next one does not get these amendments again */
        stop_when_forget(s);
    if (!p->extends)
        verdict = stop_when_judge(s, &p->source, p->through_seq, &before, &p->outcome);
    if (!verdict.tells)
        *p->advice = '\0';
    else if (!advice_is_of_rule(p->advice, &rule, &since) ||
             strcmp(rule, wire_stop_rule_names[verdict.tells->rule]) != 0)
        advice_of_rule(p->advice, verdict.tells->rule, p->batch);
    p->ends = p->closes_model || p->fixed ? NULL : verdict.ends;
    if (!p->ends)
        return;
    p->by_rule = false;
    p->min_picks = 0;
    p->stop_rule = stop_rule_name(BANDIT_STOP_HORIZON);
}

/* The advice that no point keeps the bounds requires this many results. */
enum { LEAST_FOR_ADVICE = 20 };

/* Sets the advice that the model gives the user at the start of this batch. */
static void advise(study *s, plan *p)
{
    bandit_description about = {0};
    bool may = true;
    bandit_engine_describe(s->engine.engine, &about);
    if (!p->extends && about.observations >= LEAST_FOR_ADVICE)
        bandit_engine_may_keep_bounds(s->engine.engine, &may, &p->outcome.error);
    if (!may)
        snprintf(p->advice, sizeof p->advice, "%s", ADVICE_NO_FEASIBLE_POINT);
}

void plan_compute(study *s, plan *p)
{
    engine_outcome *out = &p->outcome;
    bool unfinished = p->unfinished;
    p->started_at = clock_now();
    double start = clock_steady();
    study_drop_preview(s);
    engine_ensure(s, &p->source, out);
    p->picks = malloc((p->max_picks + p->n_fixed + 1) * sizeof *p->picks);
    if (!p->picks || !make_room(p))
        out->stored = STORE_NO_MEMORY;
    plan_take_results(s, p);
    if (engine_fine(out))
        judge_rules(s, p);
    if (engine_fine(out))
        advise(s, p);
    double updated = clock_steady();
    p->stops_at = updated + LONGEST_SECONDS;
    if (engine_fine(out))
        limit_to_part(s, p);
    if (engine_fine(out) && p->by_rule)
        select_picks(s, p, p->max_picks, false, false);
    if (p->by_rule && p->stop_rule)
        unfinished = stop_rule_is_unfinished(p->stop_rule) || (p->stopped && !p->limited_lookahead);
    if (engine_fine(out) && p->n_picks < p->min_picks && !p->stopped)
        select_picks(s, p, p->min_picks - p->n_picks, true, false);
    p->n_by_rule = p->n_picks;
    if (engine_fine(out) && p->fixed)
        select_fixed(s, p);
    if (unfinished)
        p->stop_rule = STOP_RULE_UNFINISHED; /* also after picks with fixed values */
    if (engine_fine(out))
        take_points(s, p);
    p->update_seconds = updated - start;
    p->select_seconds = clock_steady() - updated;
    if (engine_fine(out))
        keep_state(p, s->engine.engine);
    if (engine_fine(out))
        check_figures(p);
    engine_settle(out);
    if (!engine_fine(out))
        study_drop_engine(s); /* it may be ahead of the store */
    else
        metrics_count_batch(s->app->metrics, p->update_seconds, p->select_seconds);
    study_count_memory(s);
}
