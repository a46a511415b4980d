/* The choice of the next point: the design before the first reward, then the maximum of the acquisition or of
 * a sampled function among the points that may be picked. */
#include "core/algorithms/space_picks.h"
#include "core/algorithms/quadratic_pick.h"
#include "core/algorithms/space_design.h"
#include "core/algorithms/untried_words.h"
#include "core/algorithms/word_search.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINCE_WIDE_IMPROVEMENT = 8 /* the first revision whose wide picks may expect an improvement */ };
enum { MOST_STARTS = 1024, MOST_PICKS = 1 << 24 /* with different random numbers, in a batch */ };

static const bandit_space *space_of(const bandit_space_engine *e)
{
    return e->base.arms->space;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bool same_fixed(const bandit_space_engine *e, const double *fixed)
{
    for (size_t i = 0; i < space_of(e)->n; i++) {
        double wanted = fixed ? fixed[i] : (double)NAN;
        if (e->fixed[i] != wanted && !(isnan(e->fixed[i]) && isnan(wanted)))
            return false;
    }
    return true;
}

/* Builds the grid for these fixed values, from the sweep and the dictionary: at the first pick of the batch,
 * and whenever the fixed values change. */
static bandit_status make_grid(bandit_space_engine *e, bandit_space_batch *b, const double *fixed,
                               bandit_error *err)
{
    const bandit_space *space = space_of(e);
    if (e->has_grid && same_fixed(e, fixed))
        return BANDIT_OK;
    e->has_grid = false;
    bandit_status status =
        bandit_maximizer_start(&e->maximizer, space, fixed, e->base.options.seed, e->base.batch, err);
    for (size_t i = 0; status == BANDIT_OK && i < b->n_dictionary && i < MOST_STARTS; i++) {
        bandit_arms_coded(e->base.arms, b->dictionary[b->n_dictionary - 1 - i], e->coded);
        status = bandit_maximizer_add(&e->maximizer, e->coded, err);
    }
    size_t n = e->maximizer.n_grid, d = space->dimension;
    if (status == BANDIT_OK && !e->rule->samples)
        status = bandit_grid_start(&e->grid, &b->surface, e->maximizer.features, n, err);
    size_t values = n + 2 * (size_t)BANDIT_MAXIMIZE_TRIALS + 2 * d; /* of the grid; means, variances */
    if (status == BANDIT_OK &&
        !bandit_reserve((void **)&e->values, &e->capacity_values, values, sizeof(double)))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < space->n; i++)
        e->fixed[i] = fixed ? fixed[i] : (double)NAN;
    e->has_grid = true;
    e->has_feasibility = false;
    return bandit_engine_check_memory(&e->base, (double)bandit_engine_memory(&e->base), err);
}

/* Number of arms visited since the first that is as good as the best, to a thousandth of the prior's standard
 * deviation. Arms are in the order of their first visit. */
static uint64_t stagnation(const bandit_ledger *ledger)
{
    double best = -INFINITY;
    size_t first = 0;
    for (size_t i = 0; i < ledger->n; i++)
        best = fmax(best, ledger->sums[i].sum / (double)ledger->sums[i].count);
    while (first < ledger->n && ledger->sums[first].sum / (double)ledger->sums[first].count < best - 1e-3)
        first++;
    return ledger->n - first;
}

static double width_of_pick(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    if (!e->rule->calibrated || o->confidence != BANDIT_CONFIDENCE_CALIBRATED)
        return b->width;
    return bandit_confidence_calibrated(o, e->base.batch + b->n_picks, stagnation(&b->ledger));
}

/* When the search seeks the best point and has not improved for some time, every fourth pick is a wide one. The longer
 * that time, the wider: some improvement near the leader is always expected, and other basins are only found through
 * the width. Returns the width in standard deviations; 0: not for this pick. */
