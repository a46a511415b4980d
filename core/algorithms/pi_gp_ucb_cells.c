/* The cells of pi_gp_ucb on a space, and the bounds in them. */
#include "core/algorithms/pi_gp_ucb_space.h"

#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_PICKS = 16 }; /* picks in flight for which memory is reserved at once */

static double per_paper(const bandit_pi_space *e, double variance)
{
    return fmax(0.0, variance) / e->base.options.lambda;
}

double bandit_pi_width(const bandit_pi_space *e, const bandit_pi_batch *b, double information_gain)
{
    const bandit_options *o = &e->base.options;
    double t = (double)b->ledger.observations + 1.0;
    double exponent = 1.0 / e->cover.exponent, d = (double)e->cover.dimension;
    double log_cells = log(4.0) + exponent * d * log(t + 1.0);
    return o->norm_bound + o->noise_std * sqrt(2.0 * (information_gain + 1.0 + log_cells - log(o->delta)));
}

static void features_of(const bandit_pi_space *e, uint32_t arm, double *features)
{
    bandit_space_features_of(e->base.arms, arm, features);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static void free_cell(bandit_pi_cell *c)
{
    if (!c)
        return;
    free(c->cell.members);
    bandit_surface_clear(&c->surface);
    bandit_posterior_clear(&c->posterior);
    free(c);
}

void bandit_pi_clear_cells(bandit_pi_batch *b, size_t first)
{
    while (b->n > first)
        free_cell(b->cells[--b->n]);
}

size_t bandit_pi_cell_memory(const bandit_pi_cell *c)
{
    return sizeof *c + c->cell.n * sizeof(uint32_t) + bandit_posterior_memory(&c->posterior) +
           bandit_surface_memory(&c->surface);
}

bool bandit_pi_contains(const bandit_pi_space *e, const bandit_pi_cell *c, const double *features)
{
    return bandit_cell_contains(&e->cover, &c->cell, features);
}

static uint64_t pulls_in(const bandit_ledger *ledger, const bandit_cell *cell)
{
    uint64_t pulls = 0;
    for (size_t i = 0; i < cell->n; i++)
        pulls += bandit_sum_of(ledger->sums, ledger->n, cell->members[i])->count;
    return pulls;
}

/* Adds a cell with its posterior, and memory for picks in flight. Takes ownership of the cell's members. */
static bandit_status add_cell(bandit_pi_space *e, bandit_pi_batch *b, bandit_cell cell, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    bandit_pi_cell *c = calloc(1, sizeof *c);
    bandit_arm_sum *sums = bandit_alloc(cell.n, sizeof *sums);
    if (!c || !sums ||
        !bandit_reserve_keep((void **)&b->cells, &b->capacity, b->n, b->n + 1, sizeof(bandit_pi_cell *))) {
        free(c);
        free(sums);
        free(cell.members);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    c->cell = cell;
    for (size_t i = 0; i < cell.n; i++) {
        sums[i] = *bandit_sum_of(b->ledger.sums, b->ledger.n, cell.members[i]);
        c->pulls += sums[i].count;
    }
    c->posterior = (bandit_posterior){.covariance = &e->base.covariance, .lambda = o->lambda};
    bandit_status status = BANDIT_OK;
    if (cell.n > 0)
        status = bandit_posterior_build(&c->posterior, &e->base.covariance, o->lambda, cell.members, cell.n,
                                        sums, cell.n, err);
    if (status == BANDIT_OK)
        status = bandit_surface_start(&c->surface, &c->posterior, MORE_PICKS, err);
    free(sums);
    if (status != BANDIT_OK) {
        free_cell(c);
        return status;
    }
    c->pulled_variance = c->posterior.effective_dimension;
    b->cells[b->n++] = c;
    return BANDIT_OK;
}

/* Removes the members that have no pulls. */
static void keep_pulled(const bandit_ledger *ledger, bandit_cell *cell)
{
    size_t kept = 0;
    for (size_t i = 0; i < cell->n; i++) {
        if (bandit_sum_of(ledger->sums, ledger->n, cell->members[i]))
            cell->members[kept++] = cell->members[i];
    }
    cell->n = kept;
}

bandit_status bandit_pi_make_cells(bandit_pi_space *e, bandit_pi_batch *b, bandit_error *err)
{
    bandit_cells open = {0};
    double bytes = (double)bandit_engine_memory(&e->base); /* includes the cells of the batch that ends */
    bandit_status status = b->ledger.n > 0 ? bandit_cover_first_cells(&e->cover, &open, err) : BANDIT_OK;
    for (size_t i = 0; i < open.n; i++)
        keep_pulled(&b->ledger, &open.cells[i]);
    for (size_t at = 0; status == BANDIT_OK && at < open.n; at++) {
        bandit_cell cell = open.cells[at];
        if (cell.n == 0)
            continue;
        if (bandit_cover_must_split(&e->cover, cell.level, pulls_in(&b->ledger, &cell))) {
            status = bandit_cover_split(&e->cover, &cell, &open, err);
            continue;
        }
        open.cells[at].members = NULL;
        status = add_cell(e, b, cell, err);
        if (status == BANDIT_OK) {
            bytes += (double)bandit_pi_cell_memory(b->cells[b->n - 1]);
            status = bandit_engine_check_memory(&e->base, bytes, err);
        }
    }
    bandit_cells_clear(&open);
    return status;
}

/* Adds the leaf that contains the point, with the prior. Called if no cell with pulls contains the point. */
static bandit_status add_leaf(bandit_pi_space *e, bandit_pi_batch *b, const double *features,
                              bandit_error *err)
{
    bandit_cell cell = {0};
    double unit[BANDIT_PI_DIMENSIONS];
    uint64_t pulls;
    uint32_t level = 0;
    do {
        bandit_cover_lowest_cell(&e->cover, level, features, &cell);
        pulls = 0;
        for (size_t i = 0; i < b->ledger.n; i++) {
            features_of(e, b->ledger.sums[i].arm, unit);
            if (bandit_cell_contains(&e->cover, &cell, unit))
                pulls += b->ledger.sums[i].count;
        }
        level++;
    } while (bandit_cover_must_split(&e->cover, cell.level, pulls));
    bandit_status status = add_cell(e, b, cell, err);
    if (status == BANDIT_OK)
        b->cells[b->n - 1]->width = bandit_pi_width(e, b, 0.0);
    return status;
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* Allocates w and scratch for each call, because it is not used for making picks. */
bandit_status bandit_pi_bound_at(const bandit_pi_space *e, const bandit_pi_batch *b, const double *features,
                                 bandit_prediction *out, bandit_error *err)
{
    bool found = false;
    double prior = e->base.covariance.kappa2;
    *out = (bandit_prediction){.variance = prior, .ucb = bandit_pi_width(e, b, 0.0) * sqrt(prior)};
    for (size_t i = 0; i < b->n; i++) {
        const bandit_pi_cell *c = b->cells[i];
        bandit_prediction here;
        if (!bandit_pi_contains(e, c, features))
            continue;
        bandit_status status = bandit_posterior_predict(
            &c->posterior, c->width * sqrt(e->base.options.lambda), NULL, features, 1, &here, err);
        if (status != BANDIT_OK)
            return status;
        if (!found || here.ucb > out->ucb)
            *out = here;
        found = true;
    }
    return BANDIT_OK;
}

/* ---- picks in flight ----------------------------------------------------------------------------------- */

bandit_status bandit_pi_make_room(bandit_pi_space *e, bandit_pi_batch *b, const double *features,
                                  double *variance, bandit_error *err)
{
    bandit_prediction bound;
    bandit_status status = bandit_pi_bound_at(e, b, features, &bound, err);
    bool found = false;
    for (size_t i = 0; status == BANDIT_OK && i < b->n; i++) {
        if (!bandit_pi_contains(e, b->cells[i], features))
            continue;
        found = true;
        status = bandit_surface_reserve(&b->cells[i]->surface, 1, err);
    }
    if (status == BANDIT_OK && !found)
        status = add_leaf(e, b, features, err);
    if (status == BANDIT_OK)
        status = bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
    if (status == BANDIT_OK)
        *variance = per_paper(e, bound.variance);
    return status;
}

void bandit_pi_take_out(bandit_pi_space *e, bandit_pi_batch *b, const double *features, double variance)
{
    for (size_t i = 0; i < b->n; i++) {
        if (bandit_pi_contains(e, b->cells[i], features))
            bandit_surface_hallucinate(&b->cells[i]->surface, features,
                                       b->cells[i]->surface.posterior->lambda);
    }
    b->total += variance;
    b->n_out++;
}
