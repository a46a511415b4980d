/* The maximum of a function over a space of parameters: acquisitions, and sampled functions.
 *
 *   sweep         low-discrepancy points (genome.h), or all points of the space where these are as few; with
 *                 the starts that the caller adds they make the grid, which stays for as long as the caller
 *                 likes, and whose values the caller may know cheaper than by asking
 *   perturbation  around the best of the grid, at several scales
 *   beside        perturbations of one point that the caller names, at steps of its own: where the function has
 *                 a narrow ridge next to that point, no sweep finds it
 *   ascent        from the best few, and from the best two beside the point: L-BFGS (NLopt) over the numbers that are active, with the function's
 *                 gradient, in turns with moves of one discrete parameter, until neither helps
 *
 * Everything is a function of the seed, the batch, the pick's number, and the values of the function. */
#ifndef CORE_SEARCH_MAXIMIZE_H
#define CORE_SEARCH_MAXIMIZE_H

#include "core/arms/genome.h"

/* Points whose values a run asks for at once, at most. */
#define BANDIT_MAXIMIZE_TRIALS 512

typedef struct bandit_objective {
    void *context;
    /* out[i] = the value at point i of n x dimension features, row-major. */
    void (*values)(void *context, const double *features, size_t n, double *out);
    /* The value at one point, and its gradient with respect to the features. */
    double (*slopes)(void *context, const double *features, double *gradient);
    /* May this point be the answer? NULL: every one may. */
    bool (*accepts)(void *context, const double *coded, const double *features);
} bandit_objective;

typedef struct bandit_maximizer {
    bandit_genome genome;
    uint64_t batch;
    bool exhaustive; /* the grid holds every point there is */
    size_t n_grid, capacity_genes, capacity_features;
    double *genes;    /* n_grid x parameters */
    double *features; /* n_grid x dimension */
    double *run;      /* what a run works on */
    size_t capacity_run, capacity_list;
    size_t *list;         /* n parameters, or as many grid points as there are starts */
    const double *beside; /* n, coded: the point of the next runs; NULL: none. Borrowed */
    const double *steps;  /* n: the largest steps of numbers from it, in [0, 1]. Borrowed */
} bandit_maximizer;

/* A grid of sweep points for this batch. `fixed` (coded, NaN where open) may be NULL. *max is {0} or used
 * before. Errors: those of bandit_genome_init. */
bandit_status bandit_maximizer_start(bandit_maximizer *max, const bandit_space *space, const double *fixed,
                                     uint64_t seed, uint64_t batch, bandit_error *err);
void bandit_maximizer_clear(bandit_maximizer *max);
size_t bandit_maximizer_memory(const bandit_maximizer *max);

/* Adds a point to the grid, with what is fixed put in; not to an exhaustive one. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_maximizer_add(bandit_maximizer *max, const double *coded, bandit_error *err);

/* The best accepted point that is found, coded; *found is false when none is accepted. `grid_values` are the
 * objective's at the grid. `pick` < 2^24 is the number of the pick in the batch. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_maximizer_run(bandit_maximizer *max, const bandit_objective *objective,
                                   const double *grid_values, uint64_t pick, double *coded, bool *found,
                                   bandit_error *err);

/* NLopt's kind of function: the value at x of n coordinates; gradient, unless it is NULL. */
typedef double bandit_slope_function(unsigned n, const double *x, double *gradient, void *context);

/* L-BFGS uphill within bounds from x, which is overwritten. The function keeps the best point it has seen.
 * false: no memory. */
bool bandit_ascend(bandit_slope_function *f, void *context, size_t n, double *x, const double *low,
                   const double *high);

#endif
