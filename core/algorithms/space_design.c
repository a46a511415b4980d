#include "core/algorithms/space_design.h"

#include "core/arms/feasible.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 64,
    ALLOWED = 64,
    LEAST = 4,
    MOST = 10,
    FOR_BEST = 6,
    WITH_SOURCES = 3,
    PROMISING = 512,
    SOURCES_LEAD = 4 /* the first revision in which they do */
};

static uint64_t size_of(const bandit_engine *engine, bool seeks_best, bool with_sources)
{
    uint64_t n = engine->arms->space->n + 1, horizon = engine->options.horizon;
    n = seeks_best ? FOR_BEST : n < LEAST ? LEAST : n > MOST ? MOST : n;
    if (with_sources)
        n = WITH_SOURCES;
    if (horizon > 0 && n > horizon / 4)
        n = horizon / 4 > 0 ? horizon / 4 : 1;
    return n < engine->options.max_batch ? n : engine->options.max_batch;
}

uint64_t bandit_design_size(const bandit_engine *engine, bool seeks_best)
{
    return size_of(engine, seeks_best, engine->covariance.prior != NULL);
}

bool bandit_design_goes_on(const bandit_engine *engine, uint64_t n)
{
    const bandit_prior_mean *prior = engine->covariance.prior;
    return prior && prior->sources->contradict && !bandit_prior_mean_counts(prior) &&
           n < size_of(engine, true, false);
}

bool bandit_design_is_led(const bandit_engine *engine, uint64_t number)
{
    const bandit_prior_mean *prior = engine->covariance.prior;
    return engine->options.revision >= SOURCES_LEAD && prior && !prior->sources->contradict &&
           number % 2 == 1;
}

static bool has_default(const bandit_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->parameters[i].has_default)
            return true;
    }
    return false;
}

/* The genes of the default values; for parameters without a default, of the middle. `coded` is scratch. */
static void default_genes(const bandit_genome *g, double *coded, double *genes)
{
    for (size_t i = 0; i < g->space->n; i++) {
        const bandit_parameter *p = &g->space->parameters[i];
        genes[i] = bandit_genome_gene(g, i, 0.5);
        coded[i] = p->has_default ? p->default_value : (double)NAN;
    }
    bandit_genome_take(g, coded, genes);
}

static bool accepts(const bandit_engine *engine, const bandit_select_limits *limits, const double *coded,
                    bool strict)
{
    size_t arm = bandit_arms_find(engine->arms, coded);
    return arm == SIZE_MAX || (!strict && !bandit_is_withheld(limits, (uint32_t)arm));
}

/* How points are drawn: from one of two sequences, from the Sobol sequence of the first batch, or independently. */
typedef enum way { HALTON, SOBOL, FIRST_SOBOL, RANDOM } way;

/* In a space with rules: a point that keeps them. `genes` has room for ALLOWED points. */
static bandit_status choose_allowed(const bandit_engine *engine, bandit_genome *genome, uint64_t number,
                                    const bandit_select_limits *limits, way how, double *genes, double *coded,
                                    bool *found, bandit_error *err)
{
    size_t n = genome->space->n, drawn = 0, wanted = how == RANDOM ? ALLOWED / 8 : ALLOWED;
    bandit_polytope polytope = {0};
    bandit_status status = BANDIT_OK;
    if (how != RANDOM && number == 0 && engine->batch == 0 && has_default(genome->space)) {
        default_genes(genome, coded, genes);
        *found = bandit_feasible_repair(genome, &polytope, true, genes, coded) &&
                 accepts(engine, limits, coded, true);
    }
    if (polytope.no_memory)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_polytope_clear(&polytope);
    uint64_t stream = how == RANDOM ? engine->batch ^ (number + 1) << 40 : engine->batch;
    if (status == BANDIT_OK && !*found)
        status = bandit_feasible_draw(genome, stream, wanted, genes, &drawn, NULL, err);
    size_t stride = drawn / 8 | 1;
    for (size_t attempt = 0; status == BANDIT_OK && attempt < 2 * drawn && !*found; attempt++) {
        size_t place = how == RANDOM ? drawn - 1 - attempt % drawn : (number * stride + attempt) % drawn;
        bandit_genome_point(genome, genes + place * n, coded);
        *found = bandit_space_allows(genome->space, coded) &&
                 accepts(engine, limits, coded, how != RANDOM && attempt < drawn);
    }
    return status;
}

/* Chooses the one of `count` points of a sequence, from number `first` on, that is best in the sum of the sources.
 * `genes` is scratch. */
