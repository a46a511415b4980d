/* How well the values of an open space are known, as a quadratic function shows.
 *
 * The model takes a valley that it cannot follow for noise, for instance a narrow one that is oblique to the parameters. Its
 * predictions then have large deviations, although the values may have no error at all. If a quadratic function predicts the
 * good values that are left out of it within some error (core/learning/quadratic.h), their noise cannot be much larger than this
 * error. So wherever the error is smaller than the deviation of the prediction, the value is the better estimate.
 *
 * Ours. Picks do not depend on it. Measured in docs/records/log-ei-spaces.md, "Recommended in a narrow valley". */
#include "core/algorithms/quadratic_sample.h"
#include "core/insight/deviation.h"
#include "core/learning/quadratic.h"

#include <stdlib.h>

static int by_arm(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void prefer(const bandit_quadratic_sample *s, double variance, const uint32_t *arms, size_t n,
                   bandit_prediction *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t *known = bsearch(&arms[i], s->arms, s->n, sizeof *s->arms, by_arm);
        if (known && variance < out[i].variance) {
            double value = s->values[known - s->arms];
            out[i] = (bandit_prediction){.mean = value, .variance = variance, .ucb = value};
        }
    }
}

bandit_status bandit_prefer_values(bandit_insight *view, const uint32_t *arms, size_t n,
                                   bandit_prediction *out, bandit_error *err)
{
    bandit_quadratic_sample s;
    double error;
    bandit_status status = bandit_quadratic_sample_take(
        &s, view->inner->arms, view->sums.sums, view->sums.n_sums, view->told.sums, view->told.n_sums, err);
    if (status == BANDIT_OK)
        status = bandit_quadratic_error(s.x, s.values, s.n, s.k, &error, err);
    if (status == BANDIT_OK)
        prefer(&s, error * error, arms, n, out);
    bandit_quadratic_sample_clear(&s);
    return status;
}
