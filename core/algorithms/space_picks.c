/* The choice of the next point: the design before the first reward, then the maximum of the acquisition or of
 * a sampled function among the points that may be picked. */
#include "core/algorithms/reason.h"
#include "core/algorithms/space_design.h"
#include "core/algorithms/space_objective.h"
#include "core/algorithms/untried_words.h"
#include "core/algorithms/word_search.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>

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

/* What a pick must improve on, and beside which point it looks. */
typedef struct aim {
    bool of_word; /* the pick is a search among the points of one word (word_search.h) */
    double incumbent;
    uint32_t leader;
    double width; /* of a wide pick; 0: it is none */
} aim;

/* Whether an arm has the fixed values. Overwrites e->coded. */
static bool has_fixed(bandit_space_engine *e, uint32_t arm, const double *fixed)
{
    bandit_arms_coded(e->base.arms, arm, e->coded);
    return bandit_has_fixed(space_of(e), e->coded, fixed);
}

/* The aim of a search among the points of a word: the largest posterior mean of its pulled points and, as in
 * incumbent_of, of its points in flight. Some of them have been pulled. `features`: memory for a point. */
static aim aim_of_word(bandit_space_engine *e, bandit_space_batch *b, const double *fixed, double *features)
{
    size_t more = bandit_space_keeps_apart(&e->base) ? b->n_out : 0;
    aim found = {.of_word = true, .incumbent = -INFINITY, .leader = b->leader};
    for (size_t i = 0; i < b->ledger.n + more && !bandit_pause(); i++) {
        uint32_t arm = i < b->ledger.n ? b->ledger.sums[i].arm : b->out[i - b->ledger.n];
        if (!has_fixed(e, arm, fixed))
            continue;
        bandit_space_features_of(e->base.arms, arm, features);
        bandit_surface_look(&b->surface, features);
        if (b->surface.mean > found.incumbent)
            found = (aim){.of_word = true, .incumbent = b->surface.mean, .leader = arm};
    }
    return found;
}

/* Whether a wide pick maximizes the improvement that is expected if every deviation is multiplied by its width, and heeds
 * the prior of the location. Otherwise it maximizes an upper confidence bound. With noise this leads to the borders of
 * the space, or stays near the leader. So if the model sees noise, every second wide pick expects an improvement. A model
 * also takes ruggedness for noise, where the bound is better (docs/records/log-ei.md, "Wide picks with noise"). */
static bool widens_improvement(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return e->base.options.revision >= SINCE_WIDE_IMPROVEMENT && !bandit_space_is_silent(e) &&
           (e->base.batch + b->n_picks) % 8 == 7;
}

static bandit_acquisition acquisition_of(const bandit_space_engine *e, const bandit_space_batch *b,
                                         const aim *at)
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
                               const bandit_acquisition *acquisition, const aim *at, double *features,
                               bandit_error *err)
{
    bool heeded = b->has_model && e->rule->seeks_best && acquisition->kind == BANDIT_ACQUIRE_IMPROVEMENT &&
                  ((e->base.batch + b->n_picks) % 2 == 0 || at->width > 0.0);
    e->prior.n = 0;
    if (!heeded || e->base.options.revision < BANDIT_SINCE_LOCATION_PRIOR)
        return BANDIT_OK;
    bandit_space_features_of(e->base.arms, at->leader, features);
    return bandit_location_prior_set(&e->prior, space_of(e), features, err);
}

/* Sets the objective of the next pick, and the other members of *at as at->of_word says. Needs the grid, and memory
 * for its values. */
static bandit_status start_choice(bandit_space_engine *e, bandit_space_batch *b,
                                  const bandit_select_limits *limits, aim *at, bandit_space_objective *c,
                                  bandit_objective *objective, bandit_error *err)
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
    *at = at->of_word ? aim_of_word(e, b, limits->fixed, features)
                      : (aim){.incumbent = incumbent_of(e, b, limits->fixed), .leader = b->leader};
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
    aim at = {.of_word = of_word};
    bandit_space_objective c;
    bandit_objective objective;
    bandit_status status = start_choice(e, b, limits, &at, &c, &objective, err);
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

