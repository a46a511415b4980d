/* The dictionary of the posterior, and the width of the bounds: the parts of an engine on a space that differ
 * by algorithm between two batches. */
#include "core/algorithms/space_engine.h"

#include "core/algorithms/enumerated.h"
#include "core/algorithms/space_thinning.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/selection/bless.h"
#include "core/selection/dictionary.h"
#include "core/selection/inducing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* [BBKB] Alg. 1, l. 11–16. has_history: the first results include some that the engine did not choose. */
static bandit_status resample(bandit_space_engine *e, bandit_space_batch *ended, bandit_space_batch *next,
                              bool has_history, const bandit_pick *pending, size_t n_pending,
                              bandit_error *err)
{
    bandit_offer *offers = NULL;
    size_t n_offers, n_arms = bandit_arms_count(e->base.arms);
    bandit_status status = bandit_offers_new(&offers, &n_offers, &next->ledger, pending, n_pending, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, n_offers, sizeof(uint32_t)) ||
        !bandit_reserve((void **)&e->means, &e->capacity_means, n_arms, sizeof(double)) ||
        !bandit_reserve((void **)&e->variances, &e->capacity_variances, n_arms, sizeof(double))) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    const bandit_resampling how =
        bandit_resampling_of(&e->base.options, bandit_engine_next_batch(&e->base), &e->base.covariance,
                             next->ledger.observations, &ended->posterior, e->variances);
    if (ended->has_model) {
        status = bandit_posterior_evaluate_all(&ended->posterior, &bandit_executor_serial, e->means,
                                               e->variances, err);
        if (status == BANDIT_OK)
            status = bandit_dictionary_resample(next->dictionary, &next->n_dictionary, offers, n_offers, &how,
                                                err);
    } else if (has_history) {
        status = bandit_dictionary_bless(next->dictionary, &next->n_dictionary, offers, n_offers, &how, err);
    } else { /* all of the first picks */
        for (size_t i = 0; i < n_offers; i++)
            next->dictionary[i] = offers[i].arm;
        next->n_dictionary = n_offers;
    }
out:
    free(offers);
    return status;
}

bool bandit_space_is_thinned(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return e->rule->seeks_best && e->dictionary == BANDIT_SPACE_PULLED &&
           bandit_space_thins(&e->base, &b->ledger);
}

static void take_pulled(bandit_space_batch *next)
{
    next->n_dictionary = next->ledger.n;
    for (size_t i = 0; i < next->ledger.n; i++)
        next->dictionary[i] = next->ledger.sums[i].arm;
}

/* All pulled points or, if there are too many, the members of the batch that has ended and the new points; if these are too
 * many, some of all. */
static bandit_status choose_pulled(bandit_space_engine *e, const bandit_space_batch *ended,
                                   bandit_space_batch *next, bandit_error *err)
{
    if (!bandit_space_is_thinned(e, next)) {
        take_pulled(next);
        return BANDIT_OK;
    }
    next->n_dictionary = 0;
    for (size_t i = 0; i < next->ledger.n && ended->has_model; i++) {
        uint32_t arm = next->ledger.sums[i].arm;
        if (bandit_is_among(ended->dictionary, ended->n_dictionary, arm) ||
            !bandit_sum_of(ended->ledger.sums, ended->ledger.n, arm))
            next->dictionary[next->n_dictionary++] = arm;
    }
    if (next->n_dictionary > 0 && next->n_dictionary <= BANDIT_MOST_MEMBERS)
        return BANDIT_OK;
    return bandit_space_thin(next->dictionary, &next->n_dictionary, &e->base, &next->ledger, err);
}

/* [VPA21]: all pulled points while there are few enough, then a k-DPP, redrawn whenever the number of rewards
 * has doubled. */
static bandit_status choose_inducing(bandit_space_engine *e, const bandit_space_batch *ended,
                                     bandit_space_batch *next, bandit_error *err)
{
    if (next->ledger.n <= e->inducing) {
        take_pulled(next);
        return BANDIT_OK;
    }
    if (ended->drawn_at > 0 && next->ledger.observations / 2 < ended->drawn_at) {
        memcpy(next->dictionary, ended->dictionary, ended->n_dictionary * sizeof *next->dictionary);
        next->n_dictionary = ended->n_dictionary;
        next->drawn_at = ended->drawn_at;
        return BANDIT_OK;
    }
    next->drawn_at = next->ledger.observations;
    return bandit_inducing_draw(next->dictionary, &next->n_dictionary, e->inducing, &e->base.options,
                                bandit_engine_next_batch(&e->base), &e->base.covariance, &next->ledger, err);
}

