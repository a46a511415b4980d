/* Finds the next point of pi_gp_ucb on a space: a sweep of every cell with pulls, L-BFGS in the best few, and
 * one point outside of them. */
#include "core/algorithms/pi_gp_ucb_space.h"
#include "core/algorithms/space_design.h"

#include "core/algorithms/enumerated.h"
#include "core/arms/feasible.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEP = 48,    /* points tried in each cell */
    OUTSIDE = 256, /* points tried to find one outside of all cells */
    REFINED = 4    /* cells whose maximum is refined */
};

static void features_of(const bandit_pi_space *e, uint32_t arm, double *features)
{
    bandit_space_features_of(e->base.arms, arm, features);
}

typedef struct pi_search {
    bandit_pi_space *e;
    bandit_pi_batch *b;
    const bandit_select_limits *limits;
    bandit_genome genome;
    bandit_polytope polytope; /* scratch */
    bool strict;
    bandit_pi_cell *cell; /* the cell of the ascent in progress */
    size_t n_free, free[BANDIT_PI_DIMENSIONS];
    double features[BANDIT_PI_DIMENSIONS], best_x[BANDIT_PI_DIMENSIONS], best_value; /* of the ascent */
    double value;                                                                    /* value of `answer` */
    bool found;
    double answer[BANDIT_PI_DIMENSIONS], point[BANDIT_PI_DIMENSIONS]; /* coded */
} pi_search;

static bool is_met(const bandit_pi_batch *b, const bandit_pi_space *e, uint32_t arm, const double *features)
{
    if (bandit_sum_of(b->ledger.sums, b->ledger.n, arm))
        return true;
    for (size_t i = 0; i < b->n; i++) { /* points in flight are rows of the cell's surface */
        const bandit_surface *s = &b->cells[i]->surface;
        size_t d = e->cover.dimension;
        for (size_t r = s->m; bandit_pi_contains(e, b->cells[i], features) && r < s->n; r++) {
            bool same = true;
            for (size_t j = 0; j < d; j++)
                same &= s->points.features[r * d + j] == features[j] * e->base.covariance.factor[j];
            if (same)
                return true;
        }
    }
    return false;
}

static bool may_pick(const pi_search *s, const double *coded)
{
    const bandit_arms *arms = s->e->base.arms;
    size_t arm = bandit_arms_find(arms, coded);
    if (!bandit_space_allows(arms->space, coded))
        return false;
    if (arm == SIZE_MAX)
        return true;
    if (bandit_is_withheld(s->limits, (uint32_t)arm))
        return false;
    double features[BANDIT_PI_DIMENSIONS];
    features_of(s->e, (uint32_t)arm, features);
    return !s->strict || !bandit_is_silent(&s->e->base) || !is_met(s->b, s->e, (uint32_t)arm, features);
}

/* Sets s->point to the point of these features, with the fixed values and with integers rounded, and updates
 * the features to match. repaired: moves a point that breaks a rule of the space to one that keeps it, if it can. */
static void settle(pi_search *s, bool repaired, double *features)
{
    const bandit_space *space = s->genome.space;
    double genes[BANDIT_PI_DIMENSIONS];
    for (size_t i = 0; i < space->n; i++)
        genes[i] = isnan(s->genome.fixed[i]) ? features[i] : bandit_genome_gene(&s->genome, i, 0.0);
    if (!space->rules || !repaired ||
        !bandit_feasible_repair(&s->genome, &s->polytope, false, genes, s->point))
        bandit_genome_point(&s->genome, genes, s->point);
    bandit_space_encode(space, s->point, features);
}

static void offer(pi_search *s, const double *features, double value)
{
    double settled[BANDIT_PI_DIMENSIONS];
    memcpy(settled, features, s->e->cover.dimension * sizeof *settled);
    if (s->found && !(value > s->value))
        return;
    settle(s, false, settled);
    if (!may_pick(s, s->point))
        return;
    memcpy(s->answer, s->point, s->genome.space->n * sizeof *s->answer);
    s->value = value;
    s->found = true;
}

