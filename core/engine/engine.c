#include "bandit/engine.h"

#include "core/algorithms/algorithm.h"
#include "core/algorithms/enumerated.h"
#include "core/algorithms/space_engine.h"
#include "core/base/allocate.h"
#include "core/base/stage_clock.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(enumerator, name) [enumerator] = name,
    BANDIT_ALGORITHM_LIST(X)
#undef X
};

static const bandit_algorithm_table *const tables[BANDIT_ALGORITHMS] = {
    [BANDIT_BBKB] = &bandit_bbkb_table,
    [BANDIT_BKB] = &bandit_bkb_table,
    [BANDIT_GP_UCB] = &bandit_gp_ucb_table,
    [BANDIT_IGP_UCB] = &bandit_igp_ucb_table,
    [BANDIT_GP_BUCB] = &bandit_gp_bucb_table,
    [BANDIT_GP_TS] = &bandit_gp_ts_table,
    [BANDIT_ASYNC_TS] = &bandit_async_ts_table,
    [BANDIT_GP_EI] = &bandit_gp_ei_table,
    [BANDIT_GP_PI] = &bandit_gp_pi_table,
    [BANDIT_EPSILON_GREEDY] = &bandit_epsilon_greedy_table,
    [BANDIT_UNIFORM] = &bandit_uniform_table,
    [BANDIT_REGULARIZED_EVOLUTION] = &bandit_regularized_evolution_table,
    [BANDIT_S_GP_TS] = &bandit_s_gp_ts_table,
    [BANDIT_PI_GP_UCB] = &bandit_pi_gp_ucb_table,
};

/* On a space that grows. */
static const bandit_algorithm_table *const space_tables[BANDIT_ALGORITHMS] = {
    [BANDIT_BBKB] = &bandit_space_bbkb_table,
    [BANDIT_BKB] = &bandit_space_bkb_table,
    [BANDIT_GP_UCB] = &bandit_space_gp_ucb_table,
    [BANDIT_IGP_UCB] = &bandit_space_igp_ucb_table,
    [BANDIT_GP_BUCB] = &bandit_space_gp_bucb_table,
    [BANDIT_GP_TS] = &bandit_space_gp_ts_table,
    [BANDIT_ASYNC_TS] = &bandit_space_async_ts_table,
    [BANDIT_S_GP_TS] = &bandit_space_s_gp_ts_table,
    [BANDIT_GP_EI] = &bandit_space_gp_ei_table,
    [BANDIT_GP_PI] = &bandit_space_gp_pi_table,
    [BANDIT_EPSILON_GREEDY] = &bandit_space_epsilon_greedy_table,
    [BANDIT_PI_GP_UCB] = &bandit_space_pi_gp_ucb_table,
    [BANDIT_UNIFORM] = &bandit_uniform_table,
    [BANDIT_REGULARIZED_EVOLUTION] = &bandit_regularized_evolution_table,
};

const char *bandit_algorithm_name(bandit_algorithm algorithm)
{
    assert((unsigned)algorithm < BANDIT_ALGORITHMS);
    return names[algorithm];
}

const char *bandit_stop_rule_name(bandit_stop_rule rule)
{
    static const char *const stop_rules[BANDIT_STOP_RULES] = {
#define X(enumerator, name) [enumerator] = name,
        BANDIT_STOP_RULE_LIST(X)
#undef X
    };
    assert(rule > BANDIT_STOP_NONE && rule < BANDIT_STOP_RULES);
    return stop_rules[rule];
}

bool bandit_algorithm_parse(bandit_algorithm *out, const char *name)
{
    for (unsigned i = 0; i < BANDIT_ALGORITHMS; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (bandit_algorithm)i;
            return true;
        }
    }
    return false;
}

bandit_status bandit_engine_check_memory(const bandit_engine *engine, double bytes, bandit_error *err)
{
    if (bytes <= (double)engine->memory_limit)
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_MEMORY_LIMIT, "",
                       "%s would need %.0f MB beyond the candidates; %.0f MB are allowed",
                       engine->table->name, ceil(bytes / 1e6), (double)engine->memory_limit / 1e6);
}

bandit_status bandit_engine_next_ledger(const bandit_engine *engine, bandit_ledger *out,
                                        const bandit_ledger *base, const bandit_result *results,
                                        size_t n_results, bandit_error *err)
{
    const bandit_ledger *given = engine->given;
    if (!given)
        return bandit_ledger_add(out, base, bandit_arms_count(engine->arms), results, n_results, err);
    return bandit_ledger_load(out, bandit_arms_count(engine->arms), given->sums, given->n, given->sum_squares,
                              err);
}

