#include "core/posterior/ledger.h"

#include "core/base/allocate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bandit_status check_results(size_t n_arms, const bandit_result *results, size_t n, bandit_error *err)
{
    if (n > UINT32_MAX)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "more than 2^32 - 1 results at once");
    for (size_t i = 0; i < n; i++) {
        const bandit_result *result = &results[i];
        if (result->arm >= n_arms)
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "result %zu is for arm %u of %zu", i,
                               result->arm, n_arms);
        if (result->repeats == 0 || !isfinite(result->reward))
            return bandit_fail(err, BANDIT_INVALID_STATE, "",
                               "result %zu has no repeats, or its reward is not finite", i);
        if (!(result->weight >= 0.0F && result->weight <= FLT_MAX))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the weight of result %zu is not valid", i);
        if (result->chosen && !(isfinite(result->variance) && result->variance >= 0.0))
            return bandit_fail(err, BANDIT_INVALID_STATE, "",
                               "the variance of result %zu is negative or not a number", i);
    }
    return BANDIT_OK;
}

/* A result's contribution to the sum of squares. */
static double squares(uint32_t repeats, double reward)
{
    return repeats > 0 ? repeats * (reward * reward) : 0.0;
}

/* Adds a result to its arm's sum. With weights, the mean is the weighted one. */
static void add_result(bandit_arm_sum *sum, const bandit_result *result)
{
    if (sum->weight == 0.0F && result->weight == 0.0F) {
        sum->count += result->repeats;
        sum->sum += result->repeats * result->reward;
        return;
    }
    double had = sum->count > 0 ? bandit_precision(sum) : 0.0;
    double added = result->repeats * (result->weight > 0.0F ? (double)result->weight : 1.0);
    double mean = sum->count > 0 ? sum->sum / (double)sum->count : 0.0;
    mean += (result->reward - mean) * (added / (had + added));
    sum->count += result->repeats;
    sum->sum = mean * (double)sum->count;
    sum->weight = (float)((had + added) / (double)sum->count);
}

bool bandit_ledger_is_flat(const bandit_ledger *ledger)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < ledger->n; i++) {
        double mean = ledger->sums[i].sum / (double)ledger->sums[i].count;
        low = fmin(low, mean);
        high = fmax(high, mean);
        /* Each further mean adds as much to the left side as to the maximum, so it stays so. */
        if (high - low > 1e-10 * fmax(fabs(low), fabs(high)))
            return false;
    }
    return ledger->n > 1;
}

static double mean_of(const bandit_ledger *ledger, size_t i)
{
    return ledger->sums[i].sum / (double)ledger->sums[i].count;
}

size_t bandit_ledger_best(const bandit_ledger *ledger)
{
    size_t best = 0;
    for (size_t i = 1; i < ledger->n; i++) {
        if (mean_of(ledger, i) > mean_of(ledger, best))
            best = i;
    }
    return best;
}

bool bandit_ledger_stands_still(const bandit_ledger *ledger)
{
    const double matters = 1e-2;
    const size_t patience = 4;
    double best = mean_of(ledger, bandit_ledger_best(ledger)), sum = 0.0;
    size_t first = 0;
    for (size_t i = 0; i < ledger->n; i++)
        sum += mean_of(ledger, i);
    double gain = matters * (best - sum / (double)ledger->n);
    while (first + 1 < ledger->n && mean_of(ledger, first) < best - gain)
        first++;
    return ledger->n - first >= patience;
}

void bandit_order_results(uint64_t *order, const bandit_result *results, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint64_t)results[i].arm << 32 | i;
    qsort(order, n, sizeof *order, compare_keys);
}

