/* The objective that the next pick of an engine with several metrics maximizes in an open space: the joint acquisition and
 * the prior of the location, less a penalty where evaluations fail. Also decides which points may be picked. Compare
 * core/algorithms/space_objective.h. */
#ifndef CORE_ENGINE_SEVERAL_OBJECTIVE_H
#define CORE_ENGINE_SEVERAL_OBJECTIVE_H

#include "core/engine/several_engine.h"

typedef struct bandit_several_objective {
    bandit_several_engine *e;
    const bandit_select_limits *limits;
    bool strict, silent; /* exclude points in flight if options say so, and repeats if there is no noise */
    double *means, *variances, *known; /* n metrics x BANDIT_MAXIMIZE_TRIALS each */
} bandit_several_objective;

/* The engine of metric j, and its current batch. */
bandit_space_engine *bandit_several_space_leaf(const bandit_several_engine *engine, size_t j);
bandit_space_batch *bandit_several_space_batch(const bandit_several_engine *engine, size_t j);

/* Whether metric j has a bound. Only then its variance without the picks in flight is needed. */
bool bandit_several_is_bounded(const bandit_several_engine *engine, size_t j);

/* Smaller variances of metric j are raised to this one, so that gradients stay finite. */
double bandit_several_least_variance(const bandit_several_engine *engine, size_t j);

/* Sets entry j of the outlook from the mean and the variances, as in bandit_acquisition's improvements. */
void bandit_several_set_outlook(const bandit_several_engine *engine, size_t j, double mean, double now,
                                double known, bandit_outlook *at);

/* How far a point is among those that fail. Sets its gradient unless that is NULL; there is none where the answer is 0. */
double bandit_several_shortfall(const bandit_several_engine *engine, const double *features,
                                double *gradient);

/* The objective at a point with this outlook, these features and this shortfall. */
double bandit_several_value(bandit_several_engine *engine, const bandit_outlook *at, const double *features,
                            double shortfall);

/* For the maximizer; *c must outlive it. */
bandit_objective bandit_several_objective_functions(bandit_several_objective *c);

#endif
