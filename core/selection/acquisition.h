/* What is maximized over a space, from a posterior's mean and Bayesian variance at a point. */
#ifndef CORE_SELECTION_ACQUISITION_H
#define CORE_SELECTION_ACQUISITION_H

typedef enum bandit_acquisition_kind {
    BANDIT_ACQUIRE_UCB,         /* mean + parameter sigma */
    BANDIT_ACQUIRE_IMPROVEMENT, /* log of expected improvement over `parameter` */
    BANDIT_ACQUIRE_PROBABILITY, /* (mean − parameter) / sigma, of which Phi is the probability to exceed it */
    BANDIT_ACQUIRE_MEAN,
    BANDIT_ACQUIRE_VARIANCE
} bandit_acquisition_kind;

typedef struct bandit_acquisition {
    bandit_acquisition_kind kind;
    double parameter; /* width, or target */
    double smallest;  /* > 0: variances below it are taken for it, so that slopes stay finite */
    double noise; /* >= 0, of an improvement: the variance of one more measurement, whose gain counts. It can
                         remove the deviation c / sqrt(c + noise) of a variance c, and no more: a point that is
                         known as well as its noise allows is worth little (after Huang et al. 2006) */
} bandit_acquisition;

double bandit_acquisition_value(const bandit_acquisition *acquisition, double mean, double variance);

/* The same, with its derivatives with respect to mean and variance. */
double bandit_acquisition_slopes(const bandit_acquisition *acquisition, double mean, double variance,
                                 double *by_mean, double *by_variance);

/* log(phi(z) + z Phi(z)), to full relative accuracy for every z. */
double bandit_log_improvement(double z);

#endif