bandit_status bandit_space_choose_dictionary(bandit_space_engine *e, bandit_space_batch *ended,
                                             bandit_space_batch *next, bool has_history,
                                             const bandit_pick *pending, size_t n_pending, bandit_error *err)
{
    size_t room = next->ledger.n > e->inducing ? next->ledger.n : e->inducing;
    if (!bandit_reserve((void **)&next->dictionary, &next->capacity_dictionary, room, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    switch (e->dictionary) {
    case BANDIT_SPACE_RESAMPLED:
        return resample(e, ended, next, has_history, pending, n_pending, err);
    case BANDIT_SPACE_PULLED:
        return choose_pulled(e, ended, next, err);
    case BANDIT_SPACE_INDUCING:
        break;
    }
    return choose_inducing(e, ended, next, err);
}

/* Checks the memory for a posterior on this many points, including the surface and the grid. */
static bandit_status check_need(const bandit_space_engine *e, const bandit_space_batch *b, bandit_error *err)
{
    double m = (double)b->n_dictionary, out = (double)b->n_out + BANDIT_SPACE_MORE_PICKS;
    double beyond =
        e->base.options.in_flight != BANDIT_IN_FLIGHT_ALL ? fmax(0.0, out - BANDIT_NEAR_EXACT) : 0.0;
    double room = m + out - beyond;
    double doubles =
        2.0 * (6.0 * m * m + 512.0 * m) + 2.0 * room * room + 3072.0 * room + 2.0 * beyond * room;
    return bandit_engine_check_memory(&e->base, doubles * sizeof(double), err);
}

bandit_status bandit_space_build(bandit_space_engine *e, bandit_space_batch *b, bandit_error *err)
{
    bandit_status status = check_need(e, b, err);
    b->posterior.discounts = bandit_space_is_thinned(e, b);
    return status != BANDIT_OK
               ? status
               : bandit_posterior_build(&b->posterior, &e->base.covariance, e->base.options.lambda,
                                        b->dictionary, b->n_dictionary, b->ledger.sums, b->ledger.n, err);
}

double bandit_space_width(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    uint64_t t = b->ledger.observations;
    double gain = 0.5 * b->posterior.log_det_ratio;
    if (e->rule->gain_width)
        return e->rule->gain_width(
            o, bandit_confidence_gamma(o, bandit_arms_dimension(e->base.arms), t, gain), t);
    return e->rule->width ? e->rule->width(e, b) : 0.0;
}

void bandit_space_features_of(const bandit_arms *arms, uint32_t arm, double *features)
{
    for (size_t j = 0; j < arms->dimension; j++)
        features[j] = bandit_arms_feature(arms, arm, j);
}

/* Finds the largest posterior mean among the pulled points; before the first reward it is that of the
 * prior. */
bandit_status bandit_space_find_incumbent(bandit_space_engine *e, bandit_space_batch *b, bandit_error *err)
{
    enum { AT_ONCE = 256 };
    size_t d = bandit_arms_dimension(e->base.arms), n = b->ledger.n;
    b->incumbent = n > 0 ? -INFINITY : 0.0;
    b->leader = n > 0 ? b->ledger.sums[0].arm : 0;
    if (!bandit_space_improves(e->rule))
        return BANDIT_OK;
    double means[AT_ONCE], *features = bandit_alloc((size_t)AT_ONCE * d, sizeof *features);
    if (!features)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t first = 0; first < n && !bandit_pause(); first += AT_ONCE) {
        size_t rows = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (size_t i = 0; i < rows; i++)
            bandit_space_features_of(e->base.arms, b->ledger.sums[first + i].arm, features + i * d);
        bandit_surface_values(&b->surface, features, rows, means, NULL);
        for (size_t i = 0; i < rows; i++) {
            if (means[i] > b->incumbent)
                b->leader = b->ledger.sums[first + i].arm;
            b->incumbent = fmax(b->incumbent, means[i]);
        }
    }
    free(features);
    return BANDIT_OK;
}

/* ---- points in flight ---------------------------------------------------------------------------------- */

bool bandit_space_is_silent(const bandit_space_engine *e)
{
    return bandit_is_silent(&e->base) || (e->rule->seeks_best && e->base.options.lambda < exp(-8.0));
}

bool bandit_space_is_out(const bandit_space_batch *b, uint32_t arm)
{
    for (size_t i = 0; i < b->n_out; i++) {
        if (b->out[i] == arm)
            return true;
    }
    return false;
}

bool bandit_space_keeps_apart(const bandit_engine *engine)
{
    const bandit_space *space = engine->arms->space;
    if (engine->options.in_flight != BANDIT_IN_FLIGHT_SURPASS || !bandit_arms_is_open_space(engine->arms))
        return false;
    for (size_t i = 0; i < space->n; i++) {
        if (!space->parameters[i].context && bandit_is_nearly_continuous(&space->parameters[i]))
            return true;
    }
    return false;
}
