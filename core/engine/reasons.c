/* Why an arm was picked: the part that all algorithms have in common. */
#include "bandit/reason.h"

#include "core/base/allocate.h"
#include "core/engine/refitting_engine.h"
#include "core/engine/several_engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *bandit_reason_rule_name(bandit_reason_rule rule)
{
    static const char *const names[] = {
#define X(enumerator, name) name,
        BANDIT_REASON_RULE_LIST(X)
#undef X
    };
    return names[rule];
}

/* The engine that has the kernel; with several metrics, that of the first metric. */
static const bandit_engine *kernel_of(const bandit_engine *engine)
{
    if (engine->table == &bandit_several_table)
        engine = ((const bandit_several_engine *)(const void *)engine)->inner[0];
    if (engine->table == &bandit_refitting_table)
        engine = ((const bandit_refitting_engine *)(const void *)engine)->inner;
    return engine;
}

/* ---- explaining ---------------------------------------------------------------------------------------- */

/* For algorithms whose cells have models of their own: the prediction, without a score. */
static bandit_status explain_prediction(bandit_engine *engine, uint32_t arm, bandit_reason *out,
                                        bandit_error *err)
{
    bandit_prediction p;
    bandit_description about;
    bandit_engine_describe(engine, &about);
    out->rule = about.observations > 0 ? BANDIT_REASON_BOUND : BANDIT_REASON_FIRST;
    if (about.observations == 0)
        return BANDIT_OK;
    bandit_status status = bandit_engine_predict_arms(engine, &arm, 1, &p, err);
    if (status == BANDIT_OK) {
        out->n = 1;
        out->mean[0] = p.mean;
        out->variance[0] = p.variance;
    }
    return status;
}

bandit_status bandit_engine_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                    const bandit_executor *executor, bandit_reason *out, bandit_error *err)
{
    const double none = (double)NAN;
    assert(engine->started && arm < bandit_arms_count(engine->arms));
    *out = (bandit_reason){.rule = BANDIT_REASON_RANDOM,
                           .left = none,
                           .score = none,
                           .width = none,
                           .incumbent = none,
                           .promise = none,
                           .ignorance = none};
    if (!engine->table->explain)
        return explain_prediction(engine, arm, out, err);
    bandit_status status = engine->table->explain(engine, arm, limits, executor, out, err);
    if (status == BANDIT_OK && out->n > 0 && engine->has_model) {
        double prior;
        bandit_covariance_diagonal(&engine->covariance, &arm, 1, &prior);
        out->left = prior > 0.0 ? out->variance[0] / prior : 0.0;
    }
    bandit_status pause = bandit_pause_status(err);
    return pause == BANDIT_OK ? status : pause;
}

static void convert(const bandit_engine *engine, double *mean, double *variance)
{
    bandit_prediction p = {.mean = *mean, .variance = *variance, .ucb = *mean};
    if (engine->table != &bandit_refitting_table)
        return;
    bandit_refitting_in_reward_units((const bandit_refitting_engine *)(const void *)engine, &p, 1);
    *mean = p.mean;
    *variance = p.variance;
}

bandit_status bandit_refitting_explain(bandit_engine *engine, uint32_t arm,
                                       const bandit_select_limits *limits, const bandit_executor *executor,
                                       bandit_reason *out, bandit_error *err)
{
    bandit_refitting_engine *e = (bandit_refitting_engine *)engine;
    double nothing = 0.0;
    bandit_status status = bandit_engine_explain(e->inner, arm, limits, executor, out, err);
    if (status != BANDIT_OK || out->n == 0)
        return status;
    convert(engine, &out->mean[0], &out->variance[0]);
    if (isfinite(out->incumbent))
        convert(engine, &out->incumbent, &nothing);
    return BANDIT_OK;
}

bandit_status bandit_several_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                     const bandit_executor *executor, bandit_reason *out, bandit_error *err)
{
    bandit_several_engine *e = (bandit_several_engine *)engine;
    if (!bandit_several_has_model(e))
        return bandit_engine_explain(e->inner[0], arm, limits, executor, out, err);
    bandit_status status = bandit_arms_is_open_space(engine->arms)
                               ? bandit_several_explain_space(e, arm, limits, out, err)
                               : bandit_several_explain_list(e, arm, limits, out, err);
    if (status != BANDIT_OK)
        return status;
    double prior;
    bandit_covariance_diagonal(&kernel_of(engine)->covariance, &arm, 1, &prior);
    out->left = prior > 0.0 ? out->variance[0] / prior : 0.0;
    if (out->rule != BANDIT_REASON_WORD)
        out->rule = bandit_several_is_flat(e) ? BANDIT_REASON_FIRST : BANDIT_REASON_JOINT;
    out->n = e->n;
    for (size_t j = 0; j < e->n; j++)
        convert(e->inner[j], &out->mean[j], &out->variance[j]);
    return BANDIT_OK;
}

/* ---- distances ----------------------------------------------------------------------------------------- */

static double in_lengthscales(const bandit_covariance *c, const bandit_kernel *kernel, uint32_t a, uint32_t b)
{
    double sum = 0.0;
    for (size_t j = 0; j < c->dimension; j++) {
        double l = kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j];
        double step = (bandit_arms_feature(c->arms, a, j) - bandit_arms_feature(c->arms, b, j)) / l;
        sum += step * step;
    }
    return sqrt(sum);
}

bandit_status bandit_engine_distances(const bandit_engine *engine, uint32_t arm, const uint32_t *arms,
                                      size_t n, double *out, bandit_error *err)
{
    engine = kernel_of(engine);
    const bandit_covariance *c = &engine->covariance;
    const bandit_kernel *kernel = &engine->options.kernel;
    for (size_t i = 0; i < n; i++)
        out[i] = !engine->has_model           ? (double)NAN
                 : kernel->n_lengthscales > 0 ? in_lengthscales(c, kernel, arm, arms[i])
                                              : 0.0;
    if (!engine->has_model || kernel->n_lengthscales > 0)
        return BANDIT_OK;
    double own, *column = bandit_alloc(bandit_whole(n, BANDIT_TILE), sizeof *column);
    double *scratch = bandit_alloc(bandit_covariance_scratch(c) + c->dimension, sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (!column || !scratch) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    } else {
        bandit_covariance_column(c, arms, n, arm, column, scratch);
        bandit_covariance_diagonal(c, &arm, 1, &own);
        bandit_covariance_diagonal(c, arms, n, out);
        for (size_t i = 0; i < n; i++)
            out[i] = sqrt(fmax(0.0, own - 2.0 * column[i] + out[i]));
    }
    free(column);
    free(scratch);
    return status;
}
