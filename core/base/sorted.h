/* Binary search. */
#ifndef CORE_BASE_SORTED_H
#define CORE_BASE_SORTED_H

#include <stddef.h>

/* Sets `place`, a size_t, to the first of `count` places at which is_below, an expression in the place `i`,
 * does not hold; `count` where it always holds. It must hold at no place after one where it does not. */
#define BANDIT_LOWER_BOUND(place, count, i, is_below)                                                        \
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
