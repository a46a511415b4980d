/* What several metrics do while results are equal and teach nothing: they go on at random, as one metric does. While
 * the results of some objectives alone are equal, the others would lead the search to where only they are good. So since
 * revision SOME_SINCE every EVERY-th pick is then at random. The objective may be the same everywhere, so it must not cost
 * more. */
#include "core/engine/several_engine.h"

#include "core/algorithms/bbkb.h"
#include "core/algorithms/space_design.h"
#include "core/algorithms/space_engine.h"

enum { SOME_SINCE = 4, EVERY = 4 };

static const bandit_ledger *ledger_of(const bandit_several_engine *e, size_t j)
{
    const bandit_engine *leaf = bandit_several_leaf(e, j);
    if (!bandit_arms_is_open_space(e->base.arms))
        return &bandit_bbkb_in_force(leaf)->ledger;
    const bandit_space_engine *space = (const bandit_space_engine *)leaf;
    return &space->batches[space->in_force].ledger;
}

/* The number of the next pick. */
static uint64_t number_of(const bandit_several_engine *e)
{
    const bandit_engine *leaf = bandit_several_leaf(e, 0);
    if (!bandit_arms_is_open_space(e->base.arms))
        return e->base.batch + bandit_bbkb_in_force(leaf)->n_picks;
    const bandit_space_engine *space = (const bandit_space_engine *)leaf;
    return e->base.batch + space->batches[space->in_force].n_picks;
}

bool bandit_several_is_flat(const bandit_several_engine *e)
{
    const bandit_joint *joint = &e->joint;
    bool some = false, all = true, one = false;
    if (e->base.options.revision < 2)
        return false;
    for (size_t j = 0; j < e->n; j++) {
        const bandit_metric *m = &joint->metrics[j];
        bool flat = bandit_ledger_is_flat(ledger_of(e, j));
        some |= flat && (m->low > -INFINITY || m->high < INFINITY);
        all &= flat || !m->objective;
        one |= flat && m->objective;
    }
    if (joint->seeks_bounds)
        return some;
    bool now = e->base.options.revision >= SOME_SINCE && number_of(e) % EVERY == 0;
    return (all && !joint->bounded) || (one && now);
}
