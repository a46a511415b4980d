/* S-GP-TS: Thompson sampling from a sparse posterior. [VPA21]
 *
 * Vakili, Picheny, Artemev: Scalable Thompson sampling using sparse Gaussian process models. 2021.
 *
 * For candidates it has its own engine (s_gp_ts_list.c); in a space it is a rule of space_engine.h. */
#include "core/algorithms/s_gp_ts.h"

#include "core/algorithms/reason.h"
#include "core/algorithms/space_engine.h"
#include "core/posterior/prior_features.h"
#include "core/posterior/svgp.h"

bandit_status bandit_ts_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                const bandit_executor *executor, bandit_reason *out, bandit_error *err)
{
    bandit_ts_engine *ts = (bandit_ts_engine *)engine;
    bandit_ts_batch *batch = &ts->batches[ts->in_force];
    (void)limits;
    if (!batch->has_model && batch->n_picks + batch->n_pending == 0) {
        out->rule = BANDIT_REASON_FIRST;
        return BANDIT_OK;
    }
    bandit_status status =
        bandit_svgp_sampler_prepare(&batch->sampler, &batch->posterior, &ts->features, executor, err);
    if (status != BANDIT_OK)
        return status;
    double values[BANDIT_TILE], incumbent = batch->has_model ? -INFINITY : 0.0;
    for (size_t i = 0; i < batch->ledger.n && !bandit_pause(); i++)
        incumbent = fmax(incumbent, bandit_ts_embed(batch, batch->ledger.sums[i].arm).mean);
    bandit_ts_draw(engine, batch);
    bandit_svgp_evaluate(&batch->sampler, arm / BANDIT_TILE, values, batch->sampler.scratch);
    bandit_embedding at = bandit_ts_embed(batch, arm);
    out->rule = BANDIT_REASON_SAMPLE;
    out->score = values[arm % BANDIT_TILE];
    out->width = batch->alpha;
    bandit_reason_set_model(out, at.mean, engine->options.lambda * (at.residual + at.norm2), incumbent);
    bandit_reason_split_value(out);
    return BANDIT_OK;
}

static bandit_status check(const bandit_options *options, size_t dimension, bandit_error *err)
{
    bandit_kernel_type type = options->kernel.type;
    if (options->init == BANDIT_INIT_UNCERTAINTY)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "init", "must be \"uniform\" for s_gp_ts");
    if (type == BANDIT_KERNEL_PRECOMPUTED)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type",
                           "must not be \"precomputed\" for s_gp_ts, which samples features of the kernel");
    if (options->features == BANDIT_FEATURES_EIGEN && type != BANDIT_KERNEL_LINEAR &&
        dimension > BANDIT_EIGEN_DIMENSIONS)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "features",
                           "\"eigen\" supports at most %d dimensions, not %zu", BANDIT_EIGEN_DIMENSIONS,
                           dimension);
    if (options->posterior == BANDIT_POSTERIOR_FEATURES && options->features != BANDIT_FEATURES_EIGEN &&
        type != BANDIT_KERNEL_LINEAR)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "posterior",
                           "\"features\" requires `features` to be \"eigen\"");
    if (options->posterior == BANDIT_POSTERIOR_FEATURES && options->prior_features > 0 &&
        options->prior_features < options->inducing && type != BANDIT_KERNEL_LINEAR)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "prior_features",
                           "must be at least `inducing`, which is %zu", options->inducing);
    bandit_status status =
        bandit_check_schedule(options->inducing, "inducing", BANDIT_MAX_INDUCING, options->horizon, err);
    if (status != BANDIT_OK)
        return status;
    return bandit_check_schedule(options->prior_features, "prior_features", BANDIT_MAX_PRIOR_FEATURES,
                                 options->horizon, err);
}

static double width(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return bandit_confidence_sparse_sample(&e->base.options, b->ledger.observations);
}

static bandit_status open_in_space(bandit_space_engine *e, bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    size_t d = bandit_arms_dimension(e->base.arms);
    if (o->features == BANDIT_FEATURES_EIGEN && o->kernel.type != BANDIT_KERNEL_LINEAR)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "features",
                           "\"eigen\" requires a finite set of candidates; use \"rff\" in an open space");
    if (o->posterior == BANDIT_POSTERIOR_FEATURES)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "posterior",
                           "\"features\" requires a finite set of candidates");
    if (o->posterior == BANDIT_POSTERIOR_DTC)
        e->dictionary = BANDIT_SPACE_RESAMPLED;
    e->n_features =
        o->prior_features ? o->prior_features : bandit_svgp_features_for(&o->kernel, d, o->horizon);
    e->inducing =
        o->inducing ? o->inducing : bandit_svgp_inducing_for(&o->kernel, o->posterior, d, o->horizon);
    return BANDIT_OK;
}

static const bandit_space_rule space_rule = {
    .dictionary = BANDIT_SPACE_INDUCING,
    .end = BANDIT_SPACE_SEQUENTIAL,
    .samples = true,
    .acquire = BANDIT_ACQUIRE_MEAN,
    .width = width,
    .open = open_in_space,
};

static const bandit_algorithm_table space_table = BANDIT_SPACE_ENGINE_TABLE(space_rule);

const bandit_algorithm_entry bandit_s_gp_ts_algorithm = {
    .about =
        {
            .description = "Thompson sampling from a sparse posterior: linear in the candidates.",
            .options = BANDIT_TAKES_WIDTH | BANDIT_TAKES(SCALE) | BANDIT_TAKES(POSTERIOR) |
                       BANDIT_TAKES(FEATURES) | BANDIT_TAKES(INDUCING) | BANDIT_TAKES(PRIOR_FEATURES) |
                       BANDIT_TAKES(DPP_STEPS),
        },
    .list = &bandit_s_gp_ts_list_table,
    .space = &space_table,
    .check = check,
};
