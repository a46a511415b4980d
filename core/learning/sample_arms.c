/* Which arms a fit uses if there are many.
 *
 * Usually these are up to MOST_ARMS, every n-th, with inducing points. Then 128 points must explain all of them, and
 * what they do not explain counts as noise. Near an optimum, where a search has many results close together, this noise is
 * orders of magnitude above the true one: the digits of the best values disappear in it, and the search stands still. So
 * settings->all_exact fits BANDIT_SAMPLE_EXACT arms exactly instead: the newest ones (arms are in the order of their first visit), which a search has placed where the
 * digits matter, and as many others, evenly. They are not chosen by their rewards, because the best of many noisy rewards
 * are lucky. A few more arms, with the best rewards, are only there to be judged: a wrong reward among them would lead the
 * search. All of this is ours. */
#include "core/base/allocate.h"
#include "core/learning/sample.h"

#include <stdlib.h>

enum {
    MOST_ARMS = 1000, /* with inducing points */
    BEST = 8
};

static void take_every_nth(bandit_sample *s, const bandit_ledger *ledger)
{
    size_t step = 1 + (ledger->n - 1) / MOST_ARMS;
    for (size_t i = 0; i < ledger->n; i += step)
        s->takes[i] = true;
}

static void take_newest(bandit_sample *s, const bandit_ledger *ledger)
{
    size_t old = ledger->n - BANDIT_SAMPLE_NEWEST, others = BANDIT_SAMPLE_EXACT - BANDIT_SAMPLE_NEWEST;
    for (size_t i = 0; i < others; i++)
        s->takes[i * old / others] = true;
    for (size_t i = old; i < ledger->n; i++)
        s->takes[i] = true;
}

static void take_best(bandit_sample *s, const bandit_ledger *ledger)
{
    for (int k = 0; k < BEST; k++) {
        size_t best = ledger->n;
        for (size_t i = 0; i < ledger->n; i++) {
            bool better = best == ledger->n ||
                          bandit_sample_mean(&ledger->sums[i]) > bandit_sample_mean(&ledger->sums[best]);
            if (!s->takes[i] && better)
                best = i;
        }
        if (best < ledger->n)
            s->takes[best] = true;
    }
}

bandit_status bandit_sample_choose_arms(bandit_sample *s, const bandit_ledger *ledger, bandit_error *err)
{
    s->takes = bandit_alloc_zeroed(ledger->n, sizeof *s->takes);
    if (!s->takes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (!s->settings->all_exact || ledger->n <= BANDIT_SAMPLE_EXACT) {
        take_every_nth(s, ledger);
        return BANDIT_OK;
    }
    take_newest(s, ledger);
    take_best(s, ledger);
    return BANDIT_OK;
}
