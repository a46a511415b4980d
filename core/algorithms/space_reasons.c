/* Why a point of an open space was picked. */
#include "core/algorithms/reason.h"
#include "core/algorithms/space_picks.h"
#include "core/algorithms/untried_words.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static bandit_status explain_maximum(bandit_space_engine *e, bandit_space_batch *b, uint32_t arm,
                                     bandit_space_aim *at, const bandit_select_limits *limits,
                                     bandit_reason *out, bandit_error *err)
{
    bandit_engine *engine = &e->base;
    bandit_space_objective c;
    bandit_objective objective;
    bandit_status status = bandit_space_start_choice(e, b, limits, at, &c, &objective, err);
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
    bandit_status status = bandit_space_fix_word(e, b, limits, fixed, &of_word, err);
    if (status == BANDIT_OK && of_word && bandit_space_has_fixed(e, arm, *fixed))
        return BANDIT_OK;
    free(*fixed);
    *fixed = NULL;
    return status;
}

/* Whether the arm is the best point of a quadratic function, which was due. Overwrites e->coded. */
static bandit_status is_of_quadratic(bandit_space_engine *e, bandit_space_batch *b, uint32_t arm,
                                     const bandit_select_limits *limits, bool *is, bandit_error *err)
{
    size_t n = e->base.arms->space->n;
    *is = false;
    double *point = bandit_alloc(n, sizeof *point);
    if (!point)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_space_choose_quadratic(e, b, limits, is, err);
    memcpy(point, e->coded, n * sizeof *point);
    bandit_arms_coded(e->base.arms, arm, e->coded);
    for (size_t i = 0; i < n && *is; i++)
        *is = point[i] == e->coded[i] || (isnan(point[i]) && isnan(e->coded[i]));
    free(point);
    return status;
}

/* The reason of such an arm: what the model says about it. */
static bandit_status explain_quadratic(bandit_space_engine *e, bandit_space_batch *b, uint32_t arm,
                                       bandit_reason *out, bandit_error *err)
{
    double *features = bandit_alloc(bandit_arms_dimension(e->base.arms), sizeof *features);
    if (!features)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double incumbent = leading_mean(e, b, features);
    bandit_space_features_of(e->base.arms, arm, features);
    bandit_surface_look(&b->surface, features);
    bandit_reason_set_model(out, b->surface.mean, b->surface.variance, incumbent);
    out->rule = BANDIT_REASON_QUADRATIC;
    free(features);
    return BANDIT_OK;
}

bandit_status bandit_space_engine_explain(bandit_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, const bandit_executor *executor,
                                          bandit_reason *out, bandit_error *err)
{
    bandit_space_engine *e = (bandit_space_engine *)engine;
    bandit_space_batch *b = &e->batches[e->in_force];
    bandit_select_limits within = *limits;
    double *fixed = NULL;
    bandit_space_aim at = {0};
    bandit_status status = BANDIT_OK;
    (void)executor;
    if (bandit_space_continues_design(e, b)) {
        out->rule = BANDIT_REASON_FIRST;
        return BANDIT_OK;
    }
    if (bandit_space_explores(e, b) || !(b->has_model || bandit_space_samples_uncertainty(e, b))) {
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
    bool quadratic = false;
    if (status == BANDIT_OK && !fixed)
        status = is_of_quadratic(e, b, arm, limits, &quadratic, err);
    if (status == BANDIT_OK && quadratic)
        status = explain_quadratic(e, b, arm, out, err);
    else if (status == BANDIT_OK)
        status = explain_maximum(e, b, arm, &at, &within, out, err);
    if (untried)
        out->rule = BANDIT_REASON_WORD;
    free(fixed);
    return status;
}
