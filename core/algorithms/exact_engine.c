#include "core/algorithms/exact_engine.h"
#include "core/algorithms/space_design.h"
#include "core/arms/feasible.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_PICKS = 64 }; /* number of hallucinated columns for which memory is reserved at once */

/* The rule's factor of the Bayesian standard deviation. */
static double width(const bandit_exact_engine *e)
{
    return e->rule->width(&e->engine.options, bandit_exact_gamma(e), e->history.sums.observations);
}

/* Rejects a need beyond the memory limit, naming the bytes needed and an algorithm that needs less. */
static bandit_status check_memory(const bandit_exact_engine *e, size_t n_solid, size_t n_hallucinated,
                                  size_t workers, bandit_error *err)
{
    double need = (double)bandit_engine_own_memory(&e->engine) + (double)bandit_history_memory(&e->history);
    if (!e->engine.has_model)
        return bandit_engine_check_memory(&e->engine, need, err);
    need += (double)bandit_exact_need(e->posterior, &e->engine.covariance, n_solid, n_hallucinated, workers) +
            (double)(e->engine.arms->n_tiles * BANDIT_TILE * sizeof *e->score) +
            (double)(bandit_capacity_kept(e->capacity_pulled, n_solid) * sizeof *e->pulled);
    if (e->rule->samples)
        need += (double)(bandit_capacity(e->capacity_noise, n_solid) * sizeof *e->noise);
    if (e->sampler)
        need += (double)bandit_prior_sampler_memory(e->sampler);
    else if (e->rule->samples)
        need += (double)bandit_prior_sampler_need(&e->engine.covariance);
    if (need <= (double)e->engine.memory_limit)
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_MEMORY_LIMIT, "",
                       "%s with %zu of %zu candidates pulled would need %.0f MB; the limit is %.0f MB; "
                       "bbkb needs far less",
                       bandit_algorithm_name(e->engine.options.algorithm), n_solid, e->history.n_arms,
                       ceil(need / 1e6), (double)e->engine.memory_limit / 1e6);
}

bandit_status bandit_exact_engine_open(bandit_engine *engine, bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    const bandit_options *o = &engine->options;
    size_t n = bandit_arms_count(engine->arms);
    e->rule = engine->table->rule;
    size_t keep = e->rule->keeps_population ? o->population : 1;
    bandit_history_init(&e->history, n, engine->has_model ? 0 : keep);
    bandit_status status = check_memory(e, 1, 1, 1, err);
    if (status == BANDIT_OK && engine->has_model)
        status = bandit_exact_new(&e->posterior, &engine->covariance, o->lambda, err);
    if (status == BANDIT_OK && e->rule->samples)
        status = bandit_prior_sampler_new(&e->sampler, &engine->covariance, err);
    if (status != BANDIT_OK)
        return status;
    if (e->posterior)
        e->score = bandit_alloc(bandit_exact_stride(e->posterior), sizeof *e->score);
    if (e->posterior && !e->score)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (e->rule->width)
        e->width = width(e); /* for predictions before the first batch */
    return BANDIT_OK;
}

void bandit_exact_engine_close(bandit_engine *engine)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    bandit_history_clear(&e->history);
    bandit_exact_free(e->posterior);
    bandit_prior_sampler_free(e->sampler);
    free(e->score);
    free(e->noise);
    free(e->pulled);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static bool looks_ahead(const bandit_exact_engine *e)
{
    return e->rule->hallucinates || (e->initial && e->engine.options.init == BANDIT_INIT_UNCERTAINTY);
}

/* Adds a pull in flight: the ratio grows, and the selection variances shrink if they will be used. */
static void take_out(bandit_exact_engine *e, uint32_t arm, const bandit_executor *executor)
{
    if (!e->posterior)
        return;
    double lambda = e->engine.options.lambda;
    double variance = bandit_exact_variance(e->posterior)[arm];
    if (looks_ahead(e)) {
        double before = bandit_exact_hallucinate(e->posterior, arm, executor);
        if (e->rule->end == BANDIT_END_PRODUCT) {
            e->ratio *= 1.0 + before / lambda;
            return;
        }
    }
    e->ratio += variance / lambda;
}

