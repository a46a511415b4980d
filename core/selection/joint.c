#include "core/selection/joint.h"

#include "core/base/allocate.h"
#include "core/selection/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far below the nadir the reference point is, in ranges of the front (Ishibuchi et al. 2011). */
static const double BELOW_NADIR = 0.1;

static bool is_bounded(const bandit_metric *m)
{
    return m->low > -INFINITY || m->high < INFINITY;
}

double bandit_joint_log_probability(const bandit_joint *joint, const double *mean, const double *known)
{
    double sum = 0.0;
    for (size_t j = 0; j < joint->n; j++)
        if (is_bounded(&joint->metrics[j]))
            sum += bandit_log_between(joint->metrics[j].low, joint->metrics[j].high, mean[j], known[j], NULL,
                                      NULL);
    return sum;
}

bool bandit_joint_is_feasible(const bandit_joint *joint, const double *mean, const double *known)
{
    return bandit_joint_log_probability(joint, mean, known) >= -0.6931471805599453;
}

/* ---- the front ----------------------------------------------------------------------------------------- */

static bandit_status add_point(bandit_joint *joint, uint32_t arm, const double *mean, bandit_error *err)
{
    size_t n = joint->n_points, k = joint->k;
    if (!bandit_reserve_keep((void **)&joint->arms, &joint->capacity_arms, n, n + 1, sizeof *joint->arms) ||
        !bandit_reserve_keep((void **)&joint->points, &joint->capacity_points, n * k, (n + 1) * k,
                             sizeof *joint->points))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    joint->arms[n] = arm;
    for (size_t j = 0; j < k; j++)
        joint->points[n * k + j] = mean[joint->objectives[j]];
    joint->n_points++;
    return BANDIT_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets the reference point. `scratch`: n_arms entries. */
static void infer_reference(bandit_joint *joint, bandit_reference_rule rule, const double *mean,
                            size_t n_arms, const size_t *front, size_t n_front, double *scratch)
{
    size_t low = n_arms / 4; /* the lower quartile; second_worst is the same for few arms */
    if (rule == BANDIT_REFERENCE_SECOND_WORST && low > 1)
        low = 1;
    for (size_t j = 0; j < joint->k; j++) {
        size_t metric = joint->objectives[j];
        double nadir = INFINITY, ideal = -INFINITY, r = INFINITY;
        for (size_t f = 0; f < n_front; f++) {
            double y = joint->points[front[f] * joint->k + j];
            nadir = fmin(nadir, y);
            ideal = fmax(ideal, y);
        }
        for (size_t i = 0; i < n_arms; i++)
            scratch[i] = mean[i * joint->n + metric];
        qsort(scratch, n_arms, sizeof *scratch, compare_numbers);
        if (n_front > 0)
            r = nadir - BELOW_NADIR * (ideal - nadir);
        joint->reference[j] = fmin(r, scratch[low]);
    }
}

static bandit_status set_reference(bandit_joint *joint, bandit_reference_rule rule, const double *mean,
                                   size_t n_arms, bandit_error *err)
{
    if (joint->metrics[0].has_threshold) {
        for (size_t j = 0; j < joint->k; j++)
            joint->reference[j] = joint->metrics[joint->objectives[j]].threshold;
        return BANDIT_OK;
    }
    size_t *front = bandit_alloc(joint->n_points, sizeof *front);
    double *scratch = bandit_alloc(n_arms, sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (front && scratch) {
        size_t n_front = bandit_front_find(joint->points, joint->n_points, joint->k, front);
        infer_reference(joint, rule, mean, n_arms, front, n_front, scratch);
    } else {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    free(front);
    free(scratch);
    return status;
}

bandit_status bandit_joint_start(bandit_joint *joint, const bandit_metric *metrics, size_t n,
                                 bandit_reference_rule rule, bool keeps_apart, const uint32_t *arms,
                                 size_t n_arms, const double *mean, const double *known, bandit_error *err)
{
    double best = -INFINITY;
    bandit_status status = BANDIT_OK;
    joint->n = n;
    joint->k = 0;
    joint->n_points = 0;
    joint->nearest = n_arms > 0 ? arms[0] : 0;
    joint->bounded = false;
    joint->keeps_apart = keeps_apart;
    memcpy(joint->metrics, metrics, n * sizeof *metrics);
    for (size_t j = 0; j < n; j++) {
        joint->bounded |= is_bounded(&metrics[j]);
        if (metrics[j].objective)
            joint->objectives[joint->k++] = j;
    }
    for (size_t i = 0; status == BANDIT_OK && i < n_arms; i++) {
        double p = bandit_joint_log_probability(joint, mean + i * n, known + i * n);
        if (p > best) {
            best = p;
            joint->nearest = arms[i];
        }
        if (bandit_joint_is_feasible(joint, mean + i * n, known + i * n))
            status = add_point(joint, arms[i], mean + i * n, err);
    }
    joint->seeks_bounds = joint->n_points == 0;
    if (status == BANDIT_OK && n_arms > 0)
        status = set_reference(joint, rule, mean, n_arms, err);
    if (status == BANDIT_OK && !joint->seeks_bounds)
        status = bandit_boxes_cover(&joint->boxes, joint->points, joint->n_points, joint->k, joint->reference,
                                    err);
    return status;
}

bandit_status bandit_joint_take_out(bandit_joint *joint, uint32_t arm, const double *mean,
                                    const double *known, bandit_error *err)
{
    if (joint->seeks_bounds || !bandit_joint_is_feasible(joint, mean, known))
        return BANDIT_OK;
    bandit_status status = add_point(joint, arm, mean, err);
    if (status == BANDIT_OK)
        status =
            bandit_boxes_cover_more(&joint->boxes, joint->points, joint->n_points, joint->reference, err);
    return status;
}

void bandit_joint_clear(bandit_joint *joint)
{
    free(joint->arms);
    free(joint->points);
    bandit_boxes_clear(&joint->boxes);
    *joint = (bandit_joint){0};
}

size_t bandit_joint_memory(const bandit_joint *joint)
{
    return joint->capacity_arms * sizeof *joint->arms + joint->capacity_points * sizeof *joint->points +
           bandit_boxes_memory(&joint->boxes);
}

uint32_t bandit_joint_front_arm(const bandit_joint *joint, uint64_t number)
{
    if (joint->seeks_bounds || joint->boxes.n_front == 0)
        return joint->nearest;
    return joint->arms[joint->boxes.front[number % joint->boxes.n_front]];
}

/* ---- values -------------------------------------------------------------------------------------------- */

static double log_probability(const bandit_joint *joint, const bandit_outlook *at,
                              bandit_outlook_slopes *slopes)
{
    if (!slopes)
        return bandit_joint_log_probability(joint, at->mean, at->known);
    double sum = 0.0;
    for (size_t j = 0; j < joint->n; j++) {
        double by_mean, by_known;
        if (!is_bounded(&joint->metrics[j]))
            continue;
        sum += bandit_log_between(joint->metrics[j].low, joint->metrics[j].high, at->mean[j], at->known[j],
                                  &by_mean, &by_known);
        slopes->mean[j] += by_mean;
        slopes->known[j] += by_known;
    }
    return sum;
}

/* How far the picks in flight have shrunk the uncertainty about the bounds, if that counts. */
static double log_shrunk(const bandit_joint *joint, const bandit_outlook *at, bandit_outlook_slopes *slopes)
{
    double sum = 0.0, weight = joint->seeks_bounds ? 1.0 : 0.25;
    if (!joint->seeks_bounds && !joint->keeps_apart)
        return 0.0;
    for (size_t j = 0; j < joint->n; j++) {
        if (!is_bounded(&joint->metrics[j]))
            continue;
        sum += weight * log(at->now[j] / at->known[j]);
        if (slopes) {
            slopes->now[j] += weight / at->now[j];
            slopes->known[j] -= weight / at->known[j];
        }
    }
    return sum;
}

static double log_gain(bandit_joint *joint, const bandit_outlook *at, bandit_outlook_slopes *slopes)
{
    double mean[BANDIT_MOST_OBJECTIVES], gain[BANDIT_MOST_OBJECTIVES], by_mean[BANDIT_MOST_OBJECTIVES],
        by_gain[BANDIT_MOST_OBJECTIVES];
    for (size_t j = 0; j < joint->k; j++) {
        mean[j] = at->mean[joint->objectives[j]];
        gain[j] = at->gain[joint->objectives[j]];
    }
    double value = bandit_boxes_log_expected(&joint->boxes, mean, gain, slopes ? by_mean : NULL,
                                             slopes ? by_gain : NULL);
    for (size_t j = 0; slopes && j < joint->k; j++) {
        slopes->mean[joint->objectives[j]] += by_mean[j];
        slopes->gain[joint->objectives[j]] += by_gain[j];
    }
    return value;
}

double bandit_joint_value(bandit_joint *joint, const bandit_outlook *at, bandit_outlook_slopes *slopes)
{
    if (slopes)
        *slopes = (bandit_outlook_slopes){0};
    double p = joint->bounded ? log_probability(joint, at, slopes) : 0.0;
    p += log_shrunk(joint, at, slopes);
    return joint->seeks_bounds ? p : p + log_gain(joint, at, slopes);
}

/* The largest log P of one bound, for deviations from `least` to `most`. `distance` is that of the mean from
 * the bound, positive inside. */
static double most_probable(double distance, double least, double most)
{
    return bandit_log_cdf(distance / (distance > 0.0 ? least : most));
}

/* The same for both bounds: P(low <= y <= high) = P(low <= y) + P(y <= high) − 1. */
static double most_between(double log_low, double log_high)
{
    double least = fmin(log_low, log_high), both = exp(log_low) + exp(log_high) - 1.0;
    return least < 0.0 && both > 1e-3 ? fmin(least, log(both) + 1e-12) : least;
}

double bandit_joint_bound(bandit_joint *joint, const bandit_outlook *at, const double *mean_error,
                          const double *least_known, bool quick)
{
    double p = 0.0, mean[BANDIT_MOST_OBJECTIVES], gain[BANDIT_MOST_OBJECTIVES];
    for (size_t j = 0; joint->bounded && j < joint->n; j++) {
        const bandit_metric *m = &joint->metrics[j];
        double low = 0.0, high = 0.0;
        if (m->low > -INFINITY)
            low = most_probable(at->mean[j] + mean_error[j] - m->low, least_known[j], at->known[j]);
        if (m->high < INFINITY)
            high = most_probable(m->high - at->mean[j] + mean_error[j], least_known[j], at->known[j]);
        p += most_between(low, high);
    }
    if (joint->seeks_bounds) {
        for (size_t j = 0; j < joint->n; j++)
            if (is_bounded(&joint->metrics[j]))
                p += fmin(0.0, log(at->now[j] / least_known[j]));
        return p;
    }
    for (size_t j = 0; j < joint->k; j++) {
        mean[j] = at->mean[joint->objectives[j]] + mean_error[joint->objectives[j]];
        gain[j] = at->gain[joint->objectives[j]];
    }
    double near = bandit_boxes_log_near_bound(&joint->boxes, mean, gain);
    if (!isnan(near))
        return p + near;
    return p + (quick ? bandit_boxes_log_bound(&joint->boxes, mean, gain)
                      : bandit_boxes_log_expected(&joint->boxes, mean, gain, NULL, NULL));
}
