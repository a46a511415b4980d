/* Exact algorithms on points of a line: arms, options, batches, nine pulls, and variances by a dense solve. A
 * call that fails ends the test. */
#ifndef TESTS_SUPPORT_EXACT_STUDY_H
#define TESTS_SUPPORT_EXACT_STUDY_H

#include "bandit/engine.h"

enum { EXACT_STUDY_ARMS = 60, EXACT_STUDY_PULLS = 200 };

/* One dimension, points i / EXACT_STUDY_ARMS in a scattered order; the upper half repeats the lower when
 * `twice`. */
double exact_study_point(size_t arm, bool twice);

/* Those points. Both are the caller's to free. */
bandit_arms *exact_study_arms(bool twice);
bandit_engine *exact_study_engine(bandit_arms *arms, const bandit_options *o);

/* The kernel of the options below, of two points that are not twice there. */
double exact_study_kernel(size_t a, size_t b);
bandit_options exact_study_options(bandit_algorithm algorithm);

/* The next batch, and picks of it. */
void exact_study_begin(bandit_engine *engine, const bandit_result *results, size_t n);
bandit_selection exact_study_pick(bandit_engine *engine, const bandit_select_limits *limits,
                                  bandit_pick *picks);

/* Nine pulls of six arms, into results; how many there are. */
size_t exact_study_history(bandit_result *results);

/* Bayesian variance of every arm after n <= EXACT_STUDY_PULLS pulls, by a dense solve. */
void exact_study_variances(const uint32_t *pulled, size_t n, double lambda, double out[EXACT_STUDY_ARMS]);

#endif
