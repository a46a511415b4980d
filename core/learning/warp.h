/* A monotone warp of rewards with a learned power: Yeo and Johnson 2000, eq. 3.1. With p the power,
 *
 *   v >= 0:  z = ((1 + v)^p − 1) / p               p = 0:  log(1 + v)
 *   v <  0:  z = −((1 − v)^(2 − p) − 1) / (2 − p)  p = 2:  −log(1 − v)
 *
 * p = 1 is the identity. A power above 1 spreads large values and compresses small ones; the power 2 − p at
 * −v is the power p at v with the sign changed. v has no unit: it is a reward less a median, divided by an
 * interquartile range. The slope at 0 is 1 for every power. For powers above 2 the warped values are bounded
 * below, by −1 / (p − 2); for negative powers they are bounded above. The functions depend only on their
 * arguments, and are finite for |v| <= 1e9 and −1 <= p <= 5. */
#ifndef CORE_LEARNING_WARP_H
#define CORE_LEARNING_WARP_H

/* z; and the inverse, the value whose warp is z, infinite beyond the bound of z. */
double bandit_warp(double v, double power);
double bandit_unwarp(double z, double power);

/* log dz/dv = (p − 1) sign(v) log(1 + |v|). */
double bandit_warp_log_slope(double v, double power);

/* Derivatives with respect to the power: of z, and of log dz/dv (which is the same for every power). */
double bandit_warp_by_power(double v, double power);
double bandit_warp_log_slope_by_power(double v);

#endif
