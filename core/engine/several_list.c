/* Picks among candidates by the joint acquisition, as in core/selection/gain.h: within a batch values only fall,
 * so that an outdated value is an upper bound. A heap has one for every arm. Those at its top are updated some
 * at a time, and those still at the top are evaluated exactly. The pick is the arm with the largest value of
 * all; ties go to the lowest index. To the bit, it depends only on the posteriors and the picks so far. */
#include "core/engine/several_engine.h"

#include "core/algorithms/enumerated.h"
#include "core/base/allocate.h"
#include "core/selection/gain.h"
#include "core/selection/screening.h"
#include "core/simd/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arms that are updated at a time, at first and at most. */
enum { FIRST_BLOCK = BANDIT_TILE, BLOCK = 32 };

/* A value that is computed later, from sums with other rounding, may exceed an earlier one by less than
 * this. */
static const double SLACK = 1e-7;

static double with_slack(double value)
{
    return value + SLACK * (1.0 + fabs(value));
}

void bandit_several_list_clear(bandit_several_list *l)
{
    free(l->entries);
    free(l->stamp);
    free(l->variance);
    free(l->work);
    *l = (bandit_several_list){0};
}

size_t bandit_several_list_memory(const bandit_several_list *l)
{
    return l->capacity_entries * sizeof *l->entries + l->capacity_stamp * sizeof *l->stamp +
           (l->capacity_variance + l->capacity_work) * sizeof(double);
}

/* ---- one arm ------------------------------------------------------------------------------------------- */

static double exact_value(bandit_several_engine *e, uint32_t arm)
{
    bandit_outlook at;
    for (size_t j = 0; j < e->n; j++) {
        bandit_gain_selector *s = bandit_several_selector(e, j);
        double start, now = bandit_gain_look(s, arm, &at.mean[j], &start);
        at.known[j] = bandit_several_known(s, start);
        at.now[j] = bandit_several_known(s, now);
        at.gain[j] = fmax(at.now[j] * sqrt(now / (now + 1.0)), s->smallest);
    }
    return bandit_joint_value(&e->joint, &at, NULL) - bandit_gain_penalty(bandit_several_selector(e, 0), arm);
}

/* An upper bound on the value. `removed[j]`: the least amount by which the picks in flight have shrunk the
 * variance. */
static double upper_bound(bandit_several_engine *e, uint32_t arm, const double *removed, bool quick)
{
    bandit_outlook at;
    double error[BANDIT_MOST_METRICS], least[BANDIT_MOST_METRICS];
    size_t n_arms = bandit_arms_count(e->base.arms);
    for (size_t j = 0; j < e->n; j++) {
        const bandit_gain_selector *s = bandit_several_selector(e, j);
        const bandit_posterior *p = s->posterior;
        double variance = e->list.variance[j * n_arms + arm];
        double start = fabs(variance) * (1.0 + 1e-12) + p->variance_error;
        double now = fmax(0.0, start - (removed ? removed[j] : 0.0));
        bool is_bound = variance < 0.0;
        at.mean[j] = s->mean[arm];
        error[j] = p->mean_error;
        at.known[j] = bandit_several_known(s, start);
        at.now[j] = bandit_several_known(s, now);
        at.gain[j] = fmax(at.now[j] * sqrt(now / (now + 1.0)), s->smallest);
        least[j] = is_bound
                       ? s->smallest
                       : bandit_several_known(s, fmax(0.0, variance * (1.0 - 1e-12) - p->variance_error));
    }
    return with_slack(bandit_joint_bound(&e->joint, &at, error, least, quick));
}

/* Computes the variances of n arms for which screening has only given bounds. An arm that matters to no metric
 * alone may be the best for all together. */
static void sharpen(bandit_several_engine *e, const uint32_t *arms, size_t n)
{
    size_t n_arms = bandit_arms_count(e->base.arms);
    for (size_t j = 0; j < e->n; j++)
        bandit_screening_sharpen(bandit_several_selector(e, j)->posterior, arms, n,
                                 e->list.variance + j * n_arms, e->list.work);
}

/* ---- the best arm -------------------------------------------------------------------------------------- */

