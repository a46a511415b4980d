/* The bounds and thresholds of several metrics, in the units of their models. */
#include "core/engine/several_engine.h"

#include "core/engine/refitting_engine.h"
#include "core/learning/hyperparameters.h"

#include <math.h>

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
