/* What several rules share: confidence widths, and the choice of an arm by its score. */
#include "algorithms/exact_engine.h"

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
    /* The arm at that place among those that are left. */
    for (size_t w = 0; w < limits->n_withheld && limits->withheld[w] <= place; w++)
        place++;
    *arm = (uint32_t)place;
    return true;
}

/* Upper bounds up to constants (Srinivas et al. 2010, Thm. 5). t = 1 gives 0. */
static double gamma_bound(const bandit_options *o, size_t dimension, double t)
{
    double d = (double)dimension, exponent;
    switch (o->kernel.type) {
    case BANDIT_KERNEL_GAUSSIAN:
        return pow(log(t), d + 1.0);
    case BANDIT_KERNEL_MATERN:
        exponent = d * (d + 1.0) / (2.0 * o->kernel.nu + d * (d + 1.0));
        return pow(t, exponent) * log(t);
    case BANDIT_KERNEL_LINEAR:
        return d * log(t);
    case BANDIT_KERNEL_PRECOMPUTED: /* refused by bandit_options_check */
        break;
    }
    return NAN;
}

double bandit_exact_gamma(const bandit_exact_engine *e)
{
    const bandit_options *o = &e->engine.options;
    double t = (double)e->history.sums.observations + 1.0;
    switch (o->gamma) {
    case BANDIT_GAMMA_EXACT:
        return e->information_gain;
    case BANDIT_GAMMA_BOUND:
        return o->gamma_scale * gamma_bound(o, bandit_arms_dimension(e->engine.arms), t);
    case BANDIT_GAMMA_FIXED:
        return o->gamma_value;
    }
    return NAN;
}

double bandit_exact_improved_width(const bandit_exact_engine *e, double numerator)
{
    const bandit_options *o = &e->engine.options;
    return o->norm_bound +
           o->noise_std * sqrt(2.0 * (bandit_exact_gamma(e) + 1.0 + log(numerator / o->delta)));
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
