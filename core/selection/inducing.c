#include "core/selection/inducing.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/posterior/dpp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static double tolerance(double kappa2, double lambda, size_t m)
{
    double relative = kappa2 > 0.0 ? fmin(1e-10, 1e-8 * lambda / kappa2) : 1e-10;
    return fmax((double)m * DBL_EPSILON, relative);
}

/* The pulled arms that the k-DPP may choose from, ascending: all of them, or a uniform sample of
 * BANDIT_INDUCING_GROUND. The i-th of n arms is taken with probability (still to take) / (n − i). `ground`
 * has enough memory. */
static size_t ground_set(uint64_t seed, uint64_t batch, const bandit_ledger *ledger, uint32_t *ground)
{
    size_t n = 0, wanted = ledger->n < BANDIT_INDUCING_GROUND ? ledger->n : BANDIT_INDUCING_GROUND;
    uint64_t thinning = (uint64_t)1 << 62;
    for (size_t i = 0; i < ledger->n && n < wanted; i++) {
        double u = bandit_random_uniform(seed, batch, BANDIT_PURPOSE_DPP, thinning + i);
        if (u * (double)(ledger->n - i) < (double)(wanted - n))
            ground[n++] = ledger->sums[i].arm;
    }
    return n;
}

bandit_status bandit_inducing_draw(uint32_t *dictionary, size_t *n_dictionary, size_t m,
                                   const bandit_options *options, uint64_t batch,
                                   const bandit_covariance *covariance, const bandit_ledger *ledger,
                                   bandit_error *err)
{
    const bandit_dpp_options how = {.k = m,
                                    .steps = options->dpp_steps,
                                    .tolerance = tolerance(covariance->kappa2, options->lambda, m),
                                    .seed = options->seed,
                                    .batch = batch};
    uint32_t *ground = bandit_alloc(ledger->n, sizeof *ground);
    if (!ground)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    size_t n_ground = ground_set(options->seed, batch, ledger, ground);
    bandit_status status =
        bandit_dpp_sample(covariance, ground, n_ground, &how, dictionary, n_dictionary, err);
    free(ground);
    if (status == BANDIT_OK && *n_dictionary == 0) /* all arms have zero variance: take any */
        dictionary[(*n_dictionary)++] = ledger->sums[0].arm;
    return status;
}
