/* The objective that the next pick in a space maximizes: the acquisition or a sampled function, less a
 * penalty where evaluations fail. Also decides which points may be picked. */
#ifndef CORE_ALGORITHMS_SPACE_OBJECTIVE_H
#define CORE_ALGORITHMS_SPACE_OBJECTIVE_H

#include "core/algorithms/space_engine.h"

typedef struct bandit_space_objective {
    bandit_space_engine *e;
    bandit_space_batch *b;
    const bandit_select_limits *limits;
    bandit_acquisition acquisition;
    bool strict;    /* exclude repeats for which there is no reason, and points in flight if options say so */
    double penalty; /* for a point that is sure to fail; 0: nothing has failed */
    double *means, *variances;
    double *slope; /* dimension: gradient of the shortfall */
} bandit_space_objective;

/* Whether the point, coded, may be picked. It must not be withheld. `strict` also excludes points in flight if the options
 * say so, and points in flight or with a result, if there is no reason to measure a point twice (`silent`) or
 * limits->most_repeats is reached. */
bool bandit_space_may_be_picked(const bandit_engine *engine, const bandit_space_batch *batch,
                                const bandit_select_limits *limits, const double *coded, bool strict,
                                bool silent);

/* Learns where evaluations fail, unless the failures are unchanged, and computes the shortfall on the grid,
 * which must exist.
 * Errors: BANDIT_NO_MEMORY and those of bandit_feasibility_learn_arms. */
bandit_status bandit_space_learn_failures(bandit_space_engine *e, const bandit_space_batch *b,
                                          const bandit_select_limits *limits, bandit_error *err);

/* The penalty for an acquisition. */
double bandit_space_penalty(const bandit_space_engine *e, const bandit_space_batch *b,
                            const bandit_acquisition *acquisition);

/* For the maximizer; *c must outlive it. */
bandit_objective bandit_space_objective_functions(bandit_space_objective *c);

#endif
