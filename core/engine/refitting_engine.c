/* An engine that refits. It wraps an inner engine of the study's algorithm, which gets standardized rewards
 * and a unit kernel. The options of the inner engine do not change between fits.
 *
 * The wrapper keeps the ledger of rewards as reported. At a fit (core/learning/hyperparameters.h) it replaces
 * the inner engine by a new one with the new hyper-parameters, and gives it all rewards so far as history.
 * Between fits the inner engine continues from batch to batch. If the algorithm follows from its sums
 * (from_sums), these are computed from the ledger at every batch, so that only the ledger has to be stored.
 * Other algorithms store their own pulls, in the units of the model.
 *
 * Width: sums gathered under former hyper-parameters are in other units. At a fit the log-sum therefore
 * starts again from log det V of all rewards under the first dictionary. Rewards that join later add log det
 * (V + dV) − log det V, as pulls do that the engine did not choose (ours). */
#include "core/engine/refitting_engine.h"

#include "core/base/allocate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* In units of the prior variance. The model cannot resolve differences below about the square root of this.
 * On a list it only has to distinguish candidates. In an open space it follows a noise-free function to its
 * optimum, as far as the digits of the factors (surface.h) allow. */
static double smallest_lambda(const bandit_refitting_engine *e)
{
    return bandit_arms_is_open_space(e->base.arms) ? 1e-9 : 1e-6;
}

bool bandit_weighs_errors(const bandit_options *o)
{
    return bandit_algorithm_has_model(o->algorithm) && bandit_refitting_applies(o);
}

bool bandit_refitting_applies(const bandit_options *o)
{
    return o->learn_lengthscale || o->learn_noise || o->learn_norm_bound || o->standardize_rewards;
}

static bandit_refitting_engine *self(bandit_engine *engine)
{
    return (bandit_refitting_engine *)engine;
}

static const bandit_refitting_engine *self_const(const bandit_engine *engine)
{
    return (const bandit_refitting_engine *)engine;
}

/* ---- the inner engine ---------------------------------------------------------------------------------- */

/* The options of an inner engine under *l. Its lengthscales go into `lengthscales`: one per feature, or none.
 * Its prior mean is the one of e->priors that the current inner engine does not use. */
static bandit_options inner_options(bandit_refitting_engine *e, const bandit_fitted *l, double *lengthscales)
{
    bandit_options o = e->base.options;
    bandit_prior_mean *prior = &e->priors[1 - e->prior_in_force];
    *prior = bandit_fitted_prior_mean(l, &e->sources);
    o.prior_mean = e->sources.n > 0 ? prior : NULL;
    o.sources = NULL;
    o.n_sources = 0;
    double unit = bandit_fitted_unit(l);
    o.learn_lengthscale = o.learn_noise = o.learn_norm_bound = o.standardize_rewards = o.warp_rewards = false;
    o.noise_std = bandit_refitting_noise(e, l);
    if (o.lambda_from_noise)
        o.lambda = fmax(smallest_lambda(e), o.noise_std * o.noise_std);
    o.lambda_from_noise = false;
    o.norm_bound = e->base.options.learn_norm_bound ? 1.0 : o.norm_bound / unit;
    o.beta /= unit;
    for (size_t j = 0; j < e->n_inner_lengthscales; j++)
        lengthscales[j] = l->lengthscales[e->settings.group[j]];
    o.kernel.short_share = l->short_share;
    o.kernel.lengthscales = lengthscales;
    o.kernel.n_lengthscales = e->n_inner_lengthscales;
    return o;
}

/* A new inner engine, whose first batch follows the current one. */
static bandit_status new_inner(bandit_engine **out, bandit_refitting_engine *e, const bandit_fitted *l,
                               bandit_error *err)
{
    bandit_options o = inner_options(e, l, e->lengthscales);
    if (!isfinite(o.noise_std) || !isfinite(o.lambda) || !isfinite(o.norm_bound) || !isfinite(o.beta))
        return bandit_fail(err, BANDIT_NUMERICAL, "",
                           "the unit of the rewards, %g, is too small for the options",
                           bandit_fitted_unit(l));
    bandit_status status = bandit_engine_new(out, e->base.arms, &o, e->base.memory_limit, err);
    if (status != BANDIT_OK)
        return status;
    (*out)->grows_norm_bound = e->base.options.learn_norm_bound;
    (*out)->rewards = &e->ledger;
    (*out)->started = e->base.started;
    (*out)->batch = e->base.batch;
    return BANDIT_OK;
}