void bandit_engine_grow_norm_bound(bandit_engine *engine, double mean_norm,
                                   double (*radius)(const bandit_engine *engine, const void *batch),
                                   const void *batch)
{
    enum { MOST_DOUBLINGS = 64 };
    double *F = &engine->options.norm_bound;
    for (int i = 0; i < MOST_DOUBLINGS && engine->grows_norm_bound && mean_norm > *F + radius(engine, batch);
         i++)
        *F *= 2.0;
}

bool bandit_engine_uniform_arm(const bandit_engine *engine, bandit_purpose purpose, uint64_t index,
                               const bandit_select_limits *limits, uint32_t *arm)
{
    size_t n = bandit_arms_count(engine->arms);
    if (limits->n_withheld >= n)
        return false;
    uint64_t place =
        bandit_random_below(engine->options.seed, engine->batch, purpose, index, n - limits->n_withheld);
    /* the arm at that place among those that are left */
    for (size_t i = 0; i < limits->n_withheld && limits->withheld[i] <= place; i++)
        place++;
    *arm = (uint32_t)place;
    return true;
}

static bandit_status open_engine(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                 size_t memory_limit, bandit_error *err)
{
    *out = NULL;
    bandit_status status = bandit_options_check(options, bandit_arms_dimension(arms), err);
    if (status != BANDIT_OK)
        return status;
    if (arms->space && options->algorithm == BANDIT_PI_GP_UCB && !bandit_space_is_numeric(arms))
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name",
                           "pi_gp_ucb partitions a box: every parameter must be double or integer, and none "
                           "conditional");
    bool in_space = bandit_arms_is_open_space(arms);
    const bandit_algorithm_table *table = (in_space ? space_tables : tables)[options->algorithm];
    if (table->has_model && bandit_options_learn(options))
        table = &bandit_learned_table;
    bandit_engine *engine = calloc(1, table->size);
    if (!engine)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    engine->table = table;
    engine->arms = arms;
    engine->options = *options;
    engine->memory_limit = memory_limit ? memory_limit : SIZE_MAX;
    engine->lengthscales = bandit_alloc(options->kernel.n_lengthscales, sizeof(double));
    if (!engine->lengthscales) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto fail;
    }
    if (options->kernel.n_lengthscales > 0)
        memcpy(engine->lengthscales, options->kernel.lengthscales,
               options->kernel.n_lengthscales * sizeof(double));
    engine->options.kernel.lengthscales = engine->lengthscales;
    if (table->has_model) {
        status = bandit_covariance_init(&engine->covariance, &engine->options.kernel, arms, err);
        if (status != BANDIT_OK)
            goto fail;
    }
    status = table->open(engine, err);
    if (status == BANDIT_OK && table != &bandit_learned_table) /* that has an engine of its own */
        status = bandit_listed_new(&engine->listed, arms, err);
    if (status != BANDIT_OK)
        goto fail;
    *out = engine;
    return BANDIT_OK;
fail:
    bandit_engine_free(engine);
    return status;
}

static bandit_status check_picks(const bandit_engine *engine, const bandit_pick *picks, size_t n,
                                 bandit_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (picks[i].arm >= bandit_arms_count(engine->arms))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "pick %zu is arm %u of %zu", i, picks[i].arm,
                               bandit_arms_count(engine->arms));
    }
    return BANDIT_OK;
}

bandit_status bandit_engine_new(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                size_t memory_limit, bandit_error *err)
{
    return open_engine(out, arms, options, memory_limit, err);
}

bandit_status bandit_engine_restore(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                    size_t memory_limit, const bandit_checkpoint *checkpoint,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err)
{
    bandit_engine *engine;
    bandit_status status = open_engine(&engine, arms, options, memory_limit, err);
    *out = NULL;
    if (status != BANDIT_OK)
        return status;
    engine->batch = checkpoint->batch;
    engine->started = true;
    status = check_picks(engine, pending, n_pending, err);
    if (status == BANDIT_OK)
        status = engine->table->restore(engine, checkpoint, pending, n_pending, executor, err);
    if (status != BANDIT_OK) {
        bandit_engine_free(engine);
        return status;
    }
    if (engine->listed)
        bandit_listed_begin(engine->listed, engine, pending, n_pending);
    *out = engine;
    return BANDIT_OK;
}

bandit_status bandit_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    size_t n_arms = bandit_arms_count(engine->arms);
    assert(engine->started);
    for (size_t i = 0; i < n; i++) {
        const bandit_amendment *a = &amendments[i];
        if (a->arm >= n_arms || (a->was.repeats > 0 && !isfinite(a->was.reward)) ||
            (a->now.repeats > 0 && !isfinite(a->now.reward)) ||
            (a->chosen && !(isfinite(a->variance) && a->variance >= 0.0)))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "amendment %zu is not valid", i);
    }
    for (size_t i = 0; i < n_sums; i++) {
        if (sums[i].arm >= n_arms || (i > 0 && sums[i].arm <= sums[i - 1].arm) || !isfinite(sums[i].sum))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the corrected sum %zu is not valid", i);
    }
    return engine->table->amend(engine, amendments, n, sums, n_sums, err);
}

