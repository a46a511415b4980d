/* Picks that are the best point of a quadratic function (core/learning/quadratic.h), in an open space.
 *
 * Since revision 9, some picks of log_ei are such points, in turn with those of the model, while the function predicts the
 * results (quadratic_sample.h) well. The rewards are taken as reported, because a bowl is no longer quadratic once its values
 * are warped. Ours. */
#ifndef CORE_ALGORITHMS_QUADRATIC_PICK_H
#define CORE_ALGORITHMS_QUADRATIC_PICK_H

#include "core/algorithms/space_engine.h"

enum {
    BANDIT_SINCE_QUADRATIC_PICKS = 9, /* the first revision that has them */
    BANDIT_SINCE_INTEGER_STEPS = 10   /* before, steps were rounded to integers */
};

/* Sets engine->coded to the point. *found: there is one, it is allowed by the rules of the space, and it is neither withheld,
 * nor in flight, nor known without noise. It may be where evaluations fail. Errors: BANDIT_NO_MEMORY,
 * BANDIT_CANCELLED. */
bandit_status bandit_quadratic_pick(bandit_space_engine *engine, const bandit_space_batch *batch,
                                    const bandit_select_limits *limits, bool *found, bandit_error *err);

#endif
