#include "core/posterior/told_errors.h"

#include "core/base/allocate.h"
#include "core/posterior/ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(uint32_t arm, int32_t level, const bandit_error_row *row)
{
    if (arm != row->arm)
        return arm < row->arm ? -1 : 1;
    return (level > row->level) - (level < row->level);
}

static int32_t level_of(double variance)
{
    return (int32_t)lrint(2.0 * log2(variance)); /* 4 log2 of the error */
}

static void add_to(bandit_error_row *row, const bandit_result *result)
{
    double had = (double)row->count, k = result->repeats;
    if (row->count > 0) {
        double off = result->reward - row->sum / had;
        row->squares += off * off * k * had / (had + k);
    }
    row->count += result->repeats;
    row->results++;
    row->sum += k * result->reward;
    row->variance += k * bandit_error_of_pull(result);
}

/* The row of the arm and level. If there is none, it is inserted; its memory must have been reserved. */
static bandit_error_row *row_of(bandit_told_errors *errors, uint32_t arm, int32_t level)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, errors->n, i, compare(arm, level, &errors->rows[i]) > 0);
    bandit_error_row *row = &errors->rows[place];
    if (place < errors->n && compare(arm, level, row) == 0)
        return row;
    memmove(row + 1, row, (errors->n - place) * sizeof *row);
    errors->n++;
    *row = (bandit_error_row){.arm = arm, .level = level};
    return row;
}

static bandit_status take(bandit_told_errors *errors, const bandit_result *results, size_t n,
                          bandit_error *err)
{
    for (size_t i = 0; i < n; i++) {
        double variance = bandit_error_of_pull(&results[i]);
        if (results[i].error == 0.0)
            continue;
        if (!(results[i].error > 0.0) || !isnormal(variance))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the standard error of result %zu is not valid",
                               i);
        bandit_error_row *row = row_of(errors, results[i].arm, level_of(variance));
        add_to(row, &results[i]);
        if (!isfinite(row->variance) || !isfinite(row->squares))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the standard error of result %zu overflows",
                               i);
    }
    return BANDIT_OK;
}

static size_t with_errors(const bandit_result *results, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += results[i].error != 0.0;
    return found;
}

bandit_status bandit_told_errors_add(bandit_told_errors *out, const bandit_told_errors *base,
                                     const bandit_result *results, size_t n_results, bandit_error *err)
{
    size_t most = base->n + with_errors(results, n_results);
    if (!bandit_reserve((void **)&out->rows, &out->capacity, most, sizeof *out->rows))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (base->n > 0)
        memcpy(out->rows, base->rows, base->n * sizeof *out->rows);
    out->n = base->n;
    return take(out, results, n_results, err);
}

bandit_status bandit_told_errors_amend(bandit_told_errors *errors, const bandit_arm_sum *sums, size_t n_sums,
                                       const bandit_result *results, size_t n_results, bandit_error *err)
{
    size_t kept = 0, most = errors->n + with_errors(results, n_results);
    if (!bandit_reserve_keep((void **)&errors->rows, &errors->capacity, errors->n, most,
                             sizeof *errors->rows))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < errors->n; i++)
        if (!bandit_sum_of(sums, n_sums, errors->rows[i].arm))
            errors->rows[kept++] = errors->rows[i];
    errors->n = kept;
    return take(errors, results, n_results, err);
}

size_t bandit_told_errors_of(const bandit_told_errors *errors, uint32_t arm, size_t *first)
{
    BANDIT_LOWER_BOUND(*first, errors->n, i, errors->rows[i].arm < arm);
    size_t end = *first;
    while (end < errors->n && errors->rows[end].arm == arm)
        end++;
    return end - *first;
}

bool bandit_told_errors_valid(const bandit_error_row *rows, size_t n, size_t n_arms)
{
    bool valid = true;
    for (size_t i = 0; i < n && valid; i++) {
        const bandit_error_row *row = &rows[i];
        valid = row->arm < n_arms && row->count >= row->results && row->results > 0 && isfinite(row->sum) &&
                isfinite(row->variance) && row->variance > 0.0 && isfinite(row->squares) &&
                row->squares >= 0.0 && (i == 0 || compare(row->arm, row->level, &rows[i - 1]) > 0);
    }
    return valid;
}

void bandit_told_errors_clear(bandit_told_errors *errors)
{
    free(errors->rows);
    *errors = (bandit_told_errors){0};
}