static double exploring_width(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const double patience = 8.0, widest = 3.0; /* in arms; in standard deviations */
    double width = fmin(widest, (double)stagnation(&b->ledger) / patience);
    return e->rule->seeks_best && (e->base.batch + b->n_picks) % 4 == 3 && width >= 1.0 ? width : 0.0;
}

/* Whether a context is fixed. */
static bool has_context(const bandit_space *s, const double *fixed)
{
    bool has = false;
    for (size_t i = 0; fixed && i < s->n; i++)
        has |= s->parameters[i].context && !isnan(fixed[i]);
    return has;
}

/* The value that a pick must improve on: the largest posterior mean of the pulled points or, in a context, of
 * the grid, whose points all have the context's values. With BANDIT_IN_FLIGHT_SURPASS the points in flight count
 * as well: otherwise points beside one that promises an improvement promise the same, and picks of a batch crowd
 * there. In a context the grid comes near to their means. */
static double incumbent_of(const bandit_space_engine *e, const bandit_space_batch *b, const double *fixed)
{
    double best = -INFINITY;
    if (e->rule->samples || !has_context(space_of(e), fixed))
        return bandit_space_keeps_apart(&e->base) ? fmax(b->incumbent, b->promised) : b->incumbent;
    for (size_t i = 0; i < e->maximizer.n_grid; i++)
        best = fmax(best, e->grid.mean[i]);
    return isfinite(best) ? best : b->incumbent;
}

bool bandit_space_has_fixed(bandit_space_engine *e, uint32_t arm, const double *fixed)
{
    bandit_arms_coded(e->base.arms, arm, e->coded);
    return bandit_has_fixed(space_of(e), e->coded, fixed);
}

/* The aim of a search among the points of a word: the largest posterior mean of its pulled points and, as in
 * incumbent_of, of its points in flight. Some of them have been pulled. `features`: memory for a point. */
static bandit_space_aim aim_of_word(bandit_space_engine *e, bandit_space_batch *b, const double *fixed,
                                    double *features)
{
    size_t more = bandit_space_keeps_apart(&e->base) ? b->n_out : 0;
    bandit_space_aim found = {.of_word = true, .incumbent = -INFINITY, .leader = b->leader};
    for (size_t i = 0; i < b->ledger.n + more && !bandit_pause(); i++) {
        uint32_t arm = i < b->ledger.n ? b->ledger.sums[i].arm : b->out[i - b->ledger.n];
        if (!bandit_space_has_fixed(e, arm, fixed))
            continue;
        bandit_space_features_of(e->base.arms, arm, features);
        bandit_surface_look(&b->surface, features);
        if (b->surface.mean > found.incumbent)
            found = (bandit_space_aim){.of_word = true, .incumbent = b->surface.mean, .leader = arm};
    }
    return found;
}

/* Whether a wide pick maximizes the improvement that is expected if every deviation is multiplied by its width, and heeds
 * the prior of the location. Otherwise it maximizes an upper confidence bound. With noise this leads to the borders of
 * the space, or stays near the leader. So if the model sees noise, every second wide pick expects an improvement. A model
 * also takes ruggedness for noise, where the bound is better (docs/records/log-ei-spaces.md, "Wide picks with noise"). */
static bool widens_improvement(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return e->base.options.revision >= SINCE_WIDE_IMPROVEMENT && !bandit_space_is_silent(e) &&
           (e->base.batch + b->n_picks) % 8 == 7;
}

static bandit_acquisition acquisition_of(const bandit_space_engine *e, const bandit_space_batch *b,
                                         const bandit_space_aim *at)
{
    const bandit_options *o = &e->base.options;
    bandit_acquisition a = {.kind = e->rule->acquire, .smallest = 1e-12 * e->base.covariance.kappa2};
    if (at->width > 0.0 && !widens_improvement(e, b)) {
        a.kind = BANDIT_ACQUIRE_UCB;
        a.parameter = at->width;
    } else if (!b->has_model) {
        a.kind = BANDIT_ACQUIRE_VARIANCE;
    } else if (e->rule->seeks_best) {
        a.parameter = at->incumbent;
        a.noise = o->lambda;
        a.widening = fmax(1.0, at->width) - 1.0;
    } else if (a.kind == BANDIT_ACQUIRE_UCB) {
        a.parameter = width_of_pick(e, b);
    } else {
        a.parameter = at->incumbent + o->zeta;
    }
    return a;
}

