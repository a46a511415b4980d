/* Points of a space that are chosen without a model. */
#ifndef CORE_ALGORITHMS_SPACE_DESIGN_H
#define CORE_ALGORITHMS_SPACE_DESIGN_H

#include "core/algorithms/algorithm.h"

/* The number of points of a batch before the first reward: one more than there are parameters, but within 4
 * to 10. If the search seeks the best point it is six, or three if it also learns from other studies. It is
 * at most a quarter of the horizon. These points depend on no reward, so making several at once delays
 * nothing (ours). */
uint64_t bandit_design_size(const bandit_engine *engine, bool seeks_best);

/* Whether the design continues although there is a model. It does if the sources contradict each other, none
 * of them counts, and without sources the design would have more than `n` points. n: the number of points
 * that have results or are in flight. */
bool bandit_design_goes_on(const bandit_engine *engine, uint64_t n);

/* Chooses the next point of the design, coded, when `number` points are in flight. First comes the point of
 * the defaults, if any parameter has one (parameters without a default are in the middle). Then, if the space
 * has no rules and there are sources that do not contradict each other, comes the best of many points in the
 * sum of the sources. Then come points of a randomized Halton sequence, a new one for each batch, or of a
 * scrambled Sobol sequence if the search seeks the best point. Each is a new point if one can be found,
 * otherwise any point that is not withheld. In a space with rules, points are drawn as core/arms/feasible.h
 * describes. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_OPTION ("fixed"). */
bandit_status bandit_design_next(const bandit_engine *engine, bool seeks_best, uint64_t number,
                                 const bandit_select_limits *limits, double *coded, bool *found,
                                 bandit_error *err);

/* While all results are equal, they say nothing of where the search should go on, but the sources may. So since revision
 * 4, if there are sources that do not contradict each other, every second point is the one of BANDIT_DESIGN_LED points
 * that is best in the sum of the sources. The other points keep the search from staying where sources mislead it. Draws
 * from the most promising eighth differ from each other, unlike the most promising points of all (ours). `number`: of
 * points that have results or are in flight. */
enum { BANDIT_DESIGN_LED = 8 };
bool bandit_design_is_led(const bandit_engine *engine, uint64_t number);

/* Chooses the next point if the design continues: number `number` of the first batch's Sobol sequence, or, if it is led
 * by sources and the space has no rules, the most promising of several points. */
bandit_status bandit_design_later(const bandit_engine *engine, uint64_t number,
                                  const bandit_select_limits *limits, double *coded, bool *found,
                                  bandit_error *err);

/* Chooses a uniform point, using the random numbers of pick `number` of the batch. */
bandit_status bandit_design_random(const bandit_engine *engine, uint64_t number,
                                   const bandit_select_limits *limits, double *coded, bool *found,
                                   bandit_error *err);

#endif
