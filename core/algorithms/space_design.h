/* Points of a space that are chosen without a model. */
#ifndef CORE_ALGORITHMS_SPACE_DESIGN_H
#define CORE_ALGORITHMS_SPACE_DESIGN_H

#include "core/algorithms/algorithm.h"

/* Points of a batch before the first reward: one more than there are parameters, 4 to 10, or six where the best
 * point is to be found soon; at most a quarter of the horizon. They depend on no reward, so that a few more than
 * one cost nobody any waiting (ours). */
uint64_t bandit_design_size(const bandit_engine *engine, bool seeks_best);

/* The next of them, coded, when `number` points are out: that of the defaults first, if any parameter has one
 * (others in the middle), then a randomized Halton sequence, a new one each batch; where the best point is
 * sought, Sobol's scrambled. New points while there are
 * any to be found, then any that is not withheld. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_OPTION ("fixed").
 */
bandit_status bandit_design_next(const bandit_engine *engine, bool seeks_best, uint64_t number,
                                 const bandit_select_limits *limits, double *coded, bool *found,
                                 bandit_error *err);

/* A uniform point, by random numbers of the batch's pick `number`. */
bandit_status bandit_design_random(const bandit_engine *engine, uint64_t number,
                                   const bandit_select_limits *limits, double *coded, bool *found,
                                   bandit_error *err);

#endif
