#include "core/selection/dictionary.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/selection/confidence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_offers_new(bandit_offer **out, size_t *n_out, const bandit_ledger *ledger,
                                const bandit_pick *pending, size_t n_pending, bandit_error *err)
{
    bandit_offer *offers = bandit_alloc(ledger->n + n_pending, sizeof *offers);
    uint32_t *arms = bandit_alloc(n_pending, sizeof *arms);
    size_t n = 0, old = 0;
    *out = NULL;
    *n_out = 0;
    if (!offers || !arms) {
        free(offers);
        free(arms);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n_pending; i++)
        arms[i] = pending[i].arm;
    bandit_sort_arms(arms, n_pending);
    for (size_t i = 0; i < n_pending || old < ledger->n;) {
        if (i == n_pending || (old < ledger->n && ledger->sums[old].arm < arms[i])) {
            offers[n++] = (bandit_offer){ledger->sums[old].arm, bandit_precision(&ledger->sums[old])};
            old++;
            continue;
        }
        bandit_offer offer = {.arm = arms[i]};
        if (old < ledger->n && ledger->sums[old].arm == offer.arm)
            offer.count = bandit_precision(&ledger->sums[old++]);
        for (; i < n_pending && arms[i] == offer.arm; i++)
            offer.count += 1.0;
        offers[n++] = offer;
    }
    free(arms);
    *out = offers;
    *n_out = n;
    return BANDIT_OK;
}

bandit_resampling bandit_resampling_of(const bandit_options *o, uint64_t batch,
                                       const bandit_covariance *covariance, uint64_t observations,
                                       const bandit_posterior *posterior, const double *variance)
{
    return (bandit_resampling){
        .q_bar = bandit_confidence_q_bar(o, observations),
        .seed = o->seed,
        .per_pull = o->resample == BANDIT_RESAMPLE_PER_PULL,
        .batch = o->resample == BANDIT_RESAMPLE_PERSISTENT ? 0 : batch,
        .covariance = covariance,
        .lambda = o->lambda,
        .posterior = posterior,
        .variance = variance,
    };
}

/* The inclusion probability of an arm with this variance and n pulls. It increases with both. */
static double inclusion(const bandit_resampling *how, double variance, double n)
{
    double p = how->q_bar * variance;
    if (p >= 1.0)
        return 1.0;
    if (how->per_pull)
        return -expm1(n * log1p(-p)); /* 1 − (1 − p)^n without cancellation */
    return fmin(1.0, n * p);
}

bandit_status bandit_dictionary_resample(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                         size_t n, const bandit_resampling *how, bandit_error *err)
{
    assert(n > 0);
    const bandit_posterior *posterior = how->posterior;
    double error = posterior->variance_error, largest = -1.0;
    uint32_t largest_arm = offers[0].arm;
    double *w = bandit_alloc(posterior->m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(posterior), sizeof *scratch);
    *size = 0;
    if (!w || !scratch) {
        free(w);
        free(scratch);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = offers[i].arm;
        double u = bandit_random_uniform(how->seed, how->batch, BANDIT_PURPOSE_RESAMPLE, arm);
        /* The given variances have errors up to `error`. Evaluate the arm exactly only if that could change
         * the decision. */
        double variance = how->variance[arm];
        bool known = variance >= 0.0;
        bool surely_in = u < inclusion(how, fmax(0.0, variance - error), offers[i].count);
        bool surely_out = u >= inclusion(how, variance + error, offers[i].count);
        bool matters = *size == 0 && variance + error >= largest; /* it may become the fallback */
        if (!known || (!surely_in && !surely_out) || (surely_out && matters)) {
            bandit_pause();
            bandit_embedding exact = bandit_posterior_embed(posterior, arm, w, scratch);
            variance = exact.residual + exact.norm2;
        }
        if (u < inclusion(how, variance, offers[i].count))
            dictionary[(*size)++] = arm;
        if (variance > largest) {
            largest = variance;
            largest_arm = arm;
        }
    }
    if (*size == 0) {
        dictionary[0] = largest_arm;
        *size = 1;
    }
    free(w);
    free(scratch);
    return BANDIT_OK;
}

bandit_status bandit_dictionary_restore(uint32_t **dictionary, size_t *capacity,
                                        const bandit_checkpoint *checkpoint, size_t n_arms, bandit_error *err)
{
    const uint32_t *stored = checkpoint->dictionary;
    size_t n = checkpoint->n_dictionary;
    for (size_t i = 0; i < n; i++) {
        if (stored[i] >= n_arms || (i > 0 && stored[i] <= stored[i - 1]))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored dictionary is not valid");
    }
    if (!bandit_reserve((void **)dictionary, capacity, n, sizeof **dictionary))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (n > 0)
        memcpy(*dictionary, stored, n * sizeof *stored);
    return BANDIT_OK;
}
