/* Acquisition functions, which are maximized over a space: functions of a posterior's mean and Bayesian
 * variance at a point. */
#ifndef CORE_SELECTION_ACQUISITION_H
#define CORE_SELECTION_ACQUISITION_H

typedef enum bandit_acquisition_kind {
    BANDIT_ACQUIRE_UCB,         /* mean + parameter sigma */
    BANDIT_ACQUIRE_IMPROVEMENT, /* log of the expected improvement over `parameter` */
    BANDIT_ACQUIRE_PROBABILITY, /* z = (mean − parameter) / sigma; Phi(z): probability to exceed it */
    BANDIT_ACQUIRE_MEAN,
    BANDIT_ACQUIRE_VARIANCE
} bandit_acquisition_kind;

typedef struct bandit_acquisition {
    bandit_acquisition_kind kind;
    double parameter; /* the width, or the value to improve on */
    double smallest;  /* > 0: smaller variances are raised to it, so that gradients stay finite */
    double noise; /* >= 0, for improvements: the noise variance of the next measurement, so that only the gain
                   * of that measurement counts. It removes at most the deviation c / sqrt(c + noise) of a
                   * variance c: measuring a point that is known as well as its noise allows gains little
                   * (after Huang et al. 2006) */
    double widening; /* >= 0, for improvements: the deviation counts 1 + widening times */
} bandit_acquisition;

/* The deviation whose improvement is expected, for a posterior variance. */
double bandit_acquisition_deviation(const bandit_acquisition *acquisition, double variance);

double bandit_acquisition_value(const bandit_acquisition *acquisition, double mean, double variance);

/* The same, with its derivatives with respect to mean and variance. */
double bandit_acquisition_slopes(const bandit_acquisition *acquisition, double mean, double variance,
                                 double *by_mean, double *by_variance);

/* log(phi(z) + z Phi(z)), to full relative accuracy for every z. */
double bandit_log_improvement(double z);

#endif
