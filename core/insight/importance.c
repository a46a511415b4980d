/* Importance: the parts that spaces and candidates have in common. */
#include "core/insight/view.h"

#include "bandit/sorted.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bandit_status bandit_view_bins(const double *column, size_t n, size_t n_bins, unsigned char *bins,
                               size_t stride, bandit_error *err)
{
    double *sorted = bandit_alloc(n, sizeof *sorted);
    if (!sorted)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(sorted, column, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    for (size_t i = 0; i < n; i++) {
        size_t below;
        BANDIT_LOWER_BOUND(below, n, k, sorted[k] < column[i]);
        bins[i * stride] = (unsigned char)(below * n_bins / n);
    }
    free(sorted);
    return BANDIT_OK;
}

/* The divergence of one input: `best` marks the n_best best points. Sampling error alone makes it
 * (bins − 1) / n_best on average, which is subtracted. */
static double divergence(const bool *best, size_t n_best, const unsigned char *bins, size_t n, size_t stride)
{
    double p[BANDIT_VIEW_BINS] = {0}, q[BANDIT_VIEW_BINS] = {0}, sum = 0.0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        p[bins[i * stride]] += 1.0 / (double)n;
        q[bins[i * stride]] += best[i] ? 1.0 / (double)n_best : 0.0;
    }
    for (size_t b = 0; b < BANDIT_VIEW_BINS; b++) {
        if (p[b] == 0.0)
            continue;
        used++;
        sum += p[b] * (q[b] / p[b] - 1.0) * (q[b] / p[b] - 1.0);
    }
    return fmax(0.0, sum - ((double)used - 1.0) / (double)n_best);
}

bandit_status bandit_view_top(const double *values, const unsigned char *bins, size_t n, size_t inputs,
                              double *shares, bandit_error *err)
{
    double *sorted = bandit_alloc(n, sizeof *sorted), sum = 0.0;
    bool *best = bandit_alloc_zeroed(n, sizeof *best);
    size_t n_best = 0;
    if (!sorted || !best) {
        free(sorted);
        free(best);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double least = sorted[n - bandit_pieces(n, 10)];
    for (size_t i = 0; i < n; i++) {
        best[i] = values[i] >= least;
        n_best += best[i];
    }
    for (size_t j = 0; j < inputs; j++) {
        shares[j] = divergence(best, n_best, bins + j, n, inputs);
        sum += shares[j];
    }
    for (size_t j = 0; j < inputs; j++)
        shares[j] = sum > 0.0 ? shares[j] / sum : 0.0;
    free(sorted);
    free(best);
    return BANDIT_OK;
}

bandit_status bandit_insight_importance(bandit_insight *v, bandit_importance *out, double *variance,
                                        bandit_error *err)
{
    bandit_status status = bandit_view_check(v, err);
    if (status == BANDIT_OK)
        status = bandit_view_draw(v, 0, err);
    const bandit_space *space = bandit_view_space(v);
    if (status == BANDIT_OK)
        status = !space         ? bandit_importance_list(v, out, variance, err)
                 : space->rules ? bandit_importance_rules(v, out, variance, err)
                                : bandit_importance_space(v, out, variance, err);
    *variance *= bandit_view_unit(v) * bandit_view_unit(v);
    return status;
}
