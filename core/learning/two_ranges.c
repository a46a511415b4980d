/* A kernel with a part of a shorter range (bandit/kernel.h).
 *
 * With one lengthscale for each feature, a model has to choose: a long one sees the shape of the whole function and takes
 * its details for noise; a short one sees details, and nothing beyond them. The sum of two parts sees both. How large the
 * second part is, if there is one, is decided by the likelihood of the rewards. Ours. */
#include "core/learning/sample.h"

enum { FEWEST = 8 /* rewards */, SHARES = 2 };

static const double shares[SHARES] = {0.1, 0.3};

/* The log prior of one range against either share. Without it, few rewards are often likelier with two ranges by
 * chance. */
static const double PRIOR = 1.0;

/* Is this share to be tried? Where each result makes a fit due, two fits try one share and the next two the other: fits
 * of even numbers may have a finer unit, and both kinds of fits are to try both. */
static bool has_turn(size_t share, uint64_t fitted_on, uint64_t observations)
{
    return observations > fitted_on + 1 || observations / 2 % SHARES == share;
}

bandit_status bandit_sample_try_ranges(bandit_sample *s, bandit_fitted *l, uint64_t fitted_on,
                                       uint64_t observations, bandit_error *err)
{
    bandit_fitted start = {0};
    double value;
    if (!s->settings->two_ranges || s->n_kept < FEWEST)
        return BANDIT_OK;
    bandit_status status = bandit_fitted_copy(&start, l, err);
    if (status == BANDIT_OK)
        status = bandit_sample_fit(s, &start, 0, NULL, &value, err);
    double best = status == BANDIT_OK ? bandit_sample_density(s, value, start.scale) + PRIOR : 0.0;
    for (size_t k = 0; k < SHARES && status == BANDIT_OK; k++) {
        bandit_fitted other = {0};
        if (!has_turn(k, fitted_on, observations))
            continue;
        status = bandit_fitted_copy(&other, &start, err);
        other.short_share = shares[k];
        if (status == BANDIT_OK)
            status = bandit_sample_try(s, l, &other, &best, err);
        bandit_fitted_clear(&other);
    }
    bandit_fitted_clear(&start);
    return status;
}
