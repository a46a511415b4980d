/* What the models say of arms of a list, and which arms with results may be on the front: the first step of a batch
 * (several_list.c has the picks). An arm is evaluated in the models only if no arm that was evaluated before is certainly
 * better in every objective, and of an arm that certainly keeps its bounds only the objectives are. */
#include "core/engine/several_engine.h"

#include "core/base/allocate.h"
#include "core/selection/gain.h"
#include "core/selection/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Means that are computed with other rounding differ by less than this share. */
static const double SLACK = 1e-7;

bandit_gain_selector *bandit_several_selector(const bandit_several_engine *e, size_t j)
{
    return &bandit_bbkb_current(bandit_several_leaf(e, j))->gain;
}

double bandit_several_known(const bandit_gain_selector *s, double variance)
{
    return fmax(sqrt(variance * s->posterior->lambda), s->smallest);
}

static void look_at_metric(bandit_several_engine *e, size_t j, uint32_t arm, double *mean, double *known)
{
    double start;
    bandit_gain_glance(bandit_several_selector(e, j), arm, mean, &start);
    *known = bandit_several_known(bandit_several_selector(e, j), start);
}

void bandit_several_look_list(bandit_several_engine *e, uint32_t arm, double *mean, double *known)
{
    for (size_t j = 0; j < e->n; j++)
        look_at_metric(e, j, arm, &mean[j], &known[j]);
}

