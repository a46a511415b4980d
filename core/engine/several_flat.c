/* What several metrics do while results are equal and teach nothing: they go on at random, as one metric does. */
#include "core/engine/several_engine.h"

#include "core/algorithms/bbkb.h"
#include "core/algorithms/space_design.h"
#include "core/algorithms/space_engine.h"

static const bandit_ledger *ledger_of(const bandit_several_engine *e, size_t j)
{
    const bandit_engine *leaf = bandit_several_leaf(e, j);
    if (!bandit_arms_is_open_space(e->base.arms))
        return &bandit_bbkb_in_force(leaf)->ledger;
    const bandit_space_engine *space = (const bandit_space_engine *)leaf;
    return &space->batches[space->in_force].ledger;
}

bool bandit_several_is_flat(const bandit_several_engine *e)
{
    const bandit_joint *joint = &e->joint;
    bool some = false, all = true;
    if (e->base.options.revision < 2)
        return false;
    for (size_t j = 0; j < e->n; j++) {
        const bandit_metric *m = &joint->metrics[j];
        bool flat = bandit_ledger_is_flat(ledger_of(e, j));
        some |= flat && (m->low > -INFINITY || m->high < INFINITY);
        all &= flat || !m->objective;
    }
    return joint->seeks_bounds ? some : all && !joint->bounded;
}
