/* Climbing from a start: L-BFGS over the numbers, alternating with moves of discrete parameters. */
#include "core/base/pause.h"
#include "core/search/maximize_search.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

enum {
    EVALUATIONS = 60, /* of one ascent, at most */
    ROUNDS = 6,       /* of ascent and moves; the last round has no moves */
    MOVES = 12,       /* rounds of moves between two ascents, at most */
    LISTED = 16       /* values of a parameter that a move tries, at most */
};

/* ---- ascents ------------------------------------------------------------------------------------------- */

/* The objective as a function of the free numbers, with integers relaxed, as NLopt calls it. */
static double along(unsigned n, const double *x, double *gradient, void *context)
{
    bandit_search *s = context;
    bandit_pause();
    for (size_t k = 0; k < n; k++)
        s->features[s->space->places[s->max->list[k]].first] = x[k];
    double value = s->objective->slopes(s->objective->context, s->features, s->gradient);
    for (size_t k = 0; gradient && k < n; k++)
        gradient[k] = s->gradient[s->space->places[s->max->list[k]].first];
    if (value > s->best_value) {
        s->best_value = value;
        memcpy(s->best_x, x, n * sizeof *x);
    }
    return value;
}

bool bandit_ascend(bandit_slope_function *f, void *context, size_t n, double *x, const double *low,
                   const double *high)
{
    nlopt_opt optimizer = nlopt_create(NLOPT_LD_LBFGS, (unsigned)n);
    if (!optimizer)
        return false;
    bool ready = nlopt_set_max_objective(optimizer, f, context) == NLOPT_SUCCESS &&
                 nlopt_set_lower_bounds(optimizer, low) == NLOPT_SUCCESS &&
                 nlopt_set_upper_bounds(optimizer, high) == NLOPT_SUCCESS &&
                 nlopt_set_maxeval(optimizer, EVALUATIONS) == NLOPT_SUCCESS &&
                 nlopt_set_xtol_abs1(optimizer, 1e-7) == NLOPT_SUCCESS &&
                 nlopt_set_ftol_rel(optimizer, 1e-14) == NLOPT_SUCCESS &&
                 nlopt_set_vector_storage(optimizer, 8) == NLOPT_SUCCESS;
    double reached;
    /* It may stop because of rounding or at a limit; in any case the best point seen counts. */
    nlopt_result result = ready ? nlopt_optimize(optimizer, x, &reached) : NLOPT_OUT_OF_MEMORY;
    nlopt_destroy(optimizer);
    return result != NLOPT_OUT_OF_MEMORY;
}

/* Ascends over the doubles from s->genes, whose value is `value`; with `relaxed` over integers as well, which
 * are then rounded. Nothing changes unless the result is better. Returns false when out of memory. */
static bool ascend(bandit_search *s, bool relaxed, double *value)
{
    const bandit_genome *g = &s->max->genome;
    if (s->space->rules)
        return relaxed || bandit_search_ascend_within(s, value);
    s->n_free = 0;
    bandit_maximizer_express(s->max, s->genes, s->coded, s->features);
    for (size_t i = 0; i < s->space->n; i++) {
        bandit_parameter_type type = s->space->parameters[i].type;
        bool number = type == BANDIT_PARAMETER_DOUBLE ||
                      (relaxed && type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values);
        if (!number || isnan(s->coded[i]) || !isnan(g->fixed[i]))
            continue;
        s->x[s->n_free] = s->genes[i];
        s->low[s->n_free] = g->choices[i].low;
        s->high[s->n_free] = g->choices[i].high;
        s->max->list[s->n_free++] = i;
    }
    if (s->n_free == 0)
        return true;
    s->best_value = -INFINITY;
    if (!bandit_ascend(along, s, s->n_free, s->x, s->low, s->high))
        return false;
    if (!(s->best_value > *value))
        return true;
    double *genes = s->trial_genes;
    memcpy(genes, s->genes, s->space->n * sizeof *genes);
    for (size_t k = 0; k < s->n_free; k++) {
        size_t i = s->max->list[k];
        double value_at = bandit_space_decode_number(s->space, i, s->best_x[k]);
        genes[i] = s->space->parameters[i].type == BANDIT_PARAMETER_INTEGER
                       ? bandit_space_encode_number(s->space, i, value_at)
                       : s->best_x[k];
    }
    s->n_trials = 1;
    bandit_search_evaluate(s);
    if (s->trial_values[0] > *value) {
        *value = s->trial_values[0];
        memcpy(s->genes, genes, s->space->n * sizeof *genes);
    }
    return true;
}

/* ---- moves --------------------------------------------------------------------------------------------- */

void bandit_search_evaluate_moves(bandit_search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t t = 0; t < s->n_trials; t++) {
        const double *genes = s->trial_genes + t * n;
        double *features = s->trial_features + t * d;
        size_t i = s->moved[t];
        if (s->space->places[i].has_children) {
            bandit_maximizer_express(s->max, genes, s->coded, features);
            continue;
        }
        memcpy(features, s->features, d * sizeof *features);
        bandit_space_encode_parameter(s->space, i, bandit_genome_value(&s->max->genome, i, genes[i]),
                                      features);
    }
    bandit_search_evaluate_expressed(s);
}

void bandit_search_add_trial(bandit_search *s, size_t i, double gene)
{
    if (s->n_trials == BANDIT_MAXIMIZE_TRIALS || gene == s->genes[i])
        return;
    s->moved[s->n_trials] = i;
    double *genes = s->trial_genes + s->n_trials++ * s->space->n;
    memcpy(genes, s->genes, s->space->n * sizeof *genes);
    genes[i] = gene;
}

