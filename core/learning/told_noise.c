/* Reported errors in a model: the variances of its pulls, and how much each pull counts. */
#include "core/base/allocate.h"
#include "core/learning/fit_settings.h"
#include "core/learning/hyperparameters.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

double bandit_fitted_slope(const bandit_fitted *l, double y)
{
    if (l->warped)
        return exp(bandit_warp_log_slope(bandit_fitted_value(l, y), l->power));
    return y < l->low ? l->range / (l->range + (l->low - y)) : 1.0;
}

double bandit_fitted_variance(const bandit_fitted *l, double squared_error, double y)
{
    if (squared_error == 0.0)
        return l->noise;
    double error = sqrt(fmax(squared_error, l->least_error)) / l->scale * bandit_fitted_slope(l, y);
    return fmin(l->noise + error * error, DBL_MAX);
}

/* Relative precisions are finite and not 0 in single precision. */
static float weight_of(double precision)
{
    return (float)fmin(fmax(precision, 1e-30), 1e30);
}

/* A squared error or a variance, and the pulls that have it. */
typedef struct weighed {
    double value;
    uint64_t count;
} weighed;

static int compare_weighed(const void *a, const void *b)
{
    double x = ((const weighed *)a)->value, y = ((const weighed *)b)->value;
    return (x > y) - (x < y);
}

/* The value of the middle pull. Sorts the list. */
static double median(weighed *list, size_t n)
{
    uint64_t all = 0, below = 0;
    size_t i = 0;
    for (size_t k = 0; k < n; k++)
        all += list[k].count;
    qsort(list, n, sizeof *list, compare_weighed);
    while (i + 1 < n && 2 * (below + list[i].count) < all)
        below += list[i++].count;
    return list[i].value;
}

bandit_status bandit_fitted_set_least_error(bandit_fitted *l, const bandit_told_errors *errors,
                                            bandit_error *err)
{
    const double least = 1e-4;
    weighed *list = bandit_alloc(errors->n, sizeof *list);
    if (!list)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < errors->n; i++)
        list[i] = (weighed){bandit_error_of_row(&errors->rows[i]), errors->rows[i].count};
    l->least_error = least * median(list, errors->n);
    free(list);
    return BANDIT_OK;
}

bandit_status bandit_fitted_set_unit_noise(bandit_fitted *l, const bandit_ledger *ledger,
                                           const bandit_told_errors *errors, bandit_error *err)
{
    weighed *list = bandit_alloc(errors->n + 1, sizeof *list);
    uint64_t told = 0;
    if (!list)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < errors->n; i++) {
        const bandit_error_row *row = &errors->rows[i];
        double variance = bandit_fitted_variance(l, bandit_error_of_row(row), row->sum / (double)row->count);
        list[i] = (weighed){variance, row->count};
        told += row->count;
    }
    list[errors->n] = (weighed){l->noise, ledger->observations - told};
    l->unit_noise = median(list, errors->n + 1);
    free(list);
    return BANDIT_OK;
}

float bandit_fitted_weight(const bandit_fitted *l, double squared_error, double y)
{
    if (squared_error == 0.0 && l->unit_noise == l->noise)
        return 0.0F;
    return weight_of(l->unit_noise / bandit_fitted_variance(l, squared_error, y));
}

bandit_arm_sum bandit_fitted_counted(const bandit_fitted *l, const bandit_arm_sum *sum,
                                     const bandit_told_errors *errors)
{
    size_t first, n = errors ? bandit_told_errors_of(errors, sum->arm, &first) : 0;
    const bandit_arm_sum *aside = bandit_sum_of(l->aside, l->n_aside, sum->arm);
    bandit_arm_sum left = *sum;
    bool part = aside && aside->count > 0 && aside->count <= left.count;
    if (n > 0) {
        bandit_arm_sum rest = *sum;
        double precision = 0.0, weighted = 0.0;
        for (size_t i = 0; i < n; i++) {
            const bandit_error_row *row = &errors->rows[first + i];
            double mean = row->sum / (double)row->count;
            double nu = (double)row->count * l->unit_noise /
                        bandit_fitted_variance(l, bandit_error_of_row(row), mean);
            precision += nu;
            weighted += nu * mean;
            rest.count -= row->count < rest.count ? row->count : rest.count;
            rest.sum -= row->sum;
        }
        if (rest.count > 0) {
            precision += (double)rest.count * l->unit_noise / l->noise;
            weighted += rest.sum * l->unit_noise / l->noise;
        }
        left.weight = weight_of(precision / (double)sum->count);
        left.sum = weighted / precision * (double)sum->count;
    } else if (l->unit_noise != l->noise) {
        left.weight = weight_of(l->unit_noise / l->noise);
    }
    if (part) {
        if (n > 0)
            left.sum = sum->sum;
        left.count -= aside->count;
        left.sum -= aside->sum;
    }
    return left;
}
