/* Ascents inside the set that the rules of a space allow: SLSQP over the free numbers of the polytope of the
 * linear rules. From an inner point, its iterates keep linear constraints, except for rounding. */
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/search/maximize_search.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVALUATIONS = 60,   /* of one ascent, at most */
    MOST_NUMBERS = 200, /* SLSQP takes cubic time in their number */
    MOST_CURVED = 8,    /* rules that are not linear, as constraints of the ascent, at most */
    CURVED_NUMBERS = 24 /* with more numbers there are none: their slopes are differences */
};

typedef struct ascent {
    bandit_search *search;
    const bandit_polytope *polytope;
    double *genes, *coded; /* n each: scratch */
    size_t curved[MOST_CURVED], n_curved;
    double *best; /* coordinates */
} ascent;

/* Sets the genes and the point of coordinates. */
static void express(const ascent *a, const double *t)
{
    bandit_polytope_write(a->polytope, t, a->genes);
    bandit_genome_coded(&a->search->max->genome, a->genes, a->coded);
}

static double along(unsigned n, const double *t, double *gradient, void *context)
{
    ascent *a = context;
    bandit_search *s = a->search;
    const bandit_polytope *p = a->polytope;
    bandit_pause();
    express(a, t);
    bandit_space_encode(s->space, a->coded, s->features);
    double value = s->objective->slopes(s->objective->context, s->features, s->gradient);
    for (size_t j = 0; gradient && j < n; j++) {
        gradient[j] = s->gradient[s->space->places[p->coordinates[j]].first];
        for (size_t k = 0; k < p->n_pivots; k++)
            gradient[j] -= p->d[k * n + j] * s->gradient[s->space->places[p->pivots[k]].first];
    }
    if (value > s->best_value && bandit_space_allows(s->space, a->coded)) {
        s->best_value = value;
        memcpy(a->best, t, n * sizeof *t);
    }
    return value;
}

/* The linear rules: G t − h, less a billionth of the box, so that rounding does not break them. */
static void linear(unsigned m, double *result, unsigned n, const double *t, double *gradient, void *context)
{
    const bandit_polytope *p = ((ascent *)context)->polytope;
    for (size_t i = 0; i < m; i++) {
        result[i] = 1e-9 - p->h[i];
        for (size_t j = 0; j < n; j++)
            result[i] += p->g[i * n + j] * t[j];
    }
    if (gradient)
        memcpy(gradient, p->g, (size_t)m * n * sizeof *gradient);
}

static double slack_of(const ascent *a, size_t rule, const double *t)
{
    const bandit_rules *rules = a->search->space->rules;
    express(a, t);
    return rules->slack(rules, rule, a->coded);
}

/* The other rules, with slopes by differences. */
static void curved(unsigned m, double *result, unsigned n, const double *t, double *gradient, void *context)
{
    const double difference = 1e-6;
    const ascent *a = context;
    double moved[CURVED_NUMBERS];
    memcpy(moved, t, n * sizeof *moved);
    for (size_t i = 0; i < m; i++) {
        result[i] = slack_of(a, a->curved[i], t) + 2.0 * a->search->space->rules->tolerance;
        for (size_t j = 0; gradient && j < n; j++) {
            moved[j] = t[j] + difference;
            double up = slack_of(a, a->curved[i], moved);
            moved[j] = t[j] - difference;
            gradient[i * n + j] = (up - slack_of(a, a->curved[i], moved)) / (2.0 * difference);
            moved[j] = t[j];
        }
    }
}

static bool has_parameter(const bandit_rule *rule, size_t parameter)
{
    for (size_t j = 0; j < rule->n; j++) {
        if (rule->parameters[j] == parameter)
            return true;
    }
    return false;
}

/* Chooses the rules that are not linear and depend on the free numbers. */
static void choose_curved(ascent *a)
{
    const bandit_rules *rules = a->search->space->rules;
    const bandit_polytope *p = a->polytope;
    size_t found = 0;
    for (size_t k = 0; k < rules->n && p->n <= CURVED_NUMBERS; k++) {
        bool touches = false;
        for (size_t j = 0; j < p->n + p->n_pivots && !rules->list[k].coefficients; j++)
            touches |= has_parameter(&rules->list[k], p->coordinates[j]);
        if (touches && found < MOST_CURVED)
            a->curved[found] = k;
        found += touches;
    }
    a->n_curved = found <= MOST_CURVED ? found : 0;
}