static bandit_status refitting_open(bandit_engine *engine, bandit_error *err)
{
    bandit_refitting_engine *e = self(engine);
    bandit_options *o = &engine->options;
    bandit_status status = bandit_fit_settings_init(&e->settings, o, engine->arms, err);
    if (status == BANDIT_OK)
        status = bandit_sources_init(&e->sources, &o->kernel, o->sources, o->n_sources, engine->arms, err);
    if (status == BANDIT_OK && o->source_trust == BANDIT_TRUST_AGREEMENT)
        status = bandit_sources_guard(&e->sources, err);
    if (status == BANDIT_OK)
        status = bandit_sources_cover(&e->sources, err);
    if (status == BANDIT_OK && e->sources.n > 0)
        e->settings.sources = &e->sources;
    o->sources = NULL; /* they were only borrowed */
    if (status == BANDIT_OK)
        status = bandit_fitted_prior(&e->fitted, &e->settings, err);
    if (status != BANDIT_OK)
        return status;
    e->n_inner_lengthscales = e->settings.group ? bandit_arms_dimension(engine->arms) : 0;
    e->lengthscales = bandit_alloc(e->n_inner_lengthscales, sizeof *e->lengthscales);
    if (!e->lengthscales)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    status = new_inner(&e->inner, e, &e->fitted, err);
    e->prior_in_force = 1 - e->prior_in_force;
    return status;
}

static void refitting_close(bandit_engine *engine)
{
    bandit_refitting_engine *e = self(engine);
    bandit_engine_free(e->inner);
    bandit_fit_settings_clear(&e->settings);
    bandit_fitted_clear(&e->fitted);
    bandit_sources_clear(&e->sources);
    bandit_ledger_clear(&e->ledger);
    bandit_ledger_clear(&e->next);
    bandit_ledger_clear(&e->mapped);
    bandit_told_errors_clear(&e->errors);
    bandit_told_errors_clear(&e->next_errors);
    free(e->results);
    free(e->agreed);
    free(e->lengthscales);
    free(e->state);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

/* Fits to e->next, and lets *inner begin the batch with the fit. If no rewards are left, the priors of a
 * study without rewards apply again. */
static bandit_status begin_fitted(bandit_refitting_engine *e, bandit_fitted *l, bandit_engine **inner,
                                  const bandit_pick *pending, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err)
{
    bandit_result *history = NULL;
    const bandit_repeated repeated = {e->next_within, e->next_degrees, e->agreed, e->n_agreed};
    bandit_status status = e->next.n > 0 ? bandit_refit(l, &e->fitted, &e->settings, &e->next,
                                                        &e->next_errors, &repeated, executor, err)
                                         : bandit_fitted_prior(l, &e->settings, err);
    if (status == BANDIT_OK)
        status = new_inner(inner, e, l, err);
    if (status != BANDIT_OK)
        return status;
    (*inner)->options.noise_std =
        bandit_refitting_noise_seen(e, l, &e->next, e->next_within, e->next_degrees);
    bandit_refitting_map_ledger(e, l, &e->next, &e->next_errors);
    history = bandit_alloc(e->mapped.n, sizeof *history);
    if (!history)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < e->mapped.n; i++) {
        const bandit_arm_sum *sum = &e->mapped.sums[i];
        uint64_t most = UINT32_MAX; /* more pulls of an arm count as this many */
        history[i] = (bandit_result){.arm = sum->arm,
                                     .weight = sum->weight,
                                     .repeats = (uint32_t)(sum->count < most ? sum->count : most),
                                     .reward = sum->sum / (double)sum->count};
    }
    (*inner)->given = (*inner)->table->from_sums ? &e->mapped : NULL;
    status = bandit_engine_begin_batch(*inner, history, e->mapped.n, pending, n_pending, executor, err);
    (*inner)->given = NULL;
    free(history);
    return status;
}