bandit_status bandit_engine_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                        const bandit_pick *pending, size_t n_pending,
                                        const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = check_picks(engine, pending, n_pending, err);
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_FACTOR); /* but for the parts that say otherwise */
    double norm_bound = engine->options.norm_bound;
    if (status == BANDIT_OK)
        status = engine->table->begin_batch(engine, results, n_results, pending, n_pending, executor, err);
    bandit_stage_switch(outer);
    if (status != BANDIT_OK) {
        engine->options.norm_bound = norm_bound; /* it may have grown already */
        return status;
    }
    engine->batch = bandit_engine_next_batch(engine);
    engine->started = true;
    if (engine->listed)
        bandit_listed_begin(engine->listed, engine, pending, n_pending);
    return BANDIT_OK;
}

bandit_status bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                   const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                   bandit_error *err)
{
    assert(engine->started);
    *out = (bandit_selection){0};
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_SELECTION);
    bandit_status status =
        engine->listed ? bandit_listed_select(engine->listed, engine, limits, executor, picks, out, err)
                       : engine->table->select(engine, limits, executor, picks, out, err);
    bandit_stage_switch(outer);
    return status;
}

bandit_status bandit_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                         const bandit_executor *executor, bandit_error *err)
{
    assert(engine->started);
    bandit_status status = check_picks(engine, picks, n_picks, err);
    if (status == BANDIT_OK)
        status = engine->table->replay_picks(engine, picks, n_picks, executor, err);
    if (status == BANDIT_OK && engine->listed)
        bandit_listed_note(engine->listed, picks, n_picks);
    return status;
}

void bandit_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    assert(engine->started);
    *out = (bandit_checkpoint){.batch = engine->batch};
    engine->table->checkpoint(engine, out);
}

bandit_status bandit_engine_predict_arms(const bandit_engine *engine, const uint32_t *arm_indices, size_t n,
                                         bandit_prediction *out, bandit_error *err)
{
    if (!engine->table->predict)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "%s has no model", engine->table->name);
    for (size_t i = 0; i < n; i++)
        assert(arm_indices[i] < bandit_arms_count(engine->arms));
    return engine->table->predict(engine, arm_indices, NULL, n, out, err);
}

bandit_status bandit_engine_predict_points(const bandit_engine *engine, const double *points, size_t n,
                                           bandit_prediction *out, bandit_error *err)
{
    size_t d = bandit_arms_dimension(engine->arms), width = bandit_arms_point_width(engine->arms);
    if (!engine->table->predict)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "%s has no model", engine->table->name);
    if (d == 0)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "",
                           "a precomputed kernel is known at its candidates only");
    double *coordinates = bandit_alloc(n, d * sizeof(double));
    if (!coordinates)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; i < n && status == BANDIT_OK; i++) {
        if (engine->arms->space)
            status = bandit_arms_check_point(engine->arms, points + i * width, err);
        if (status == BANDIT_OK)
            bandit_arms_scale_point(engine->arms, points + i * width, coordinates + i * d);
    }
    if (status == BANDIT_OK)
        status = engine->table->predict(engine, NULL, coordinates, n, out, err);
    free(coordinates);
    return status;
}

void bandit_engine_describe(const bandit_engine *engine, bandit_description *out)
{
    *out = (bandit_description){.batch = engine->batch,
                                .has_model = engine->table->has_model,
                                .lambda = engine->options.lambda,
                                .noise_std = engine->options.noise_std,
                                .norm_bound = engine->options.norm_bound,
                                .signal_std = 1.0,
                                .unit = 1.0,
                                .lengthscales = engine->lengthscales,
                                .n_lengthscales = engine->options.kernel.n_lengthscales,
                                .code_path = engine->table->has_model ? engine->covariance.simd->name
                                                                      : bandit_simd_portable.name};
    engine->table->describe(engine, out);
}

size_t bandit_engine_own_memory(const bandit_engine *engine)
{
    size_t doubles = engine->options.kernel.n_lengthscales + engine->covariance.dimension;
    return engine->table->size + doubles * sizeof(double);
}

size_t bandit_engine_memory(const bandit_engine *engine)
{
    return bandit_engine_own_memory(engine) + engine->table->memory(engine);
}

void bandit_engine_free(bandit_engine *engine)
{
    if (!engine)
        return;
    engine->table->close(engine);
    bandit_covariance_clear(&engine->covariance);
    bandit_listed_free(engine->listed);
    free(engine->lengthscales);
    free(engine);
}
