#include "core/selection/feasibility.h"

#include "core/arms/arms_storage.h"
#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double strength = 0.5, expected = 0.9; /* s and pi of feasibility.h */
static const double enough = 0.8;                   /* no penalty where this share of evaluations succeeds */
enum { MOST_HALVINGS = 5 };                         /* of the bandwidth */
static const double usual = 0.6, doubt = 1.5;       /* of by_chance */
/* How much likelier the outcomes must be by place. On lists the search begins with few successes, and needs longer. */
static const double margin_in_spaces = 2.0, margin_on_lists = 1.25;

bandit_status bandit_feasibility_start(bandit_feasibility *f, size_t n, size_t dimension, bandit_error *err)
{
    assert(n <= BANDIT_FEASIBILITY_MOST);
    size_t scratch = dimension + n * (n + 1) / 2;
    f->n = 0;
    if (!bandit_reserve((void **)&f->points, &f->capacity_points, n * dimension, sizeof *f->points) ||
        !bandit_reserve((void **)&f->failed, &f->capacity_failed, n, sizeof *f->failed) ||
        !bandit_reserve((void **)&f->scale, &f->capacity_scale, dimension, sizeof *f->scale) ||
        !bandit_reserve((void **)&f->scratch, &f->capacity_scratch, scratch, sizeof *f->scratch))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    f->n = n;
    f->dimension = dimension;
    return BANDIT_OK;
}

void bandit_feasibility_clear(bandit_feasibility *f)
{
    free(f->points);
    free(f->failed);
    free(f->scale);
    free(f->scratch);
    *f = (bandit_feasibility){0};
}

size_t bandit_feasibility_memory(const bandit_feasibility *f)
{
    return (f->capacity_points + f->capacity_scale + f->capacity_scratch) * sizeof(double) +
           f->capacity_failed * sizeof *f->failed;
}

static double squared_distance(const double *a, const double *b, size_t d)
{
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* The sum of the log likelihoods of each outcome given all others. `distances` holds squared distances, the
 * lower triangle by rows. */
static double leave_one_out(const bandit_feasibility *f, const double *distances, double bandwidth)
{
    double value = 0.0, by = -0.5 / (bandwidth * bandwidth);
    for (size_t i = 0; i < f->n; i++) {
        double succeeded = strength * expected, all = strength;
        for (size_t k = 0; k < f->n; k++) {
            size_t low = k < i ? k : i, high = k < i ? i : k;
            double w = k == i ? 0.0 : exp(by * distances[high * (high + 1) / 2 + low]);
            all += w;
            succeeded += f->failed[k] ? 0.0 : w;
        }
        value += log((f->failed[i] ? all - succeeded : succeeded) / all);
    }
    return value;
}

void bandit_feasibility_learn(bandit_feasibility *f)
{
    size_t d = f->dimension;
    double *distances = f->scratch, best = -INFINITY;
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < d; j++)
            f->points[i * d + j] /= f->scale[j];
        for (size_t k = 0; k <= i; k++)
            distances[i * (i + 1) / 2 + k] = squared_distance(f->points + i * d, f->points + k * d, d);
    }
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
        double bandwidth = ldexp(1.0, -halvings), value = leave_one_out(f, distances, bandwidth);
        if (value > best) {
            best = value;
            f->bandwidth = bandwidth;
        }
    }
}

/* The log likelihood of each outcome given the share of successes among all others. If that is below `usual`, it is the
 * log likelihood with `usual`, or less by `doubt`, whichever is larger. */
static double by_chance(const bandit_feasibility *f)
{
    double succeeded = strength * expected, all = strength + (double)f->n - 1.0, value = 0.0, least = 0.0;
    for (size_t i = 0; i < f->n; i++)
        succeeded += f->failed[i] ? 0.0 : 1.0;
    for (size_t i = 0; i < f->n; i++) {
        double share = (f->failed[i] ? succeeded : succeeded - 1.0) / all, more = fmax(usual, share);
        value += log(f->failed[i] ? 1.0 - share : share);
        least += log(f->failed[i] ? 1.0 - more : more);
    }
    return fmin(value, fmax(least, value - doubt));
}

