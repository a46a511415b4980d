/* Engines that learn all there is to learn, and what tests do with an engine over and over. */
#ifndef TESTS_SUPPORT_LEARNER_H
#define TESTS_SUPPORT_LEARNER_H

#include "bandit/engine.h"

/* Every algorithm that has a model. */
enum { LEARNER_ALGORITHMS = 13 };
extern const bandit_algorithm learner_algorithms[LEARNER_ALGORITHMS];

/* Noise, norm bound, unit and, where the kernel has them, lengthscales. */
void learner_options(bandit_options *o, bandit_algorithm algorithm);

/* The next pick, also beyond the batch's bound. The test fails where there is none. */
bandit_pick learner_pick(bandit_engine *engine);

bandit_result learner_result(const bandit_pick *pick, double reward);

/* Begins a batch with nothing pending. The test fails when that does. */
void learner_begin(bandit_engine *engine, const bandit_result *results, size_t n);

#endif
