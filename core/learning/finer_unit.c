/* A finer unit of warped rewards than that of their better half: of the better quarter, or eighth.
 *
 * The warp is straight at its origin, and resolves differences beyond it. If rewards differ by orders of
 * magnitude, a warp about the median therefore resolves the bad ones, and a warp about a high quantile the
 * good ones. The fits are compared by the densities of the unwarped rewards: the density of the fit, divided
 * by the unit to the power of the number of rewards. Ours. */
#include "core/learning/sample.h"

#include <math.h>
#include <stdlib.h>

enum { TIMES = 2, FEWEST = 8 /* rewards */ };

double bandit_sample_quantile(const double *sorted, size_t n, double q)
{
    double place = q * (double)(n - 1);
    size_t i = (size_t)place;
    double rest = place - (double)i;
    return i + 1 < n ? sorted[i] + rest * (sorted[i + 1] - sorted[i]) : sorted[i];
}

bool bandit_sample_may_be_finer(const bandit_fit_settings *settings, uint64_t observations)
{
    return settings->in_turn && settings->learn_noise && observations % 2 == 0 &&
           (!settings->sources || settings->sources->guarded);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fits in another unit. The fit becomes *l if its density is above *best. */
static bandit_status try_unit(bandit_sample *s, bandit_fitted *l, const bandit_fitted *start, double origin,
                              double unit, double *best, bandit_error *err)
{
    bandit_fitted other = {0};
    bandit_status status = bandit_fitted_copy(&other, start, err);
    if (status == BANDIT_OK) {
        other.offset = origin;
        other.scale = unit;
        status = bandit_sample_try(s, l, &other, best, err);
    }
    bandit_fitted_clear(&other);
    return status;
}

/* With squares within arms or reported errors there is no finer unit: they count where the slope of the warp
 * is 1, which is at the median. */
bandit_status bandit_sample_refine(bandit_sample *s, bandit_fitted *l, uint64_t observations,
                                   bandit_error *err)
{
    const double least = 1e-6; /* least unit, relative to that of the better half */
    size_t n = s->n_kept;
    bandit_fitted start = {0};
    double value, share = 0.5, *sorted = s->scratch;
    if (!bandit_sample_may_be_finer(s->settings, observations) || s->within_degrees > 0.0 || s->errors ||
        n < FEWEST || bandit_fitted_has_sources(l))
        return BANDIT_OK;
    for (size_t i = 0; i < n; i++)
        sorted[i] = s->rows[i].sum / (double)s->rows[i].count;
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    bandit_status status = bandit_fitted_copy(&start, l, err);
    if (status == BANDIT_OK)
        status = bandit_sample_fit(s, &start, 0, NULL, &value, err);
    double best = status == BANDIT_OK ? bandit_sample_density(s, value, start.scale) : 0.0;
    for (int k = 0; k < TIMES && status == BANDIT_OK; k++) {
        share *= 0.5;
        double origin = bandit_sample_quantile(sorted, n, 1.0 - share);
        double unit = 2.0 * (bandit_sample_quantile(sorted, n, 1.0 - 0.5 * share) - origin);
        if (!(unit > least * start.scale) || (double)n * share < 2.0)
            break;
        status = try_unit(s, l, &start, origin, unit, &best, err);
    }
    bandit_fitted_clear(&start);
    return status;
}
