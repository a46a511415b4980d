/* The joint acquisition: the front and the picks in flight. */
#include "core/engine/several_engine.h"

#include "core/algorithms/space_engine.h"
#include "core/base/allocate.h"

#include <stdlib.h>

/* Evaluates one arm: mean and known get e->n entries. */
static bandit_status look(bandit_several_engine *e, uint32_t arm, double *mean, double *known,
                          bandit_error *err)
{
    if (bandit_arms_is_open_space(e->base.arms))
        return bandit_several_look_space(e, &arm, 1, mean, known, err);
    bandit_several_look_list(e, arm, mean, known);
    return BANDIT_OK;
}

/* See bandit_several_engine.stagnates. Arms are in the order of their first visit. */
static size_t stagnation(const bandit_several_engine *e, const uint32_t *arms, size_t n)
{
    const bandit_joint *joint = &e->joint;
    size_t leader = 0, visited = 0;
    for (size_t i = 0; i < joint->n_points; i++)
        if (joint->points[i * joint->k] > joint->points[leader * joint->k] + 1e-3)
            leader = i;
    while (visited < n && joint->n_points > 0 && arms[visited] <= joint->arms[leader])
        visited++;
    return joint->n_points > 0 ? n - visited : 0;
}

bandit_status bandit_several_start_joint(bandit_several_engine *e, bandit_error *err)
{
    bandit_checkpoint now;
    bandit_metric goals[BANDIT_MOST_METRICS];
    bandit_engine_checkpoint(e->inner[0], &now);
    size_t n = now.n_sums;
    uint32_t *arms = bandit_alloc(n, sizeof *arms);
    double *mean = bandit_alloc(2 * n * e->n, sizeof *mean), *known = mean ? mean + n * e->n : NULL;
    bandit_status status = BANDIT_OK;
    if (!arms || !mean)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        arms[i] = now.sums[i].arm;
    if (status == BANDIT_OK) {
        bandit_several_goals(e, goals);
        status = bandit_arms_is_open_space(e->base.arms)
                     ? bandit_several_look_space(e, arms, n, mean, known, err)
                     : bandit_several_look_front(e, goals, arms, &n, mean, known, err);
    }
    if (status == BANDIT_OK)
        status = bandit_joint_start(&e->joint, goals, e->n, e->base.options.reference,
                                    bandit_space_keeps_apart(&e->base), arms, n, mean, known, err);
    if (status == BANDIT_OK && bandit_arms_is_open_space(e->base.arms))
        e->stagnates = stagnation(e, arms, n);
    free(arms);
    free(mean);
    e->has_joint = status == BANDIT_OK;
    e->space.of_context = false;
    e->n_joined = 0;
    return status;
}

bandit_status bandit_several_join_next(bandit_several_engine *e, uint32_t number, bandit_error *err)
{
    double mean[BANDIT_MOST_METRICS], known[BANDIT_MOST_METRICS];
    bandit_status status = look(e, e->out[e->n_joined], mean, known, err);
    if (status == BANDIT_OK)
        status = bandit_joint_take_out(&e->joint, number, mean, known, err);
    e->n_joined += status == BANDIT_OK;
    e->has_joint = status == BANDIT_OK;
    return status;
}

bandit_status bandit_several_join(bandit_several_engine *e, bandit_error *err)
{
    bool current = e->has_joint && !e->space.of_context;
    bandit_status status = current ? BANDIT_OK : bandit_several_start_joint(e, err);
    while (status == BANDIT_OK && e->n_joined < e->n_out)
        status = bandit_several_join_next(e, e->out[e->n_joined], err);
    return status;
}
