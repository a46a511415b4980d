/* Partitioned improved GP-UCB on a space of numbers. [JBG20], as pi_gp_ucb.c has it for candidates.
 *
 * The box of the features, [0,1]^d, is covered by closed cubes that are refined where pulls gather (cover.h).
 * An independent exact posterior stands on the pulls in each; the next point is the maximum over cells of
 * mu_A + beta_A sigma_A, found inside each cell by a sweep and, in the best few, by L-BFGS. Only cells with
 * pulls are kept: in all others the bound is beta_A of no pulls, everywhere, so that a point of a sequence in
 * any of them stands for all. What is out shrinks the variance in its cells (surface.h); the first batch is a
 * design (space_design.h). The state is the ledger alone. */
#include "algorithms/space_design.h"
#include "algorithms/space_engine.h"

#include "cover.h"
#include "listed.h"
#include "memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEP = 48,      /* points tried in a cell, … */
    OUTSIDE = 256,   /* … and for one outside of all */
    REFINED = 4,     /* cells whose maximum is refined */
    MORE_PICKS = 16, /* room made for at once */
    MOST_D = BANDIT_COVER_DIMENSIONS
};

typedef struct pi_cell {
    bandit_cell cell; /* members: the pulled arms in it */
    uint64_t pulls;
    bandit_posterior posterior;
    bandit_surface surface; /* and what is out */
    double width;           /* beta_A */
    double pulled_variance; /* sum_i n_i sigma^2(x_i), paper's scale */
} pi_cell;

typedef struct pi_batch {
    bandit_ledger ledger;
    pi_cell **cells; /* n, owned */
    size_t n, capacity;
    uint32_t *pulled; /* the ledger's arms */
    size_t capacity_pulled;
    uint64_t n_picks, n_out;
    double total; /* sum of the start-of-batch variances of what is out, paper's scale */
    unsigned char state[64];
    size_t n_state;
} pi_batch;

typedef struct pi_space {
    bandit_engine base;
    bandit_cover cover;
    pi_batch batches[2];
    unsigned in_force;
    double *coded; /* a parameter each */
} pi_space;

/* The scalars as stored: native byte order. */
typedef struct pi_state {
    char magic[8];
    char code_path[16];
    uint64_t observations;
    double sum_squares;
} pi_state;

static const char STATE_MAGIC[8] = "pispace";

static pi_space *self(bandit_engine *engine)
{
    return (pi_space *)engine;
}

static const pi_batch *in_force(const bandit_engine *engine)
{
    const pi_space *e = (const pi_space *)engine;
    return &e->batches[e->in_force];
}

static double per_paper(const pi_space *e, double variance)
{
    return fmax(0.0, variance) / e->base.options.lambda;
}

/* beta_A before step t = observations + 1, for a cell of this information gain. */
static double width(const pi_space *e, const pi_batch *b, double information_gain)
{
    const bandit_options *o = &e->base.options;
    double t = (double)b->ledger.observations + 1.0;
    double exponent = 1.0 / e->cover.exponent, d = (double)e->cover.dimension;
    double log_cells = log(4.0) + exponent * d * log(t + 1.0);
    return o->norm_bound + o->noise_std * sqrt(2.0 * (information_gain + 1.0 + log_cells - log(o->delta)));
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static void free_cell(pi_cell *c)
{
    if (!c)
        return;
    free(c->cell.members);
    bandit_surface_clear(&c->surface);
    bandit_posterior_clear(&c->posterior);
    free(c);
}

static void clear_cells(pi_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        free_cell(b->cells[i]);
    b->n = 0;
}

static size_t cell_memory(const pi_cell *c)
{
    return sizeof *c + c->cell.n * sizeof(uint32_t) + bandit_posterior_memory(&c->posterior) +
           bandit_surface_memory(&c->surface);
}

static void features_of(const pi_space *e, uint32_t arm, double *features)
{
    bandit_space_features_of(e->base.arms, arm, features);
}

static bool contains(const pi_space *e, const pi_cell *c, const double *features)
{
    return bandit_cell_contains(&e->cover, &c->cell, features);
}

static const bandit_arm_sum *sum_of(const bandit_ledger *ledger, uint32_t arm)
{
    size_t low = 0, high = ledger->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ledger->sums[middle].arm < arm)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ledger->n && ledger->sums[low].arm == arm ? &ledger->sums[low] : NULL;
}

