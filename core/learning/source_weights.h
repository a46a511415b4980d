/* How much the sources of a study count (bandit/source.h). The model of standardized rewards is
 *
 *   z = c + sum_i w_i m_i(x) + h(x) + noise,  c ~ N(0, 1),  w ~ N(0, (rho / S) I),  h ~ GP(0, s^2 k),
 *
 * for S sources. With B = s^2 K + 1 1' + noise, M the sources' values, G = M'B^{-1}M and b = M'B^{-1}z, the
 * evidence exceeds that of no sources (rho = 0) by
 *
 *   −1/2 log det(I + rho/S G) + 1/2 b' w,   w = (S/rho I + G)^{-1} b,
 *
 * and w is the mean of the weights. rho is the one of 0.1, 0.3 and 1 with the largest evidence. This method
 * is ours. Vizier and RGPE have the same task (Song et al. 2024, Feurer et al. 2018); here regression gives
 * the weights. */
#ifndef CORE_LEARNING_SOURCE_WEIGHTS_H
#define CORE_LEARNING_SOURCE_WEIGHTS_H

#include "bandit/fit.h"

/* The weights under *h, and the gain in log evidence at them.
 *   data    with points; a stationary kernel
 *   z       n: standardized, warped rewards
 *   noise   n: their variances
 *   values  n x n_sources, column-major: M
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_source_weights(const bandit_fit_data *data, const bandit_hyperparameters *h,
                                    const double *z, const double *noise, const double *values,
                                    size_t n_sources, double *weights, double *gain, bandit_error *err);

#endif