static double bound_of(const bandit_pi_cell *c, double mean, double variance)
{
    return mean + c->width * sqrt(fmax(0.0, variance));
}

/* Evaluates a sweep of the cell and some of its members. Returns the best value, and the place in *x;
 * −INFINITY if no point of the cell has the fixed values. */
static double sweep_cell(pi_search *s, bandit_pi_cell *c, double *x)
{
    size_t d = s->e->cover.dimension, members = c->cell.n, n = 0;
    double side = 1.0 / bandit_cover_per_side(&s->e->cover, c->cell.level);
    double features[SWEEP * BANDIT_PI_DIMENSIONS], means[SWEEP], variances[SWEEP], best = -INFINITY;
    size_t kept = members < SWEEP / 3 ? members : SWEEP / 3;
    assert(d == s->genome.space->n);
    for (size_t k = 0; k < SWEEP; k++) {
        double *f = features + n * d;
        if (k < kept) { /* members, spread evenly over the list */
            features_of(s->e, c->cell.members[k * members / kept], f);
        } else {
            double t[BANDIT_PI_DIMENSIONS] = {0};
            bandit_genome_sweep(&s->genome, k, t);
            for (size_t j = 0; j < d; j++)
                f[j] = ((double)c->cell.corner[j] + t[j]) * side;
        }
        settle(s, true, f);
        n += bandit_pi_contains(s->e, c, f);
    }
    bandit_surface_values(&c->surface, features, n, means, variances);
    for (size_t k = 0; k < n; k++) {
        double value = bound_of(c, means[k], variances[k]);
        offer(s, features + k * d, value);
        if (value > best) {
            best = value;
            memcpy(x, features + k * d, d * sizeof *x);
        }
    }
    return best;
}

static double along(unsigned n, const double *x, double *gradient, void *context)
{
    pi_search *s = context;
    bandit_surface *surface = &s->cell->surface;
    const bandit_acquisition a = {.kind = BANDIT_ACQUIRE_UCB,
                                  .parameter = s->cell->width,
                                  .smallest = 1e-12 * s->e->base.covariance.kappa2};
    double by_mean, by_variance, slope[BANDIT_PI_DIMENSIONS];
    for (unsigned k = 0; k < n; k++)
        s->features[s->free[k]] = x[k];
    bandit_surface_look(surface, s->features);
    double value =
        bandit_acquisition_slopes(&a, surface->mean, fmax(0.0, surface->variance), &by_mean, &by_variance);
    bandit_surface_slope(surface, by_mean, by_variance, slope);
    for (unsigned k = 0; gradient && k < n; k++)
        gradient[k] = slope[s->free[k]];
    if (value > s->best_value) {
        s->best_value = value;
        memcpy(s->best_x, x, n * sizeof *x);
    }
    return value;
}

/* Ascends over the double parameters within the cell. Returns false when out of memory. */
static bool refine(pi_search *s, bandit_pi_cell *c, const double *from)
{
    double side = 1.0 / bandit_cover_per_side(&s->e->cover, c->cell.level);
    double x[BANDIT_PI_DIMENSIONS], low[BANDIT_PI_DIMENSIONS], high[BANDIT_PI_DIMENSIONS];
    size_t d = s->e->cover.dimension;
    memcpy(s->features, from, d * sizeof *from);
    s->cell = c;
    s->n_free = 0;
    s->best_value = -INFINITY;
    for (size_t j = 0; j < d; j++) {
        if (!isnan(s->genome.fixed[j]) || s->genome.space->parameters[j].type != BANDIT_PARAMETER_DOUBLE)
            continue;
        low[s->n_free] = (double)c->cell.corner[j] * side;
        high[s->n_free] = fmin(1.0, low[s->n_free] + side);
        x[s->n_free] = fmin(high[s->n_free], fmax(low[s->n_free], from[j]));
        s->free[s->n_free++] = j;
    }
    if (s->n_free == 0)
        return true;
    if (!bandit_ascend(along, s, s->n_free, x, low, high))
        return false;
    for (size_t k = 0; k < s->n_free; k++)
        s->features[s->free[k]] = s->best_x[k];
    offer(s, s->features, s->best_value);
    return true;
}