/* If the search seeks the best point, some ascents start beside the leader, with steps of at most half a
 * lengthscale. */
static void look_beside_leader(bandit_space_engine *e, const bandit_space_batch *b, uint32_t leader)
{
    const bandit_kernel *kernel = &e->base.options.kernel;
    const bandit_space *space = space_of(e);
    e->maximizer.beside = NULL;
    if (!e->rule->seeks_best || !b->has_model)
        return;
    for (size_t i = 0; i < space->n; i++) {
        size_t j = kernel->n_lengthscales > 1 ? space->places[i].first : 0;
        e->steps[i] = 0.5 * fmin(1.0, kernel->n_lengthscales > 0 ? kernel->lengthscales[j] : 1.0);
    }
    bandit_arms_coded(e->base.arms, leader, e->leader);
    e->maximizer.beside = e->leader;
    e->maximizer.steps = e->steps;
}

/* Sets the prior of the next pick. Every second pick heeds it, and so do wide picks that expect an improvement; the others
 * find a best point that is at a border. Overwrites `features`, of one point. */
static bandit_status set_prior(bandit_space_engine *e, const bandit_space_batch *b,
                               const bandit_acquisition *acquisition, const bandit_space_aim *at,
                               double *features, bandit_error *err)
{
    bool heeded = b->has_model && e->rule->seeks_best && acquisition->kind == BANDIT_ACQUIRE_IMPROVEMENT &&
                  ((e->base.batch + b->n_picks) % 2 == 0 || at->width > 0.0);
    e->prior.n = 0;
    if (!heeded || e->base.options.revision < BANDIT_SINCE_LOCATION_PRIOR)
        return BANDIT_OK;
    bandit_space_features_of(e->base.arms, at->leader, features);
    return bandit_location_prior_set(&e->prior, space_of(e), features, err);
}

bandit_status bandit_space_start_choice(bandit_space_engine *e, bandit_space_batch *b,
                                        const bandit_select_limits *limits, bandit_space_aim *at,
                                        bandit_space_objective *c, bandit_objective *objective,
                                        bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    bandit_status status = make_grid(e, b, limits->fixed, err);
    if (status == BANDIT_OK)
        status = bandit_space_learn_failures(e, b, limits, err);
    if (status == BANDIT_OK && !e->rule->samples)
        status = bandit_grid_update(&e->grid, &b->surface, err);
    if (status != BANDIT_OK)
        return status;
    double *means = e->values + e->maximizer.n_grid, *variances = means + BANDIT_MAXIMIZE_TRIALS,
           *features = variances + BANDIT_MAXIMIZE_TRIALS; /* of one point, and later the slope */
    *at = at->of_word
              ? aim_of_word(e, b, limits->fixed, features)
              : (bandit_space_aim){.incumbent = incumbent_of(e, b, limits->fixed), .leader = b->leader};
    at->width = b->has_model && !at->of_word ? exploring_width(e, b) : 0.0;
    *c = (bandit_space_objective){.e = e,
                                  .b = b,
                                  .limits = limits,
                                  .acquisition = acquisition_of(e, b, at),
                                  .strict = true,
                                  .means = means,
                                  .variances = variances,
                                  .slope = features};
    c->penalty = bandit_space_penalty(e, b, &c->acquisition);
    *objective = bandit_space_objective_functions(c);
    status = set_prior(e, b, &c->acquisition, at, features, err);
    if (!e->rule->samples || status != BANDIT_OK)
        return status;
    status =
        bandit_svgp_sampler_prepare(&e->sampler, &b->posterior, &e->features, &bandit_executor_serial, err);
    if (status == BANDIT_OK)
        bandit_svgp_draw(&e->sampler, b->width, o->seed, e->base.batch, b->n_picks % MOST_PICKS);
    return status;
}

