/* What is learned from repeated evaluations: whether there is noise, and that an outlier is none. */
#include "core/engine/refitting_engine.h"

#include "bandit/sorted.h"
#include "core/algorithms/enumerated.h"
#include "core/algorithms/space_engine.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>

/* The share of equal pairs among the means of a sample of arms: how often rewards agree by chance. It is
 * large if a metric has few different values. */
static double chance_of_agreement(const bandit_ledger *ledger, double same)
{
    enum { MOST = 128 };
    size_t step = ledger->n / MOST + 1, equal = 0, pairs = 0;
    for (size_t i = 0; i < ledger->n; i += step) {
        double mean = ledger->sums[i].sum / (double)ledger->sums[i].count;
        for (size_t k = 0; k < i; k += step) {
            equal += fabs(mean - ledger->sums[k].sum / (double)ledger->sums[k].count) <= same;
            pairs++;
        }
    }
    return pairs > 0 ? (double)equal / (double)pairs : 0.0;
}

double bandit_refitting_noise_seen(const bandit_refitting_engine *e, const bandit_fitted *l,
                                   const bandit_ledger *ledger, double within, double degrees)
{
    const double same = bandit_fitted_tolerance(l), unlikely = 0.01;
    const bandit_options *options = &e->base.options;
    bool asks = options->algorithm == BANDIT_LOG_EI && e->settings.learn_noise &&
                (e->base.options.revision >= 2 || !bandit_arms_is_open_space(e->base.arms));
    /* Require at least two, because one may agree by chance. */
    bool agree = degrees >= 2.0 && within <= degrees * same * same;
    if (asks && l->unit_noise == l->noise && agree &&
        (degrees > options->agreeing_repeats * (double)ledger->observations ||
         pow(chance_of_agreement(ledger, same), degrees) <= unlikely))
        return 0.0;
    return bandit_refitting_noise(e, l);
}

uint64_t bandit_refitting_most_repeats(const bandit_refitting_engine *e)
{
    enum { LEAST = 2 }; /* one may agree by chance */
    const bandit_options *options = &e->base.options;
    const double same = bandit_fitted_tolerance(&e->fitted);
    if (options->revision < 11 || options->algorithm != BANDIT_LOG_EI || options->agreeing_repeats >= 1.0 ||
        !e->settings.learn_noise || e->fitted.unit_noise != e->fitted.noise ||
        e->within > e->within_degrees * same * same)
        return UINT64_MAX;
    double most = fmax(LEAST, floor(options->agreeing_repeats * (double)e->ledger.observations));
    return (uint64_t)fmax(0.0, most - e->within_degrees);
}

/* ---- outliers ------------------------------------------------------------------------------------------ */

/* Whether the functions below apply in studies of the first revision. They do not if the study was created before
 * agreeing_repeats existed and has the limit 1. */
static bool limits_repeats(const bandit_refitting_engine *e)
{
    const bandit_options *options = &e->base.options;
    return options->algorithm == BANDIT_LOG_EI && options->agreeing_repeats < 1.0 &&
           !bandit_arms_is_open_space(e->base.arms);
}

bool bandit_refitting_confirms_aside(const bandit_refitting_engine *e, const bandit_result *result)
{
    const bandit_arm_sum *aside = bandit_sum_of(e->fitted.aside, e->fitted.n_aside, result->arm);
    return aside && aside->count > 0 && (e->settings.confirms || limits_repeats(e)) &&
           fabs(result->reward - aside->sum / (double)aside->count) <= bandit_fitted_tolerance(&e->fitted);
}

bool bandit_refitting_has_confirmed(const bandit_refitting_engine *e)
{
    bool confirmed = false;
    for (size_t i = 0; i < e->n_taken && e->settings.confirms && e->fitted.n_aside > 0; i++)
        confirmed |= bandit_refitting_confirms_aside(e, &e->results[i]);
    return confirmed;
}

/* Whether the inner engine does not pick an arm with a result again while there is another. */
static bool refuses_repeats(const bandit_refitting_engine *e)
{
    const bandit_arms *arms = e->base.arms;
    bool best = e->base.options.algorithm == BANDIT_LOG_EI;
    if (!e->settings.confirms)
        return !(e->inner->options.noise_std > 0.0) && limits_repeats(e);
    if (best && bandit_arms_is_open_space(arms))
        return bandit_space_is_silent((const bandit_space_engine *)(const void *)e->inner);
    return (best || arms->space) && bandit_is_silent(e->inner);
}

bandit_status bandit_refitting_add_aside(const bandit_refitting_engine *e, bandit_select_limits *limits,
                                         uint32_t **withheld, bandit_error *err)
{
    const bandit_fitted *l = &e->fitted;
    size_t n = 0, place;
    *withheld = NULL;
    if (l->n_aside == 0)
        return BANDIT_OK;
    uint32_t *all = bandit_alloc(limits->n_withheld + l->n_aside, sizeof *all);
    if (!all)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < l->n_aside; i++) {
        uint32_t arm = l->aside[i].arm;
        const bandit_arm_sum *sum = bandit_sum_of(e->ledger.sums, e->ledger.n, arm);
        if (!sum || bandit_fitted_counted(l, sum, &e->errors).count > 0)
            continue; /* it has other pulls, or no pulls any more */
        while (limits->n_withheld > 0 && *limits->withheld < arm) {
            all[n++] = *limits->withheld++;
            limits->n_withheld--;
        }
        BANDIT_LOWER_BOUND(place, limits->n_withheld, k, limits->withheld[k] < arm);
        if (place == limits->n_withheld || limits->withheld[place] != arm)
            all[n++] = arm;
    }
    for (size_t i = 0; i < limits->n_withheld; i++)
        all[n++] = limits->withheld[i];
    limits->withheld = *withheld = all;
    limits->n_withheld = n;
    return BANDIT_OK;
}

bandit_status bandit_refitting_withhold_aside(const bandit_refitting_engine *e, bandit_select_limits *limits,
                                              uint32_t **withheld, bandit_error *err)
{
    *withheld = NULL;
    return refuses_repeats(e) ? bandit_refitting_add_aside(e, limits, withheld, err) : BANDIT_OK;
}
