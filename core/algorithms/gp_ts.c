/* GP-TS ([CG17] Alg. 2) and asynchronous Thompson sampling (Kandasamy et al. 2018).
 *
 * f_t is a draw of the Gaussian process with mean mu_{t−1} and covariance v_t^2 k_{t−1}, jointly over all
 * arms, and x_t its argmax. v_t = B + R sqrt(2 (gamma_{t−1} + 1 + ln(2/delta))), divided by `scale`.
 *
 * A draw starts from a draw f0 of the prior on all arms (prior_sampler.h), which is conditioned on the pulls
 * by Matheron's rule (bandit_exact_condition), O(A r + A J + J^2) for a prior factor of rank r and J columns
 * of the posterior. It is exact, jointly over all arms, if f0 is: with a precomputed or linear kernel, for up
 * to BANDIT_PRIOR_EXACT_ARMS arms, and for Gaussian kernels of low rank. Otherwise f0 comes from random
 * features, new ones for every draw. Mean and covariance are then still exact, but the distribution is only
 * approximately normal.
 *
 * Picks in flight are not conditioned on. Independent draws keep simultaneous picks apart: both algorithms
 * take one draw per pick, keyed by the batch and the number of the pick in it. */
#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_engine.h"

static double width(const bandit_options *o, double gamma, uint64_t observations)
{
    (void)observations;
    return bandit_confidence_improved(o, gamma, 2.0) / o->scale;
}

void bandit_exact_draw(bandit_exact_engine *e, uint64_t number, const bandit_executor *executor)
{
    const uint64_t seed = e->engine.options.seed, batch = e->engine.batch;
    /* The prior uses the lower half of the draw's indices, the noise the upper half. */
    const uint64_t noises = (number << 40) + ((uint64_t)1 << 39);
    bandit_prior_sampler_draw(e->sampler, seed, batch, number, executor, e->score);
    for (size_t j = 0; j < bandit_exact_solid(e->posterior); j++)
        e->noise[j] = bandit_random_normal(seed, batch, BANDIT_PURPOSE_POSTERIOR, noises + j);
    bandit_exact_condition(e->posterior, e->score, e->noise, executor);
}

static bool choose_sample(bandit_exact_engine *e, const bandit_select_limits *limits,
                          const bandit_executor *executor, uint32_t *arm)
{
    const uint64_t draws = (uint64_t)1 << 24; /* number of different draws in a batch */
    bandit_exact_draw(e, e->n_picked % draws, executor);
    const double *mean = bandit_exact_mean(e->posterior);
    for (size_t a = 0; a < e->history.n_arms; a++)
        e->score[a] = mean[a] + e->width * e->score[a];
    return bandit_exact_best(e->score, e->history.n_arms, limits, arm);
}

static const bandit_exact_rule rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .samples = true,
    .width = width,
    .reason = BANDIT_REASON_SAMPLE,
    .choose = choose_sample,
};

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_PULLED,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .samples = true,
    .acquire = BANDIT_ACQUIRE_MEAN,
    .gain_width = width,
};

static const bandit_algorithm_table list_table = BANDIT_EXACT_ENGINE_TABLE(rule);
static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_gp_ts_algorithm = {
    .about =
        {
            .description = "Exact GP, Thompson sampling with the width of Chowdhury and Gopalan.",
            .options = BANDIT_TAKES_GAIN | BANDIT_TAKES(SCALE),
            .lambda_by_horizon = true,
        },
    .list = &list_table,
    .space = &space_table,
};

const bandit_algorithm_entry bandit_async_ts_algorithm = {
    .about =
        {
            .description =
                "Exact GP, Thompson sampling for asynchronous workers: each pick has its own sample.",
            .options = BANDIT_TAKES_GAIN | BANDIT_TAKES(SCALE),
        },
    .list = &list_table,
    .space = &space_table,
};
