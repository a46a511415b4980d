/* A monotone warp of rewards with a power that is learned: Yeo and Johnson 2000, eq. 3.1. With p the power,
 *
 *   v >= 0:  z = ((1 + v)^p − 1) / p               p = 0:  log(1 + v)
 *   v <  0:  z = −((1 − v)^(2 − p) − 1) / (2 − p)  p = 2:  −log(1 − v)
 *
 * p = 1 is the identity; a power above 1 spreads large values and brings small ones together; 2 − p at −v is p
 * at v, turned round. v has no unit: it is a reward less a median, by an interquartile range. The slope at 0 is
 * 1 for every power. Above the power 2 the warped values are bounded below, by −1 / (p − 2); below 0 they are
 * bounded above. All functions are of v or z alone, and finite for |v| <= 1e9 and −1 <= p <= 5. */
#ifndef CORE_LEARNING_WARP_H
#define CORE_LEARNING_WARP_H

/* z; and the value whose warped one is z, infinite beyond the bound of z. */
double bandit_warp(double v, double power);
double bandit_unwarp(double z, double power);

/* log dz/dv = (p − 1) sign(v) log(1 + |v|). */
double bandit_warp_log_slope(double v, double power);

/* Derivatives with respect to the power: of z, and of log dz/dv (the same for every power). */
double bandit_warp_by_power(double v, double power);
double bandit_warp_log_slope_by_power(double v);

#endif
