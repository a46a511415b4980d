/* Step 2 of hyperparameters.h: which rewards are outliers. */
#include "core/learning/sample.h"

#include <math.h>
#include <string.h>

enum { MOST_JUDGED = 32 }; /* arms set aside in one fit, at most; also at most a tenth of all */

/* The gain in log likelihood when a residual of this squared size gets a variance of its own. */
static double gain_of(double surprise)
{
    return surprise > 1.0 ? 0.5 * (surprise - 1.0 - log(surprise)) : 0.0;
}

/* The log density of an outlier. 2 % of rewards are outliers, with a Cauchy distribution ten scales wide. */
static double stray_density(double value)
{
    const double pi = 3.14159265358979323846, width = 10.0;
    return log(0.02 / (pi * width * (1.0 + value * value / (width * width))));
}

static void swap_rows(bandit_sample *s, size_t i, size_t k)
{
    bandit_arm_sum kept = s->rows[i];
    s->rows[i] = s->rows[k];
    s->rows[k] = kept;
    double told = s->told[i];
    s->told[i] = s->told[k];
    s->told[k] = told;
}

static bool is_confirmed(const bandit_sample *s, uint32_t arm)
{
    return bandit_sum_of(s->confirmed, s->n_confirmed, arm) != NULL;
}

/* A row is a suspect. Confirms its arm instead, if the arm's repeats have just agreed. */
static bool confirms(bandit_sample *s, size_t i)
{
    uint32_t arm = s->rows[i].arm;
    size_t place;
    if (is_confirmed(s, arm))
        return true;
    if (!s->settings->confirms || !bandit_is_among(s->repeated->agreed, s->repeated->n_agreed, arm))
        return false;
    BANDIT_LOWER_BOUND(place, s->n_confirmed, k, s->confirmed[k].arm < arm);
    memmove(s->confirmed + place + 1, s->confirmed + place, (s->n_confirmed - place) * sizeof *s->confirmed);
    s->confirmed[place] = (bandit_arm_sum){.arm = arm};
    s->n_confirmed++;
    return true;
}

/* The index of the only kept row that keeps the bounds of the metric. It stays even if it is a suspect: the rows that
 * break the bounds cannot replace it. n_kept: there is no such row, as without bounds. If many rows keep the bounds,
 * the most surprising of them can go, because the others tell where the bounds are kept. */
static size_t last_within(const bandit_sample *s)
{
    size_t last = s->n_kept, n = 0;
    for (size_t i = 0; i < s->n_kept && n < 2; i++) {
        if (bandit_keeps_bounds(bandit_sample_mean(&s->rows[i]), s->settings->low, s->settings->high)) {
            last = i;
            n++;
        }
    }
    return n == 1 ? last : s->n_kept;
}

/* Is the row better than a value that most arms have? Equal rewards have no scale by which the others could be outliers,
 * and they are infinitely likely without them. */
static bool is_spared(const bandit_sample *s, const bandit_fitted *l, size_t i)
{
    return s->tied && s->settings->spares_rare && bandit_sample_mean(&s->rows[i]) > l->offset;
}

/* Moves rows far above the others behind the kept ones. */
static void set_aside_far(bandit_sample *s, const bandit_fitted *l, size_t most)
{
    for (size_t i = s->n_kept; i-- > 0 && s->n - s->n_kept < most;)
        if (bandit_sample_value(l, &s->rows[i]) > BANDIT_SAMPLE_FAR && i != last_within(s) &&
            !is_spared(s, l, i) && !confirms(s, i))
            swap_rows(s, i, --s->n_kept);
}

/* Moves the rows that are suspects under *l behind the kept ones, the worst first. */
static bandit_status set_aside(bandit_sample *s, bandit_fitted *l, bandit_error *err)
{
    size_t most = s->n / 10 < MOST_JUDGED ? s->n / 10 : MOST_JUDGED;
    s->n_kept = s->n;
    if (l->warped)
        set_aside_far(s, l, most);
    while (s->n - s->n_kept < most) {
        double value;
        size_t worst = s->n_kept, needed = last_within(s);
        bandit_status status = bandit_sample_fit(s, l, 0, NULL, &value, err);
        if (status != BANDIT_OK)
            return status;
        for (size_t i = 0; i < s->n_kept; i++)
            if (i != needed && !is_confirmed(s, s->rows[i].arm) && !is_spared(s, l, i) &&
                (worst == s->n_kept || s->surprise[i] > s->surprise[worst]))
                worst = i;
        if (worst == s->n_kept || gain_of(s->surprise[worst]) < 12.0)
            break;
        if (!confirms(s, worst))
            swap_rows(s, worst, --s->n_kept);
    }
    return BANDIT_OK;
}

/* Whether the kept rows are those of the previous fit, in the same order. */
static bool keeps_the_same(const bandit_sample *s)
{
    bool same = s->n_kept == s->n_former;
    for (size_t i = 0; i < s->n_kept && same; i++)
        same = s->rows[i].arm == s->former[i].arm && s->rows[i].count == s->former[i].count &&
               s->rows[i].sum == s->former[i].sum;
    return same;
}

/* The log density of the rows set aside, as outliers. */
static double strays(const bandit_sample *s, const bandit_fitted *l)
{
    double sum = 0.0;
    for (size_t i = s->n_kept; i < s->n; i++)
        sum += stray_density(bandit_sample_value(l, &s->rows[i]));
    return sum;
}

bandit_status bandit_sample_judge(bandit_sample *s, bandit_fitted *l, const bandit_fitted *before, double all,
                                  bandit_error *err)
{
    bandit_fitted without = {0};
    double value = -INFINITY;
    bandit_status status = bandit_fitted_copy(&without, before, err);
    if (status != BANDIT_OK)
        return status;
    without.offset = l->offset;
    without.scale = l->scale;
    without.low = l->low;
    without.high = l->high;
    without.range = l->range;
    without.least_error = l->least_error;
    memcpy(without.source_weights, l->source_weights, sizeof without.source_weights);
    if (!s->settings->learn_noise)
        without.noise = l->noise;
    for (int round = 0; round < 2 && status == BANDIT_OK; round++) {
        status = set_aside(s, &without, err);
        if (status != BANDIT_OK || s->n_kept == s->n)
            break;
        without.short_share = l->short_share; /* so that the values of both fits compare */
        s->fixed.known = s->fixed.known && keeps_the_same(s);
        memcpy(s->former, s->rows, s->n_kept * sizeof *s->former);
        s->n_former = s->n_kept;
        status = bandit_sample_fit(s, &without, BANDIT_SAMPLE_EVALUATIONS, &s->fixed, &value, err);
    }
    if (status == BANDIT_OK && s->n_kept < s->n && value + strays(s, &without) > all) {
        double *lengthscales = l->lengthscales;
        *l = without;
        without.lengthscales = lengthscales;
    } else {
        s->n_kept = s->n;
    }
    bandit_fitted_clear(&without);
    return status;
}