static bool optimize(ascent *a, double *t)
{
    static const double tolerances[3 * 64 + MOST_CURVED + 1] = {0};
    const bandit_polytope *p = a->polytope;
    unsigned m = (unsigned)(p->m < 3 * 64 ? p->m : 3 * 64);
    nlopt_opt optimizer = nlopt_create(NLOPT_LD_SLSQP, (unsigned)p->n);
    if (!optimizer)
        return false;
    bool ready = nlopt_set_max_objective(optimizer, along, a) == NLOPT_SUCCESS &&
                 nlopt_set_lower_bounds(optimizer, p->low) == NLOPT_SUCCESS &&
                 nlopt_set_upper_bounds(optimizer, p->high) == NLOPT_SUCCESS &&
                 nlopt_set_maxeval(optimizer, EVALUATIONS) == NLOPT_SUCCESS &&
                 nlopt_set_xtol_abs1(optimizer, 1e-7) == NLOPT_SUCCESS &&
                 nlopt_set_ftol_rel(optimizer, 1e-14) == NLOPT_SUCCESS;
    if (ready && m > 0)
        ready = nlopt_add_inequality_mconstraint(optimizer, m, linear, a, tolerances) == NLOPT_SUCCESS;
    if (ready && a->n_curved > 0)
        ready = nlopt_add_inequality_mconstraint(optimizer, (unsigned)a->n_curved, curved, a, tolerances) ==
                NLOPT_SUCCESS;
    double reached;
    /* It may stop because of rounding or at a limit; in any case the best allowed point seen counts. */
    nlopt_result result = ready ? nlopt_optimize(optimizer, t, &reached) : NLOPT_OUT_OF_MEMORY;
    nlopt_destroy(optimizer);
    return result != NLOPT_OUT_OF_MEMORY;
}

/* Evaluates the best point of the ascent, pulled towards its start if rounding broke a rule. */
static void take_best(ascent *a, const double *from, double *value)
{
    static const double pulls[] = {0.0, 1e-9, 1e-6, 1e-3};
    bandit_search *s = a->search;
    const bandit_polytope *p = a->polytope;
    size_t n = s->space->n;
    s->n_trials = sizeof pulls / sizeof *pulls;
    for (size_t k = 0; k < s->n_trials; k++) {
        double *genes = s->trial_genes + k * n, t[MOST_NUMBERS];
        for (size_t j = 0; j < p->n; j++)
            t[j] = a->best[j] + pulls[k] * (from[j] - a->best[j]);
        memcpy(genes, s->genes, n * sizeof *genes);
        bandit_polytope_write(p, t, genes);
    }
    bandit_search_evaluate(s);
    for (size_t k = 0; k < s->n_trials; k++) {
        if (!(s->trial_values[k] > *value))
            continue;
        *value = s->trial_values[k];
        memcpy(s->genes, s->trial_genes + k * n, n * sizeof *s->genes);
        return;
    }
}

bool bandit_search_ascend_within(bandit_search *s, double *value)
{
    bandit_polytope *p = &s->max->polytope;
    size_t n = s->space->n;
    bandit_error err;
    bandit_genome_coded(&s->max->genome, s->genes, s->coded);
    if (bandit_polytope_build(p, &s->max->genome, s->coded, &err) != BANDIT_OK)
        return false;
    if (p->n == 0 || p->n > MOST_NUMBERS || p->impossible)
        return true;
    double *memory = malloc((2 * n + 3 * p->n) * sizeof *memory);
    if (!memory)
        return false;
    ascent a = {.search = s, .polytope = p, .genes = memory, .coded = memory + n, .best = memory + 2 * n};
    double *t = a.best + p->n, *from = t + p->n;
    memcpy(a.genes, s->genes, n * sizeof *a.genes);
    bandit_polytope_read(p, s->genes, t);
    for (size_t j = 0; j < p->n; j++)
        t[j] = fmin(p->high[j], fmax(p->low[j], t[j]));
    memcpy(from, t, p->n * sizeof *from);
    choose_curved(&a);
    s->best_value = -INFINITY;
    bool ok = optimize(&a, t);
    if (ok && s->best_value > *value)
        take_best(&a, from, value);
    free(memory);
    return ok;
}
