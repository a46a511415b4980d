/* Small sets of every kind to choose from, rewards of their points, and options under which every algorithm
 * runs on them in no time. */
#ifndef TESTS_SUPPORT_SMALL_SETS_H
#define TESTS_SUPPORT_SMALL_SETS_H

#include "bandit/engine.h"
#include "bandit/space.h"

enum { SMALL_SIDE = 4, SMALL_ARMS = SMALL_SIDE * SMALL_SIDE, SMALL_WIDTH = 4 /* of a point, at most */ };

typedef enum small_set {
    FEATURES, /* a grid of SMALL_ARMS */
    MATRIX,   /* the same by a kernel matrix */
    LISTED,   /* a space that is enumerated */
    FEW,      /* the same space, which grows */
    BOX,      /* a space of a double and an integer */
    SPACE     /* a space of all types but discrete, with a condition */
} small_set;

bool small_is_space(small_set set);
bool small_is_open(small_set set);

/* *out is NULL where nothing was made; where a status is not BANDIT_OK it may be half made: bandit_arms_free.
 */
bandit_status small_arms(bandit_arms **out, small_set set);

/* What an arm is worth: the same in all sets where it is the same point. */
double small_worth(const bandit_arms *arms, small_set set, uint32_t arm);

/* All that choose among candidates, and among the points of any space; not BANDIT_PI_GP_UCB. */
enum { SMALL_ALGORITHMS = 14 };
extern const bandit_algorithm small_algorithms[SMALL_ALGORITHMS];

bandit_options small_options(bandit_algorithm algorithm, small_set set);

#endif
