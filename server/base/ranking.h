/* Sorts indices by their keys. */
#ifndef SERVER_BASE_RANKING_H
#define SERVER_BASE_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* The indices of n keys in descending order of the keys; equal keys are ordered by index, and NaN comes last. The caller
 * frees them. NULL: out of memory. */
uint32_t *ranking_of(const double *keys, size_t n);

#endif
