#include "server/data/stopping.h"
#include "proto/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves -------------------------------------------------------------------------------------------- */

/* The first entry with a step of at least `step`; n if there is none. */
static size_t find_step(const stopping_curve *curve, int64_t step)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, curve->n, i, curve->steps[i] < step);
    return place;
}

static bool make_room(stopping_curve *curve)
{
    size_t room = curve->capacity; /* of the steps; `capacity` is set after the values have also grown */
    return wire_grow(&curve->steps, &room, curve->n + 1, 8, sizeof *curve->steps) &&
           wire_grow(&curve->values, &curve->capacity, curve->n + 1, 8, sizeof *curve->values);
}

bool stopping_curve_set(stopping_curve *curve, int64_t step, double value)
{
    size_t at = find_step(curve, step);
    if (at == curve->n || curve->steps[at] != step) {
        if (!make_room(curve))
            return false;
        memmove(curve->steps + at + 1, curve->steps + at, (curve->n - at) * sizeof *curve->steps);
        memmove(curve->values + at + 1, curve->values + at, (curve->n - at) * sizeof *curve->values);
        curve->steps[at] = step;
        curve->n++;
    }
    curve->values[at] = value;
    return true;
}

void stopping_curve_clear(stopping_curve *curve)
{
    free(curve->steps);
    free(curve->values);
    *curve = (stopping_curve){0};
}

stopping_curve stopping_curve_until(const stopping_curve *curve, int64_t step)
{
    size_t at = find_step(curve, step);
    bool there = at < curve->n && curve->steps[at] == step;
    return (stopping_curve){.steps = curve->steps, .values = curve->values, .n = at + there};
}

static bool is_better(double a, double b, bool minimize)
{
    return minimize ? a < b : a > b;
}

/* ---- the median rule ----------------------------------------------------------------------------------- */

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The average of the values up to the step. False: there are no values. */
static bool running_average(double *out, const stopping_curve *curve, int64_t step)
{
    double sum = 0.0;
    size_t n = 0;
    for (; n < curve->n && curve->steps[n] <= step; n++)
        sum += curve->values[n];
    *out = n ? sum / (double)n : 0.0;
    return n > 0;
}

bool stopping_median(bool *stop, const stopping_curve *curve, const stopping_curve *const *finished, size_t n,
                     int64_t min_steps, int64_t min_trials, bool minimize)
{
    *stop = false;
    if (curve->n == 0 || (int64_t)curve->n < min_steps || (int64_t)n < min_trials)
        return true;
    double *averages = malloc((n ? n : 1) * sizeof *averages);
    if (!averages)
        return false;
    int64_t step = curve->steps[curve->n - 1];
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        known += running_average(&averages[known], finished[i], step);
    if (known > 0 && (int64_t)known >= min_trials) {
        qsort(averages, known, sizeof *averages, compare_reals);
        double median =
            known % 2 ? averages[known / 2] : 0.5 * (averages[known / 2 - 1] + averages[known / 2]);
        double best = curve->values[0];
        for (size_t i = 1; i < curve->n; i++)
            if (is_better(curve->values[i], best, minimize))
                best = curve->values[i];
        *stop = is_better(median, best, minimize);
    }
    free(averages);
    return true;
}

/* ---- successive halving -------------------------------------------------------------------------------- */

bool stopping_halving(const stopping_curve *curve, const stopping_curve *const *all, size_t n,
                      int64_t min_resource, int64_t reduction, bool minimize)
{
    if (curve->n == 0 || curve->steps[curve->n - 1] < min_resource)
        return false;
    int64_t rung = min_resource, last = curve->steps[curve->n - 1];
    while (rung <= last / reduction)
        rung *= reduction;
    double value = curve->values[find_step(curve, rung)];
    size_t reached = 0, better = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = find_step(all[i], rung);
        if (at == all[i]->n)
            continue;
        reached++;
        better += is_better(all[i]->values[at], value, minimize);
    }
    size_t go_on = reached / (size_t)reduction;
    return better >= (go_on > 0 ? go_on : 1);
}

/* ---- estimates of stopped trials ----------------------------------------------------------------------- */

/* The last value up to the step; NaN: there is none. */
static double value_at(const stopping_curve *curve, int64_t step)
{
    size_t at = find_step(curve, step);
    at += at < curve->n && curve->steps[at] == step;
    return at > 0 ? curve->values[at - 1] : (double)NAN;
}

/* Moments of the pairs of a value at the step and a result. */
typedef struct moments {
    double n, mean_x, mean_y;
    double xx, xy, yy; /* sums of products of the deviations from the means */
} moments;

static moments moments_of(const stopping_complete *complete, size_t n, int64_t step)
{
    moments m = {0};
    for (size_t i = 0; i < n; i++) {
        double x = value_at(complete[i].curve, step), y = complete[i].value;
        if (isnan(x))
            continue;
        m.n += 1.0;
        double dx = x - m.mean_x, dy = y - m.mean_y;
        m.mean_x += dx / m.n;
        m.mean_y += dy / m.n;
        m.xx += dx * (x - m.mean_x);
        m.xy += dx * (y - m.mean_y);
        m.yy += dy * (y - m.mean_y);
    }
    return m;
}

bool stopping_estimate(double *value, double *error, const stopping_curve *curve,
                       const stopping_complete *complete, size_t n)
{
    const double fewest = 3.0, enough = 8.0, least_correlation = 0.5, least_error = 0.01;
    if (curve->n == 0)
        return false;
    double x = curve->values[curve->n - 1], slope = 1.0;
    moments m = moments_of(complete, n, curve->steps[curve->n - 1]);
    if (m.n < fewest)
        return false;
    bool regresses = m.n >= enough && m.xx > 0.0 && m.xy >= least_correlation * sqrt(m.xx * m.yy);
    if (regresses)
        slope = (m.n * (m.xy / m.xx) + 1.0) / (m.n + 1.0);
    double residuals = fmax(0.0, m.yy - 2.0 * slope * m.xy + slope * slope * m.xx);
    double away = x - m.mean_x, spread = regresses ? away * away / m.xx : 0.0;
    double variance = residuals / (m.n - (regresses ? 2.0 : 1.0)) * (1.0 + 1.0 / m.n + spread);
    *value = m.mean_y + slope * away;
    *error = fmax(sqrt(variance), least_error * sqrt(m.yy / (m.n - 1.0)));
    return *error > 0.0 && isfinite(*error) && isfinite(*value);
}
