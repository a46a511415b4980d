#include "server/study/recommendation.h"

#include "bandit/insight.h"

#include <math.h>
#include <stdlib.h>

const recommendation_point RECOMMENDATION_NONE = {.mean = -INFINITY};

static double worth(const recommendation_point *p, bool careful)
{
    return careful && isfinite(p->std) ? p->mean - p->std : p->mean;
}

bool recommendation_beats(const recommendation_point *a, const recommendation_point *b, bool careful)
{
    if (!isfinite(a->mean))
        return false;
    return a->known != b->known && isfinite(b->mean) ? a->known : worth(a, careful) > worth(b, careful);
}

bandit_prediction *recommendation_expect(const bandit_engine *engine, const bandit_arm_sum *sums, size_t n,
                                         bandit_error *err)
{
    uint32_t *arms = malloc((n + 1) * sizeof *arms);
    bandit_prediction *list = calloc(n + 1, sizeof *list);
    bool evaluated = arms && list;
    for (size_t i = 0; evaluated && i < n; i++)
        arms[i] = sums[i].arm;
    if (evaluated)
        evaluated = bandit_insight_pulled(engine, arms, n, list, err) == BANDIT_OK;
    else
        *err = (bandit_error){.status = BANDIT_NO_MEMORY};
    free(arms);
    if (evaluated)
        return list;
    free(list);
    return NULL;
}

recommendation_point recommendation_point_of(const bandit_engine *engine, const bandit_arm_sum *sum,
                                             const bandit_prediction *p)
{
    return (recommendation_point){.mean = p->mean,
                                  .std = sqrt(p->variance),
                                  .known = bandit_insight_set_aside(engine, sum->arm) < sum->count};
}
