/* The prior mean of a study that learns from others (bandit/source.h): a combination of frozen functions,
 *
 *   M(x) = sum_i c_i m_i(x),   m_i(x) = sum_j w_ij k_i(x, x_ij) + shift_i.
 *
 * A posterior whose covariance has a prior mean is computed from rewards less M, and M is added to every
 * mean. The value at an arm has the same bits, whether it is computed by number or by coordinates. */
#ifndef CORE_POSTERIOR_PRIOR_MEAN_H
#define CORE_POSTERIOR_PRIOR_MEAN_H

#include "bandit/source.h"
#include "core/arms/covariance.h"

typedef struct bandit_source_function {
    bandit_covariance covariance;
    size_t n;
    double *points;  /* n x dimension, multiplied by the covariance's factors */
    double *weights; /* n */
    double shift;
} bandit_source_function;

/* The frozen functions over a set of arms. Starts as {0}. */
typedef struct bandit_sources {
    const bandit_arms *arms; /* borrowed */
    size_t n;
    bandit_source_function list[BANDIT_MOST_SOURCES];
    double *values; /* n_values x n: at the first arms */
    size_t n_values, capacity;
    bool guarded;    /* bandit_sources_guard was called */
    bool contradict; /* and it found that the sources contradict each other */
} bandit_sources;

typedef struct bandit_prior_mean {
    const bandit_sources *sources; /* borrowed */
    double weights[BANDIT_MOST_SOURCES];
} bandit_prior_mean;

/* The sources are copied; `arms` is borrowed. Errors: BANDIT_NO_MEMORY; BANDIT_INVALID_OPTION if a source does
 * not fit the arms. *out must be cleared also after an error. */
bandit_status bandit_sources_init(bandit_sources *out, const bandit_kernel *kernel,
                                  const bandit_source *sources, size_t n, const bandit_arms *arms,
                                  bandit_error *err);
void bandit_sources_clear(bandit_sources *sources);

/* Compares the sources: they contradict each other if the mean correlation of two of them, over the points of
 * all, is below 0.4. This serves BANDIT_TRUST_AGREEMENT: the first picks of a study ignore such sources, and
 * the sources count only if the results are clearly likelier with them (ours). Errors: BANDIT_NO_MEMORY,
 * BANDIT_CANCELLED. */
bandit_status bandit_sources_guard(bandit_sources *sources, bandit_error *err);
size_t bandit_sources_memory(const bandit_sources *sources);

/* Computes the values at all present arms, so that later calls look them up. Errors: BANDIT_NO_MEMORY,
 * BANDIT_CANCELLED. */
bandit_status bandit_sources_cover(bandit_sources *sources, bandit_error *err);

/* m_i at an arm. */
double bandit_source_value(const bandit_sources *sources, size_t i, size_t arm);

/* The sum of all m_i at an arm, and at scaled coordinates: what the sources predict before the first
 * reward. */
double bandit_sources_promise_of(const bandit_sources *sources, size_t arm);
double bandit_sources_promise_at(const bandit_sources *sources, const double *coordinates);

/* M at an arm, and at coordinates that are scaled as the arms are. */
double bandit_prior_mean_of(const bandit_prior_mean *prior, size_t arm);
double bandit_prior_mean_at(const bandit_prior_mean *prior, const double *coordinates);
/* Whether some source counts. `prior` may be NULL. */
bool bandit_prior_mean_counts(const bandit_prior_mean *prior);
/* gradient += a ∇M(x). */
void bandit_prior_mean_slope(const bandit_prior_mean *prior, const double *coordinates, double a,
                             double *gradient);
/* At least |M(x)| for every x, and at least the sum of its terms' sizes. */
double bandit_prior_mean_bound(const bandit_prior_mean *prior);

#endif
