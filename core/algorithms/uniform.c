/* Uniform: every pick is a uniform arm; in a space, every parameter is uniform on its scale. Picks do not
 * depend on rewards, so a batch ends only at max_batch. */
#include "core/algorithms/exact_engine.h"

static bool choose_uniform(bandit_exact_engine *e, const bandit_select_limits *limits,
                           const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    return bandit_exact_uniform(e, BANDIT_PURPOSE_UNIFORM, e->n_picked, limits, arm);
}

static void choose_uniform_point(const bandit_exact_engine *e, const bandit_genome *genome, uint64_t attempt,
                                 double *genes, double *coded)
{
    uint64_t index = e->n_picked + (attempt << 32);
    bandit_genome_random(genome, e->engine.batch, BANDIT_PURPOSE_UNIFORM, index, genes);
    bandit_genome_point(genome, genes, coded);
}

static const bandit_exact_rule rule = {
    .end = BANDIT_END_NEVER,
    .reason = BANDIT_REASON_RANDOM,
    .choose = choose_uniform,
    .choose_point = choose_uniform_point,
};

static const bandit_algorithm_table table = BANDIT_EXACT_ENGINE_TABLE(rule);

const bandit_algorithm_entry bandit_uniform_algorithm = {
    .about =
        {
            .description = "Random candidates: the baseline.",
            .options = BANDIT_TAKES_ALWAYS | BANDIT_TAKES(MAX_BATCH),
        },
    .list = &table,
    .space = &table,
};
