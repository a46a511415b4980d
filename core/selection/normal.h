/* Logarithms of the normal distribution's density and probabilities, accurate far into its tails. */
#ifndef CORE_SELECTION_NORMAL_H
#define CORE_SELECTION_NORMAL_H

/* log phi(z) and log Phi(z). */
double bandit_log_density(double z);
double bandit_log_cdf(double z);

/* The log of the probability that a normal value lies between low and high, which may be infinite; low < high,
 * deviation > 0. The derivatives may both be NULL. */
double bandit_log_between(double low, double high, double mean, double deviation, double *by_mean,
                          double *by_deviation);

#endif
