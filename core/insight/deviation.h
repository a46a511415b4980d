/* What pulled arms have beyond the model's function: shared by own_deviation.c, local_deviation.c and quadratic_error.c. Unless
 * said otherwise, figures are in the units of the engine that has the kernel. */
#ifndef CORE_INSIGHT_DEVIATION_H
#define CORE_INSIGHT_DEVIATION_H

#include "core/insight/view.h"

/* How far pulls of the same arm are apart. */
typedef struct bandit_within {
    double squares; /* about the means of their arms, less what reported errors explain */
    double degrees; /* of freedom */
} bandit_within;

bandit_within bandit_within_of(const bandit_refitting_engine *engine);

/* In an open space, with learned noise: sets out[i] to the prediction at arms[i] with a local deviation (local_deviation.c).
 * `out` has the predictions of the function on entry, in the units of the inner engine, and keeps them where no deviation is
 * likely. Errors: BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_add_local_deviation(bandit_insight *view, const uint32_t *arms, size_t n,
                                         bandit_prediction *out, bandit_error *err);

/* In an open space, with learned noise: sets out[i] to the mean reward of arms[i] where a quadratic function shows that it has a
 * smaller error than the prediction (quadratic_error.c). `out` has the predictions on entry, in the units of rewards. Errors:
 * BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_prefer_values(bandit_insight *view, const uint32_t *arms, size_t n,
                                   bandit_prediction *out, bandit_error *err);

#endif
