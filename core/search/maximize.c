#include "core/search/maximize.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/search/maximize_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEP_LEAST = 256, /* points of a sweep: at least this many, … */
    SWEEP_EACH = 96,   /* … plus this many per parameter, … */
    SWEEP_MOST = 2048  /* … but at most this many */
};

/* ---- the grid ------------------------------------------------------------------------------------------ */

static size_t sweep_size(size_t n)
{
    size_t wanted = SWEEP_LEAST + SWEEP_EACH * n;
    return wanted < SWEEP_MOST ? wanted : SWEEP_MOST;
}

static bool reserve_grid(bandit_maximizer *max, size_t n)
{
    const bandit_space *s = max->genome.space;
    return bandit_reserve_keep((void **)&max->genes, &max->capacity_genes, max->n_grid * s->n, n * s->n,
                               sizeof(double)) &&
           bandit_reserve_keep((void **)&max->features, &max->capacity_features, max->n_grid * s->dimension,
                               n * s->dimension, sizeof(double));
}

static bool has_fixed_values(const bandit_genome *g, const double *coded)
{
    for (size_t i = 0; i < g->space->n; i++) {
        if (!isnan(g->fixed[i]) && coded[i] != g->fixed[i])
            return false;
    }
    return true;
}

/* Makes the grid of all points of a small space. */
static bandit_status list_points(bandit_maximizer *max, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    double *coded = bandit_alloc(s->n, sizeof *coded);
    if (!coded || !reserve_grid(max, s->size)) {
        free(coded);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    max->exhaustive = true;
    bandit_space_first_point(s, coded);
    do {
        if (!has_fixed_values(&max->genome, coded) || !bandit_space_allows(s, coded))
            continue;
        double *genes = max->genes + max->n_grid * s->n;
        for (size_t i = 0; i < s->n; i++)
            genes[i] = bandit_genome_gene(&max->genome, i, 0.5);
        bandit_genome_take(&max->genome, coded, genes);
        bandit_space_encode(s, coded, max->features + max->n_grid * s->dimension);
        max->n_grid++;
    } while (bandit_space_next_point(s, coded));
    free(coded);
    return BANDIT_OK;
}

static bandit_status reserve_run(bandit_maximizer *max, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    size_t trial = s->n + s->dimension + 1, start = s->n + 1, one = 8 * s->n + 4 * s->dimension;
    size_t starts = BANDIT_SEARCH_POOL + BANDIT_SEARCH_BESIDE;
    size_t list = s->n;
    if (bandit_reserve((void **)&max->run, &max->capacity_run,
                       BANDIT_MAXIMIZE_TRIALS * trial + starts * start + one, sizeof(double)) &&
        bandit_reserve((void **)&max->list, &max->capacity_list, list, sizeof *max->list))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

/* Makes a sweep of points that keep the rules of the space. */
static bandit_status draw_points(bandit_maximizer *max, size_t n, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    size_t found;
    if (!reserve_grid(max, n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_feasible_draw(&max->genome, max->batch, n, max->genes, &found, NULL, err);
    for (; status == BANDIT_OK && max->n_grid < found; max->n_grid++)
        bandit_maximizer_express(max, max->genes + max->n_grid * s->n, max->run,
                                 max->features + max->n_grid * s->dimension);
    max->n_sweep = max->n_grid;
    return status;
}

bandit_status bandit_maximizer_start(bandit_maximizer *max, const bandit_space *space, const double *fixed,
                                     uint64_t seed, uint64_t batch, bandit_error *err)
{
    bandit_genome_clear(&max->genome);
    max->polytope.no_memory = false;
    max->n_grid = 0;
    max->exhaustive = false;
    max->batch = batch;
    bandit_status status = bandit_genome_init(&max->genome, space, fixed, seed, err);
    if (status == BANDIT_OK)
        status = reserve_run(max, err);
    if (status != BANDIT_OK)
        return status;
    size_t n = sweep_size(space->n);
    if (space->size <= SWEEP_MOST)
        return list_points(max, err);
    if (space->rules)
        return draw_points(max, n, err);
    status = bandit_genome_sequence(&max->genome, batch, err);
    if (status != BANDIT_OK)
        return status;
    if (!reserve_grid(max, n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    max->n_sweep = n;
    for (; max->n_grid < n; max->n_grid++) {
        double *genes = max->genes + max->n_grid * space->n;
        bandit_genome_sweep(&max->genome, max->n_grid, genes);
        bandit_maximizer_express(max, genes, max->run, max->features + max->n_grid * space->dimension);
    }
    return BANDIT_OK;
}

bandit_status bandit_maximizer_add(bandit_maximizer *max, const double *coded, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    if (max->exhaustive)
        return BANDIT_OK;
    if (!reserve_grid(max, max->n_grid + 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *genes = max->genes + max->n_grid * s->n;
    /* inactive parameters get the genes of some point of the sweep */
    for (size_t i = 0; max->n_sweep == 0 && i < s->n; i++)
        genes[i] = bandit_genome_gene(&max->genome, i, 0.5);
    if (max->n_sweep > 0)
        memcpy(genes, max->genes + (max->n_grid % max->n_sweep) * s->n, s->n * sizeof *genes);
    bandit_genome_take(&max->genome, coded, genes);
    bandit_maximizer_express(max, genes, max->run, max->features + max->n_grid * s->dimension);
    max->n_grid++;
    return BANDIT_OK;
}

void bandit_maximizer_clear(bandit_maximizer *max)
{
    bandit_genome_clear(&max->genome);
    bandit_polytope_clear(&max->polytope);
    free(max->genes);
    free(max->features);
    free(max->run);
    free(max->list);
    *max = (bandit_maximizer){0};
}

size_t bandit_maximizer_memory(const bandit_maximizer *max)
{
    return bandit_genome_memory(&max->genome) +
           (max->polytope.capacity + max->capacity_genes + max->capacity_features + max->capacity_run) *
               sizeof(double) +
           max->capacity_list * sizeof *max->list;
}

/* ---- a run --------------------------------------------------------------------------------------------- */

static void search_init(bandit_search *s, bandit_maximizer *max, const bandit_objective *objective,
                        uint64_t pick, double *answer)
{
    const bandit_space *space = max->genome.space;
    size_t n = space->n, d = space->dimension;
    *s = (bandit_search){.max = max, .space = space, .objective = objective, .pick = pick, .answer = answer};
    s->trial_genes = max->run;
    s->trial_features = s->trial_genes + BANDIT_MAXIMIZE_TRIALS * n;
    s->trial_values = s->trial_features + BANDIT_MAXIMIZE_TRIALS * d;
    s->start_genes = s->trial_values + BANDIT_MAXIMIZE_TRIALS;
    s->start_values = s->start_genes + BANDIT_SEARCH_POOL * n;
    s->beside_genes = s->start_values + BANDIT_SEARCH_POOL;
    s->beside_values = s->beside_genes + BANDIT_SEARCH_BESIDE * n;
    s->genes = s->beside_values + BANDIT_SEARCH_BESIDE;
    s->features = s->genes + n;
    s->gradient = s->features + d;
    s->coded = s->gradient + d;
    s->x = s->coded + n;
    s->best_x = s->x + n;
    s->low = s->best_x + n;
    s->high = s->low + n;
}

void bandit_search_take(bandit_search *s, const double *genes, const double *features, double value)
{
    bandit_genome_point(&s->max->genome, genes, s->coded);
    if (!bandit_space_allows(s->space, s->coded))
        return;
    if (s->objective->accepts && !s->objective->accepts(s->objective->context, s->coded, features))
        return;
    memcpy(s->answer, s->coded, s->space->n * sizeof *s->coded);
    s->value = value;
    s->found = true;
}

void bandit_search_evaluate_expressed(bandit_search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    bandit_pause();
    if (s->n_trials > 0)
        s->objective->values(s->objective->context, s->trial_features, s->n_trials, s->trial_values);
    for (size_t t = 0; s->space->rules && t < s->n_trials; t++) {
        bandit_genome_point(&s->max->genome, s->trial_genes + t * n, s->coded);
        if (!bandit_space_allows(s->space, s->coded))
            s->trial_values[t] = (double)NAN;
    }
    for (size_t t = 0; t < s->n_trials; t++)
        bandit_search_offer(s, s->trial_genes + t * n, s->trial_features + t * d, s->trial_values[t]);
}

void bandit_search_evaluate(bandit_search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t t = 0; t < s->n_trials; t++)
        bandit_maximizer_express(s->max, s->trial_genes + t * n, s->coded, s->trial_features + t * d);
    bandit_search_evaluate_expressed(s);
}

bandit_status bandit_maximizer_run(bandit_maximizer *max, const bandit_objective *objective,
                                   const double *grid_values, uint64_t pick, double *coded, bool *found,
                                   bandit_error *err)
{
    bandit_search s;
    search_init(&s, max, objective, pick, coded);
    bandit_search_choose_starts(&s, grid_values);
    if (max->beside && !max->exhaustive && max->n_sweep > 0)
        bandit_search_look_beside(&s);
    for (size_t k = 0; k < s.n_starts + s.n_beside && !max->exhaustive && !bandit_pause(); k++) {
        size_t b = k - s.n_starts, n = s.space->n;
        bool starts = k < s.n_starts;
        memcpy(s.genes, starts ? s.start_genes + k * n : s.beside_genes + b * n, n * sizeof *s.genes);
        if (!bandit_search_climb(&s, starts ? s.start_values[k] : s.beside_values[b]))
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    *found = s.found;
    return max->polytope.no_memory ? bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory") : BANDIT_OK;
}
