/* Where a run climbs from: a few points, apart from each other, among the best of the grid and of
 * perturbations around these. */
#include "core/search/maximize_search.h"

#include <string.h>

enum {
    CENTRES = 4, /* points of the grid that are perturbed */
    AROUND = 64, /* perturbations of each */
    STARTS = 5,  /* number of ascents */
    BESIDE = 96, /* perturbations of the point that the caller names, … */
    SIZES = 8    /* … of this many sizes */
};

static bool same_genes(const bandit_search *s, const double *a, const double *b)
{
    return memcmp(a, b, s->space->n * sizeof *a) == 0;
}

/* Adds a point to the list of the best, which is in descending order, unless the list already has it. */
static void keep_start(bandit_search *s, const double *genes, double value)
{
    size_t n = s->space->n;
    if (isnan(value) ||
        (s->n_starts == BANDIT_SEARCH_POOL && !(value > s->start_values[BANDIT_SEARCH_POOL - 1])))
        return;
    for (size_t k = 0; k < s->n_starts; k++) {
        if (s->start_values[k] == value && same_genes(s, s->start_genes + k * n, genes))
            return;
    }
    size_t place = s->n_starts < BANDIT_SEARCH_POOL ? s->n_starts++ : BANDIT_SEARCH_POOL - 1;
    for (; place > 0 && s->start_values[place - 1] < value; place--) {
        s->start_values[place] = s->start_values[place - 1];
        memcpy(s->start_genes + place * n, s->start_genes + (place - 1) * n, n * sizeof *genes);
    }
    s->start_values[place] = value;
    memcpy(s->start_genes + place * n, genes, n * sizeof *genes);
}

/* Moves parameter i of `genes`. Steps of numbers are logistic, which is close to normal and cheap. */
static void move_gene(const bandit_search *s, size_t i, double step, double u, double t, double *genes)
{
    const bandit_genome *g = &s->max->genome;
    bool is_double = s->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
    bool is_integer = s->space->parameters[i].type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values;
    if (is_double || is_integer) {
        double moved = genes[i] + step * 0.55 * log((t + 0x1p-54) / (1.0 - t));
        moved = fmin(g->choices[i].high, fmax(g->choices[i].low, moved));
        genes[i] = is_integer ? bandit_space_encode_number(s->space, i,
                                                           bandit_space_decode_number(s->space, i, moved))
                              : moved;
    } else if (u < 1.0 / (double)s->space->n) {
        genes[i] = bandit_genome_gene(g, i, t);
    }
}

/* Moves a few parameters, or all; discrete ones jump rarely. Steps have size `size`, times the parameter's
 * entry of `steps` unless that is NULL. */
static void perturb_by(bandit_search *s, const double *centre, uint64_t number, double size, double share,
                       const double *steps, double *genes)
{
    const bandit_genome *g = &s->max->genome;
    const uint64_t first = s->pick << 40 | number << 12;
    size_t n = s->space->n;
    memcpy(genes, centre, n * sizeof *genes);
    for (size_t i = 0; i < n; i++) {
        double u = bandit_random_uniform(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, first + 2 * i);
        double t = bandit_random_uniform(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, first + 2 * i + 1);
        if (isnan(g->fixed[i]) && u < share)
            move_gene(s, i, steps ? size * steps[i] : size, u, t, genes);
    }
    if (s->space->rules)
        bandit_feasible_step(g, &s->max->polytope, centre, genes, s->coded);
}

/* Perturbs a centre; the number of the perturbation determines its size. */
static void perturb(bandit_search *s, const double *centre, uint64_t number, double *genes)
{
    double size = 0.3 * pow(0.1, (double)(number % 8) / 3.0);
    double share = number % 2 ? 1.0 : fmin(1.0, 2.0 / (double)s->space->n);
    perturb_by(s, centre, number, size, share, NULL, genes);
}

/* The mean over the parameters of squared differences of numbers, and of 1 for different discrete values. For
 * random points it is about 1/6. */
static double apart(const bandit_search *s, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->space->n; i++) {
        bandit_parameter_type type = s->space->parameters[i].type;
        bool number = type == BANDIT_PARAMETER_DOUBLE || type == BANDIT_PARAMETER_INTEGER;
        sum += number ? (a[i] - b[i]) * (a[i] - b[i]) : a[i] != b[i] ? 1.0 : 0.0;
    }
    return sum / (double)s->space->n;
}

/* Keeps the best point of the pool, then always the best one that is apart from those already kept, `wanted`
 * in all. */
static void spread_starts(bandit_search *s, size_t wanted)
{
    const double enough = 0.04;
    size_t n = s->space->n, kept = 0;
    for (size_t k = 0; k < s->n_starts && kept < wanted; k++) {
        bool far = true;
        for (size_t e = 0; e < kept && far; e++)
            far = apart(s, s->start_genes + e * n, s->start_genes + k * n) > enough;
        if (!far)
            continue;
        s->start_values[kept] = s->start_values[k];
        memmove(s->start_genes + kept * n, s->start_genes + k * n, n * sizeof(double));
        kept++;
    }
    s->n_starts = kept;
}

void bandit_search_choose_starts(bandit_search *s, const double *grid_values)
{
    const bandit_maximizer *max = s->max;
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t a = 0; a < max->n_grid; a++) {
        bandit_search_offer(s, max->genes + a * n, max->features + a * d, grid_values[a]);
        keep_start(s, max->genes + a * n, grid_values[a]);
    }
    if (max->exhaustive)
        return;
    spread_starts(s, CENTRES);
    size_t centres = s->n_starts;
    s->n_trials = centres * AROUND;
    for (size_t t = 0; t < s->n_trials; t++)
        perturb(s, s->start_genes + t % centres * n, t, s->trial_genes + t * n);
    bandit_search_evaluate(s);
    for (size_t t = 0; t < s->n_trials; t++)
        keep_start(s, s->trial_genes + t * n, s->trial_values[t]);
    spread_starts(s, STARTS);
}

void bandit_search_look_beside(bandit_search *s)
{
    const bandit_maximizer *max = s->max;
    size_t n = s->space->n;
    memcpy(s->genes, max->genes,
           n * sizeof *s->genes); /* inactive parameters get the genes of some point of the sweep */
    bandit_genome_take(&max->genome, max->beside, s->genes);
    s->n_trials = BESIDE;
    for (size_t t = 0; t < s->n_trials; t++) {
        double size = pow(0.35, (double)(t % SIZES)),
               share = t / SIZES % 2 ? 1.0 : fmax(0.5, 2.0 / (double)n);
        perturb_by(s, s->genes, (uint64_t)CENTRES * AROUND + t, size, share, max->steps,
                   s->trial_genes + t * n);
    }
    bandit_search_evaluate(s);
    for (s->n_beside = 0; s->n_beside < BANDIT_SEARCH_BESIDE; s->n_beside++) {
        size_t best = 0;
        for (size_t t = 1; t < s->n_trials; t++)
            if (!(s->trial_values[t] <= s->trial_values[best]))
                best = t;
        if (isnan(s->trial_values[best]))
            break;
        s->beside_values[s->n_beside] = s->trial_values[best];
        memcpy(s->beside_genes + s->n_beside * n, s->trial_genes + best * n, n * sizeof *s->genes);
        s->trial_values[best] = -INFINITY;
    }
}
