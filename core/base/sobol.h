/* Sobol's low-discrepancy sequence with the direction numbers of Joe and Kuo 2008, in the natural order of
 * the index: in every dimension, the first 2^k points have one point in each interval of length 2^-k. */
#ifndef CORE_BASE_SOBOL_H
#define CORE_BASE_SOBOL_H

#include <stddef.h>
#include <stdint.h>

enum { BANDIT_SOBOL_DIMENSIONS = 64 };

/* Coordinate `dimension` < 64 of point `index`, counted from 0: the 32 digits after the binary point. */
uint32_t bandit_sobol(uint32_t index, size_t dimension);

#endif
