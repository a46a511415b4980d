/* Engines whose model is of a given function, for tests of what is read from a model. */
#ifndef TESTS_SUPPORT_INSIGHT_STUDY_H
#define TESTS_SUPPORT_INSIGHT_STUDY_H

#include "bandit/insight.h"
#include "bandit/space.h"

enum { INSIGHT_INPUTS = 12 };

typedef double insight_function(const double *point);

typedef struct insight_study {
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_insight *insight;
    double lengthscales[INSIGHT_INPUTS];
} insight_study;

/* Learns everything, under this algorithm. */
bandit_options insight_learning(bandit_algorithm algorithm);
/* Learns nothing: a unit kernel with these lengthscales, which must outlive the options. */
bandit_options insight_given(bandit_algorithm algorithm, bandit_kernel_type kernel, double nu, double lambda,
                             const double *lengthscales, size_t n);

/* An open space with n results at Halton points, which the model has taken in. */
void insight_study_space(insight_study *s, const bandit_parameter *parameters, size_t n_parameters,
                         const bandit_options *options, insight_function *f, size_t n);
/* The same with rules, which must outlive the study: n results at points that keep them. */
void insight_study_rules(insight_study *s, const bandit_parameter *parameters, size_t n_parameters,
                         bandit_rules *rules, const bandit_options *options, insight_function *f, size_t n);
/* n candidates (n x d, unscaled), the first n_results of them with results. */
void insight_study_list(insight_study *s, const double *rows, size_t n, size_t d,
                        const bandit_options *options, insight_function *f, size_t n_results);
/* The arm with results whose mean is largest. */
uint32_t insight_study_best(const insight_study *s);
void insight_study_clear(insight_study *s);

#endif