/* The inner engine continues with e->results. */
static bandit_status begin_as_before(bandit_refitting_engine *e, const bandit_pick *pending, size_t n_pending,
                                     const bandit_executor *executor, bandit_error *err)
{
    bandit_engine *inner = e->inner;
    double norm_bound = inner->options.norm_bound, noise_std = inner->options.noise_std;
    size_t n = e->n_taken;
    inner->options.noise_std =
        bandit_refitting_noise_seen(e, &e->fitted, &e->next, e->next_within, e->next_degrees);
    bandit_refitting_map_ledger(e, &e->fitted, &e->next, &e->next_errors);
    bandit_refitting_standardize_results(e);
    inner->given = inner->table->from_sums ? &e->mapped : NULL;
    bandit_status status = bandit_engine_begin_batch(inner, e->results, n, pending, n_pending, executor, err);
    inner->given = NULL;
    if (status != BANDIT_OK) {
        inner->options.norm_bound = norm_bound;
        inner->options.noise_std = noise_std;
    }
    return status;
}

static bandit_status refitting_begin_batch(bandit_engine *engine, const bandit_result *results,
                                           size_t n_results, const bandit_pick *pending, size_t n_pending,
                                           const bandit_executor *executor, bandit_error *err)
{
    bandit_refitting_engine *e = self(engine);
    bandit_fitted fitted = {0};
    bandit_engine *inner = NULL;
    bandit_status status = bandit_refitting_take_results(e, results, n_results, err);
    if (status == BANDIT_OK)
        status = bandit_sources_cover(&e->sources, err);
    if (status == BANDIT_OK)
        status = bandit_ledger_add(&e->next, &e->ledger, bandit_arms_count(engine->arms), e->results,
                                   n_results, err);
    if (status == BANDIT_OK)
        status = bandit_told_errors_add(&e->next_errors, &e->errors, e->results, n_results, err);
    if (status != BANDIT_OK)
        return status;
    if (e->next.n == 0)
        e->next_within = e->next_degrees = 0.0;
    bool fits =
        e->stale || (e->next.n > 0 && (bandit_refit_is_due(&e->settings, &e->fitted, e->next.observations) ||
                                       bandit_refitting_is_beyond(e) || bandit_refitting_has_confirmed(e)));
    if (!bandit_refitting_reserve_mapped(e, e->next.n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (fits)
        status = begin_fitted(e, &fitted, &inner, pending, n_pending, executor, err);
    if (status == BANDIT_OK && !bandit_refitting_reserve_state(e, fits ? &fitted : &e->fitted, n_results))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK && !fits)
        status = begin_as_before(e, pending, n_pending, executor, err);
    if (status != BANDIT_OK) {
        bandit_engine_free(inner);
        bandit_fitted_clear(&fitted);
        return status;
    }
    if (fits) {
        bandit_engine_free(e->inner);
        bandit_fitted_clear(&e->fitted);
        e->inner = inner;
        e->prior_in_force = 1 - e->prior_in_force;
        e->fitted = fitted;
        e->stale = false;
    }
    bandit_ledger old = e->ledger;
    e->ledger = e->next;
    e->next = old;
    bandit_told_errors old_errors = e->errors;
    e->errors = e->next_errors;
    e->next_errors = old_errors;
    e->within = e->next_within;
    e->within_degrees = e->next_degrees;
    bandit_refitting_write_state(e);
    return BANDIT_OK;
}

/* The sums of the inner engine do not have the corrected rewards, so the next batch fits and replaces it.
 * Outliers of the corrected arms are judged again. */
static bandit_status refitting_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                     const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_refitting_engine *e = self(engine);
    size_t kept = 0;
    bandit_status status = bandit_ledger_amend(&e->ledger, amendments, n, sums, n_sums, err);
    if (status == BANDIT_OK)
        status = bandit_told_errors_amend(&e->errors, sums, n_sums, engine->told, engine->n_told, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < e->fitted.n_aside; i++)
        if (!bandit_sum_of(sums, n_sums, e->fitted.aside[i].arm))
            e->fitted.aside[kept++] = e->fitted.aside[i];
    e->fitted.n_aside = kept;
    e->stale = true;
    return BANDIT_OK;
}