/* Reserves all memory that commit, build and freeze use. The current state stays as it is. */
static bandit_status reserve_batch(bandit_exact_engine *e, size_t n_solid, size_t n_pulled, size_t n_pending,
                                   const bandit_executor *executor, bandit_error *err)
{
    if (e->posterior) {
        bandit_status status = check_memory(e, n_solid, n_pending + 1, executor->workers, err);
        if (status == BANDIT_OK)
            status = bandit_exact_reserve(e->posterior, n_solid, n_pending + 1, executor->workers, err);
        if (status != BANDIT_OK)
            return status;
    }
    if (!bandit_reserve_keep((void **)&e->pulled, &e->capacity_pulled, e->n_pulled, n_pulled,
                             sizeof *e->pulled))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (e->rule->samples && !bandit_reserve((void **)&e->noise, &e->capacity_noise, n_solid, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return BANDIT_OK;
}

/* Builds the posterior from base and log. It makes the same calls as a running engine has made, so the bits
 * agree. */
static void build(bandit_exact_engine *e, const bandit_executor *executor)
{
    enum { AT_ONCE = 64 };
    const bandit_history *h = &e->history;
    bandit_exact_reset(e->posterior);
    for (size_t start = 0; start < h->base.n && !bandit_pause(); start += AT_ONCE) {
        bandit_pull pulls[AT_ONCE];
        size_t n = h->base.n - start < AT_ONCE ? h->base.n - start : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            const bandit_arm_sum *sum = &h->base.sums[start + i];
            pulls[i] = (bandit_pull){.arm = sum->arm,
                                     .weight = sum->weight,
                                     .repeats = sum->count,
                                     .reward = sum->sum / (double)sum->count};
        }
        bandit_exact_observe(e->posterior, pulls, n, true, executor);
    }
    bandit_exact_observe(e->posterior, h->log, h->n_log, false, executor);
}

static double radius(const bandit_engine *engine, const void *batch)
{
    (void)batch;
    return width((const bandit_exact_engine *)engine);
}

/* Sets the constants of the batch, and hallucinates the picks in flight. Allocates nothing and cannot
 * fail. */
static void freeze(bandit_exact_engine *e, const bandit_pick *pending, size_t n_pending,
                   const bandit_executor *executor)
{
    const bandit_ledger *sums = &e->history.sums;
    e->n_pulled = sums->n;
    for (size_t i = 0; i < sums->n; i++)
        e->pulled[i] = sums->sums[i].arm;
    e->initial = sums->n == 0;
    e->n_pending = n_pending;
    e->n_picked = 0;
    e->ratio = 1.0;
    if (!e->posterior)
        return;

    const double *mean = bandit_exact_mean(e->posterior);
    e->information_gain = bandit_exact_information_gain(e->posterior);
    if (e->rule->width && e->engine.grows_norm_bound)
        bandit_engine_grow_norm_bound(&e->engine, bandit_exact_mean_norm(e->posterior), radius, NULL);
    e->width = e->rule->width ? width(e) : 0.0;
    e->incumbent = sums->n > 0 ? -INFINITY : 0.0; /* before the first reward, the prior mean */
    for (size_t i = 0; i < sums->n; i++)
        e->incumbent = fmax(e->incumbent, mean[sums->sums[i].arm]);
    for (size_t i = 0; i < n_pending; i++)
        take_out(e, pending[i].arm, executor);
}

bandit_status bandit_exact_engine_begin_batch(bandit_engine *engine, const bandit_result *results,
                                              size_t n_results, const bandit_pick *pending, size_t n_pending,
                                              const bandit_executor *executor, bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    bandit_history *h = &e->history;
    h->n_arms = bandit_arms_count(engine->arms); /* a space grows */
    bandit_status status = bandit_history_prepare(h, results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    bool fold = h->fold;
    size_t n_log = h->n_log, n_solid = fold ? h->next.n : bandit_history_columns(h) + n_results;
    status = reserve_batch(e, n_solid, h->next.n, n_pending, executor, err);
    if (status != BANDIT_OK)
        return status;

    bandit_history_commit(h, results, n_results);
    if (e->posterior && fold) {
        build(e, executor);
    } else if (e->posterior) {
        bandit_exact_forget(e->posterior);
        bandit_exact_observe(e->posterior, h->log + n_log, n_results, false, executor);
    }
    freeze(e, pending, n_pending, executor);
    return BANDIT_OK;
}

bandit_status bandit_exact_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                        const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    return bandit_history_amend(&((bandit_exact_engine *)engine)->history, amendments, n, sums, n_sums, err);
}

bandit_status bandit_exact_engine_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                          const bandit_pick *pending, size_t n_pending,
                                          const bandit_executor *executor, bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    bandit_status status = bandit_history_load(&e->history, checkpoint, err);
    if (status == BANDIT_OK)
        status = reserve_batch(e, bandit_history_columns(&e->history), e->history.sums.n, n_pending, executor,
                               err);
    if (status != BANDIT_OK)
        return status;
    if (e->posterior)
        build(e, executor);
    freeze(e, pending, n_pending, executor);
    return BANDIT_OK;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

/* Reserves memory for `more` hallucinated picks, and if possible for many at once. */
static bandit_status make_room(bandit_exact_engine *e, size_t more, const bandit_executor *executor,
                               bandit_error *err)
{
    if (!e->posterior || !looks_ahead(e) || bandit_exact_has_room(e->posterior, more, executor->workers))
        return BANDIT_OK;
    size_t n_solid = bandit_exact_solid(e->posterior), n_out = bandit_exact_hallucinated(e->posterior);
    size_t wanted = n_out + (more > MORE_PICKS ? more : MORE_PICKS);
    if (check_memory(e, n_solid, wanted, executor->workers, NULL) != BANDIT_OK)
        wanted = n_out + more;
    bandit_status status = check_memory(e, n_solid, wanted, executor->workers, err);
    return status != BANDIT_OK ? status
                               : bandit_exact_reserve(e->posterior, n_solid, wanted, executor->workers, err);
}

/* Finds the largest selection variance (paper's scale) among the arms that may be chosen. Returns false if
 * none may. */
static bool most_uncertain(const bandit_exact_engine *e, const bandit_select_limits *limits, uint32_t *arm,
                           double *variance)
{
    const double *selection = bandit_exact_selection_variance(e->posterior);
    if (!bandit_exact_best(selection, e->history.n_arms, limits, arm))
        return false;
    *variance = selection[*arm] / e->engine.options.lambda;
    return true;
}

static bool samples_uncertainty(const bandit_exact_engine *e)
{
    return e->initial && e->engine.options.init == BANDIT_INIT_UNCERTAINTY;
}

/* Why the batch is over; BANDIT_STOP_NONE: it is not. */
static bandit_stop_rule stop_rule(const bandit_exact_engine *e, const bandit_select_limits *limits)
{
    const bandit_options *o = &e->engine.options;
    uint32_t arm;
    double variance;
    uint64_t n_out = e->n_pending + e->n_picked;
    if (samples_uncertainty(e)) { /* [BBKB] Alg. 3 */
        if (n_out > 0 && most_uncertain(e, limits, &arm, &variance) && variance < 1.0 / o->parallelism)
            return BANDIT_STOP_INITIAL;
    } else if (e->initial) {
        if (n_out > 0)
            return BANDIT_STOP_INITIAL;
    } else {
        switch (e->rule->end) {
        case BANDIT_END_SEQUENTIAL:
            if (e->n_picked > 0)
                return BANDIT_STOP_SEQUENTIAL;
            break;
        case BANDIT_END_PRODUCT:
            if (e->ratio > o->ratio_bound)
                return BANDIT_STOP_GLOBAL;
            break;
        case BANDIT_END_NEVER:
            break;
        }
    }
    return e->n_picked >= o->max_batch ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_NONE;
}

static bool choose(bandit_exact_engine *e, const bandit_select_limits *limits,
                   const bandit_executor *executor, uint32_t *arm)
{
    double variance;
    if (samples_uncertainty(e))
        return most_uncertain(e, limits, arm, &variance);
    if (e->initial && e->n_pending + e->n_picked == 0)
        return bandit_exact_uniform(e, BANDIT_PURPOSE_INITIAL_ARM, 0, limits, arm);
    return e->rule->choose(e, limits, executor, arm);
}

/* In a space with rules, replaces a point that breaks them: a child is repaired, any other point is drawn. */
static bandit_status keep_rules(const bandit_exact_engine *e, const bandit_genome *genome, uint64_t attempt,
                                const bandit_select_limits *limits, double *genes, double *coded, bool *found,
                                bandit_error *err)
{
    bandit_polytope polytope = {0};
    *found = bandit_space_allows(genome->space, coded);
    if (*found)
        return BANDIT_OK;
    if (!e->rule->keeps_population)
        return bandit_design_random(&e->engine, e->n_picked + (attempt << 12), limits, coded, found, err);
    *found = bandit_feasible_repair(genome, &polytope, true, genes, coded);
    bool no_memory = polytope.no_memory;
    bandit_polytope_clear(&polytope);
    return no_memory ? bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory") : BANDIT_OK;
}

/* Chooses the next point of a space, and appends it if it is new. *found is false if all points tried are
 * withheld. */
static bandit_status choose_in_space(bandit_exact_engine *e, const bandit_select_limits *limits,
                                     uint32_t *arm, bool *found, bandit_error *err)
{
    enum { TRIES = 256 };
    bandit_arms *arms = e->engine.arms;
    size_t n = bandit_arms_point_width(arms), known = SIZE_MAX;
    bandit_genome genome = {0};
    double *genes = bandit_alloc(2 * n, sizeof *genes);
    *found = false;
    if (!genes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *coded = genes + n;
    bandit_status status =
        bandit_genome_init(&genome, arms->space, limits->fixed, e->engine.options.seed, err);
    for (uint64_t attempt = 0; status == BANDIT_OK && attempt < TRIES && !*found; attempt++) {
        e->rule->choose_point(e, &genome, attempt, genes, coded);
        status = keep_rules(e, &genome, attempt, limits, genes, coded, found, err);
        if (status != BANDIT_OK || !*found)
            continue;
        known = bandit_arms_find(arms, coded);
        *found = known == SIZE_MAX || !bandit_is_withheld(limits, (uint32_t)known);
    }
    if (status == BANDIT_OK && *found) {
        *arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(arms) : known);
        if (known == SIZE_MAX)
            status = bandit_arms_append(arms, coded, 1, err);
        e->history.n_arms = bandit_arms_count(arms);
    }
    bandit_genome_clear(&genome);
    free(genes);
    return status;
}

bandit_status bandit_exact_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    size_t n = 0;
    bandit_stop_rule stop;
    for (;;) {
        stop = limits->remaining <= n ? BANDIT_STOP_HORIZON
               : limits->beyond_bound ? BANDIT_STOP_NONE
                                      : stop_rule(e, limits);
        if (stop != BANDIT_STOP_NONE || n == limits->max_picks)
            break;
        bandit_status status = bandit_pause_status(err);
        if (status == BANDIT_OK)
            status = make_room(e, 1, executor, err);
        if (status != BANDIT_OK && n == 0)
            return status;
        if (status != BANDIT_OK)
            break; /* keep the picks made; the next call reports the error */
        uint32_t arm = 0;
        bool found = true;
        if (bandit_arms_is_open_space(engine->arms))
            status = choose_in_space(e, limits, &arm, &found, err);
        else
            found = choose(e, limits, executor, &arm);
        if (status != BANDIT_OK && n == 0)
            return status;
        if (status != BANDIT_OK)
            break;
        if (!found) {
            stop = BANDIT_STOP_EXHAUSTED;
            break;
        }
        double variance =
            e->posterior ? bandit_exact_variance(e->posterior)[arm] / engine->options.lambda : 0.0;
        picks[n++] = (bandit_pick){.arm = arm, .variance = variance};
        take_out(e, arm, executor);
        e->n_picked++;
    }
    *out = (bandit_selection){.n_picks = n, .ratio = e->ratio, .stop_rule = stop};
    return BANDIT_OK;
}

