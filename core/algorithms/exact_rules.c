/* Shared by several rules: confidence widths, and the choice of an arm by its score. */
#include "core/algorithms/exact_engine.h"

#include "core/selection/confidence.h"

#include <math.h>

bool bandit_exact_best(const double *score, size_t n, const bandit_select_limits *limits, uint32_t *arm)
{
    size_t w = 0;
    bool found = false;
    for (size_t a = 0; a < n; a++) {
        if (w < limits->n_withheld && limits->withheld[w] == a) {
            w++;
            continue;
        }
        if (!found || score[a] > score[*arm]) {
            *arm = (uint32_t)a;
            found = true;
        }
    }
    return found;
}

bool bandit_exact_uniform(const bandit_exact_engine *e, bandit_purpose purpose, uint64_t index,
                          const bandit_select_limits *limits, uint32_t *arm)
{
    size_t n = e->history.n_arms;
    if (limits->n_withheld >= n)
        return false;
    uint64_t place =
        bandit_random_below(e->engine.options.seed, e->engine.batch, purpose, index, n - limits->n_withheld);
    /* The arm at that position among the arms that are not withheld. */
    for (size_t w = 0; w < limits->n_withheld && limits->withheld[w] <= place; w++)
        place++;
    *arm = (uint32_t)place;
    return true;
}

double bandit_exact_gamma(const bandit_exact_engine *e)
{
    return bandit_confidence_gamma(&e->engine.options, bandit_arms_dimension(e->engine.arms),
                                   e->history.sums.observations, e->information_gain);
}

bool bandit_exact_choose_ucb(bandit_exact_engine *e, const bandit_select_limits *limits,
                             const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    const double *mean = bandit_exact_mean(e->posterior);
    const double *variance = bandit_exact_selection_variance(e->posterior);
    for (size_t a = 0; a < e->history.n_arms; a++)
        e->score[a] = mean[a] + e->width * sqrt(variance[a]);
    return bandit_exact_best(e->score, e->history.n_arms, limits, arm);
}
