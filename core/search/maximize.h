/* Maximizes a function over a space of parameters: an acquisition or a sampled function.
 *
 *   sweep         low-discrepancy points (genome.h), or all points of the space if it has no more. With the
 *                 starts that the caller adds they form the grid. The caller keeps the grid as long as it
 *                 likes, and may know the values on it more cheaply than by calling the function.
 *   perturbation  around the best of the grid, at several scales
 *   beside        perturbations of one point that the caller names, with steps that the caller gives: a
 *                 sweep would miss a narrow ridge next to that point
 *   ascent        from the best few, and from the best two beside the point: L-BFGS (NLopt) over the
 *                 active numbers, with the function's gradient, alternating with moves of single discrete
 *                 parameters, until neither helps. For words with properties, each round tries all words at
 *                 the current numbers. If there are more than 1024, only the first round of the first ascent
 *                 tries all; the other rounds try the nearest words and as many at random
 *
 * If the space has rules, all these points keep them: the sweep is drawn from the allowed points
 * (feasible.h), perturbations are repaired, and the ascent is SLSQP (Kraft 1994), whose constraints are the
 * linear rules and, if they are few, the other rules. Points that break a rule are never the answer.
 *
 * Everything depends only on the seed, the batch, the number of the pick, and the values of the function. */
#ifndef CORE_SEARCH_MAXIMIZE_H
#define CORE_SEARCH_MAXIMIZE_H

#include "core/arms/feasible.h"

/* The largest number of points whose values a run requests at once. */
#define BANDIT_MAXIMIZE_TRIALS 512

typedef struct bandit_objective {
    void *context;
    /* Sets out[i] to the value at point i of n x dimension features, row-major. */
    void (*values)(void *context, const double *features, size_t n, double *out);
    /* Returns the value at one point, and sets its gradient with respect to the features. */
    double (*slopes)(void *context, const double *features, double *gradient);
    /* Whether this point may be the answer. NULL: every point may. */
    bool (*accepts)(void *context, const double *coded, const double *features);
} bandit_objective;

typedef struct bandit_maximizer {
    bandit_genome genome;
    uint64_t batch;
    bool exhaustive; /* the grid has every point of the space */
    size_t n_grid, capacity_genes, capacity_features;
    double *genes;    /* n_grid x parameters */
    double *features; /* n_grid x dimension */
    double *run;      /* memory of a run */
    size_t capacity_run, capacity_list;
    size_t *list;         /* n parameters, or as many grid points as there are starts */
    const double *beside; /* n, coded: the point beside which the next runs search; NULL: none. Borrowed */
    const double *steps;  /* n: the largest steps of numbers from it, in [0, 1]. Borrowed */
    size_t n_sweep;       /* points of the grid that come from the sweep */
    bandit_polytope polytope; /* scratch */
} bandit_maximizer;

/* Makes a grid of sweep points for this batch. `fixed` (coded, NaN where not fixed) may be NULL. *max is {0}
 * or used before. Errors: those of bandit_genome_init. */
bandit_status bandit_maximizer_start(bandit_maximizer *max, const bandit_space *space, const double *fixed,
                                     uint64_t seed, uint64_t batch, bandit_error *err);
void bandit_maximizer_clear(bandit_maximizer *max);
size_t bandit_maximizer_memory(const bandit_maximizer *max);

/* Adds a point with the fixed values to the grid, unless the grid has every point. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_maximizer_add(bandit_maximizer *max, const double *coded, bandit_error *err);

/* Finds the best accepted point, coded; *found is false if no point is accepted. `grid_values` are the values
 * of the objective on the grid. `pick` < 2^24 is the number of the pick in the batch. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_maximizer_run(bandit_maximizer *max, const bandit_objective *objective,
                                   const double *grid_values, uint64_t pick, double *coded, bool *found,
                                   bandit_error *err);

/* A function as NLopt calls it: the value at x of n coordinates, and its gradient unless that is NULL. */
typedef double bandit_slope_function(unsigned n, const double *x, double *gradient, void *context);

/* Ascends by L-BFGS within bounds from x, which is overwritten. The function itself must keep the best point
 * that it was called with. Returns false when out of memory. */
bool bandit_ascend(bandit_slope_function *f, void *context, size_t n, double *x, const double *low,
                   const double *high);

#endif