/* An arm with results. */
typedef struct ranked {
    double sum; /* of the objectives' means, roughly */
    size_t at;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->sum != y->sum ? (x->sum > y->sum ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Whether the means of an arm are certainly below those of a row, in every objective. */
static bool is_below(const bandit_several_engine *e, uint32_t arm, const double *row)
{
    for (size_t j = 0; j < e->n; j++) {
        const bandit_gain_selector *s = bandit_several_selector(e, j);
        if (e->metrics[j].objective && !(s->mean[arm] + s->posterior->mean_error < row[j]))
            return false;
    }
    return true;
}

static void rank_arms(const bandit_several_engine *e, const uint32_t *arms, size_t n, ranked *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (ranked){.at = i};
        for (size_t j = 0; j < e->n; j++)
            out[i].sum += e->metrics[j].objective ? bandit_several_selector(e, j)->mean[arms[i]] : 0.0;
    }
    if (n > 0)
        qsort(out, n, sizeof *out, compare_ranked);
}

/* The ends between which the mean of metric j certainly is. */
typedef struct range {
    double low, high;
} range;

static range mean_of(const bandit_several_engine *e, size_t j, uint32_t arm)
{
    const bandit_gain_selector *s = bandit_several_selector(e, j);
    double mean = s->mean[arm], error = s->posterior->mean_error + SLACK * (1.0 + fabs(mean));
    return (range){mean - error, mean + error};
}

/* Whether some bound certainly holds with a probability of less than 1/2. */
static bool breaks_a_bound(const bandit_several_engine *e, const bandit_joint *joint, uint32_t arm)
{
    for (size_t j = 0; j < e->n; j++) {
        range mean = mean_of(e, j, arm);
        if (mean.high < joint->metrics[j].low || mean.low > joint->metrics[j].high)
            return true;
    }
    return false;
}

/* Whether an arm certainly keeps the bounds with a probability of 1/2 or more. The probability is computed for the
 * largest possible deviations and for the ends of the means' ranges: with a mean between the bounds, it falls as the
 * deviation grows, and over a range of means it is smallest at an end. Sets mean[j] and known[j] of the metrics that are
 * no objectives to values by which the arm keeps the bounds. */
static bool surely_keeps_bounds(const bandit_several_engine *e, const bandit_joint *joint, uint32_t arm,
                                double *mean, double *known)
{
    double log_probability = 0.0;
    for (size_t j = 0; j < e->n; j++) {
        const bandit_gain_selector *s = bandit_several_selector(e, j);
        const bandit_metric *m = &joint->metrics[j];
        range of_arm = mean_of(e, j, arm);
        double variance = fabs(s->variance[arm]) * (1.0 + 1e-12) + s->posterior->variance_error;
        double deviation = bandit_several_known(s, variance);
        if (of_arm.low < m->low || of_arm.high > m->high)
            return false;
        log_probability += fmin(bandit_log_between(m->low, m->high, of_arm.low, deviation, NULL, NULL),
                                bandit_log_between(m->low, m->high, of_arm.high, deviation, NULL, NULL));
        if (m->objective)
            continue;
        mean[j] = s->mean[arm];
        known[j] = deviation;
    }
    return log_probability > SLACK + log(0.5);
}

/* Arms to evaluate: n of them in this order, in the rows of mean and known that `at` gives; `above`: n
 * entries. */
typedef struct look_list {
    const bandit_joint *joint;
    const uint32_t *arms;
    ranked *order;
    size_t n, *above, n_above;
    double *mean, *known;
} look_list;

/* Evaluates an arm. If it certainly keeps the bounds, only its objectives matter. */
static void look_at(bandit_several_engine *e, const bandit_joint *joint, uint32_t arm, double *mean,
                    double *known)
{
    if (!surely_keeps_bounds(e, joint, arm, mean, known)) {
        bandit_several_look_list(e, arm, mean, known);
        return;
    }
    for (size_t j = 0; j < e->n; j++)
        if (joint->metrics[j].objective)
            look_at_metric(e, j, arm, &mean[j], &known[j]);
}

/* Evaluates the arms that break a bound, or the others, unless an arm that keeps the bounds is above them. */
static void look_at_undominated(bandit_several_engine *e, look_list *l, bool breaking)
{
    for (size_t i = 0; i < l->n && !bandit_pause(); i++) {
        size_t at = l->order[i].at, k = 0;
        double *row = l->mean + at * e->n, *known = l->known + at * e->n;
        if (breaks_a_bound(e, l->joint, l->arms[at]) != breaking)
            continue;
        while (k < l->n_above && !is_below(e, l->arms[at], l->mean + l->above[k] * e->n))
            k++;
        if (k < l->n_above)
            continue;
        look_at(e, l->joint, l->arms[at], row, known);
        if (bandit_joint_is_feasible(l->joint, row, known))
            l->above[l->n_above++] = at;
    }
}

/* Leaves out the rows that begin with NAN; returns how many are left. */
static size_t keep_rows(size_t width, uint32_t *arms, size_t n, double *mean, double *known)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(mean[i * width]))
            continue;
        arms[kept] = arms[i];
        memmove(mean + kept * width, mean + i * width, width * sizeof *mean);
        memmove(known + kept * width, known + i * width, width * sizeof *known);
        kept++;
    }
    return kept;
}

bandit_status bandit_several_look_front(bandit_several_engine *e, const bandit_metric *goals, uint32_t *arms,
                                        size_t *n, double *mean, double *known, bandit_error *err)
{
    bandit_joint joint = {.n = e->n};
    bandit_status status = BANDIT_OK;
    memcpy(joint.metrics, goals, e->n * sizeof *goals);
    if (!goals[0].has_threshold) { /* the reference point depends on all means */
        for (size_t i = 0; i < *n && !bandit_pause(); i++)
            bandit_several_look_list(e, arms[i], mean + i * e->n, known + i * e->n);
        return BANDIT_OK;
    }
    look_list l = {.joint = &joint, .arms = arms, .n = *n, .mean = mean, .known = known};
    l.order = bandit_alloc(*n, sizeof *l.order);
    l.above = bandit_alloc(*n, sizeof *l.above);
    if (l.order && l.above) {
        for (size_t i = 0; i < *n; i++)
            mean[i * e->n] = (double)NAN;
        rank_arms(e, arms, *n, l.order);
        look_at_undominated(e, &l, false);
        if (l.n_above == 0) /* no arm keeps the bounds: find the one that comes closest */
            look_at_undominated(e, &l, true);
        *n = keep_rows(e->n, arms, *n, mean, known);
    } else {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    free(l.order);
    free(l.above);
    return status;
}
