#include "core/algorithms/space_objective.h"

#include "core/base/allocate.h"

#include <math.h>
#include <string.h>

/* ---- what may be picked -------------------------------------------------------------------------------- */

bool bandit_space_may_be_picked(const bandit_engine *engine, const bandit_space_batch *b,
                                const bandit_select_limits *limits, const double *coded, bool strict,
                                bool silent)
{
    size_t arm = bandit_arms_find(engine->arms, coded);
    if (arm != SIZE_MAX && bandit_is_withheld(limits, (uint32_t)arm))
        return false;
    if (!strict || arm == SIZE_MAX)
        return true;
    silent |= b->n_repeats >= limits->most_repeats;
    bool once = silent || engine->options.in_flight >= BANDIT_IN_FLIGHT_ONCE;
    return !(silent && bandit_sum_of(b->ledger.sums, b->ledger.n, (uint32_t)arm)) &&
           !(once && bandit_space_is_out(b, (uint32_t)arm));
}

static bool accepts(void *context, const double *coded, const double *features)
{
    const bandit_space_objective *c = context;
    (void)features;
    return bandit_space_may_be_picked(&c->e->base, c->b, c->limits, coded, c->strict,
                                      bandit_space_is_silent(c->e));
}

/* ---- where evaluations fail ---------------------------------------------------------------------------- */

static bool same_failures(const bandit_space_engine *e, const bandit_select_limits *limits)
{
    return e->has_feasibility && e->n_failed == limits->n_failed &&
           (e->n_failed == 0 || memcmp(e->failed, limits->failed, e->n_failed * sizeof *e->failed) == 0);
}

