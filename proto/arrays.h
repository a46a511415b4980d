/* Array functions that proto and the server share: growth, and binary search (BANDIT_LOWER_BOUND). */
#ifndef PROTO_ARRAYS_H
#define PROTO_ARRAYS_H

#include "bandit/sorted.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes an array hold at least n elements of `size` bytes; what it holds stays.
 *   array     the address of the pointer to it, which is NULL or from malloc; the pointer may change
 *   capacity  its elements; doubled until they are enough, from `least` (not 0) where there are none
 * false: no memory, or the bytes are more than a size_t; then nothing has changed. */
bool wire_grow(void *array, size_t *capacity, size_t n, size_t least, size_t size);

#endif