/* The largest log likelihood of each outcome given all others, by place: among the bandwidths and nine pi. */
static double by_place(const bandit_feasibility *f)
{
    enum { SHARES = 9 };
    const double *distances = f->scratch;
    double best = -INFINITY;
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
        double by = -0.5 * ldexp(1.0, 2 * halvings), values[SHARES] = {0};
        for (size_t i = 0; i < f->n; i++) {
            double succeeded = 0.0, all = strength;
            for (size_t k = 0; k < f->n; k++) {
                size_t low = k < i ? k : i, high = k < i ? i : k;
                double w = k == i ? 0.0 : exp(by * distances[high * (high + 1) / 2 + low]);
                all += w;
                succeeded += f->failed[k] ? 0.0 : w;
            }
            for (size_t q = 0; q < SHARES; q++) {
                double p = (succeeded + strength * 0.1 * (double)(q + 1)) / all;
                values[q] += log(f->failed[i] ? 1.0 - p : p);
            }
        }
        for (size_t q = 0; q < SHARES; q++)
            best = fmax(best, values[q]);
    }
    return best;
}

double bandit_feasibility_evidence(const bandit_feasibility *f)
{
    return by_place(f) - by_chance(f);
}

/* Lists every `step`-th outcome in the order of arms, from the last one on. Returns how many. */
static size_t outcomes(const bandit_arm_sum *sums, size_t n_sums, const uint32_t *failed, size_t n_failed,
                       size_t step, uint32_t *arms, bool *has_failed)
{
    size_t n = 0, met = 0, i = n_sums, k = n_failed;
    while (n < BANDIT_FEASIBILITY_MOST && (i > 0 || k > 0)) {
        bool fails = i == 0 || (k > 0 && failed[k - 1] > sums[i - 1].arm);
        uint32_t arm = fails ? failed[--k] : sums[--i].arm;
        while (k > 0 && failed[k - 1] == arm)
            k--;
        if (met++ % step != 0)
            continue;
        arms[n] = arm;
        has_failed[n++] = fails;
    }
    return n;
}

bandit_status bandit_feasibility_learn_arms(bandit_feasibility *f, const bandit_arms *set,
                                            const bandit_kernel *kernel, const bandit_arm_sum *sums,
                                            size_t n_sums, const uint32_t *failed, size_t n_failed,
                                            bool spread, bool judges, bandit_error *err)
{
    uint32_t arms[BANDIT_FEASIBILITY_MOST];
    bool has_failed[BANDIT_FEASIBILITY_MOST];
    size_t d = bandit_arms_dimension(set), n = 0, most = BANDIT_FEASIBILITY_MOST;
    size_t step = spread ? (n_sums + n_failed + most - 1) / most : 1;
    if (n_failed > 0)
        n = outcomes(sums, n_sums, failed, n_failed, step, arms, has_failed);
    bandit_status status = bandit_feasibility_start(f, n, d, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t j = 0; j < d; j++) {
        double l =
            kernel->n_lengthscales > 0 ? kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j] : 1.0;
        f->scale[j] = fmin(1.0, l);
    }
    for (size_t i = 0; i < n; i++) {
        f->failed[i] = has_failed[i];
        for (size_t j = 0; j < d; j++)
            f->points[i * d + j] = bandit_arms_feature(set, arms[i], j);
    }
    bandit_feasibility_learn(f);
    if (judges && n > 0 && bandit_feasibility_evidence(f) <= (spread ? margin_on_lists : margin_in_spaces))
        f->n = 0;
    return BANDIT_OK;
}

double bandit_feasibility_shortfall(const bandit_feasibility *f, const double *x, double *gradient)
{
    double weights[BANDIT_FEASIBILITY_MOST];
    size_t d = f->dimension;
    double by = 1.0 / (f->bandwidth * f->bandwidth), succeeded = strength * expected, all = strength;
    if (gradient)
        memset(gradient, 0, d * sizeof *gradient);
    for (size_t i = 0; i < f->n; i++) {
        const double *at = f->points + i * d;
        double sum = 0.0;
        for (size_t j = 0; j < d; j++) {
            double t = x[j] / f->scale[j] - at[j];
            sum += t * t;
        }
        weights[i] = exp(-0.5 * by * sum);
        all += weights[i];
        succeeded += f->failed[i] ? 0.0 : weights[i];
    }
    double p = succeeded / all;
    if (p >= enough)
        return 0.0;
    /* dp = (d succeeded − p d all) / all, with dw = −w (x − x_i) / h^2 */
    for (size_t i = 0; gradient && i < f->n; i++) {
        const double *at = f->points + i * d;
        double share = ((f->failed[i] ? 0.0 : 1.0) - p) / all * weights[i] * by;
        for (size_t j = 0; j < d; j++)
            gradient[j] += share / enough * (x[j] / f->scale[j] - at[j]) / f->scale[j];
    }
    return 1.0 - p / enough;
}