/* Adds values of parameter i to try instead of its present one: all if there are few, otherwise neighbours
 * and a few distant ones. */
static void add_moves(bandit_search *s, size_t i)
{
    const bandit_genome *g = &s->max->genome;
    const bandit_parameter *p = &s->space->parameters[i];
    uint64_t values = bandit_genome_values(g, i);
    if (values <= LISTED) {
        for (uint64_t k = 0; k < values; k++)
            bandit_search_add_trial(s, i, bandit_genome_value_gene(g, i, k));
        return;
    }
    if (p->type == BANDIT_PARAMETER_CATEGORICAL || g->choices[i].values) {
        for (uint64_t k = 0; k < LISTED; k++) {
            uint64_t index = s->pick << 40 | (uint64_t)1 << 39 | (uint64_t)i << 8 | k;
            bandit_search_add_trial(
                s, i,
                bandit_genome_value_gene(
                    g, i,
                    bandit_random_below(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, index, values)));
        }
        return;
    }
    uint64_t k = bandit_space_rank(s->space, i, bandit_genome_value(g, i, s->genes[i]));
    k -= g->choices[i].limited ? bandit_space_rank(s->space, i, g->choices[i].min) : 0;
    for (uint64_t step = 1; step < values; step = step < 2 ? 2 : step * 4) {
        if (k >= step)
            bandit_search_add_trial(s, i, bandit_genome_value_gene(g, i, k - step));
        if (values - 1 - k >= step)
            bandit_search_add_trial(s, i, bandit_genome_value_gene(g, i, k + step));
    }
}

/* Finds the best change of every parameter among the trials: its gene in s->x (NaN: none helps) and its gain
 * in s->low. Returns the number of parameters with a helpful change; *best is the best trial. */
static size_t sort_out_moves(bandit_search *s, double value, size_t *best)
{
    size_t n = s->space->n, helpful = 0;
    for (size_t i = 0; i < n; i++)
        s->x[i] = (double)NAN;
    *best = s->n_trials;
    for (size_t t = 0; t < s->n_trials; t++) {
        size_t i = s->moved[t];
        double gain = s->trial_values[t] - value;
        if (!(gain > 0.0) || (!isnan(s->x[i]) && gain <= s->low[i]))
            continue;
        helpful += isnan(s->x[i]) ? 1U : 0U;
        s->x[i] = s->trial_genes[t * n + i];
        s->low[i] = gain;
        if (*best == s->n_trials || s->trial_values[t] > s->trial_values[*best])
            *best = t;
    }
    return helpful;
}

/* Tries the best single change, and several at once: all that gain, and those that gain most. */
static void combine_moves(bandit_search *s, size_t best)
{
    static const double shares[] = {0.0, 0.25, 0.5, 0.75};
    size_t n = s->space->n;
    double most = s->low[s->moved[best]];
    memmove(s->trial_genes, s->trial_genes + best * n, n * sizeof *s->trial_genes);
    s->n_trials = 1;
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        double *genes = s->trial_genes + s->n_trials++ * n;
        for (size_t i = 0; i < n; i++)
            genes[i] = !isnan(s->x[i]) && s->low[i] >= shares[k] * most ? s->x[i] : s->genes[i];
    }
    bandit_search_evaluate(s);
}

/* Changes discrete parameters, one by one and together, as long as that helps. Returns whether anything
 * changed. */
static bool move(bandit_search *s, double *value)
{
    bool moved = false;
    size_t n = s->space->n;
    for (int round = 0; round < MOVES; round++) {
        s->n_trials = 0;
        bandit_maximizer_express(s->max, s->genes, s->coded, s->features);
        /* if there are not enough trials for all parameters, each round takes others */
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)s->pick + (size_t)round * (BANDIT_MAXIMIZE_TRIALS / LISTED)) % n;
            if (!isnan(s->coded[i]) && isnan(s->max->genome.fixed[i]) &&
                s->space->parameters[i].type != BANDIT_PARAMETER_DOUBLE)
                add_moves(s, i);
        }
        bandit_search_evaluate_moves(s);
        size_t best, helpful = sort_out_moves(s, *value, &best);
        if (helpful == 0)
            return moved;
        if (helpful > 1) {
            combine_moves(s, best);
            best = 0;
            for (size_t t = 1; t < s->n_trials; t++)
                best = s->trial_values[t] > s->trial_values[best] ? t : best;
        }
        *value = s->trial_values[best];
        memcpy(s->genes, s->trial_genes + best * n, n * sizeof *s->genes);
        moved = true;
    }
    return moved;
}

static bool has_integers(const bandit_search *s)
{
    for (size_t i = 0; i < s->space->n; i++) {
        if (s->space->parameters[i].type == BANDIT_PARAMETER_INTEGER)
            return true;
    }
    return false;
}

bool bandit_search_climb(bandit_search *s, double value)
{
    bool moved = true;
    for (int round = 0; moved && round < ROUNDS && !bandit_pause(); round++) {
        if ((round == 0 && has_integers(s) && !ascend(s, true, &value)) || !ascend(s, false, &value))
            return false;
        moved = round + 1 < ROUNDS && move(s, &value);
        if (round + 1 < ROUNDS &&
            !bandit_search_try_words(s, round == 0 && s->climbs == 0, round, &value, &moved))
            return false;
    }
    s->climbs++;
    return true;
}