static uint64_t pulls_in(const bandit_ledger *ledger, const bandit_cell *cell)
{
    uint64_t pulls = 0;
    for (size_t i = 0; i < cell->n; i++)
        pulls += sum_of(ledger, cell->members[i])->count;
    return pulls;
}

/* A cell with its posterior and room for what will be out; takes cell's members over. */
static bandit_status add_cell(pi_space *e, pi_batch *b, bandit_cell cell, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    pi_cell *c = calloc(1, sizeof *c);
    bandit_arm_sum *sums = bandit_alloc(cell.n, sizeof *sums);
    if (!c || !sums ||
        !bandit_reserve_keep((void **)&b->cells, &b->capacity, b->n, b->n + 1, sizeof(pi_cell *))) {
        free(c);
        free(sums);
        free(cell.members);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    c->cell = cell;
    for (size_t i = 0; i < cell.n; i++) {
        sums[i] = *sum_of(&b->ledger, cell.members[i]);
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

/* Drops members without a pull. */
static void keep_pulled(const bandit_ledger *ledger, bandit_cell *cell)
{
    size_t kept = 0;
    for (size_t i = 0; i < cell->n; i++) {
        if (sum_of(ledger, cell->members[i]))
            cell->members[kept++] = cell->members[i];
    }
    cell->n = kept;
}

/* b->cells: the leaves with pulls, as the ledger makes them. */
static bandit_status make_cells(pi_space *e, pi_batch *b, bandit_error *err)
{
    bandit_cells open = {0};
    double bytes = 0.0, room = (double)e->base.memory_limit;
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
        bytes += b->n > 0 ? (double)cell_memory(b->cells[b->n - 1]) : 0.0;
        if (status == BANDIT_OK && bytes > room)
            status = bandit_engine_check_memory(&e->base, bytes, err);
    }
    bandit_cells_clear(&open);
    return status;
}

/* The leaf that contains the point, where no cell with pulls does: added, with the prior. */
static bandit_status add_leaf(pi_space *e, pi_batch *b, const double *features, bandit_error *err)
{
    bandit_cell cell = {0};
    double unit[MOST_D];
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
        b->cells[b->n - 1]->width = width(e, b, 0.0);
    return status;
}

/* Room for one more that is out at this point, in every cell that contains it; at least one does then. */
static bandit_status make_room(pi_space *e, pi_batch *b, const double *features, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    bool found = false;
    for (size_t i = 0; status == BANDIT_OK && i < b->n; i++) {
        if (!contains(e, b->cells[i], features))
            continue;
        found = true;
        status = bandit_surface_reserve(&b->cells[i]->surface, 1, err);
    }
    return found || status != BANDIT_OK ? status : add_leaf(e, b, features, err);
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* The largest bound of the batch's start among the cells that contain the point; the prior's where none does.
 * w and scratch are made for the call: not on the way to a pick. */
static bandit_status bound_at(const pi_space *e, const pi_batch *b, const double *features,
                              bandit_prediction *out, bandit_error *err)
{
    bool found = false;
    double prior = e->base.covariance.kappa2;
    *out = (bandit_prediction){.variance = prior, .ucb = width(e, b, 0.0) * sqrt(prior)};
    for (size_t i = 0; i < b->n; i++) {
        const pi_cell *c = b->cells[i];
        bandit_prediction here;
        if (!contains(e, c, features))
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

/* Takes a pull out; the room is there. */
static bandit_status take_out(pi_space *e, pi_batch *b, uint32_t arm, double *variance, bandit_error *err)
{
    double features[MOST_D];
    bandit_prediction bound;
    features_of(e, arm, features);
    bandit_status status = bound_at(e, b, features, &bound, err);
    if (status == BANDIT_OK)
        status = make_room(e, b, features, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < b->n; i++) {
        if (contains(e, b->cells[i], features))
            bandit_surface_hallucinate(&b->cells[i]->surface, features);
    }
    *variance = per_paper(e, bound.variance);
    b->total += *variance;
    b->n_out++;
    return BANDIT_OK;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

bool bandit_space_is_numeric(const bandit_arms *arms)
{
    const bandit_space *s = arms->space;
    for (size_t i = 0; i < s->n; i++) {
        const bandit_parameter *p = &s->parameters[i];
        bool number = p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
        if (!number || p->parent != BANDIT_NO_PARENT)
            return false;
    }
    return true;
}

static bandit_status pi_open(bandit_engine *engine, bandit_error *err)
{
    pi_space *e = self(engine);
    const bandit_options *o = &engine->options;
    size_t d = bandit_arms_dimension(engine->arms);
    uint32_t initial = o->initial_cells ? (uint32_t)o->initial_cells
                                        : bandit_cover_initial_for(d, o->kernel.nu, (double)o->horizon);
    bandit_cover_init(&e->cover, engine->arms, initial, o->kernel.nu);
    e->coded = bandit_alloc(engine->arms->space->n, sizeof *e->coded);
    return e->coded ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

static void pi_close(bandit_engine *engine)
{
    pi_space *e = self(engine);
    for (int i = 0; i < 2; i++) {
        clear_cells(&e->batches[i]);
        free(e->batches[i].cells);
        free(e->batches[i].pulled);
        bandit_ledger_clear(&e->batches[i].ledger);
    }
    free(e->coded);
}

static size_t pi_memory(const bandit_engine *engine)
{
    const pi_space *e = (const pi_space *)engine;
    size_t bytes = 0;
    for (int k = 0; k < 2; k++) {
        const pi_batch *b = &e->batches[k];
        bytes += b->ledger.capacity * sizeof(bandit_arm_sum) + b->capacity * sizeof(pi_cell *) +
                 b->capacity_pulled * sizeof(uint32_t);
        for (size_t i = 0; i < b->n; i++)
            bytes += cell_memory(b->cells[i]);
    }
    return bytes;
}

typedef struct growing {
    const pi_batch *batch;
    const pi_cell *cell;
} growing;

static double radius(const bandit_engine *engine, const void *context)
{
    const growing *g = context;
    return width((const pi_space *)engine, g->batch, 0.5 * g->cell->posterior.log_det_ratio);
}

/* From the ledger to the frozen batch: the same path for one that begins and one that is restored. */
static bandit_status freeze(pi_space *e, pi_batch *b, const bandit_pick *pending, size_t n_pending,
                            bandit_error *err)
{
    clear_cells(b);
    b->n_picks = b->n_out = 0;
    b->total = 0.0;
    if (!bandit_reserve((void **)&b->pulled, &b->capacity_pulled, b->ledger.n, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < b->ledger.n; i++)
        b->pulled[i] = b->ledger.sums[i].arm;
    bandit_status status = make_cells(e, b, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < b->n; i++) {
        growing g = {b, b->cells[i]};
        bandit_engine_grow_norm_bound(&e->base, bandit_posterior_mean_norm(&g.cell->posterior), radius, &g);
    }
    for (size_t i = 0; i < b->n; i++)
        b->cells[i]->width = width(e, b, 0.5 * b->cells[i]->posterior.log_det_ratio);
    for (size_t i = 0; status == BANDIT_OK && i < n_pending; i++) {
        double variance;
        status = take_out(e, b, pending[i].arm, &variance, err);
    }
    pi_state state = {.observations = b->ledger.observations, .sum_squares = b->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    strncpy(state.code_path, e->base.covariance.simd->name, sizeof state.code_path - 1);
    static_assert(sizeof state <= sizeof b->state, "the state fits");
    memcpy(b->state, &state, sizeof state);
    b->n_state = sizeof state;
    return status;
}

static bandit_status pi_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    pi_space *e = self(engine);
    pi_batch *ended = &e->batches[e->in_force], *next = &e->batches[1 - e->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status == BANDIT_OK)
        status = freeze(e, next, pending, n_pending, err);
    if (status != BANDIT_OK) {
        clear_cells(next);
        return status;
    }
    e->in_force = 1 - e->in_force;
    clear_cells(ended);
    return BANDIT_OK;
}

static bandit_status pi_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                              const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    pi_space *e = self(engine);
    return bandit_ledger_amend(&e->batches[e->in_force].ledger, amendments, n, sums, n_sums, err);
}

static bandit_status pi_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                                bandit_error *err)
{
    (void)executor;
    pi_space *e = self(engine);
    pi_batch *b = &e->batches[e->in_force];
    pi_state state;
    if (checkpoint->n_state != sizeof state)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state has %zu bytes, not %zu",
                           checkpoint->n_state, sizeof state);
    memcpy(&state, checkpoint->state, sizeof state);
    if (memcmp(state.magic, STATE_MAGIC, sizeof state.magic) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    if (!(isfinite(state.sum_squares) && state.sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    const bandit_simd *recorded = NULL;
    if (memchr(state.code_path, '\0', sizeof state.code_path))
        recorded = bandit_simd_named(state.code_path);
    if (recorded)
        engine->covariance.simd = recorded;
    bandit_status status = bandit_ledger_restore(&b->ledger, bandit_arms_count(engine->arms), checkpoint,
                                                 state.observations, state.sum_squares, err);
    return status == BANDIT_OK ? freeze(e, b, pending, n_pending, err) : status;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

typedef struct pi_search {
    pi_space *e;
    pi_batch *b;
    const bandit_select_limits *limits;
    bandit_genome genome;
    bool strict;
    pi_cell *cell; /* in which an ascent goes on */
    size_t n_free, free[MOST_D];
    double features[MOST_D], best_x[MOST_D], best_value; /* of the ascent */
    double value;                                        /* of the answer */
    bool found;
    double answer[MOST_D], point[MOST_D]; /* coded */
} pi_search;

static bool is_met(const pi_batch *b, const pi_space *e, uint32_t arm, const double *features)
{
    if (sum_of(&b->ledger, arm))
        return true;
    for (size_t i = 0; i < b->n; i++) { /* out: a row of the cell's surface stands at the point */
        const bandit_surface *s = &b->cells[i]->surface;
        size_t d = e->cover.dimension;
        for (size_t r = s->m; contains(e, b->cells[i], features) && r < s->n; r++) {
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
    if (arm == SIZE_MAX)
        return true;
    for (size_t w = 0; w < s->limits->n_withheld; w++) {
        if (s->limits->withheld[w] == arm)
            return false;
    }
    double features[MOST_D];
    features_of(s->e, (uint32_t)arm, features);
    return !s->strict || !bandit_is_silent(&s->e->base) || !is_met(s->b, s->e, (uint32_t)arm, features);
}

/* The point of these features with what is fixed put in, integers rounded: s->point, and its features. */
static void settle(pi_search *s, double *features)
{
    const bandit_space *space = s->genome.space;
    double genes[MOST_D];
    for (size_t i = 0; i < space->n; i++)
        genes[i] = isnan(s->genome.fixed[i]) ? features[i] : bandit_genome_gene(&s->genome, i, 0.0);
    bandit_genome_point(&s->genome, genes, s->point);
    bandit_space_encode(space, s->point, features);
}

static void offer(pi_search *s, const double *features, double value)
{
    double settled[MOST_D];
    memcpy(settled, features, s->e->cover.dimension * sizeof *settled);
    if (s->found && !(value > s->value))
        return;
    settle(s, settled);
    if (!may_pick(s, s->point))
        return;
    memcpy(s->answer, s->point, s->genome.space->n * sizeof *s->answer);
    s->value = value;
    s->found = true;
}

static double bound_of(const pi_cell *c, double mean, double variance)
{
    return mean + c->width * sqrt(fmax(0.0, variance));
}

/* The best of a sweep of the cell and its members; its value, and where it is in *x. −INFINITY: the cell has
 * no point with what is fixed. */
static double sweep_cell(pi_search *s, pi_cell *c, double *x)
{
    size_t d = s->e->cover.dimension, members = c->cell.n, n = 0;
    double side = 1.0 / bandit_cover_per_side(&s->e->cover, c->cell.level);
    double features[SWEEP * MOST_D], means[SWEEP], variances[SWEEP], best = -INFINITY;
    size_t kept = members < SWEEP / 3 ? members : SWEEP / 3;
    for (size_t k = 0; k < SWEEP; k++) {
        double *f = features + n * d;
        if (k < kept) { /* members, spread over the list */
            features_of(s->e, c->cell.members[k * members / kept], f);
        } else {
            double t[MOST_D];
            bandit_genome_sweep(&s->genome, k, t);
            for (size_t j = 0; j < d; j++)
                f[j] = ((double)c->cell.corner[j] + t[j]) * side;
        }
        settle(s, f);
        n += contains(s->e, c, f);
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
    const bandit_acquisition a = {BANDIT_ACQUIRE_UCB, s->cell->width, 1e-12 * s->e->base.covariance.kappa2};
    double by_mean, by_variance, slope[MOST_D];
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

/* Uphill over the doubles, inside the cell. false: no memory. */
static bool refine(pi_search *s, pi_cell *c, const double *from)
{
    double side = 1.0 / bandit_cover_per_side(&s->e->cover, c->cell.level);
    double x[MOST_D], low[MOST_D], high[MOST_D];
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

/* A point outside of all cells with pulls, where there is one: the bound is the same in all of them. */
static void look_outside(pi_search *s)
{
    double value = width(s->e, s->b, 0.0) * sqrt(s->e->base.covariance.kappa2);
    for (uint64_t k = 0; k < OUTSIDE && !(s->found && s->value >= value); k++) {
        double features[MOST_D];
        bool inside = false;
        bandit_genome_sweep(&s->genome, k, features);
        settle(s, features);
        for (size_t i = 0; i < s->b->n && !inside; i++)
            inside = contains(s->e, s->b->cells[i], features);
        if (!inside)
            offer(s, features, value);
    }
}

static bandit_status search_cells(pi_search *s, bandit_error *err)
{
    size_t d = s->e->cover.dimension, n_best = 0;
    double best[REFINED], x[REFINED * MOST_D];
    pi_cell *cells[REFINED];
    for (size_t i = 0; i < s->b->n; i++) {
        double here[MOST_D], value = sweep_cell(s, s->b->cells[i], here);
        if (value == -INFINITY || (n_best == REFINED && !(value > best[REFINED - 1])))
            continue;
        size_t place = n_best < REFINED ? n_best++ : REFINED - 1;
        for (; place > 0 && best[place - 1] < value; place--) {
            best[place] = best[place - 1];
            cells[place] = cells[place - 1];
            memcpy(x + place * MOST_D, x + (place - 1) * MOST_D, d * sizeof *x);
        }
        best[place] = value;
        cells[place] = s->b->cells[i];
        memcpy(x + place * MOST_D, here, d * sizeof *x);
    }
    for (size_t i = 0; i < n_best; i++) {
        if (!refine(s, cells[i], x + i * MOST_D))
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    look_outside(s);
    return BANDIT_OK;
}

static bandit_status choose(pi_space *e, pi_batch *b, const bandit_select_limits *limits, bool *found,
                            bandit_error *err)
{
    if (b->ledger.n == 0)
        return bandit_design_next(&e->base, b->n_out, limits, e->coded, found, err);
    pi_search s = {.e = e, .b = b, .limits = limits};
    /* A sequence of its own for each pick: the batch's number and the pick's. */
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
    if (s.found)
        memcpy(e->coded, s.answer, e->base.arms->space->n * sizeof *e->coded);
    bandit_genome_clear(&s.genome);
    return status;
}

static bandit_stop_rule stop_rule(const pi_space *e, const pi_batch *b)
{
    if (b->ledger.n == 0)
        return b->n_out >= bandit_design_size(&e->base) ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    return b->n_out > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
}

static bandit_status pi_select(bandit_engine *engine, const bandit_select_limits *limits,
                               const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                               bandit_error *err)
{
    (void)executor;
    pi_space *e = self(engine);
    pi_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    while (status == BANDIT_OK) {
        bool found = false;
        out->stop_rule = stop_rule(e, b);
        if (out->stop_rule != BANDIT_STOP_NONE && !limits->beyond_bound)
            break;
        if (out->n_picks == limits->remaining) {
            out->stop_rule = BANDIT_STOP_HORIZON;
            break;
        }
        if (out->n_picks == limits->max_picks)
            break;
        status = choose(e, b, limits, &found, err);
        if (status != BANDIT_OK)
            break;
        if (!found) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        bandit_pick pick = {0};
        size_t known = bandit_arms_find(engine->arms, e->coded);
        pick.arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(engine->arms) : known);
        if (known == SIZE_MAX)
            status = bandit_arms_append(engine->arms, e->coded, 1, err);
        if (status == BANDIT_OK)
            status = take_out(e, b, pick.arm, &pick.variance, err);
        if (status != BANDIT_OK)
            break;
        picks[out->n_picks++] = pick;
        b->n_picks++;
    }
    out->ratio = 1.0 + b->total;
    /* picks that were made stand; the next call says why there are no more */
    return out->n_picks > 0 ? BANDIT_OK : status;
}

static bandit_status pi_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                     const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    pi_space *e = self(engine);
    pi_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n_picks; i++) {
        double variance;
        status = take_out(e, b, picks[i].arm, &variance, err);
        b->n_picks += status == BANDIT_OK;
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void pi_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const pi_batch *b = in_force(engine);
    out->sums = b->ledger.sums;
    out->n_sums = b->ledger.n;
    out->state = b->state;
    out->n_state = b->n_state;
}

static bandit_status pi_predict_points(const bandit_engine *engine, const double *coordinates, size_t n,
                                       bandit_prediction *out, bandit_error *err)
{
    const pi_space *e = (const pi_space *)engine;
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        status = bound_at(e, in_force(engine), coordinates + i * e->cover.dimension, &out[i], err);
    return status;
}

static bandit_status pi_predict_arms(const bandit_engine *engine, const uint32_t *arms, size_t n,
                                     bandit_prediction *out, bandit_error *err)
{
    const pi_space *e = (const pi_space *)engine;
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        double features[MOST_D];
        features_of(e, arms[i], features);
        status = bound_at(e, in_force(engine), features, &out[i], err);
    }
    return status;
}

/* beta is the widest cell's; effective dimension and information gain are sums over cells. */
static void pi_describe(const bandit_engine *engine, bandit_description *out)
{
    const pi_space *e = (const pi_space *)engine;
    const pi_batch *b = in_force(engine);
    double widest = width(e, b, 0.0);
    out->observations = b->ledger.observations;
    out->dictionary = b->pulled;
    out->n_dictionary = b->ledger.n;
    for (size_t i = 0; i < b->n; i++) {
        const pi_cell *c = b->cells[i];
        widest = fmax(widest, c->width);
        out->effective_dimension += c->pulled_variance;
        out->information_gain += 0.5 * c->posterior.log_det_ratio;
    }
    out->beta = widest * sqrt(engine->options.lambda);
}

const bandit_algorithm_table bandit_space_pi_gp_ucb_table = {
    .name = "pi_gp_ucb",
    .size = sizeof(pi_space),
    .has_model = true,
    .from_sums = true,
    .open = pi_open,
    .close = pi_close,
    .begin_batch = pi_begin_batch,
    .amend = pi_amend,
    .restore = pi_restore,
    .select = pi_select,
    .replay_picks = pi_replay_picks,
    .checkpoint = pi_checkpoint,
    .predict_arms = pi_predict_arms,
    .predict_points = pi_predict_points,
    .describe = pi_describe,
    .memory = pi_memory,
};
