#include "core/algorithms/space_thinning.h"

#include "core/base/allocate.h"
#include "core/posterior/dpp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { SINCE_REVISION = 5 };

/* How much more a good point weighs than the others. The good ones come first, as long as they differ at all. */
static const double GOOD = 1e100;

bool bandit_space_thins(const bandit_engine *engine, const bandit_ledger *ledger)
{
    return engine->options.revision >= SINCE_REVISION && ledger->n > BANDIT_MOST_MEMBERS;
}

static double mean_of(const bandit_arm_sum *sum)
{
    return sum->sum / (double)sum->count;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* weights[i]: of the i-th pulled point. Half as many as the dictionary will have are good. `scratch`: n entries. */
static void weigh(const bandit_ledger *ledger, double *weights, double *scratch)
{
    for (size_t i = 0; i < ledger->n; i++)
        scratch[i] = mean_of(&ledger->sums[i]);
    qsort(scratch, ledger->n, sizeof *scratch, descending);
    double least = scratch[BANDIT_KEPT_MEMBERS / 2 - 1];
    for (size_t i = 0; i < ledger->n; i++)
        weights[i] = mean_of(&ledger->sums[i]) >= least ? GOOD : 1.0;
}

bandit_status bandit_space_thin(uint32_t *dictionary, size_t *n_dictionary, const bandit_engine *engine,
                                const bandit_ledger *ledger, bandit_error *err)
{
    size_t n = ledger->n;
    bandit_status status =
        bandit_engine_check_memory(engine, (double)n * (BANDIT_KEPT_MEMBERS + 4) * sizeof(double), err);
    if (status != BANDIT_OK)
        return status;
    uint32_t *arms = bandit_alloc(n, sizeof *arms);
    double *weights = bandit_alloc(2 * n, sizeof *weights);
    if (!arms || !weights) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        arms[i] = ledger->sums[i].arm;
    weigh(ledger, weights, weights + n);
    const bandit_dpp_options how = {.k = BANDIT_KEPT_MEMBERS,
                                    .tolerance = fmax(BANDIT_KEPT_MEMBERS * DBL_EPSILON, 1e-10),
                                    .weights = weights};
    status = bandit_dpp_greedy(&engine->covariance, arms, n, &how, dictionary, n_dictionary, err);
    if (status == BANDIT_OK && *n_dictionary == 0) /* all points have zero variance: take any */
        dictionary[(*n_dictionary)++] = arms[0];
    if (status == BANDIT_OK)
        bandit_sort_arms(dictionary, *n_dictionary);
out:
    free(arms);
    free(weights);
    return status;
}
