/* Regularized evolution (Real et al. 2019, Alg. 1) on a finite set.
 *
 * The population is the last `population` results. Until there are that many, counting picks in flight, picks
 * are uniform. Then the parent is the best of `sample` members drawn with replacement (ties: the newest), and
 * its child is uniform among its NEIGHBOURS nearest arms. The latter is our mutation for finite sets.
 * Distance is measured in the scaled features, or by k(x,x) + k(x',x') − 2 k(x,x') for a precomputed set;
 * ties go to the lowest index. */
#include "core/algorithms/exact_engine.h"

#include "core/arms/arms_storage.h"

#include <assert.h>

enum { NEIGHBOURS = 10 };

static double squared_distance(const bandit_arms *arms, size_t a, size_t b)
{
    if (arms->dimension == 0) {
        const double *k = arms->matrix;
        size_t n = arms->n;
        return k[a * n + a] + k[b * n + b] - 2.0 * k[a * n + b];
    }
    double sum = 0.0;
    for (size_t j = 0; j < arms->dimension; j++) {
        double e = bandit_arms_feature(arms, a, j) - bandit_arms_feature(arms, b, j);
        sum += e * e;
    }
    return sum;
}

/* Finds the arms nearest to `parent`, except itself and withheld arms, nearest first. Returns how many. */
static size_t nearest(const bandit_arms *arms, size_t parent, const bandit_select_limits *limits,
                      uint32_t out[NEIGHBOURS])
{
    double distances[NEIGHBOURS];
    size_t n = 0, w = 0;
    for (size_t a = 0; a < arms->n; a++) {
        bool withheld = w < limits->n_withheld && limits->withheld[w] == a;
        if (withheld)
            w++;
        if (withheld || a == parent)
            continue;
        double distance = squared_distance(arms, parent, a);
        if (n == NEIGHBOURS && distance >= distances[n - 1])
            continue;
        size_t place = n < NEIGHBOURS ? n++ : NEIGHBOURS - 1;
        for (; place > 0 && distances[place - 1] > distance; place--) {
            distances[place] = distances[place - 1];
            out[place] = out[place - 1];
        }
        distances[place] = distance;
        out[place] = (uint32_t)a;
    }
    return n;
}

/* The best of a sample that is drawn with the random numbers from `first` on; ties go to the newest. */
static const bandit_pull *best_of_sample(const bandit_exact_engine *e, uint64_t first)
{
    const bandit_options *o = &e->engine.options;
    const bandit_history *h = &e->history;
    const bandit_pull *parent = NULL;
    for (uint64_t index = first; index < first + o->sample; index++) {
        const bandit_pull *member =
            h->log + bandit_random_below(o->seed, e->engine.batch, BANDIT_PURPOSE_EVOLUTION, index, h->n_log);
        if (!parent || member->reward > parent->reward ||
            (member->reward == parent->reward && member > parent))
            parent = member;
    }
    assert(parent); /* o->sample is at least 1 */
    return parent;
}

static bool has_population(const bandit_exact_engine *e)
{
    const bandit_history *h = &e->history;
    return h->n_log > 0 && h->n_log + e->n_pending + e->n_picked >= e->engine.options.population;
}

static bool choose_child(bandit_exact_engine *e, const bandit_select_limits *limits,
                         const bandit_executor *executor, uint32_t *arm)
{
    (void)executor;
    const bandit_options *o = &e->engine.options;
    /* The random numbers of this pick: the members of the sample, then the child. */
    const uint64_t first = e->n_picked << 32, last = first + o->sample;
    if (!has_population(e))
        return bandit_exact_uniform(e, BANDIT_PURPOSE_EVOLUTION, last, limits, arm);

    const bandit_pull *parent = best_of_sample(e, first);
    uint32_t children[NEIGHBOURS];
    size_t n = nearest(e->engine.arms, parent->arm, limits, children);
    if (n == 0) /* the parent may be the only arm that is not withheld */
        return bandit_exact_uniform(e, BANDIT_PURPOSE_EVOLUTION, last, limits, arm);
    *arm = children[bandit_random_below(o->seed, e->engine.batch, BANDIT_PURPOSE_EVOLUTION, last, n)];
    return true;
}

/* In a space, a child differs from its parent in one parameter (bandit_genome_mutate). */
static void choose_child_point(const bandit_exact_engine *e, const bandit_genome *genome, uint64_t attempt,
                               double *genes, double *coded)
{
    const bandit_options *o = &e->engine.options;
    const uint64_t first = e->n_picked << 32, last = first + o->sample + 16 * attempt;
    const uint64_t random = (uint64_t)1 << 20 | attempt; /* for random points: above those of the samples */
    bandit_genome_random(genome, e->engine.batch, BANDIT_PURPOSE_UNIFORM, (e->n_picked << 24) + random,
                         genes);
    if (has_population(e)) {
        bandit_arms_coded(e->engine.arms, best_of_sample(e, first)->arm, coded);
        bandit_genome_take(genome, coded, genes);
        bandit_genome_coded(genome, genes, coded); /* with the fixed values */
        bandit_genome_mutate(genome, e->engine.batch, BANDIT_PURPOSE_EVOLUTION, last, coded, genes);
    }
    bandit_genome_point(genome, genes, coded);
}

static const bandit_exact_rule rule = {
    .end = BANDIT_END_SEQUENTIAL,
    .keeps_population = true,
    .reason = BANDIT_REASON_EVOLUTION,
    .choose = choose_child,
    .choose_point = choose_child_point,
};

static const bandit_algorithm_table table = BANDIT_EXACT_ENGINE_TABLE(rule);

const bandit_algorithm_entry bandit_regularized_evolution_algorithm = {
    .about =
        {
            .description = "Tournaments in an ageing population: the baseline without a model.",
            .options = BANDIT_TAKES_ALWAYS | BANDIT_TAKES(POPULATION) | BANDIT_TAKES(SAMPLE),
        },
    .list = &table,
    .space = &table,
};