/* Tries to find a point outside of all cells with pulls. One is enough, because the bound is the same
 * everywhere there. */
static void look_outside(pi_search *s)
{
    double value = bandit_pi_width(s->e, s->b, 0.0) * sqrt(s->e->base.covariance.kappa2);
    for (uint64_t k = 0; k < OUTSIDE && !(s->found && s->value >= value); k++) {
        double features[BANDIT_PI_DIMENSIONS] = {0};
        bool inside = false;
        bandit_genome_sweep(&s->genome, k, features);
        settle(s, true, features);
        for (size_t i = 0; i < s->b->n && !inside; i++)
            inside = bandit_pi_contains(s->e, s->b->cells[i], features);
        if (!inside)
            offer(s, features, value);
    }
}

static bandit_status search_cells(pi_search *s, bandit_error *err)
{
    size_t d = s->e->cover.dimension, n_best = 0;
    double best[REFINED], x[REFINED * BANDIT_PI_DIMENSIONS];
    bandit_pi_cell *cells[REFINED];
    for (size_t i = 0; i < s->b->n && !bandit_pause(); i++) {
        double here[BANDIT_PI_DIMENSIONS] = {0}, value = sweep_cell(s, s->b->cells[i], here);
        if (value == -INFINITY || (n_best == REFINED && !(value > best[REFINED - 1])))
            continue;
        size_t place = n_best < REFINED ? n_best++ : REFINED - 1;
        for (; place > 0 && best[place - 1] < value; place--) {
            best[place] = best[place - 1];
            cells[place] = cells[place - 1];
            memcpy(x + place * BANDIT_PI_DIMENSIONS, x + (place - 1) * BANDIT_PI_DIMENSIONS, d * sizeof *x);
        }
        best[place] = value;
        cells[place] = s->b->cells[i];
        memcpy(x + place * BANDIT_PI_DIMENSIONS, here, d * sizeof *x);
    }
    for (size_t i = 0; i < n_best && !bandit_pause(); i++) {
        if (!refine(s, cells[i], x + i * BANDIT_PI_DIMENSIONS))
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    look_outside(s);
    return BANDIT_OK;
}

bandit_status bandit_pi_choose(bandit_pi_space *e, bandit_pi_batch *b, const bandit_select_limits *limits,
                               bool *found, bandit_error *err)
{
    if (b->ledger.n == 0)
        return bandit_design_next(&e->base, false, b->n_out, limits, e->coded, found, err);
    pi_search s = {.e = e, .b = b, .limits = limits};
    /* Each pick has its own sequence, identified by the numbers of the batch and the pick. */
    uint64_t stream = e->base.batch + (b->n_picks << 40);
    bandit_status status =
        bandit_genome_init(&s.genome, e->base.arms->space, limits->fixed, e->base.options.seed, err);
    if (status == BANDIT_OK)
        status = bandit_genome_sequence(&s.genome, stream, err);
    for (int attempt = 0; status == BANDIT_OK && attempt < 2 && !s.found; attempt++) {
        s.strict = attempt == 0;
        status = search_cells(&s, err);
    }
    *found = s.found;
    if (status == BANDIT_OK && !s.found && s.genome.space->rules)
        status = bandit_design_random(&e->base, b->n_picks, limits, e->coded, found, err);
    if (status == BANDIT_OK && s.polytope.no_memory)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_polytope_clear(&s.polytope);
    if (s.found)
        memcpy(e->coded, s.answer, e->base.arms->space->n * sizeof *e->coded);
    bandit_genome_clear(&s.genome);
    return status;
}
