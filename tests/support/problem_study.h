/* BBKB's studies of random problems (random_problem.h), driven by the test: batches begin, are chosen and
 * told. */
#ifndef TESTS_SUPPORT_PROBLEM_STUDY_H
#define TESTS_SUPPORT_PROBLEM_STUDY_H

#include "bandit/engine.h"
#include "tests/support/random_problem.h"
#include "tests/support/repeats.h"

enum { STUDY_PICKS = 64 };

/* So many problems, or ten times as many (repeats.h). */
static inline size_t problems(size_t sample)
{
    return in_full() ? 10 * sample : sample;
}

/* The kernels in turn. */
bandit_kernel_type varied_kernel(size_t i);

/* The problem of number i, varied in every way that matters; random_problem_clear. */
void varied_problem_init(random_problem *p, size_t i, double lambda);

/* The other algorithm, rule and start. */
void varied_problem_algorithm(random_problem *p, size_t i);

/* Has it arms on a grid or near each other? */
bool varied_problem_has_ties(size_t i);

/* `problem` is borrowed, `engine` the caller's to free. */
typedef struct problem_study {
    const random_problem *problem;
    bandit_engine *engine;
    bandit_result results[STUDY_PICKS]; /* n_results: told, and not yet joined */
    size_t n_results;
    uint64_t t; /* picks told */
} problem_study;

void problem_study_init(problem_study *s, const random_problem *problem);

/* The next batch, on all that was told. */
void problem_study_begin(problem_study *s, const bandit_executor *executor);

/* At most max_picks of it. */
bandit_selection problem_study_choose(problem_study *s, size_t max_picks, bandit_pick *picks);

/* The picks' rewards; every eleventh fails, and every thirteenth stands for two pulls. */
void problem_study_tell(problem_study *s, const bandit_pick *picks, size_t n);

/* An engine from the checkpoint of another; the caller's. */
bandit_engine *problem_study_restored(const random_problem *problem, const bandit_engine *of,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor);

#endif