/* Copies the variances of all metrics. */
static bandit_status reserve_variances(bandit_several_engine *e, size_t n_arms, bandit_error *err)
{
    bandit_several_list *l = &e->list;
    size_t work = 0;
    for (size_t j = 0; j < e->n; j++) {
        size_t wanted = bandit_screening_scratch(bandit_several_selector(e, j)->posterior);
        work = work < wanted ? wanted : work;
    }
    if (!bandit_reserve((void **)&l->variance, &l->capacity_variance, e->n * n_arms, sizeof(double)) ||
        !bandit_reserve((void **)&l->work, &l->capacity_work, work, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to select among %zu arms", n_arms);
    for (size_t j = 0; j < e->n; j++)
        memcpy(l->variance + j * n_arms, bandit_several_selector(e, j)->variance, n_arms * sizeof(double));
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

static bandit_status start(bandit_several_engine *e, bandit_error *err)
{
    bandit_several_list *l = &e->list;
    size_t n = bandit_arms_count(e->base.arms);
    if (!bandit_reserve((void **)&l->entries, &l->capacity_entries, n, sizeof *l->entries) ||
        !bandit_reserve((void **)&l->stamp, &l->capacity_stamp, n, sizeof *l->stamp))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to select among %zu arms", n);
    bandit_status status = reserve_variances(e, n, err);
    if (status != BANDIT_OK)
        return status;
    l->once = true;
    for (size_t j = 0; j < e->n; j++)
        l->once &= bandit_several_selector(e, j)->once;
    for (size_t a = 0; a < n; a++) {
        bandit_pause_at(a);
        l->entries[a] = (bandit_heap_entry){upper_bound(e, (uint32_t)a, NULL, true), (uint32_t)a};
    }
    memset(l->stamp, 0, n * sizeof *l->stamp);
    bandit_heap_init(&l->heap, l->entries, n);
    l->ready = true;
    return BANDIT_OK;
}

/* A search for the best arm. */
typedef struct search {
    bandit_several_engine *e;
    const bandit_select_limits *limits;
    bool again; /* also among the arms that are otherwise not picked again */
    bool few, found;
    double best;
    uint32_t arm;
} search;

static bool goes_on(const search *f)
{
    const bandit_heap *heap = &f->e->list.heap;
    return heap->size > 0 && (!f->found || heap->entries[0].bound >= f->best);
}

static bool may_be_picked(const search *f, uint32_t arm)
{
    unsigned met = bandit_several_selector(f->e, 0)->met[arm];
    bool is_out = (met & BANDIT_GAIN_OUT) != 0, has_result = (met & BANDIT_GAIN_RESULT) != 0;
    if (!f->again && (f->e->list.once ? met != 0 : is_out && !(f->few && has_result)))
        return false;
    return !bandit_is_withheld(f->limits, arm);
}

/* In the first revision, arms that were popped but changed places with one that was set aside are left out, so that
 * the pick also depends on which arms were set aside, and on how many are popped at a time. */
static bool leaves_out_arms(const bandit_several_engine *e)
{
    return e->base.options.revision <= BANDIT_FIRST_REVISION;
}

/* Pops at most `most` arms that may be picked. Returns the length of the part after the heap's end that includes
 * them all; some of that part may have been popped before. */
static size_t pop_block(search *f, size_t most)
{
    bandit_heap *heap = &f->e->list.heap;
    bool includes_all = !leaves_out_arms(f->e);
    size_t n = 0, n_aside = 0;
    while (n < most && n_aside < BLOCK && goes_on(f)) {
        if (may_be_picked(f, bandit_heap_pop(heap)->arm)) {
            n++;
        } else {
            bandit_heap_set_aside(heap);
            n_aside += includes_all; /* it changed places with an arm that was popped earlier */
        }
    }
    size_t popped = bandit_heap_popped(heap);
    return n + n_aside < popped ? n + n_aside : popped;
}

/* Updates outdated bounds among these entries. */
static void refresh(search *f, bandit_heap_entry *entries, size_t n)
{
    bandit_several_engine *e = f->e;
    const size_t n_metrics = e->n;
    uint64_t now = e->n_out + 1;
    uint32_t arms[BLOCK];
    size_t at[BLOCK], stale = 0;
    double removed[BANDIT_MOST_METRICS][BLOCK], of_arm[BANDIT_MOST_METRICS];
    for (size_t i = 0; i < n && stale < BLOCK; i++) {
        if (e->list.stamp[entries[i].arm] == now)
            continue;
        arms[stale] = entries[i].arm;
        at[stale++] = i;
    }
    sharpen(e, arms, stale);
    for (size_t j = 0; j < n_metrics; j++)
        bandit_conditioning_gains(&bandit_several_selector(e, j)->conditioning, arms, stale, removed[j]);
    for (size_t k = 0; k < stale; k++) {
        for (size_t j = 0; j < n_metrics; j++)
            of_arm[j] = removed[j][k];
        double bound = upper_bound(e, arms[k], of_arm, false);
        if (!f->found || bound >= f->best)
            bound -= bandit_gain_penalty(bandit_several_selector(e, 0), arms[k]);
        entries[at[k]].bound = fmin(entries[at[k]].bound, with_slack(bound));
        e->list.stamp[arms[k]] = now;
    }
}

/* Evaluates those of n entries that may be the best, the largest bounds first. */
static void evaluate(search *f, bandit_heap_entry *entries, size_t n)
{
    bool done[2 * BLOCK] = {false};
    for (;;) {
        size_t top = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && (top == n || entries[i].bound > entries[top].bound))
                top = i;
        if (top == n || (f->found && entries[top].bound < f->best))
            return;
        uint32_t arm = entries[top].arm;
        double value = exact_value(f->e, arm);
        done[top] = true;
        entries[top].bound = with_slack(value);
        if (!f->found || value > f->best || (value == f->best && arm < f->arm)) {
            f->best = value;
            f->arm = arm;
            f->found = true;
        }
    }
}

static bool find_best(bandit_several_engine *e, const bandit_select_limits *limits, bool again, uint32_t *arm)
{
    bandit_heap *heap = &e->list.heap;
    search f = {.e = e,
                .limits = limits,
                .again = again,
                .few = !e->list.once && bandit_arms_count(e->base.arms) / BANDIT_GAIN_FEW <= e->n_out,
                .best = -INFINITY};
    bandit_heap_push_aside(heap);
    for (size_t block = leaves_out_arms(e) ? BLOCK : FIRST_BLOCK; goes_on(&f) && !bandit_pause();) {
        size_t n = pop_block(&f, block);
        refresh(&f, heap->entries + heap->size, n);
        evaluate(&f, heap->entries + heap->size, n);
        if (n > 0)
            block = BLOCK;
    }
    bandit_heap_push_popped(heap);
    *arm = f.arm;
    return f.found;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bandit_stop_rule stop_rule(const bandit_several_engine *e, const bandit_select_limits *limits)
{
    bandit_stop_rule rule = BANDIT_STOP_NONE;
    for (size_t j = 0; j < e->n && rule == BANDIT_STOP_NONE; j++)
        rule = bandit_log_ei_list_stop_rule(bandit_several_leaf(e, j), limits);
    return rule;
}

static double ratio(const bandit_several_engine *e)
{
    double most = 0.0;
    for (size_t j = 0; j < e->n; j++)
        most = fmax(most, bandit_several_selector(e, j)->total);
    return 1.0 + most;
}

/* Learns from the failures, with the first metric's kernel, and takes the picks in flight into account. */
static bandit_status prepare(bandit_several_engine *e, const bandit_select_limits *limits, bandit_error *err)
{
    bool changed = false;
    bandit_status status = bandit_log_ei_list_heed(bandit_several_leaf(e, 0), limits, &changed, err);
    if (status == BANDIT_OK)
        status = bandit_several_join(e, err);
    if (status == BANDIT_OK && (changed || !e->list.ready))
        status = start(e, err);
    return status;
}

bandit_status bandit_several_explain_list(bandit_several_engine *e, uint32_t arm,
                                          const bandit_select_limits *limits, bandit_reason *out,
                                          bandit_error *err)
{
    bandit_status status = prepare(e, limits, err);
    if (status != BANDIT_OK)
        return status;
    out->score = exact_value(e, arm);
    for (size_t j = 0; j < e->n; j++) {
        bandit_gain_selector *s = bandit_several_selector(e, j);
        double start, now = bandit_gain_look(s, arm, &out->mean[j], &start);
        out->variance[j] = now * s->posterior->lambda;
    }
    return BANDIT_OK;
}

bandit_status bandit_several_select_list(bandit_several_engine *e, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    while (bandit_engine_wants_pick(limits, stop_rule(e, limits), out)) {
        bandit_pick pick;
        double mean;
        status = prepare(e, limits, err);
        if (status != BANDIT_OK)
            break;
        bool drawn = bandit_several_is_flat(e) &&
                     bandit_log_ei_list_draw(bandit_several_leaf(e, 0), limits, &pick.arm);
        if (!drawn && !find_best(e, limits, false, &pick.arm) && !find_best(e, limits, true, &pick.arm)) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        bandit_gain_look(bandit_several_selector(e, 0), pick.arm, &mean, &pick.variance);
        status = bandit_several_take_out(e, &pick, executor, err);
        if (status != BANDIT_OK)
            break;
        picks[out->n_picks++] = pick;
    }
    out->ratio = ratio(e);
    /* keep the picks made; the next call reports the error */
    return out->n_picks > 0 && e->failure == BANDIT_OK ? BANDIT_OK : status;
}