bandit_status bandit_space_learn_failures(bandit_space_engine *e, const bandit_space_batch *b,
                                          const bandit_select_limits *limits, bandit_error *err)
{
    size_t d = bandit_arms_dimension(e->base.arms);
    if (same_failures(e, limits))
        return BANDIT_OK;
    if (!bandit_reserve((void **)&e->failed, &e->capacity_failed, limits->n_failed, sizeof *e->failed) ||
        !bandit_reserve((void **)&e->shortfall, &e->capacity_shortfall, e->maximizer.n_grid, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_feasibility_learn_arms(
        &e->feasibility, e->base.arms, &e->base.options.kernel, b->ledger.sums, b->ledger.n, limits->failed,
        limits->n_failed, false, e->base.options.revision, err);
    if (status != BANDIT_OK)
        return status;
    size_t n = e->feasibility.n;
    for (size_t i = 0; n > 0 && i < e->maximizer.n_grid; i++)
        e->shortfall[i] = bandit_feasibility_shortfall(&e->feasibility, e->maximizer.features + i * d, NULL);
    if (limits->n_failed > 0)
        memcpy(e->failed, limits->failed, limits->n_failed * sizeof *e->failed);
    e->n_failed = limits->n_failed;
    e->has_feasibility = true;
    return BANDIT_OK;
}

/* About ten times the range of the acquisition's values. It is so steep that a gain beyond the border of a
 * failing region does not attract picks far beyond it. */
double bandit_space_penalty(const bandit_space_engine *e, const bandit_space_batch *b,
                            const bandit_acquisition *acquisition)
{
    double deviation = sqrt(e->base.covariance.kappa2), low = INFINITY, high = -INFINITY;
    if (e->feasibility.n == 0)
        return 0.0;
    switch (acquisition->kind) {
    case BANDIT_ACQUIRE_IMPROVEMENT: /* a logarithm, or standard deviations: both are */
    case BANDIT_ACQUIRE_PROBABILITY: /* far below 0 where no gain is expected */
        return 1e6;
    case BANDIT_ACQUIRE_VARIANCE:
        return e->base.covariance.kappa2;
    case BANDIT_ACQUIRE_UCB:
    case BANDIT_ACQUIRE_MEAN:
        break;
    }
    for (size_t i = 0; i < b->ledger.n; i++) {
        double mean = b->ledger.sums[i].sum / (double)b->ledger.sums[i].count;
        low = fmin(low, mean);
        high = fmax(high, mean);
    }
    return 10.0 * (fmax(0.0, high - low) + (1.0 + b->width) * deviation);
}

/* Adds the prior of the location, and subtracts the penalty. */
static void adjust(const bandit_space_objective *c, const double *features, size_t n, double *values)
{
    size_t d = bandit_arms_dimension(c->e->base.arms);
    for (size_t i = 0; i < n; i++)
        values[i] += bandit_location_prior_log(&c->e->prior, features + i * d, NULL);
    for (size_t i = 0; i < n && c->penalty > 0.0; i++)
        values[i] -= c->penalty * bandit_feasibility_shortfall(&c->e->feasibility, features + i * d, NULL);
}

static double adjust_slopes(const bandit_space_objective *c, const double *features, double value,
                            double *gradient)
{
    value += bandit_location_prior_log(&c->e->prior, features, gradient);
    if (!(c->penalty > 0.0))
        return value;
    double shortfall = bandit_feasibility_shortfall(&c->e->feasibility, features, c->slope);
    for (size_t j = 0; shortfall > 0.0 && j < bandit_arms_dimension(c->e->base.arms); j++)
        gradient[j] -= c->penalty * c->slope[j];
    return value - c->penalty * shortfall;
}

/* ---- objectives ---------------------------------------------------------------------------------------- */

static void acquisition_values(void *context, const double *features, size_t n, double *out)
{
    bandit_space_objective *c = context;
    bool needs_variance = c->acquisition.kind != BANDIT_ACQUIRE_MEAN;
    bandit_surface_values(&c->b->surface, features, n, c->means, needs_variance ? c->variances : NULL);
    for (size_t i = 0; i < n; i++)
        out[i] =
            bandit_acquisition_value(&c->acquisition, c->means[i], needs_variance ? c->variances[i] : 0.0);
    adjust(c, features, n, out);
}

static double acquisition_slopes(void *context, const double *features, double *gradient)
{
    bandit_space_objective *c = context;
    bandit_surface *s = &c->b->surface;
    double by_mean, by_variance;
    bandit_surface_look(s, features);
    double value =
        bandit_acquisition_slopes(&c->acquisition, s->mean, fmax(0.0, s->variance), &by_mean, &by_variance);
    bandit_surface_slope(s, by_mean, by_variance, gradient);
    return adjust_slopes(c, features, value, gradient);
}

static void sample_values(void *context, const double *features, size_t n, double *out)
{
    bandit_space_objective *c = context;
    const bandit_svgp_sampler *sampler = &c->e->sampler;
    size_t d = bandit_arms_dimension(c->e->base.arms);
    bandit_surface_combine(&c->b->surface, sampler->weight, features, n, out);
    double *tile = sampler->scratch, values[BANDIT_TILE];
    for (size_t first = 0; first < n; first += BANDIT_TILE) {
        size_t lanes = n - first < BANDIT_TILE ? n - first : BANDIT_TILE;
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            for (size_t j = 0; j < d; j++)
                tile[j * BANDIT_TILE + lane] = features[(first + (lane < lanes ? lane : 0)) * d + j];
        }
        bandit_features_evaluate(&c->e->features, &sampler->draw, tile, values, tile + d * BANDIT_TILE);
        for (size_t lane = 0; lane < lanes; lane++)
            out[first + lane] += sampler->alpha * values[lane];
    }
    adjust(c, features, n, out);
}

static double sample_slopes(void *context, const double *features, double *gradient)
{
    bandit_space_objective *c = context;
    const bandit_svgp_sampler *sampler = &c->e->sampler;
    size_t d = bandit_arms_dimension(c->e->base.arms);
    double *prior = sampler->scratch;
    double value = bandit_surface_combine_slopes(&c->b->surface, sampler->weight, features, gradient);
    value += sampler->alpha * bandit_features_slopes(&c->e->features, &sampler->draw, features, prior);
    for (size_t j = 0; j < d; j++)
        gradient[j] += sampler->alpha * prior[j];
    return adjust_slopes(c, features, value, gradient);
}

bandit_objective bandit_space_objective_functions(bandit_space_objective *c)
{
    if (c->e->rule->samples)
        return (bandit_objective){c, sample_values, sample_slopes, accepts};
    return (bandit_objective){c, acquisition_values, acquisition_slopes, accepts};
}
