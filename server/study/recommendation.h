/* Which of the points with results is recommended, for studies with one objective and no bounds: `best` shows it, and
 * `stop_when` judges it. */
#ifndef SERVER_STUDY_RECOMMENDATION_H
#define SERVER_STUDY_RECOMMENDATION_H

#include "bandit/engine.h"

typedef struct recommendation_point {
    double mean, std; /* what the model expects; larger is better; std NaN: it is not known */
    bool known;       /* not all its values are set aside as outliers */
} recommendation_point;

/* Whether `a` is recommended rather than `b`. A point whose values are all set aside is only recommended if there is no
 * other: what the model expects there is not what was measured. Otherwise the best mean counts or, if `careful` because
 * there is noise, the best mean less one deviation: a single lucky measurement may have the best mean. A mean that is not
 * finite is never recommended. */
bool recommendation_beats(const recommendation_point *a, const recommendation_point *b, bool careful);

/* What no point is worse than. */
extern const recommendation_point RECOMMENDATION_NONE;

/* What the model expects at the n arms with results; the caller frees it. NULL: *err has the reason. */
bandit_prediction *recommendation_expect(const bandit_engine *engine, const bandit_arm_sum *sums, size_t n,
                                         bandit_error *err);

/* One of them, with its prediction. */
recommendation_point recommendation_point_of(const bandit_engine *engine, const bandit_arm_sum *sum,
                                             const bandit_prediction *p);

#endif