/* Whether the pulls with reported errors are among those of the ledger. */
static bool errors_fit(const bandit_told_errors *errors, const bandit_ledger *ledger)
{
    for (size_t i = 0, next = 0; i < errors->n; i = next) {
        const bandit_arm_sum *sum = bandit_sum_of(ledger->sums, ledger->n, errors->rows[i].arm);
        uint64_t count = 0;
        for (; next < errors->n && errors->rows[next].arm == errors->rows[i].arm; next++)
            count += errors->rows[next].count;
        if (!sum || count > sum->count)
            return false;
    }
    return true;
}

static bandit_status refitting_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                       const bandit_pick *pending, size_t n_pending,
                                       const bandit_executor *executor, bandit_error *err)
{
    bandit_refitting_engine *e = self(engine);
    bandit_refitting_state state;
    bandit_checkpoint inner;
    bandit_status status = bandit_refitting_read_state(e, checkpoint, &state, &inner, err);
    if (status == BANDIT_OK)
        status = bandit_ledger_restore(&e->ledger, bandit_arms_count(engine->arms), checkpoint,
                                       state.observations, state.sum_squares, err);
    if (status != BANDIT_OK)
        return status;
    if (!errors_fit(&e->errors, &e->ledger))
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the reported standard errors do not fit the results");
    if (!bandit_refitting_reserve_mapped(e, e->ledger.n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_refitting_map_ledger(e, &e->fitted, &e->ledger, &e->errors);
    inner.sums = NULL;
    inner.n_sums = 0;
    if (e->inner->table->from_sums) {
        inner.sums = e->mapped.sums;
        inner.n_sums = e->mapped.n;
    }
    bandit_engine_free(e->inner);
    e->inner = NULL;
    bandit_options o = inner_options(e, &e->fitted, e->lengthscales);
    e->prior_in_force = 1 - e->prior_in_force;
    o.norm_bound = state.norm_bound;
    o.noise_std = bandit_refitting_noise_seen(e, &e->fitted, &e->ledger, e->within, e->within_degrees);
    status = bandit_engine_restore(&e->inner, engine->arms, &o, engine->memory_limit, &inner, pending,
                                   n_pending, executor, err);
    if (status != BANDIT_OK)
        return status;
    e->inner->grows_norm_bound = engine->options.learn_norm_bound;
    e->inner->rewards = &e->ledger;
    bandit_checkpoint again = {0};
    e->inner->table->checkpoint(e->inner, &again);
    if (!bandit_reserve((void **)&e->state, &e->capacity_state,
                        bandit_refitting_state_bytes(e, &e->fitted, &e->errors, again.n_state), 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_refitting_write_state(e);
    return BANDIT_OK;
}

/* ---- picks and reading: by the inner engine ------------------------------------------------------------ */

static bandit_status refitting_select(bandit_engine *engine, const bandit_select_limits *limits,
                                      const bandit_executor *executor, bandit_pick *picks,
                                      bandit_selection *out, bandit_error *err)
{
    const bandit_refitting_engine *e = self(engine);
    bandit_select_limits inner = *limits;
    uint32_t *withheld;
    uint64_t most_repeats = bandit_refitting_most_repeats(e);
    if (most_repeats < inner.most_repeats)
        inner.most_repeats = most_repeats;
    bandit_status status = bandit_refitting_withhold_aside(e, &inner, &withheld, err);
    if (status == BANDIT_OK)
        status = bandit_engine_select(e->inner, &inner, executor, picks, out, err);
    if (status == BANDIT_OK && withheld && out->n_picks == 0 && out->stop_rule == BANDIT_STOP_EXHAUSTED)
        status = bandit_engine_select(e->inner, limits, executor, picks, out, err);
    free(withheld);
    return status;
}

static bandit_status refitting_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                            const bandit_executor *executor, bandit_error *err)
{
    return bandit_engine_replay_picks(self(engine)->inner, picks, n_picks, executor, err);
}

static void refitting_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_refitting_engine *e = self_const(engine);
    e->inner->table->checkpoint(e->inner, out);
    out->sums = e->ledger.sums;
    out->n_sums = e->ledger.n;
    out->state = e->state;
    out->n_state = e->n_state;
}

/* Half the distance between the quantiles of 16 and 84 %, which is the standard deviation of a normal
 * distribution. */
static double spread(const bandit_fitted *l, double mean, double deviation)
{
    return 0.5 * (bandit_fitted_unfold(l, mean + deviation) - bandit_fitted_unfold(l, mean - deviation));
}

/* For warped rewards, quantiles are converted back: the mean becomes the median. */
static void unwarp(const bandit_refitting_engine *e, bandit_prediction *p, size_t n)
{
    const bandit_fitted *l = &e->fitted;
    double shift = bandit_fitted_shift(l), unit = bandit_fitted_unit(l);
    for (size_t i = 0; i < n; i++) {
        double mean = shift + unit * p[i].mean, deviation = spread(l, mean, unit * sqrt(p[i].variance));
        p[i].mean = bandit_fitted_unfold(l, mean);
        p[i].variance = fmin(deviation * deviation, DBL_MAX);
        p[i].ucb = bandit_fitted_unfold(l, shift + unit * p[i].ucb);
    }
}

void bandit_refitting_in_reward_units(const bandit_refitting_engine *e, bandit_prediction *p, size_t n)
{
    const bandit_fitted *l = &e->fitted;
    double shift = bandit_fitted_shift(l), unit = bandit_fitted_unit(l);
    if (l->warped) {
        unwarp(e, p, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double folded = shift + unit * p[i].mean, slope = 1.0;
        p[i].mean = bandit_fitted_unfold(l, folded);
        if (p[i].mean < l->low)
            slope = 1.0 + (l->low - p[i].mean) / l->range;
        p[i].variance = fmin(p[i].variance * (unit * slope) * (unit * slope), DBL_MAX);
        p[i].ucb = bandit_fitted_unfold(l, shift + unit * p[i].ucb);
    }
}

static bandit_status refitting_predict(const bandit_engine *engine, const uint32_t *arms,
                                       const double *coordinates, size_t n, bandit_prediction *out,
                                       bandit_error *err)
{
    const bandit_refitting_engine *e = self_const(engine);
    bandit_status status = e->inner->table->predict(e->inner, arms, coordinates, n, out, err);
    if (status == BANDIT_OK)
        bandit_refitting_in_reward_units(e, out, n);
    return status;
}

static void refitting_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_refitting_engine *e = self_const(engine);
    const bandit_fitted *l = &e->fitted;
    double unit = bandit_fitted_unit(l);
    uint64_t batch = out->batch;
    bandit_engine_describe(e->inner, out);
    out->batch = batch;
    out->observations = e->ledger.observations;
    out->beta *= unit;
    out->noise_std *= unit;
    if (l->unit_noise != l->noise) /* the noise besides the reported errors */
        out->noise_std = e->settings.learn_noise ? sqrt(l->noise) * l->scale : engine->options.noise_std;
    out->norm_bound *= unit;
    out->signal_std = unit;
    out->shift = bandit_fitted_shift(l);
    out->unit = unit;
    out->warped = l->warped;
    out->warp_offset = l->offset;
    out->warp_scale = l->scale;
    out->warp_power = l->power;
    out->fitted_on = l->fitted_on;
    out->source_weights = l->source_weights;
    out->n_sources = e->sources.n;
    for (size_t i = 0; i < l->n_aside; i++)
        out->set_aside += l->aside[i].count;
}

static size_t refitting_memory(const bandit_engine *engine)
{
    const bandit_refitting_engine *e = self_const(engine);
    size_t sums = e->ledger.capacity + e->next.capacity + e->mapped.capacity + e->fitted.n_aside;
    size_t rows = e->errors.capacity + e->next_errors.capacity;
    return bandit_engine_memory(e->inner) + sums * sizeof(bandit_arm_sum) + rows * sizeof(bandit_error_row) +
           e->capacity_results * sizeof *e->results + e->capacity_agreed * sizeof *e->agreed +
           e->capacity_state + e->n_inner_lengthscales * sizeof(double);
}

const bandit_algorithm_table bandit_refitting_table = {
    .size = sizeof(bandit_refitting_engine),
    .open = refitting_open,
    .close = refitting_close,
    .begin_batch = refitting_begin_batch,
    .amend = refitting_amend,
    .restore = refitting_restore,
    .select = refitting_select,
    .replay_picks = refitting_replay_picks,
    .explain = bandit_refitting_explain,
    .checkpoint = refitting_checkpoint,
    .predict = refitting_predict,
    .describe = refitting_describe,
    .memory = refitting_memory,
};