static bandit_status choose_promising(const bandit_engine *engine, bandit_genome *genome, uint64_t sequence,
                                      uint64_t first, uint32_t count, const bandit_select_limits *limits,
                                      double *genes, double *coded, bool *found, bandit_error *err)
{
    const bandit_sources *sources = engine->covariance.prior->sources;
    size_t n = genome->space->n, d = bandit_arms_dimension(engine->arms);
    double most = -INFINITY, *tried = bandit_alloc(n + d, sizeof *tried);
    if (!tried)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *features = tried + n;
    for (uint32_t i = 0; i < count && !bandit_pause(); i++) {
        bandit_genome_net(genome, sequence, (uint32_t)first + i, genes);
        bandit_genome_point(genome, genes, tried);
        if (!accepts(engine, limits, tried, true))
            continue;
        bandit_arms_scale_point(engine->arms, tried, features);
        double value = bandit_sources_promise_at(sources, features);
        if (!(value > most))
            continue;
        most = value;
        *found = true;
        memcpy(coded, tried, n * sizeof *coded);
    }
    free(tried);
    return bandit_pause_status(err);
}

static bandit_status choose(const bandit_engine *engine, uint64_t number, const bandit_select_limits *limits,
                            way how, double *coded, bool *found, bandit_error *err)
{
    const bandit_space *space = engine->arms->space;
    const uint64_t tries = TRIES;
    bandit_genome genome = {0};
    *found = false;
    double *genes = bandit_alloc(space->rules ? ALLOWED * space->n : space->n, sizeof *genes);
    if (!genes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_genome_init(&genome, space, limits->fixed, engine->options.seed, err);
    if (status == BANDIT_OK && space->rules) {
        status = choose_allowed(engine, &genome, number, limits, how, genes, coded, found, err);
        bandit_genome_clear(&genome);
        free(genes);
        return status;
    }
    if (status == BANDIT_OK && how == HALTON)
        status = bandit_genome_sequence(&genome, engine->batch, err);
    bool defaults = how != RANDOM && number == 0 && engine->batch == 0 && has_default(space);
    bool first = number == (has_default(space) ? 1 : 0) && engine->batch == 0;
    if (status == BANDIT_OK && how != RANDOM && first && engine->covariance.prior &&
        !engine->covariance.prior->sources->contradict)
        status =
            choose_promising(engine, &genome, engine->batch, 0, PROMISING, limits, genes, coded, found, err);
    if (status == BANDIT_OK && how == FIRST_SOBOL && bandit_design_is_led(engine, number))
        status = choose_promising(engine, &genome, 0, number * BANDIT_DESIGN_LED, BANDIT_DESIGN_LED, limits,
                                  genes, coded, found, err);
    for (uint64_t attempt = 0; status == BANDIT_OK && attempt < 2 * tries && !*found; attempt++) {
        uint64_t index = number + attempt * ((uint64_t)1 << 20);
        if (defaults && attempt == 0)
            default_genes(&genome, coded, genes);
        else if (how == RANDOM)
            bandit_genome_random(&genome, engine->batch, BANDIT_PURPOSE_UNIFORM, index + 1, genes);
        else if (how == SOBOL || how == FIRST_SOBOL)
            bandit_genome_net(&genome, how == SOBOL ? engine->batch : 0, (uint32_t)index, genes);
        else
            bandit_genome_sweep(&genome, index, genes);
        bandit_genome_point(&genome, genes, coded);
        *found = accepts(engine, limits, coded, how != RANDOM && attempt < tries);
    }
    bandit_genome_clear(&genome);
    free(genes);
    return status;
}

bandit_status bandit_design_next(const bandit_engine *engine, bool seeks_best, uint64_t number,
                                 const bandit_select_limits *limits, double *coded, bool *found,
                                 bandit_error *err)
{
    return choose(engine, number, limits, seeks_best ? SOBOL : HALTON, coded, found, err);
}

bandit_status bandit_design_later(const bandit_engine *engine, uint64_t number,
                                  const bandit_select_limits *limits, double *coded, bool *found,
                                  bandit_error *err)
{
    return choose(engine, number, limits, FIRST_SOBOL, coded, found, err);
}

bandit_status bandit_design_random(const bandit_engine *engine, uint64_t number,
                                   const bandit_select_limits *limits, double *coded, bool *found,
                                   bandit_error *err)
{
    return choose(engine, number, limits, RANDOM, coded, found, err);
}
