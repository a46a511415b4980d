/* The bounds and thresholds of several metrics, in the units of their models.
 *
 * Some metrics take few values, and meet a bound exactly: 0 or 1, a number of parts, a violation that is cut at 0. A
 * value on the bound keeps it, but a model, whose mean there is a little inside or outside, gives it a probability of
 * about 1/2. So if means of arms are equal to a bound, the models' bound is halfway between it and the nearest mean
 * beyond it, as in a continuity correction. If no mean is beyond it, the distance of the nearest one inside counts.
 * († ours) */
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

/* The bound that the model of a metric uses. side: 1 if values beyond it are larger, −1 if they are smaller. Sums of
 * equal values are rounded, so means are compared to ten digits. */
static double beside_values(const bandit_engine *inner, double bound, double side)
{
    bandit_checkpoint now;
    double beyond = INFINITY, inside = INFINITY;
    bool met = false;
    if (isinf(bound) || !inner->started) /* predictions may be asked for before the first batch */
        return bound;
    bandit_engine_checkpoint(inner, &now);
    for (size_t i = 0; i < now.n_sums; i++) {
        double distance = side * (now.sums[i].sum / (double)now.sums[i].count - bound);
        if (fabs(distance) <= 1e-10 * fabs(bound))
            met = true;
        else if (distance > 0.0)
            beyond = fmin(beyond, distance);
        else
            inside = fmin(inside, -distance);
    }
    double gap = isfinite(beyond) ? beyond : inside;
    return met && isfinite(gap) ? bound + side * 0.5 * gap : bound;
}

void bandit_several_goals(const bandit_several_engine *e, bandit_metric *goals)
{
    for (size_t j = 0; j < e->n; j++) {
        goals[j] = e->metrics[j];
        goals[j].threshold = in_model_units(e->inner[j], goals[j].threshold);
        if (e->base.options.revision >= 3) {
            goals[j].low = beside_values(e->inner[j], goals[j].low, -1.0);
            goals[j].high = beside_values(e->inner[j], goals[j].high, 1.0);
        }
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