/* Sets *fixed to the values that the next pick has: an untried word, or one that is searched (*of_word), or to NULL. To be
 * freed. */
static bandit_status fix_word(const bandit_space_engine *e, const bandit_space_batch *b,
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

/* Sets e->coded to the maximizer's answer; if it is time for a word, with that word. */
static bandit_status maximize_in_turn(bandit_space_engine *e, bandit_space_batch *b,
                                      const bandit_select_limits *limits, bool *found, bandit_error *err)
{
    bandit_select_limits within = *limits;
    double *fixed;
    bool of_word;
    bandit_status status = fix_word(e, b, limits, &fixed, &of_word, err);
    within.fixed = fixed;
    *found = false;
    if (fixed)
        status = maximize(e, b, &within, of_word, found, err);
    free(fixed);
    return status == BANDIT_OK && !*found ? maximize(e, b, limits, false, found, err) : status;
}

/* ---- the next point ------------------------------------------------------------------------------------ */

bool bandit_space_samples_uncertainty(const bandit_space_engine *e, const bandit_space_batch *b)
{
    return !b->has_model && e->base.options.init == BANDIT_INIT_UNCERTAINTY;
}

/* Whether the next pick is a uniform point. */
static bool explores(const bandit_space_engine *e, const bandit_space_batch *b)
{
    const bandit_options *o = &e->base.options;
    return b->has_model && e->rule->explores &&
           bandit_random_uniform(o->seed, e->base.batch, BANDIT_PURPOSE_UNIFORM,
                                 (uint64_t)1 << 63 | b->n_picks) < o->epsilon;
}

/* Whether the next pick is one of the design although there is a model. If all results are equal, the fit has long
 * lengthscales, and the most uncertain points are the corners of the space. */
static bool continues_design(const bandit_space_engine *e, const bandit_space_batch *b)
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
    if (continues_design(e, b))
        status = bandit_design_later(&e->base, b->ledger.n + b->n_out, limits, e->coded, &found, err);
    else if (explores(e, b))
        status = bandit_design_random(&e->base, b->n_picks, limits, e->coded, &found, err);
    else if (b->has_model || bandit_space_samples_uncertainty(e, b))
        status = maximize_in_turn(e, b, limits, &found, err);
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

/* ---- why a point was picked ---------------------------------------------------------------------------- */

static void split(const bandit_space_objective *c, bandit_reason *out)
{
    static const bandit_reason_rule rules[] = {[BANDIT_ACQUIRE_UCB] = BANDIT_REASON_BOUND,
                                               [BANDIT_ACQUIRE_IMPROVEMENT] = BANDIT_REASON_IMPROVEMENT,
                                               [BANDIT_ACQUIRE_PROBABILITY] = BANDIT_REASON_PROBABILITY,
                                               [BANDIT_ACQUIRE_MEAN] = BANDIT_REASON_MEAN,
                                               [BANDIT_ACQUIRE_VARIANCE] = BANDIT_REASON_UNCERTAINTY};
    const bandit_acquisition *a = &c->acquisition;
    out->rule = c->e->rule->samples ? BANDIT_REASON_SAMPLE : rules[a->kind];
    if (out->rule == BANDIT_REASON_UNCERTAINTY)
        bandit_reason_split_variance(out);
    else if (out->rule == BANDIT_REASON_IMPROVEMENT)
        bandit_reason_split_improvement(out, out->mean[0] - a->parameter,
                                        bandit_acquisition_deviation(a, out->variance[0]));
    else if (out->rule != BANDIT_REASON_PROBABILITY)
        bandit_reason_split_value(out);
    if (out->rule == BANDIT_REASON_BOUND)
        out->width = a->parameter;
    else if (a->widening > 0.0)
        out->width = 1.0 + a->widening;
    else if (out->rule == BANDIT_REASON_SAMPLE)
        out->width = c->b->width;
}

/* The largest mean of the points with results, also if the rule does not use it. */
static double leading_mean(const bandit_space_engine *e, bandit_space_batch *b, double *features)
{
    double best = b->has_model ? -INFINITY : 0.0;
    for (size_t i = 0; i < b->ledger.n && !bandit_pause(); i++) {
        bandit_space_features_of(e->base.arms, b->ledger.sums[i].arm, features);
        bandit_surface_look(&b->surface, features);
        best = fmax(best, b->surface.mean);
    }
    return best;
}

/* The reason of a point that maximizes something. */
static bandit_status explain_maximum(bandit_space_engine *e, bandit_space_batch *b, uint32_t arm, aim *at,
                                     const bandit_select_limits *limits, bandit_reason *out,
                                     bandit_error *err)
{
    bandit_engine *engine = &e->base;
    bandit_space_objective c;
    bandit_objective objective;
    bandit_status status = start_choice(e, b, limits, at, &c, &objective, err);
    double *features = bandit_alloc(bandit_arms_dimension(engine->arms), sizeof *features);
    if (status == BANDIT_OK && !features)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        bool improves = c.acquisition.kind == BANDIT_ACQUIRE_IMPROVEMENT ||
                        c.acquisition.kind == BANDIT_ACQUIRE_PROBABILITY;
        double incumbent = improves ? at->incumbent : leading_mean(e, b, features);
        bandit_space_features_of(engine->arms, arm, features);
        objective.values(&c, features, 1, &out->score);
        if (c.penalty > 0.0 && !improves)
            out->penalty = c.penalty * bandit_feasibility_shortfall(&e->feasibility, features, NULL);
        out->penalty -= bandit_location_prior_log(&e->prior, features, NULL);
        bandit_surface_look(&b->surface, features);
        bandit_reason_set_model(out, b->surface.mean, b->surface.variance, incumbent);
        split(&c, out);
    }
    free(features);
    return status;
}

