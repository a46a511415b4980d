#include "core/engine/several_objective.h"

#include "core/algorithms/space_objective.h"

#include <math.h>

/* The penalty for a sure failure. Values are logarithms, which are far below 0 where no gain is expected. */
static const double PENALTY = 1e6;

bandit_space_engine *bandit_several_space_leaf(const bandit_several_engine *e, size_t j)
{
    return (bandit_space_engine *)bandit_several_leaf(e, j);
}

bandit_space_batch *bandit_several_space_batch(const bandit_several_engine *e, size_t j)
{
    bandit_space_engine *leaf = bandit_several_space_leaf(e, j);
    return &leaf->batches[leaf->in_force];
}

bool bandit_several_is_bounded(const bandit_several_engine *e, size_t j)
{
    return e->metrics[j].low > -INFINITY || e->metrics[j].high < INFINITY;
}

double bandit_several_least_variance(const bandit_several_engine *e, size_t j)
{
    return 1e-12 * bandit_several_space_leaf(e, j)->base.covariance.kappa2;
}

/* ---- values -------------------------------------------------------------------------------------------- */

void bandit_several_set_outlook(const bandit_several_engine *e, size_t j, double mean, double now,
                                double known, bandit_outlook *at)
{
    double noise = bandit_several_space_leaf(e, j)->base.options.lambda,
           least = bandit_several_least_variance(e, j), c = fmax(now, least), wide = e->space.widening;
    at->mean[j] = mean;
    at->now[j] = sqrt(c);
    at->known[j] = wide * sqrt(fmax(known, least));
    at->gain[j] = wide * c / sqrt(c + noise);
}

double bandit_several_shortfall(const bandit_several_engine *e, const double *features, double *gradient)
{
    const bandit_feasibility *f = &e->space.feasibility;
    return f->n > 0 ? bandit_feasibility_shortfall(f, features, gradient) : 0.0;
}

double bandit_several_value(bandit_several_engine *e, const bandit_outlook *at, const double *features,
                            double shortfall)
{
    return bandit_joint_value(&e->joint, at, NULL) +
           bandit_location_prior_log(&e->space.prior, features, NULL) - PENALTY * shortfall;
}

static void values(void *context, const double *features, size_t n, double *out)
{
    const bandit_several_objective *c = context;
    bandit_several_engine *e = c->e;
    size_t d = bandit_arms_dimension(e->base.arms), room = BANDIT_MAXIMIZE_TRIALS;
    for (size_t j = 0; j < e->n; j++) {
        bandit_surface_values(&bandit_several_space_batch(e, j)->surface, features, n, c->means + j * room,
                              c->variances + j * room);
        if (bandit_several_is_bounded(e, j))
            bandit_surface_values(&e->space.known[j], features, n, c->means + j * room, c->known + j * room);
    }
    for (size_t i = 0; i < n; i++) {
        bandit_outlook at;
        for (size_t j = 0; j < e->n; j++)
            bandit_several_set_outlook(e, j, c->means[j * room + i], c->variances[j * room + i],
                                       bandit_several_is_bounded(e, j) ? c->known[j * room + i] : 1.0, &at);
        const double *x = features + i * d;
        out[i] = bandit_several_value(e, &at, x, bandit_several_shortfall(e, x, NULL));
    }
}

static double slopes(void *context, const double *features, double *gradient)
{
    const bandit_several_objective *c = context;
    bandit_several_engine *e = c->e;
    size_t d = bandit_arms_dimension(e->base.arms);
    double *part = e->space.slope, wide = e->space.widening;
    bandit_outlook at = {0};
    bandit_outlook_slopes by;
    for (size_t j = 0; j < e->n; j++) {
        bandit_surface *now = &bandit_several_space_batch(e, j)->surface, *known = &e->space.known[j];
        bandit_surface_look(now, features);
        if (bandit_several_is_bounded(e, j))
            bandit_surface_look(known, features);
        bandit_several_set_outlook(e, j, now->mean, now->variance,
                                   bandit_several_is_bounded(e, j) ? known->variance : 1.0, &at);
    }
    double value = bandit_joint_value(&e->joint, &at, &by);
    for (size_t i = 0; i < d; i++)
        gradient[i] = 0.0;
    for (size_t j = 0; j < e->n; j++) {
        bandit_surface *now = &bandit_several_space_batch(e, j)->surface, *known = &e->space.known[j];
        double noise = bandit_several_space_leaf(e, j)->base.options.lambda,
               least = bandit_several_least_variance(e, j);
        double v = at.now[j] * at.now[j], all = v + noise;
        double by_now =
            wide * by.gain[j] * (0.5 * v + noise) / (all * sqrt(all)) + by.now[j] * 0.5 / at.now[j];
        bandit_surface_slope(now, by.mean[j], now->variance >= least ? by_now : 0.0, part);
        for (size_t i = 0; i < d; i++)
            gradient[i] += part[i];
        if (!bandit_several_is_bounded(e, j) || !(known->variance >= least))
            continue;
        bandit_surface_slope(known, 0.0, wide * wide * by.known[j] * 0.5 / at.known[j], part);
        for (size_t i = 0; i < d; i++)
            gradient[i] += part[i];
    }
    value += bandit_location_prior_log(&e->space.prior, features, gradient);
    double short_by = bandit_several_shortfall(e, features, part);
    for (size_t i = 0; short_by > 0.0 && i < d; i++)
        gradient[i] -= PENALTY * part[i];
    return value - PENALTY * short_by;
}

/* ---- the maximizer's view ------------------------------------------------------------------------------ */

static bool accepts(void *context, const double *coded, const double *features)
{
    const bandit_several_objective *c = context;
    (void)features;
    return bandit_space_may_be_picked(&c->e->base, bandit_several_space_batch(c->e, 0), c->limits, coded,
                                      c->strict, c->silent);
}

bandit_objective bandit_several_objective_functions(bandit_several_objective *c)
{
    return (bandit_objective){c, values, slopes, accepts};
}