/* Sets e->coded to the maximizer's answer. */
static bandit_status maximize(bandit_space_engine *e, bandit_space_batch *b,
                              const bandit_select_limits *limits, bool of_word, bool *found,
                              bandit_error *err)
{
    bandit_space_aim at = {.of_word = of_word};
    bandit_space_objective c;
    bandit_objective objective;
    bandit_status status = bandit_space_start_choice(e, b, limits, &at, &c, &objective, err);
    if (status != BANDIT_OK)
        return status;
    look_beside_leader(e, b, at.leader);
    size_t n = e->maximizer.n_grid, d = bandit_arms_dimension(e->base.arms);
    if (e->rule->samples)
        objective.values(&c, e->maximizer.features, n, e->values);
    for (size_t i = 0; i < n && !e->rule->samples; i++)
        e->values[i] = bandit_acquisition_value(&c.acquisition, e->grid.mean[i], e->grid.variance[i]) -
                       (c.penalty > 0.0 ? c.penalty * e->shortfall[i] : 0.0) +
                       bandit_location_prior_log(&e->prior, e->maximizer.features + i * d, NULL);
    *found = false;
    for (int attempt = 0; status == BANDIT_OK && attempt < 2 && !*found; attempt++) {
        c.strict = attempt == 0;
        status = bandit_maximizer_run(&e->maximizer, &objective, e->values, b->n_picks % MOST_PICKS, e->coded,
                                      found, err);
    }
    return status;
}

/* Whether the next pick may be the best point of a quadratic function: two of four. Of the others, one heeds the prior of the
 * location and one may be wide. All picks of a batch have the same results, and so the same such point: the first four picks
 * of a batch are enough to find it. */
static bool is_turn_of_quadratic(const bandit_space_engine *e, const bandit_space_batch *b,
                                 const bandit_select_limits *limits)
{
    enum { TURN = 4 };
    uint64_t place = (e->base.batch + b->n_picks) % TURN;
    return e->base.options.revision >= BANDIT_SINCE_QUADRATIC_PICKS && e->rule->seeks_best && b->has_model &&
           !limits->fixed && b->n_picks < TURN && (place == 1 || place == 2);
}

/* Whether evaluations may fail at the point e->coded. */
static bandit_status may_fail(bandit_space_engine *e, bandit_space_batch *b,
                              const bandit_select_limits *limits, bool *fails, bandit_error *err)
{
    double *point = bandit_alloc(space_of(e)->n, sizeof *point),
           *features = bandit_alloc(bandit_arms_dimension(e->base.arms), sizeof *features);
    bandit_status status =
        point && features ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        memcpy(point, e->coded, space_of(e)->n * sizeof *point);
        status = make_grid(e, b, limits->fixed, err);
    }
    if (status == BANDIT_OK)
        status = bandit_space_learn_failures(e, b, limits, err);
    if (status == BANDIT_OK) {
        memcpy(e->coded, point, space_of(e)->n * sizeof *point);
        bandit_arms_scale_point(e->base.arms, e->coded, features);
        *fails = e->feasibility.n > 0 && bandit_feasibility_shortfall(&e->feasibility, features, NULL) > 0.0;
    }
    free(point);
    free(features);
    return status;
}

bandit_status bandit_space_choose_quadratic(bandit_space_engine *e, bandit_space_batch *b,
                                            const bandit_select_limits *limits, bool *found,
                                            bandit_error *err)
{
    bool fails = false;
    *found = false;
    if (!is_turn_of_quadratic(e, b, limits))
        return BANDIT_OK;
    bandit_status status = bandit_quadratic_pick(e, b, limits, found, err);
    if (status == BANDIT_OK && *found && limits->n_failed > 0)
        status = may_fail(e, b, limits, &fails, err);
    *found = *found && !fails;
    return status;
}

