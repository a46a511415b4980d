/* What the files of a maximization share: maximize.c (the grid, a run from end to end), maximize_starts.c
 * (where a run climbs from) and maximize_climb.c (ascents and moves). */
#ifndef CORE_SEARCH_MAXIMIZE_SEARCH_H
#define CORE_SEARCH_MAXIMIZE_SEARCH_H

#include "core/search/maximize.h"

#include <math.h>

/* Best points, from which starts apart from each other are taken. */
#define BANDIT_SEARCH_POOL 272

/* Ascents from beside the point that the caller names. */
#define BANDIT_SEARCH_BESIDE 2

/* A run. Its arrays are parts of max->run. */
typedef struct bandit_search {
    bandit_maximizer *max;
    const bandit_space *space;
    const bandit_objective *objective;
    uint64_t pick;
    double *trial_genes, *trial_features, *trial_values; /* BANDIT_MAXIMIZE_TRIALS each */
    size_t n_trials, moved[BANDIT_MAXIMIZE_TRIALS];      /* in a move: the parameter that a trial changes */
    double *start_genes, *start_values; /* BANDIT_SEARCH_POOL each: the best points, best first */
    size_t n_starts;
    double *beside_genes, *beside_values; /* BANDIT_SEARCH_BESIDE each, best first */
    size_t n_beside;
    double *genes;          /* n: where a climb stands */
    double *features;       /* dimension: of it */
    double *gradient;       /* dimension */
    double *coded, *answer; /* n: scratch, and the best point accepted */
    double *x, *best_x;     /* n: the numbers that an ascent moves */
    double *low, *high;     /* n */
    size_t n_free;          /* parameters max->list[0 …] */
    double best_value;      /* of an ascent */
    double value;           /* of the answer */
    bool found;
} bandit_search;

/* ---- maximize.c ---------------------------------------------------------------------------------------- */

/* Features of genes; coded: scratch that receives the point. */
static inline void bandit_maximizer_express(const bandit_maximizer *max, const double *genes, double *coded,
                                            double *features)
{
    bandit_genome_coded(&max->genome, genes, coded);
    bandit_space_encode(max->genome.space, coded, features);
}

/* The answer becomes this point if it is accepted: bandit_search_offer, for a value that is better. */
void bandit_search_take(bandit_search *s, const double *genes, const double *features, double value);

/* Offers a point as the answer. */
static inline void bandit_search_offer(bandit_search *s, const double *genes, const double *features,
                                       double value)
{
    if (isnan(value) || (s->found && !(value > s->value)))
        return;
    bandit_search_take(s, genes, features, value);
}

/* Values of the trials, each offered as the answer; of trials whose features are there already. */
void bandit_search_evaluate(bandit_search *s);
void bandit_search_evaluate_expressed(bandit_search *s);

/* ---- maximize_starts.c --------------------------------------------------------------------------------- */

/* The best of the grid, each offered as the answer, and of perturbations around them, as far as they are
 * apart from each other: start_genes, start_values. Of an exhaustive grid there is nothing to climb from. */
void bandit_search_choose_starts(bandit_search *s, const double *grid_values);

/* The best perturbations of max->beside, if there is one: beside_genes, beside_values. */
void bandit_search_look_beside(bandit_search *s);

/* ---- maximize_climb.c ---------------------------------------------------------------------------------- */

/* From s->genes, whose value is `value`, in turns of ascent and moves until neither helps; what is met is
 * offered as the answer. false: no memory. */
bool bandit_search_climb(bandit_search *s, double value);

#endif
