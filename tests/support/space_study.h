/* Studies of spaces, driven by the test: engines with options under which every algorithm is quick, their
 * batches, and rewards of points. A call that fails ends the test. */
#ifndef TESTS_SUPPORT_SPACE_STUDY_H
#define TESTS_SUPPORT_SPACE_STUDY_H

#include "bandit/engine.h"
#include "bandit/space.h"

/* Arms, picks and results of a study, at most. */
enum { SPACE_STUDY_MOST = 400 };

/* Every algorithm. */
enum { SPACE_STUDY_ALGORITHMS = 15 };
extern const bandit_algorithm space_study_algorithms[SPACE_STUDY_ALGORITHMS];

/* Both are the caller's to free. */
bandit_arms *space_study_arms(const bandit_parameter *parameters, size_t n);
bandit_engine *space_study_engine(bandit_arms *arms, const bandit_options *o);

/* The unit cube of n doubles, n <= 12; the caller's to free. */
bandit_arms *space_study_cube(size_t n);

bandit_options space_study_options(bandit_algorithm algorithm, uint64_t seed, double noise_std);

/* The next batch, and picks of it. */
void space_study_begin(bandit_engine *engine, const bandit_result *results, size_t n,
                       const bandit_pick *pending, size_t n_pending);
bandit_selection space_study_choose(bandit_engine *engine, const bandit_select_limits *limits,
                                    bandit_pick *picks);

/* The pick that follows on n_results results, with these arms failed and withheld. */
bandit_pick space_study_pick_after(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                   const uint32_t *failed, size_t n_failed);

/* Of an arm: smooth in the features, with noise of this standard deviation; random: of dense_normal. */
double space_study_reward(const bandit_arms *arms, uint32_t arm, uint64_t *random, double noise);

/* Into an ascending list of at most SPACE_STUDY_MOST, once. */
void space_study_add_arm(uint32_t *list, size_t *n, uint32_t arm);

#endif
