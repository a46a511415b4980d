/* Shared by the files of a maximization: maximize.c (the grid, and a run as a whole), maximize_starts.c
 * (where a run climbs from) and maximize_climb.c (ascents and moves). */
#ifndef CORE_SEARCH_MAXIMIZE_SEARCH_H
#define CORE_SEARCH_MAXIMIZE_SEARCH_H

#include "core/search/maximize.h"

#include <math.h>

/* The number of best points from which starts are chosen that lie apart from each other. */
#define BANDIT_SEARCH_POOL 272

/* The number of ascents that start beside the point that the caller names. */
#define BANDIT_SEARCH_BESIDE 2

/* One run. Its arrays are parts of max->run. */
typedef struct bandit_search {
    bandit_maximizer *max;
    const bandit_space *space;
    const bandit_objective *objective;
    uint64_t pick;
    double *trial_genes, *trial_features, *trial_values; /* for BANDIT_MAXIMIZE_TRIALS points each */
    size_t n_trials, moved[BANDIT_MAXIMIZE_TRIALS];      /* moved: the parameter that each trial changes */
    double *start_genes, *start_values; /* for BANDIT_SEARCH_POOL points each: the best points, best first */
    size_t n_starts;
    double *beside_genes, *beside_values; /* for BANDIT_SEARCH_BESIDE points each, best first */
    size_t n_beside;
    double *genes;          /* n: the current point of a climb */
    double *features;       /* dimension: its features */
    double *gradient;       /* dimension */
    double *coded, *answer; /* n each: scratch, and the best accepted point */
    double *x, *best_x;     /* n each: the numbers that an ascent changes */
    double *low, *high;     /* n */
    size_t climbs;          /* number of climbs so far */
    size_t n_free;          /* how many numbers an ascent changes: parameters max->list[0 …] */
    double best_value;      /* largest value of an ascent */
    double value;           /* value of the answer */
    bool found;
} bandit_search;

/* ---- maximize.c ---------------------------------------------------------------------------------------- */

/* Computes the features of genes. `coded` is scratch, and receives the point. */
static inline void bandit_maximizer_express(const bandit_maximizer *max, const double *genes, double *coded,
                                            double *features)
{
    bandit_genome_coded(&max->genome, genes, coded);
    bandit_space_encode(max->genome.space, coded, features);
}

/* Makes this point the answer if it is accepted: the part of bandit_search_offer after the value was found to
 * be better. */
void bandit_search_take(bandit_search *s, const double *genes, const double *features, double value);

/* Makes this point the answer if its value is better and it is accepted. */
static inline void bandit_search_offer(bandit_search *s, const double *genes, const double *features,
                                       double value)
{
    if (isnan(value) || (s->found && !(value > s->value)))
        return;
    bandit_search_take(s, genes, features, value);
}

/* Evaluates the trials, and offers each as the answer. The second takes the features as already computed. */
void bandit_search_evaluate(bandit_search *s);
void bandit_search_evaluate_expressed(bandit_search *s);

/* ---- maximize_starts.c --------------------------------------------------------------------------------- */

/* Sets start_genes and start_values to the best points of the grid and of perturbations around them that lie
 * apart from each other. Offers every point of the grid as the answer. If the grid has every point of the
 * space, there is nothing to climb to. */
void bandit_search_choose_starts(bandit_search *s, const double *grid_values);

/* Sets beside_genes and beside_values to the best perturbations of max->beside, if there is such a point. */
void bandit_search_look_beside(bandit_search *s);

/* ---- maximize_within.c --------------------------------------------------------------------------------- */

/* As the ascent of maximize_climb.c, for a space with rules: over the doubles from s->genes, whose value is
 * `value`, inside the set that the rules allow. */
bool bandit_search_ascend_within(bandit_search *s, double *value);

/* ---- maximize_words.c ---------------------------------------------------------------------------------- */

/* Tries other words with properties at s->genes, whose value is `value`, one parameter after another: all
 * words, or for long lists the nearest words and others at random. round: the number of the call in this
 * climb. Sets *moved if that helps. Returns false when out of memory. */
bool bandit_search_try_words(bandit_search *s, bool all, int round, double *value, bool *moved);

/* ---- maximize_climb.c ---------------------------------------------------------------------------------- */

/* Adds a trial that differs from s->genes in the gene of parameter i, if there is room and it does differ. */
void bandit_search_add_trial(bandit_search *s, size_t i, double gene);

/* Evaluates the trials, which differ from s->genes in one parameter each. s->features are the features of
 * s->genes. */
void bandit_search_evaluate_moves(bandit_search *s);

/* Climbs from s->genes, whose value is `value`, alternating ascents and moves until neither helps. Points on
 * the way are offered as the answer. Returns false when out of memory. */
bool bandit_search_climb(bandit_search *s, double value);

#endif
