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
/* Of the choice of scales: the newest outcomes that are used, and the coordinates, at most; with more of these, or fewer
 * outcomes, scales stay as they are. */
enum { SCALED_OUTCOMES = 128, FEWEST_SCALED = 9, MOST_SCALED = 64, SWEEPS = 2 };
static const double stretches[] = {0x1p-10, 0.5, 2.0, 4.0}; /* the first one ignores the coordinate */
static const double ignored = 100.0;                        /* so is a scale beyond it */
static const double least_gain = 1.5;                       /* in log likelihood, of a change of one scale */
static const double price = 1.0;                            /* of each change, in the evidence */
enum { SINCE_JUDGED = 3, SINCE_SCALED = 5 };                /* revisions */
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

/* Chooses the bandwidth for the points as they are. */
static void set_bandwidth(bandit_feasibility *f)
{
    size_t d = f->dimension;
    double *distances = f->scratch, best = -INFINITY;
    for (size_t i = 0; i < f->n; i++) {
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

void bandit_feasibility_learn(bandit_feasibility *f)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->dimension; j++)
            f->points[i * f->dimension + j] /= f->scale[j];
    set_bandwidth(f);
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

/* ---- scales ---------------------------------------------------------------------------------------------- */

/* The squared distances of n outcomes, by pairs, and room for two sums of each outcome. */
typedef struct pairs {
    size_t n;
    double *now, *changed; /* n (n − 1) / 2 each */
    double *all, *succeeded;
} pairs;

/* As leave_one_out, of the first n outcomes, with each pair computed once. */
static double likelihood(const bandit_feasibility *f, const pairs *p, const double *distances,
                         double bandwidth)
{
    double value = 0.0, by = -0.5 / (bandwidth * bandwidth);
    for (size_t i = 0, pair = 0; i < p->n; i++) {
        p->all[i] = strength;
        p->succeeded[i] = strength * expected;
        for (size_t k = 0; k < i; k++, pair++) {
            double w = exp(by * distances[pair]);
            p->all[i] += w;
            p->all[k] += w;
            p->succeeded[i] += f->failed[k] ? 0.0 : w;
            p->succeeded[k] += f->failed[i] ? 0.0 : w;
        }
    }
    for (size_t i = 0; i < p->n; i++)
        value += log((f->failed[i] ? p->all[i] - p->succeeded[i] : p->succeeded[i]) / p->all[i]);
    return value;
}

/* The largest likelihood with the bandwidth in force, its half and its double; *bandwidth: which it is. */
static double likelihood_near(const bandit_feasibility *f, const pairs *p, const double *distances,
                              double *bandwidth)
{
    double best = -INFINITY, now = f->bandwidth;
    for (int step = -1; step <= 1; step++) {
        double tried = ldexp(now, step);
        double value = tried > 1.0 || tried < ldexp(1.0, -MOST_HALVINGS) ? -INFINITY
                                                                         : likelihood(f, p, distances, tried);
        if (value > best) {
            best = value;
            *bandwidth = tried;
        }
    }
    return best;
}

/* p->changed: the squared distances with coordinate j stretched. */
static void stretch_distances(const bandit_feasibility *f, const pairs *p, size_t j, double stretch)
{
    size_t d = f->dimension, pair = 0;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < i; k++, pair++) {
            double apart = f->points[i * d + j] - f->points[k * d + j];
            p->changed[pair] = fmax(0.0, p->now[pair] + (stretch * stretch - 1.0) * apart * apart);
        }
    }
}

static void stretch_points(bandit_feasibility *f, size_t j, double stretch)
{
    for (size_t i = 0; i < f->n; i++)
        f->points[i * f->dimension + j] *= stretch;
    f->scale[j] /= stretch;
}

/* Changes the scale of coordinate j if that gains enough, and *value with it. */
static bool change_scale(bandit_feasibility *f, pairs *p, size_t j, double *value)
{
    double best = *value + least_gain, stretch = 1.0, bandwidth = f->bandwidth, tried = bandwidth;
    for (size_t k = 0; k < sizeof stretches / sizeof *stretches && f->scale[j] < ignored; k++) {
        stretch_distances(f, p, j, stretches[k]);
        double found = likelihood_near(f, p, p->changed, &tried);
        if (found > best) {
            best = found;
            stretch = stretches[k];
            bandwidth = tried;
        }
    }
    if (stretch == 1.0)
        return false;
    stretch_distances(f, p, j, stretch);
    memcpy(p->now, p->changed, p->n * (p->n - 1) / 2 * sizeof *p->now);
    stretch_points(f, j, stretch);
    f->bandwidth = bandwidth;
    *value = best;
    return true;
}

/* After learning: stretches coordinates, each by itself, as long as the outcomes become likelier. Returns in *changes how
 * often. */
static bandit_status choose_scales(bandit_feasibility *f, size_t *changes, bandit_error *err)
{
    size_t n = f->n < SCALED_OUTCOMES ? f->n : SCALED_OUTCOMES, d = f->dimension, last = 0, pair = 0;
    *changes = 0;
    if (n < FEWEST_SCALED || d > MOST_SCALED)
        return BANDIT_OK;
    double *memory = bandit_alloc(n * (n - 1) + 2 * n, sizeof *memory);
    if (!memory)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    pairs p = {n, memory, memory + n * (n - 1) / 2, memory + n * (n - 1), memory + n * n};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++, pair++)
            p.now[pair] = squared_distance(f->points + i * d, f->points + k * d, d);
    }
    double bandwidth = f->bandwidth, value = likelihood_near(f, &p, p.now, &bandwidth);
    f->bandwidth = bandwidth;
    for (int sweep = 0; sweep < SWEEPS && (sweep == 0 || *changes > last); sweep++) {
        last = *changes;
        for (size_t j = 0; j < d; j++)
            *changes += change_scale(f, &p, j, &value);
    }
    free(memory);
    if (*changes > 0 || n < f->n)
        set_bandwidth(f); /* for all outcomes */
    return BANDIT_OK;
}

/* ---- outcomes -------------------------------------------------------------------------------------------- */

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
                                            bool spread, size_t revision, bandit_error *err)
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
    size_t changes = 0;
    if (revision >= SINCE_SCALED)
        status = choose_scales(f, &changes, err);
    double needed = (spread ? margin_on_lists : margin_in_spaces) + price * (double)changes;
    if (revision >= SINCE_JUDGED && n > 0 && !(bandit_feasibility_evidence(f) > needed))
        f->n = 0;
    return status;
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