bandit_status bandit_space_fix_word(const bandit_space_engine *e, const bandit_space_batch *b,
                                    const bandit_select_limits *limits, double **fixed, bool *of_word,
                                    bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    *fixed = NULL;
    *of_word = false;
    if (!e->rule->seeks_best || !b->has_model)
        return BANDIT_OK;
    status = bandit_untried_word(&e->base, &b->ledger, b->out, b->n_out, limits, e->base.batch + b->n_picks,
                                 fixed, err);
    if (status != BANDIT_OK || *fixed)
        return status;
    status = bandit_word_search(&e->base, &b->ledger, b->out, b->n_out, limits, b->n_picks, fixed, err);
    *of_word = *fixed;
    return status;
}

/* Sets e->coded to the next point: one with a word, if it is time for one, a quadratic function's best point, or the
 * maximizer's answer. */
static bandit_status choose_in_turn(bandit_space_engine *e, bandit_space_batch *b,
                                    const bandit_select_limits *limits, bool *found, bandit_error *err)
{
    bandit_select_limits within = *limits;
    double *fixed;
    bool of_word;
    bandit_status status = bandit_space_fix_word(e, b, limits, &fixed, &of_word, err);
    within.fixed = fixed;
    *found = false;
    if (fixed)
        status = maximize(e, b, &within, of_word, found, err);
    free(fixed);
    if (status == BANDIT_OK && !*found)
        status = bandit_space_choose_quadratic(e, b, limits, found, err);
    return status == BANDIT_OK && !*found ? maximize(e, b, limits, false, found, err) : status;
}

/* ---- the next point ------------------------------------------------------------------------------------ */

bool bandit_space_samples_uncertainty(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return !b->has_model && e->base.options.init == BANDIT_INIT_UNCERTAINTY;
}

bool bandit_space_explores(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    return b->has_model && e->rule->explores &&
           bandit_random_uniform(o->seed, e->base.batch, BANDIT_PURPOSE_UNIFORM,
                                 (uint64_t)1 << 63 | b->n_picks) < o->epsilon;
}

bool bandit_space_continues_design(const bandit_space_engine *e, const bandit_space_batch *b)
{
    bool flat = e->base.options.revision >= 2 && e->rule->seeks_best && b->has_model &&
                bandit_ledger_is_flat(&b->ledger);
    return flat || (b->has_model && bandit_design_goes_on(&e->base, b->ledger.n + b->n_out));
}

bandit_status bandit_space_choose(bandit_space_engine *e, bandit_space_batch *b,
                                  const bandit_select_limits *limits, bandit_stop_rule *stop,
                                  bandit_error *err)
{
    const bandit_options *o = &e->base.options;
    bool found = false;
    bandit_status status;
    if (bandit_space_continues_design(e, b))
        status = bandit_design_later(&e->base, b->ledger.n + b->n_out, limits, e->coded, &found, err);
    else if (bandit_space_explores(e, b))
        status = bandit_design_random(&e->base, b->n_picks, limits, e->coded, &found, err);
    else if (b->has_model || bandit_space_samples_uncertainty(e, b))
        status = choose_in_turn(e, b, limits, &found, err);
    else
        status = bandit_design_next(&e->base, e->rule->seeks_best, b->n_out, limits, e->coded, &found, err);
    *stop = found ? BANDIT_STOP_NONE : BANDIT_STOP_EXHAUSTED;
    if (status != BANDIT_OK || !found || !bandit_space_samples_uncertainty(e, b) || b->n_out == 0 ||
        limits->beyond_bound)
        return status;
    bandit_arms_scale_point(e->base.arms, e->coded, e->values);
    bandit_surface_look(&b->surface, e->values);
    if (fmax(0.0, b->surface.variance) / o->lambda < 1.0 / o->parallelism)
        *stop = BANDIT_STOP_INITIAL; /* [BBKB] Alg. 3 */
    return BANDIT_OK;
}
