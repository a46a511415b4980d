/* How rewards join an engine that refits: which pulls count, what they add to the squares within arms, and
 * which rewards the inner engine gets. */
#include "core/engine/refitting_engine.h"

#include "core/base/allocate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A reward in the units of the inner engine, less the prior mean. */
static double standardized(const bandit_refitting_engine *e, const bandit_fitted *l, uint32_t arm,
                           double reward)
{
    double z = (bandit_fitted_fold(l, reward) - bandit_fitted_shift(l)) / bandit_fitted_unit(l);
    if (e->sources.n == 0)
        return z;
    bandit_prior_mean prior = bandit_fitted_prior_mean(l, &e->sources);
    return z - bandit_prior_mean_of(&prior, arm);
}

void bandit_refitting_map_ledger(bandit_refitting_engine *e, const bandit_fitted *l,
                                 const bandit_ledger *ledger, const bandit_told_errors *errors)
{
    bandit_ledger *out = &e->mapped;
    out->n = 0;
    out->observations = 0;
    out->sum_squares = 0.0;
    for (size_t i = 0; i < ledger->n; i++) {
        bandit_arm_sum sum = bandit_fitted_counted(l, &ledger->sums[i], errors);
        if (sum.count == 0)
            continue;
        double mean = standardized(e, l, sum.arm, sum.sum / (double)sum.count);
        sum.sum = (double)sum.count * mean;
        out->sums[out->n++] = sum;
        out->observations += sum.count;
        out->sum_squares += (double)sum.count * mean * mean;
    }
}

bool bandit_refitting_reserve_mapped(bandit_refitting_engine *e, size_t n)
{
    return bandit_reserve((void **)&e->mapped.sums, &e->mapped.capacity, n, sizeof *e->mapped.sums);
}

/* A further reward of an arm, moved to at most six noise deviations or three scales from the arm's mean,
 * whichever is more. */
static double near_mean(const bandit_fitted *l, const bandit_result *result, double mean)
{
    double variance = bandit_fitted_variance(l, bandit_error_of_pull(result), mean);
    double reach = fmax(6.0 * sqrt(variance), 3.0) * l->scale;
    return fmin(fmax(result->reward, mean - reach), mean + reach);
}

/* The counted pulls of an arm that have no reported error; none if it is not known which pulls are
 * counted. */
static bandit_arm_sum without_errors(const bandit_refitting_engine *e, bandit_arm_sum had)
{
    size_t first, n = bandit_told_errors_of(&e->errors, had.arm, &first);
    const bandit_arm_sum *all = bandit_sum_of(e->ledger.sums, e->ledger.n, had.arm);
    if (n == 0)
        return had;
    bandit_arm_sum left = *all;
    for (size_t i = 0; i < n; i++) {
        const bandit_error_row *row = &e->errors.rows[first + i];
        left.count -= row->count < left.count ? row->count : left.count;
        left.sum -= row->sum;
    }
    return had.count == all->count ? left : (bandit_arm_sum){.arm = had.arm};
}

/* Adds a result without a reported error to the squares about the mean of `had`. */
static void add_squares(bandit_refitting_engine *e, const bandit_result *r, const bandit_arm_sum *had)
{
    double count = (double)had->count, off = r->reward - had->sum / count;
    e->next_within += off * off * r->repeats * count / (count + r->repeats);
    e->next_degrees += 1.0;
}

/* Notes that a result is the same as the other counted rewards of its arm, none of which was set aside. */
static void note_agreement(bandit_refitting_engine *e, const bandit_result *r, const bandit_arm_sum *had)
{
    const bandit_arm_sum *aside = bandit_sum_of(e->fitted.aside, e->fitted.n_aside, r->arm);
    bool noted = e->n_agreed > 0 && e->agreed[e->n_agreed - 1] == r->arm;
    if (!noted && !aside &&
        fabs(r->reward - had->sum / (double)had->count) <= bandit_fitted_tolerance(&e->fitted))
        e->agreed[e->n_agreed++] = r->arm;
}

/* The first rewards do not enter the squares, because too little is known to recognize outliers. */
bandit_status bandit_refitting_take_results(bandit_refitting_engine *e, const bandit_result *results,
                                            size_t n, bandit_error *err)
{
    enum { FIRST_FEW = 8 };
    bool guards = e->settings.standardize, counts = !guards || e->ledger.observations >= FIRST_FEW;
    uint64_t *keys = bandit_alloc(n, sizeof *keys);
    if (!keys || n > UINT32_MAX ||
        !bandit_reserve((void **)&e->results, &e->capacity_results, n, sizeof *e->results) ||
        !bandit_reserve((void **)&e->agreed, &e->capacity_agreed, n, sizeof *e->agreed)) {
        free(keys);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        e->results[i] = results[i];
        e->results[i].chosen = false;
    }
    e->n_taken = n;
    e->n_agreed = 0;
    bandit_order_results(keys, results, n);
    e->next_within = e->within;
    e->next_degrees = e->within_degrees;
    bandit_arm_sum had = {0},
                   plain = {0}; /* plain: without pulls that have reported errors, whose squares are kept
                                   apart */
    for (size_t i = 0; i < n && counts; i++) {
        bandit_result *r = &e->results[(uint32_t)keys[i]];
        if (i == 0 || had.arm != r->arm) {
            const bandit_arm_sum *sum = bandit_sum_of(e->ledger.sums, e->ledger.n, r->arm);
            had = sum ? bandit_fitted_counted(&e->fitted, sum, &e->errors) : (bandit_arm_sum){.arm = r->arm};
            plain = without_errors(e, had);
        }
        if (had.count > 0 && guards)
            r->reward = near_mean(&e->fitted, r, had.sum / (double)had.count);
        had.count += r->repeats;
        had.sum += r->repeats * r->reward;
        if (r->error != 0.0)
            continue;
        if (plain.count > 0) {
            note_agreement(e, r, &plain);
            add_squares(e, r, &plain);
        } else if (bandit_refitting_confirms_aside(e, r)) {
            e->next_degrees += 1.0;
        }
        plain.count += r->repeats;
        plain.sum += r->repeats * r->reward;
    }
    e->next_within = fmin(e->next_within, DBL_MAX);
    free(keys);
    return BANDIT_OK;
}

bool bandit_refitting_is_beyond(const bandit_refitting_engine *e)
{
    bool beyond = false;
    for (size_t i = 0; i < e->n_taken; i++)
        beyond |= e->results[i].reward > e->fitted.high;
    return beyond && e->next.observations >= e->fitted.fitted_on + e->fitted.fitted_on / 20 + 1;
}

void bandit_refitting_standardize_results(bandit_refitting_engine *e)
{
    for (size_t i = 0; i < e->n_taken; i++) {
        bandit_result *r = &e->results[i];
        r->weight = bandit_fitted_weight(&e->fitted, bandit_error_of_pull(r), r->reward);
        r->reward = standardized(e, &e->fitted, r->arm, r->reward);
        r->error = 0.0;
    }
}

double bandit_refitting_noise(const bandit_refitting_engine *e, const bandit_fitted *l)
{
    return e->settings.learn_noise || l->unit_noise != l->noise
               ? sqrt(l->unit_noise / l->signal)
               : e->base.options.noise_std / bandit_fitted_unit(l);
}
