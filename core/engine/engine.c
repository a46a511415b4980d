#include "bandit/engine.h"

#include "core/algorithms/algorithm.h"
#include "core/algorithms/enumerated.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"
#include "core/engine/refitting_engine.h"
#include "core/engine/registry.h"
#include "core/engine/several_engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bandit_status open_engine(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                 size_t memory_limit, bandit_error *err)
{
    *out = NULL;
    bandit_status status = bandit_options_check(options, bandit_arms_dimension(arms), err);
    if (status != BANDIT_OK)
        return status;
    const bandit_algorithm_entry *entry = bandit_registry_entry(options->algorithm);
    if (arms->space && entry->about.numeric_spaces && !bandit_space_is_numeric(arms->space))
        return bandit_fail(err, BANDIT_INVALID_OPTION, "name",
                           "%s requires parameters of type double or integer without conditions",
                           bandit_algorithm_name(options->algorithm));
    bool models = bandit_algorithm_has_model(options->algorithm);
    bool several = bandit_several_applies(options),
         refits = models && !several && bandit_refitting_applies(options);
    const bandit_algorithm_table *table = bandit_arms_is_open_space(arms) ? entry->space : entry->list;
    if (refits)
        table = &bandit_refitting_table;
    else if (several)
        table = &bandit_several_table;
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
    engine->has_model = models && !refits && !several; /* otherwise an inner engine has the model */
    if (engine->has_model) {
        status = bandit_covariance_init(&engine->covariance, &engine->options.kernel, arms, err);
        if (status != BANDIT_OK)
            goto fail;
        engine->covariance.prior = options->prior_mean;
    }
    status = table->open(engine, err);
    if (status == BANDIT_OK && !refits) /* if it refits, the inner engine does this */
        status = bandit_enumerated_new(&engine->enumerated, arms, err);
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

/* BANDIT_CANCELLED if the call was interrupted, whatever its own status. */
static bandit_status unless_cancelled(bandit_status status, bandit_error *err)
{
    bandit_status pause = bandit_pause_status(err);
    return pause == BANDIT_OK ? status : pause;
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
    status = unless_cancelled(status, err);
    if (status != BANDIT_OK) {
        bandit_engine_free(engine);
        return status;
    }
    if (engine->enumerated)
        bandit_enumerated_begin(engine->enumerated, engine, pending, n_pending);
    *out = engine;
    return BANDIT_OK;
}

bandit_status bandit_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, const bandit_result *told,
                                  size_t n_told, bandit_error *err)
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
    engine->told = told;
    engine->n_told = n_told;
    bandit_status status = engine->table->amend(engine, amendments, n, sums, n_sums, err);
    engine->told = NULL;
    engine->n_told = 0;
    return unless_cancelled(status, err);
}

bandit_status bandit_engine_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                        const bandit_pick *pending, size_t n_pending,
                                        const bandit_executor *executor, bandit_error *err)
{
    bandit_status status = check_picks(engine, pending, n_pending, err);
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_FACTOR); /* unless inner calls switch it */
    double norm_bound = engine->options.norm_bound;
    if (status == BANDIT_OK)
        status = engine->table->begin_batch(engine, results, n_results, pending, n_pending, executor, err);
    bandit_stage_switch(outer);
    status = unless_cancelled(status, err);
    if (status != BANDIT_OK) {
        engine->options.norm_bound = norm_bound; /* the failed batch may have increased it */
        return status;
    }
    engine->batch = bandit_engine_next_batch(engine);
    engine->started = true;
    if (engine->enumerated)
        bandit_enumerated_begin(engine->enumerated, engine, pending, n_pending);
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
        engine->enumerated
            ? bandit_enumerated_select(engine->enumerated, engine, limits, executor, picks, out, err)
            : engine->table->select(engine, limits, executor, picks, out, err);
    bandit_stage_switch(outer);
    return unless_cancelled(status, err);
}

bandit_status bandit_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                         const bandit_executor *executor, bandit_error *err)
{
    assert(engine->started);
    bandit_status status = check_picks(engine, picks, n_picks, err);
    if (status == BANDIT_OK)
        status = engine->table->replay_picks(engine, picks, n_picks, executor, err);
    status = unless_cancelled(status, err);
    if (status == BANDIT_OK && engine->enumerated)
        bandit_enumerated_note(engine->enumerated, picks, n_picks);
    return status;
}

void bandit_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    assert(engine->started);
    *out = (bandit_checkpoint){.batch = engine->batch};
    engine->table->checkpoint(engine, out);
}

static bandit_status check_model(const bandit_engine *engine, bandit_error *err)
{
    bandit_algorithm algorithm = engine->options.algorithm;
    if (bandit_algorithm_has_model(algorithm))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_UNSUPPORTED, "", "%s has no model", bandit_algorithm_name(algorithm));
}

bandit_status bandit_engine_predict_arms(const bandit_engine *engine, const uint32_t *arm_indices, size_t n,
                                         bandit_prediction *out, bandit_error *err)
{
    bandit_status status = check_model(engine, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        assert(arm_indices[i] < bandit_arms_count(engine->arms));
    return unless_cancelled(engine->table->predict(engine, arm_indices, NULL, n, out, err), err);
}

bandit_status bandit_engine_predict_points(const bandit_engine *engine, const double *points, size_t n,
                                           bandit_prediction *out, bandit_error *err)
{
    size_t d = bandit_arms_dimension(engine->arms), width = bandit_arms_point_width(engine->arms);
    bandit_status status = check_model(engine, err);
    if (status != BANDIT_OK)
        return status;
    if (d == 0)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "",
                           "a precomputed kernel permits predictions only for its candidates");
    double *coordinates = bandit_alloc(n, d * sizeof(double));
    if (!coordinates)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n && status == BANDIT_OK; i++) {
        if (engine->arms->space)
            status = bandit_arms_check_point(engine->arms, points + i * width, err);
        if (status == BANDIT_OK)
            bandit_arms_scale_point(engine->arms, points + i * width, coordinates + i * d);
    }
    if (status == BANDIT_OK)
        status = engine->table->predict(engine, NULL, coordinates, n, out, err);
    free(coordinates);
    return unless_cancelled(status, err);
}

void bandit_engine_describe(const bandit_engine *engine, bandit_description *out)
{
    *out = (bandit_description){.batch = engine->batch,
                                .has_model = engine->has_model,
                                .lambda = engine->options.lambda,
                                .noise_std = engine->options.noise_std,
                                .norm_bound = engine->options.norm_bound,
                                .signal_std = 1.0,
                                .unit = 1.0,
                                .lengthscales = engine->lengthscales,
                                .n_lengthscales = engine->options.kernel.n_lengthscales,
                                .short_share = engine->options.kernel.short_share,
                                .code_path = engine->has_model ? engine->covariance.simd->name
                                                               : bandit_simd_portable.name};
    engine->table->describe(engine, out);
}

void bandit_engine_free(bandit_engine *engine)
{
    if (!engine)
        return;
    engine->table->close(engine);
    bandit_covariance_clear(&engine->covariance);
    bandit_enumerated_free(engine->enumerated);
    free(engine->lengthscales);
    free(engine);
}
