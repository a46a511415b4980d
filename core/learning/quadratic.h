/* A quadratic function that is fitted to values: its best point, and its errors.
 *
 * A Gaussian process with one lengthscale per coordinate follows a narrow valley slowly if the valley is oblique to the
 * coordinates. A quadratic function of k coordinates has all directions in its (k + 1)(k + 2) / 2 coefficients. So on a bowl, however
 * narrow and oblique, its best point is near the optimum as soon as there are a few more values than coefficients.
 *
 * The fit is by least squares. A value that is e below the best one has the weight 1 / (1 + e / c), where c is the e of the (k + 2)-nd
 * best value. So good values decide, and values may differ by many orders of magnitude. Two functions are fitted: with and
 * without products of different coordinates. A function is rejected unless the errors of values left out (from the leverages, without
 * further fits) are below half of the deviation of the values, both weighted. The one with smaller errors at the best quarter of the
 * values counts. Its best point is sought in the box of the better half of the points, a fifth larger on each side.
 *
 * Evolution strategies (Hansen 2019) and derivative-free optimization (Powell 2006) have used quadratic models; the weights and the
 * test are ours. Measured in docs/records/log-ei-spaces.md, "Quadratic steps". */
#ifndef CORE_LEARNING_QUADRATIC_H
#define CORE_LEARNING_QUADRATIC_H

#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Coordinates that may have certain values only, such as those of integers. `round` sets *nearest to the one next to `value` that
 * coordinate j may have, and *other to the next one on the other side of `value`, or to *nearest if there is none. On a
 * continuous coordinate both are `value`. */
typedef struct bandit_quadratic_grid {
    void (*round)(const void *context, size_t j, double value, double *nearest, double *other);
    const void *context; /* borrowed */
} bandit_quadratic_grid;

/* x: n points of k coordinates in [0, 1], row-major. values: n, finite, larger is better. Sets `step` (k entries) to the point,
 * in [0, 1], and *found to whether there is one: it must promise a gain of at least c / 1000 on the best value. With a grid (NULL:
 * there is none) one coordinate after the other takes the better of its two values, while those that are left move to
 * their best. Only the 512 best values count, and with more than 16 coordinates there is no function with products.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_quadratic_step(const double *x, const double *values, size_t n, size_t k,
                                    const bandit_quadratic_grid *grid, double *step, bool *found,
                                    bandit_error *err);

/* Sets *error to the error of a value left out: the root mean square over the values, by the squares of their weights, under the
 * function that counts. So it is that of good values, and the deviation of their noise is not much larger. If no function
 * is good enough, c is the e of a value twice as far back, until the better half is passed; then *error is INFINITY. `values` and
 * limits as above. Errors: BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_quadratic_error(const double *x, const double *values, size_t n, size_t k, double *error,
                                     bandit_error *err);

#endif
