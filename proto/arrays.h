/* What proto and the server share about arrays: growth, and binary search. */
#ifndef PROTO_ARRAYS_H
#define PROTO_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

/* Makes an array hold at least n elements of `size` bytes; what it holds stays.
 *   array     the address of the pointer to it, which is NULL or from malloc; the pointer may change
 *   capacity  its elements; doubled until they are enough, from `least` (not 0) where there are none
 * false: no memory, or the bytes are more than a size_t; then nothing has changed. */
bool wire_grow(void *array, size_t *capacity, size_t n, size_t least, size_t size);

/* Sets `place`, a size_t, to the first of `count` places at which is_below, an expression in the place `i`,
 * does not hold; `count` where it always holds. It must hold at no place after one where it does not. */
#define WIRE_LOWER_BOUND(place, count, i, is_below)                                                          \
    do {                                                                                                     \
        size_t low_ = 0, high_ = (count);                                                                    \
        while (low_ < high_) {                                                                               \
            size_t i = low_ + (high_ - low_) / 2;                                                            \
            if (is_below)                                                                                    \
                low_ = i + 1;                                                                                \
            else                                                                                             \
                high_ = i;                                                                                   \
        }                                                                                                    \
        (place) = low_;                                                                                      \
    } while (0)

#endif
