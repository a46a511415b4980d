#include "server/study/stop_when.h"

#include "bandit/insight.h"
#include "proto/arrays.h"
#include "server/data/estimated_arms.h"
#include "server/data/stop_rule.h"
#include "server/study/queries.h"
#include "server/study/recommendation.h"
#include "server/study/turn_end.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the points with results -------------------------------------------------------------------------------- */

typedef struct point {
    uint32_t arm;
    uint64_t count;
    double value; /* the mean of its rewards; larger is better */
    recommendation_point expected;
} point;

typedef struct points {
    point *list;
    size_t n;
    uint64_t results; /* how many the model has */
    bool careful;     /* the recommended point is the one with the best mean less one deviation */
} points;

/* The estimates that the model includes. */
static void read_estimates(estimated_arms *estimated, study *s, const engine_source *source,
                           int64_t through_seq, engine_outcome *out)
{
    if (source->config->estimates_stopped)
        out->stored = engine_wait_for_store(s, source)
                          ? estimated_arms_read(estimated, s->app->store, source->number, through_seq)
                          : STORE_ABORTED;
}

/* The evaluated points. False: *out has the reason. */
static bool take_points(points *p, const bandit_engine *engine, const estimated_arms *estimated,
                        engine_outcome *out)
{
    bandit_checkpoint checkpoint;
    bandit_description d;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_engine_describe(engine, &d);
    *p = (points){.results = d.observations, .careful = question_has_noise(&d)};
    bandit_prediction *at = recommendation_expect(engine, checkpoint.sums, checkpoint.n_sums, &out->error);
    p->list = at ? calloc(checkpoint.n_sums + 1, sizeof *p->list) : NULL;
    if (at && !p->list)
        out->stored = STORE_NO_MEMORY;
    for (size_t i = 0; p->list && i < checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &checkpoint.sums[i];
        if (estimated_arms_only(estimated, sum->arm, sum->count))
            continue;
        p->list[p->n++] = (point){.arm = sum->arm,
                                  .count = sum->count,
                                  .value = sum->sum / (double)sum->count,
                                  .expected = recommendation_point_of(engine, sum, &at[i])};
    }
    free(at);
    return engine_fine(out);
}

/* The recommended point among those that are not in the ascending list `without`, which may be NULL. NULL: there is
 * none. */