bandit_status bandit_ledger_add(bandit_ledger *out, const bandit_ledger *base, size_t n_arms,
                                const bandit_result *results, size_t n_results, bandit_error *err)
{
    bandit_status status = check_results(n_arms, results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    uint64_t *keys = bandit_alloc(n_results, sizeof *keys);
    if (!keys ||
        !bandit_reserve((void **)&out->sums, &out->capacity, base->n + n_results, sizeof *out->sums)) {
        free(keys);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }

    out->observations = base->observations;
    out->sum_squares = base->sum_squares;
    for (size_t i = 0; i < n_results; i++) {
        out->observations += results[i].repeats;
        out->sum_squares += squares(results[i].repeats, results[i].reward);
    }
    if (!isfinite(out->sum_squares)) {
        free(keys);
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the sum of the rewards' squares overflows");
    }
    bandit_order_results(keys, results, n_results);

    size_t old = 0;
    out->n = 0;
    for (size_t i = 0; i < n_results;) {
        uint32_t arm = (uint32_t)(keys[i] >> 32);
        while (old < base->n && base->sums[old].arm < arm)
            out->sums[out->n++] = base->sums[old++];
        bandit_arm_sum sum = {.arm = arm};
        if (old < base->n && base->sums[old].arm == arm)
            sum = base->sums[old++];
        for (; i < n_results && keys[i] >> 32 == arm; i++)
            add_result(&sum, &results[(uint32_t)keys[i]]);
        out->sums[out->n++] = sum;
    }
    if (old < base->n)
        memcpy(out->sums + out->n, base->sums + old, (base->n - old) * sizeof *out->sums);
    out->n += base->n - old;
    free(keys);
    return BANDIT_OK;
}

bandit_status bandit_ledger_load(bandit_ledger *out, size_t n_arms, const bandit_arm_sum *sums, size_t n,
                                 double sum_squares, bandit_error *err)
{
    uint64_t observations = 0;
    for (size_t i = 0; i < n; i++) {
        if (sums[i].arm >= n_arms || (i > 0 && sums[i].arm <= sums[i - 1].arm) || sums[i].count == 0 ||
            !isfinite(sums[i].sum) || !(sums[i].weight >= 0.0F && sums[i].weight <= FLT_MAX))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored sum %zu is not valid", i);
        observations += sums[i].count;
    }
    if (!bandit_reserve((void **)&out->sums, &out->capacity, n, sizeof *out->sums))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (n > 0)
        memcpy(out->sums, sums, n * sizeof *sums);
    out->n = n;
    out->observations = observations;
    out->sum_squares = sum_squares;
    return BANDIT_OK;
}

bandit_status bandit_ledger_restore(bandit_ledger *out, size_t n_arms, const bandit_checkpoint *checkpoint,
                                    uint64_t observations, double sum_squares, bandit_error *err)
{
    bandit_status status =
        bandit_ledger_load(out, n_arms, checkpoint->sums, checkpoint->n_sums, sum_squares, err);
    if (status != BANDIT_OK || out->observations == observations)
        return status;
    return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored sums count %llu pulls, not %llu",
                       (unsigned long long)out->observations, (unsigned long long)observations);
}

bandit_status bandit_ledger_amend(bandit_ledger *ledger, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    double sum_squares = ledger->sum_squares;
    for (size_t i = 0; i < n; i++)
        sum_squares += squares(amendments[i].now.repeats, amendments[i].now.reward) -
                       squares(amendments[i].was.repeats, amendments[i].was.reward);
    if (!isfinite(sum_squares))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the sum of the rewards' squares overflows");
    bandit_arm_sum *merged = bandit_alloc(ledger->n + n_sums, sizeof *merged);
    size_t old = 0, out = 0;
    if (!merged)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    ledger->observations = 0;
    for (size_t i = 0; i <= n_sums; i++) {
        while (old < ledger->n && (i == n_sums || ledger->sums[old].arm < sums[i].arm))
            merged[out++] = ledger->sums[old++];
        if (i == n_sums)
            break;
        if (old < ledger->n && ledger->sums[old].arm == sums[i].arm)
            old++;
        if (sums[i].count > 0)
            merged[out++] = sums[i];
    }
    for (size_t i = 0; i < out; i++)
        ledger->observations += merged[i].count;
    ledger->sum_squares = fmax(0.0, sum_squares);
    free(ledger->sums);
    ledger->sums = merged;
    ledger->capacity = ledger->n + n_sums;
    ledger->n = out;
    return BANDIT_OK;
}

void bandit_ledger_clear(bandit_ledger *ledger)
{
    free(ledger->sums);
    *ledger = (bandit_ledger){0};
}
