/* The goals, the front and the picks in flight, in the units of the metrics' models. */
#include "core/engine/several_engine.h"

#include "core/algorithms/space_engine.h"
#include "core/base/allocate.h"
#include "core/engine/refitting_engine.h"
#include "core/learning/hyperparameters.h"

#include <math.h>
#include <stdlib.h>

static double in_model_units(const bandit_engine *inner, double reward)
{
    if (inner->table != &bandit_refitting_table || isinf(reward))
        return reward;
    const bandit_fitted *l = &((const bandit_refitting_engine *)inner)->fitted;
    return (bandit_fitted_fold(l, reward) - bandit_fitted_shift(l)) / bandit_fitted_unit(l);
}

/* A bound in the units of the model. Since revision 2 it is not cut as rewards are. */
static double bound_in_model_units(const bandit_several_engine *e, size_t j, double bound)
{
    const bandit_engine *inner = e->inner[j];
    if (e->base.options.revision < 2 || inner->table != &bandit_refitting_table || isinf(bound))
        return in_model_units(inner, bound);
    const bandit_fitted *l = &((const bandit_refitting_engine *)(const void *)inner)->fitted;
    return (bandit_fitted_fold_bound(l, bound) - bandit_fitted_shift(l)) / bandit_fitted_unit(l);
}

void bandit_several_goals(const bandit_several_engine *e, bandit_metric *goals)
{
    for (size_t j = 0; j < e->n; j++) {
        goals[j] = e->metrics[j];
        goals[j].threshold = in_model_units(e->inner[j], goals[j].threshold);
        goals[j].low = bound_in_model_units(e, j, goals[j].low);
        goals[j].high = bound_in_model_units(e, j, goals[j].high);
        if (e->base.options.revision < 2 || goals[j].low < goals[j].high)
            continue;
        if (goals[j].high < 0.0) /* bounds so far away that they are the same: only the nearer one counts */
            goals[j].low = -INFINITY;
        else
            goals[j].high = INFINITY;
    }
}

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