/* Sets *fixed to the word whose points were searched, if the arm is one of them, and otherwise to NULL. To be freed. */
static bandit_status word_of_search(bandit_space_engine *e, const bandit_space_batch *b, uint32_t arm,
                                    const bandit_select_limits *limits, double **fixed, bandit_error *err)
{
    bool of_word;
    bandit_status status = fix_word(e, b, limits, fixed, &of_word, err);
    if (status == BANDIT_OK && of_word && has_fixed(e, arm, *fixed))
        return BANDIT_OK;
    free(*fixed);
    *fixed = NULL;
    return status;
}

bandit_status bandit_space_engine_explain(bandit_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, const bandit_executor *executor,
                                          bandit_reason *out, bandit_error *err)
{
    bandit_space_engine *e = (bandit_space_engine *)engine;
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_select_limits within = *limits;
    double *fixed = NULL;
    aim at = {0};
    bandit_status status = BANDIT_OK;
    (void)executor;
    if (continues_design(e, b)) {
        out->rule = BANDIT_REASON_FIRST;
        return BANDIT_OK;
    }
    if (explores(e, b) || !(b->has_model || bandit_space_samples_uncertainty(e, b))) {
        out->rule = b->has_model ? BANDIT_REASON_RANDOM : BANDIT_REASON_FIRST;
        return BANDIT_OK;
    }
    if (e->rule->seeks_best && b->has_model)
        status = bandit_untried_word_of(engine, &b->ledger, b->out, b->n_out, limits,
                                        engine->batch + b->n_picks, arm, &fixed, err);
    bool untried = fixed;
    if (status == BANDIT_OK && !untried)
        status = word_of_search(e, b, arm, limits, &fixed, err);
    at.of_word = fixed && !untried;
    if (fixed)
        within.fixed = fixed;
    if (status == BANDIT_OK)
        status = explain_maximum(e, b, arm, &at, &within, out, err);
    if (untried)
        out->rule = BANDIT_REASON_WORD;
    free(fixed);
    return status;
}