bandit_status bandit_exact_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks,
                                               size_t n_picks, const bandit_executor *executor,
                                               bandit_error *err)
{
    bandit_exact_engine *e = (bandit_exact_engine *)engine;
    bandit_status status = make_room(e, n_picks, executor, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n_picks; i++) {
        take_out(e, picks[i].arm, executor);
        e->n_picked++;
    }
    return BANDIT_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void bandit_exact_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_exact_engine *e = (const bandit_exact_engine *)engine;
    out->sums = e->history.sums.sums;
    out->n_sums = e->history.sums.n;
    out->state = e->history.state;
    out->n_state = e->history.n_state;
}

static bandit_prediction prediction(const bandit_exact_engine *e, double mean, double variance)
{
    return (bandit_prediction){.mean = mean, .variance = variance, .ucb = mean + e->width * sqrt(variance)};
}

static void predict_arms(const bandit_exact_engine *e, const uint32_t *arms, size_t n, bandit_prediction *out)
{
    const double *mean = bandit_exact_mean(e->posterior), *variance = bandit_exact_variance(e->posterior);
    for (size_t i = 0; i < n; i++)
        out[i] = prediction(e, mean[arms[i]], variance[arms[i]]);
}

bandit_status bandit_exact_engine_predict(const bandit_engine *engine, const uint32_t *arms,
                                          const double *coordinates, size_t n, bandit_prediction *out,
                                          bandit_error *err)
{
    const bandit_exact_engine *e = (const bandit_exact_engine *)engine;
    if (arms) {
        predict_arms(e, arms, n, out);
        return BANDIT_OK;
    }
    double *mean = bandit_alloc(n, sizeof *mean), *variance = bandit_alloc(n, sizeof *variance);
    bandit_status status = BANDIT_OK;
    if (!mean || !variance)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    else
        status = bandit_exact_predict(e->posterior, coordinates, n, mean, variance, err);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        out[i] = prediction(e, mean[i], variance[i]);
    free(mean);
    free(variance);
    return status;
}

