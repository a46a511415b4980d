/* Binary search. The files of proto use it too. */
#ifndef BANDIT_SORTED_H
#define BANDIT_SORTED_H

#include <stddef.h>

/* Binary search. Sets `place`, a size_t, to the first of `count` positions at which is_below, an expression
 * in the position `i`, is false; `count` if it is true everywhere. Once false, is_below must stay false. */
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