static const point *recommended(const points *p, const uint32_t *without, size_t n)
{
    const point *best = NULL;
    for (size_t i = 0, at = 0; i < p->n; i++) {
        const point *one = &p->list[i];
        while (without && at < n && without[at] < one->arm)
            at++;
        bool left_out = without && at < n && without[at] == one->arm;
        if (!left_out &&
            recommendation_beats(&one->expected, best ? &best->expected : &RECOMMENDATION_NONE, p->careful))
            best = one;
    }
    return best;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distance between the quartiles of the points' values. NaN: out of memory. */
static double spread(const points *p)
{
    double *values = malloc((p->n + 1) * sizeof *values), range = NAN;
    for (size_t i = 0; values && i < p->n; i++)
        values[i] = p->list[i].value;
    if (values && p->n > 0) {
        qsort(values, p->n, sizeof *values, compare_reals);
        range = values[p->n - 1 - (p->n - 1) / 4] - values[(p->n - 1) / 4];
    }
    free(values);
    return range;
}

/* ---- the results in their order ------------------------------------------------------------------------------ */

typedef struct told {
    int64_t seq;
    uint32_t arm;
} told;

/* The results so far. The list is kept from batch to batch, so that each batch reads only the results since the last
 * one. */
struct told_history {
    told *list;      /* n, in the order of the log */
    uint32_t *first; /* by arm: the position of its first result plus one; 0: it has none */
    size_t n, capacity, first_capacity;
    int64_t through_seq; /* the list has the results up to this position */
    bool no_memory;
};

void stop_when_forget(study *s)
{
    told_history *h = s->engine.told;
    s->engine.told = NULL;
    if (!h)
        return;
    free(h->list);
    free(h->first);
    free(h);
}

static void add(told_history *h, int64_t seq, int64_t candidate)
{
    h->no_memory |= !wire_grow(&h->list, &h->capacity, h->n + 1, 256, sizeof *h->list);
    if (!h->no_memory)
        h->list[h->n++] = (told){.seq = seq, .arm = (uint32_t)candidate};
}

static void take_trial(void *arg, const store_trial *row)
{
    if (row->has_value)
        add(arg, row->told_seq, row->candidate);
}

static void take_observation(void *arg, const store_imported *row)
{
    if (row->has_value)
        add(arg, row->told_seq, row->candidate);
}

static int compare_told(const void *a, const void *b)
{
    const told *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Notes which results from position `from` on are the first of their arms. */
static void note_first(told_history *h, size_t from)
{
    for (size_t i = from; i < h->n && !h->no_memory; i++) {
        size_t arm = h->list[i].arm, before = h->first_capacity;
        h->no_memory = !wire_grow(&h->first, &h->first_capacity, arm + 1, 256, sizeof *h->first);
        if (h->no_memory)
            return;
        memset(h->first + before, 0, (h->first_capacity - before) * sizeof *h->first);
        if (h->first[arm] == 0)
            h->first[arm] = (uint32_t)i + 1;
    }
}

/* Reads the results up to through_seq. NULL: *out has the failure. */
static told_history *read_history(study *s, const engine_source *source, int64_t through_seq,
                                  engine_outcome *out)
{
    store_error error = {0};
    if (!s->engine.told)
        s->engine.told = calloc(1, sizeof *s->engine.told);
    told_history *h = s->engine.told;
    if (!h || !engine_wait_for_store(s, source)) {
        out->stored = h ? STORE_ABORTED : STORE_NO_MEMORY;
        return NULL;
    }
    size_t before = h->n;
    store_trial_filter filter = {.told = true, .told_after = h->through_seq, .told_through = through_seq};
    out->stored = store_read_observations(s->app->store, source->number, h->through_seq, through_seq,
                                          take_observation, h, &error);
    if (engine_fine(out))
        out->stored =
            store_read_trials(s->app->store, source->number, &filter, SIZE_MAX, take_trial, h, &error);
    if (engine_fine(out) && h->n > before) {
        qsort(h->list + before, h->n - before, sizeof *h->list, compare_told);
        note_first(h, before);
    }
    if (engine_fine(out) && h->no_memory)
        out->stored = STORE_NO_MEMORY;
    if (engine_fine(out)) {
        h->through_seq = through_seq;
        return h;
    }
    stop_when_forget(s);
    return NULL;
}

/* The arms, ascending, whose results are all at position `from` of the list or later. The caller frees them. NULL: out
 * of memory. */
static uint32_t *only_late(const told_history *h, size_t from, size_t *n)
{
    uint32_t *late = malloc((h->n - from + 1) * sizeof *late);
    *n = 0;
    for (size_t i = from; late && i < h->n; i++)
        if (h->first[h->list[i].arm] > from)
            late[(*n)++] = h->list[i].arm;
    if (late && *n > 0)
        qsort(late, *n, sizeof *late, compare_arms);
    return late;
}

/* ---- the rules ------------------------------------------------------------------------------------------------ */

/* With few results the model often mistakes noise for the function: it trusts each value, and all deviations are too
 * small. So until there are ENOUGH results, the rule needs evidence other than the point's own result. */
enum { TARGET_DEVIATIONS = 2, ENOUGH = 50 };

/* Without the arm's rewards, does the model predict a mean for it that is at least `value` even less two deviations?
 * False if the model cannot tell, like the models of some algorithms; then the study continues. */
static bool others_say(const bandit_engine *engine, uint32_t arm, double value, engine_outcome *out)
{
    bandit_insight *insight = NULL;
    bandit_left_out *list = NULL;
    bandit_error error = {0};
    size_t n = 0;
    bool so = false;
    bandit_status status = bandit_insight_new(&insight, engine, &error);
    if (status == BANDIT_OK)
        status = bandit_insight_leave_one_out(insight, &list, &n, &error);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        so = so || (list[i].arm == arm && list[i].mean - TARGET_DEVIATIONS * list[i].std >= value);
    if (status == BANDIT_NO_MEMORY || status == BANDIT_CANCELLED) /* others mean no advice */
        out->error = error;
    free(list);
    bandit_insight_free(insight);
    return so;
}

static bool target_is_reached(const bandit_engine *engine, const points *p, double value, engine_outcome *out)
{
    const point *best = recommended(p, NULL, 0);
    if (!best || !(best->expected.mean - TARGET_DEVIATIONS * best->expected.std >= value))
        return false;
    return best->count > 1 || p->results >= ENOUGH || others_say(engine, best->arm, value, out);
}

static bool stagnates(study *s, const engine_source *source, int64_t through_seq, const points *p,
                      const wire_stop_when *rule, engine_outcome *out)
{
    size_t n = 0;
    bool stagnant = false;
    const told_history *h = read_history(s, source, through_seq, out);
    if (!h || h->n <= (size_t)rule->results)
        return false;
    uint32_t *late = only_late(h, h->n - (size_t)rule->results, &n);
    double range = spread(p);
    const point *now = recommended(p, NULL, 0), *before = late ? recommended(p, late, n) : NULL;
    if (!late || isnan(range))
        out->stored = STORE_NO_MEMORY;
    else if (now && before)
        stagnant = now->expected.mean - before->expected.mean <= rule->gain * range;
    free(late);
    return stagnant;
}

enum { FEWEST_FOR_REGRET = 20, FEWEST_AN_INPUT = 3 };

/* The probability of at most k failures in n tries, each of which fails with probability q in (0, 1). */
static double at_most(size_t k, size_t n, double q)
{
    double term = pow(1.0 - q, (double)n), sum = term;
    for (size_t i = 1; i <= k; i++) {
        term *= (double)(n - i + 1) / (double)i * q / (1.0 - q);
        sum += term;
    }
    return sum;
}

/* Must the rule be judged now? It is not judged after each batch, because that takes longer than most picks. */
static bool is_due(uint64_t before, uint64_t now)
{
    uint64_t next = FEWEST_FOR_REGRET;
    while (next <= before)
        next += next / 6;
    return next <= now;
}

static bool little_is_left(const bandit_engine *engine, const points *p, const wire_stop_when *rule,
                           const stop_before *before, engine_outcome *out)
{
    const double doubt = 0.05;
    const point *best = recommended(p, NULL, 0);
    bandit_insight *insight = NULL;
    bandit_outlook found = {0};
    bandit_error error = {0};
    bool so = false;
    const char *name;
    int64_t since;
    if (!is_due(before->results, p->results))
        return advice_is_of_rule(before->advice, &name, &since) &&
               strcmp(name, wire_stop_rule_names[WIRE_STOP_REGRET]) == 0;
    bandit_status status = bandit_insight_new(&insight, engine, &error);
    if (status == BANDIT_OK && best && p->results >= FEWEST_AN_INPUT * bandit_insight_inputs(insight)) {
        status = bandit_insight_outlook(insight, best->arm, rule->epsilon, &found, &error);
        size_t better = (size_t)lround(found.probability * (double)found.draws);
        so = status == BANDIT_OK && at_most(better, found.draws, 1.0 - rule->probability) <= doubt;
    }
    if (status == BANDIT_NO_MEMORY || status == BANDIT_CANCELLED)
        out->error = error;
    bandit_insight_free(insight);
    return so;
}

static bool holds(study *s, const engine_source *source, int64_t through_seq, const points *p,
                  const stop_before *before, const wire_stop_when *rule, engine_outcome *out)
{
    switch (rule->rule) {
    case WIRE_STOP_STAGNATION:
        return stagnates(s, source, through_seq, p, rule, out);
    case WIRE_STOP_TARGET:
        return target_is_reached(s->engine.engine, p, source->config->minimize ? -rule->value : rule->value,
                                 out);
    case WIRE_STOP_REGRET:
        return little_is_left(s->engine.engine, p, rule, before, out);
    case WIRE_STOP_COST:
        break;
    }
    return false; /* judged in turns: stop_when_spent */
}

void stop_when_spent(study *s)
{
    const wire_study *definition = s->config->wire;
    for (size_t i = 0; s->state == STUDY_ACTIVE && i < definition->n_stop_when; i++) {
        const wire_stop_when *rule = &definition->stop_when[i];
        char reason[200];
        if (rule->rule != WIRE_STOP_COST || s->cost < rule->total)
            continue;
        stop_when_reason(reason, sizeof reason, rule, s->config->minimize);
        study_set_state(s, STUDY_FINISHED, reason, NULL);
    }
}

stop_verdict stop_when_judge(study *s, const engine_source *source, int64_t through_seq,
                             const stop_before *before, engine_outcome *out)
{
    const wire_study *definition = source->config->wire;
    stop_verdict verdict = {0};
    points p = {0};
    estimated_arms estimated = {0};
    if (wire_stops_by_model(definition))
        read_estimates(&estimated, s, source, through_seq, out);
    if (wire_stops_by_model(definition) && engine_fine(out))
        take_points(&p, s->engine.engine, &estimated, out);
    estimated_arms_clear(&estimated);
    for (size_t i = 0; engine_fine(out) && i < definition->n_stop_when; i++) {
        const wire_stop_when *rule = &definition->stop_when[i],
                             **first = rule->tells ? &verdict.tells : &verdict.ends;
        if (!*first && holds(s, source, through_seq, &p, before, rule, out))
            *first = rule;
    }
    free(p.list);
    return engine_fine(out) ? verdict : (stop_verdict){0};
}

void stop_when_reason(char *out, size_t size, const wire_stop_when *rule, bool minimize)
{
    if (rule->rule == WIRE_STOP_COST)
        snprintf(out, size, "cost: the results have cost %.6g or more", rule->total);
    else if (rule->rule == WIRE_STOP_TARGET)
        snprintf(out, size, "target: the model expects %s %.6g, even with two standard deviations against it",
                 minimize ? "at most" : "at least", rule->value);
    else
        snprintf(out, size, "stagnation: the last %lld results gained at most %.6g interquartile ranges",
                 (long long)rule->results, rule->gain);
}