void bandit_exact_engine_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_exact_engine *e = (const bandit_exact_engine *)engine;
    const bandit_ledger *sums = &e->history.sums;
    out->observations = sums->observations;
    if (!e->posterior)
        return;
    const double *variance = bandit_exact_variance(e->posterior);
    out->beta = e->width * sqrt(engine->options.lambda); /* the factor of the paper's standard deviation */
    out->dictionary = e->pulled;                         /* the posterior is exact: all pulled arms */
    out->n_dictionary = e->n_pulled;
    for (size_t i = 0; i < sums->n; i++)
        out->effective_dimension +=
            bandit_precision(&sums->sums[i]) * variance[sums->sums[i].arm] / engine->options.lambda;
    out->information_gain = e->information_gain;
}

size_t bandit_exact_engine_memory(const bandit_engine *engine)
{
    const bandit_exact_engine *e = (const bandit_exact_engine *)engine;
    size_t bytes = bandit_history_memory(&e->history) + e->capacity_pulled * sizeof *e->pulled +
                   e->capacity_noise * sizeof *e->noise;
    if (e->posterior)
        bytes += bandit_exact_memory(e->posterior) + bandit_exact_stride(e->posterior) * sizeof *e->score;
    if (e->sampler)
        bytes += bandit_prior_sampler_memory(e->sampler);
    return bytes;
}
