#include "maximize.h"

#include "memory.h"

#include <assert.h>
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEP_LEAST = 256, /* points of a sweep: so many, … */
    SWEEP_EACH = 96,   /* … so many more for every parameter, … */
    SWEEP_MOST = 2048, /* … and no more */
    CENTRES = 4,       /* of the perturbations */
    AROUND = 64,       /* perturbations of each */
    STARTS = 5,        /* of ascents */
    POOL = 272,        /* best points, from which starts apart from each other are taken */
    EVALUATIONS = 60,  /* of one ascent, at most */
    ROUNDS = 6,        /* of ascent and moves; the last without moves */
    MOVES = 12,        /* of discrete parameters between two ascents, at most */
    TRIALS = BANDIT_MAXIMIZE_TRIALS,
    LISTED = 16 /* values of a parameter that a move tries, at most */
};

/* ---- the grid ------------------------------------------------------------------------------------------ */

static size_t sweep_size(size_t n)
{
    size_t wanted = SWEEP_LEAST + SWEEP_EACH * n;
    return wanted < SWEEP_MOST ? wanted : SWEEP_MOST;
}

static bool reserve_grid(bandit_maximizer *max, size_t n)
{
    const bandit_space *s = max->genome.space;
    return bandit_reserve_keep((void **)&max->genes, &max->capacity_genes, max->n_grid * s->n, n * s->n,
                               sizeof(double)) &&
           bandit_reserve_keep((void **)&max->features, &max->capacity_features, max->n_grid * s->dimension,
                               n * s->dimension, sizeof(double));
}

/* Features of genes; coded: scratch that receives the point. */
static void express(const bandit_maximizer *max, const double *genes, double *coded, double *features)
{
    bandit_genome_coded(&max->genome, genes, coded);
    bandit_space_encode(max->genome.space, coded, features);
}

static bool has_fixed_values(const bandit_genome *g, const double *coded)
{
    for (size_t i = 0; i < g->space->n; i++) {
        if (!isnan(g->fixed[i]) && coded[i] != g->fixed[i])
            return false;
    }
    return true;
}

/* All points of a small space. */
static bandit_status list_points(bandit_maximizer *max, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    double *coded = bandit_alloc(s->n, sizeof *coded);
    if (!coded || !reserve_grid(max, s->size)) {
        free(coded);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    max->exhaustive = true;
    bandit_space_first_point(s, coded);
    do {
        if (!has_fixed_values(&max->genome, coded))
            continue;
        double *genes = max->genes + max->n_grid * s->n;
        for (size_t i = 0; i < s->n; i++)
            genes[i] = bandit_genome_gene(&max->genome, i, 0.5);
        bandit_genome_take(&max->genome, coded, genes);
        bandit_space_encode(s, coded, max->features + max->n_grid * s->dimension);
        max->n_grid++;
    } while (bandit_space_next_point(s, coded));
    free(coded);
    return BANDIT_OK;
}

static bandit_status reserve_run(bandit_maximizer *max, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    size_t trial = s->n + s->dimension + 1, start = s->n + 1, one = 8 * s->n + 4 * s->dimension;
    size_t list = s->n;
    if (bandit_reserve((void **)&max->run, &max->capacity_run, TRIALS * trial + POOL * start + one,
                       sizeof(double)) &&
        bandit_reserve((void **)&max->list, &max->capacity_list, list, sizeof *max->list))
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

bandit_status bandit_maximizer_start(bandit_maximizer *max, const bandit_space *space, const double *fixed,
                                     uint64_t seed, uint64_t batch, bandit_error *err)
{
    bandit_genome_clear(&max->genome);
    max->n_grid = 0;
    max->exhaustive = false;
    max->batch = batch;
    bandit_status status = bandit_genome_init(&max->genome, space, fixed, seed, err);
    if (status == BANDIT_OK)
        status = reserve_run(max, err);
    if (status != BANDIT_OK)
        return status;
    size_t n = sweep_size(space->n);
    if (space->size <= SWEEP_MOST)
        return list_points(max, err);
    status = bandit_genome_sequence(&max->genome, batch, err);
    if (status != BANDIT_OK)
        return status;
    if (!reserve_grid(max, n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (; max->n_grid < n; max->n_grid++) {
        double *genes = max->genes + max->n_grid * space->n;
        bandit_genome_sweep(&max->genome, max->n_grid, genes);
        express(max, genes, max->run, max->features + max->n_grid * space->dimension);
    }
    return BANDIT_OK;
}

bandit_status bandit_maximizer_add(bandit_maximizer *max, const double *coded, bandit_error *err)
{
    const bandit_space *s = max->genome.space;
    if (max->exhaustive)
        return BANDIT_OK;
    if (!reserve_grid(max, max->n_grid + 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *genes = max->genes + max->n_grid * s->n;
    /* what is not active: as at some point of the sweep */
    memcpy(genes, max->genes + (max->n_grid % sweep_size(s->n)) * s->n, s->n * sizeof *genes);
    bandit_genome_take(&max->genome, coded, genes);
    express(max, genes, max->run, max->features + max->n_grid * s->dimension);
    max->n_grid++;
    return BANDIT_OK;
}

void bandit_maximizer_clear(bandit_maximizer *max)
{
    bandit_genome_clear(&max->genome);
    free(max->genes);
    free(max->features);
    free(max->run);
    free(max->list);
    *max = (bandit_maximizer){0};
}

size_t bandit_maximizer_memory(const bandit_maximizer *max)
{
    return bandit_genome_memory(&max->genome) +
           (max->capacity_genes + max->capacity_features + max->capacity_run) * sizeof(double) +
           max->capacity_list * sizeof *max->list;
}

/* ---- a run --------------------------------------------------------------------------------------------- */

typedef struct search {
    bandit_maximizer *max;
    const bandit_space *space;
    const bandit_objective *objective;
    uint64_t pick;
    double *trial_genes, *trial_features, *trial_values; /* TRIALS each */
    size_t n_trials, moved[TRIALS];                      /* in a move: the parameter that a trial changes */
    double *start_genes, *start_values;                  /* POOL each: the best points, best first */
    size_t n_starts;
    double *genes;          /* n: where a climb stands */
    double *features;       /* dimension: of it */
    double *gradient;       /* dimension */
    double *coded, *answer; /* n: scratch, and the best point accepted */
    double *x, *best_x;     /* n: the numbers that an ascent moves */
    double *low, *high;     /* n */
    size_t n_free;          /* parameters max->list[0 …] */
    double best_value;      /* of an ascent */
    double value;           /* of the answer */
    bool found;
} search;

static void search_init(search *s, bandit_maximizer *max, const bandit_objective *objective, uint64_t pick,
                        double *answer)
{
    const bandit_space *space = max->genome.space;
    size_t n = space->n, d = space->dimension;
    *s = (search){.max = max, .space = space, .objective = objective, .pick = pick, .answer = answer};
    s->trial_genes = max->run;
    s->trial_features = s->trial_genes + TRIALS * n;
    s->trial_values = s->trial_features + TRIALS * d;
    s->start_genes = s->trial_values + TRIALS;
    s->start_values = s->start_genes + POOL * n;
    s->genes = s->start_values + POOL;
    s->features = s->genes + n;
    s->gradient = s->features + d;
    s->coded = s->gradient + d;
    s->x = s->coded + n;
    s->best_x = s->x + n;
    s->low = s->best_x + n;
    s->high = s->low + n;
}

/* Offers a point as the answer. */
static void offer(search *s, const double *genes, const double *features, double value)
{
    if (isnan(value) || (s->found && !(value > s->value)))
        return;
    bandit_genome_point(&s->max->genome, genes, s->coded);
    if (s->objective->accepts && !s->objective->accepts(s->objective->context, s->coded, features))
        return;
    memcpy(s->answer, s->coded, s->space->n * sizeof *s->coded);
    s->value = value;
    s->found = true;
}

/* Values of the trials whose features are there, each offered as the answer. */
static void evaluate_expressed(search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    if (s->n_trials > 0)
        s->objective->values(s->objective->context, s->trial_features, s->n_trials, s->trial_values);
    for (size_t t = 0; t < s->n_trials; t++)
        offer(s, s->trial_genes + t * n, s->trial_features + t * d, s->trial_values[t]);
}

static void evaluate_trials(search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t t = 0; t < s->n_trials; t++)
        express(s->max, s->trial_genes + t * n, s->coded, s->trial_features + t * d);
    evaluate_expressed(s);
}

/* Trials that differ from s->genes, whose features are s->features, in one parameter each. */
static void evaluate_moves(search *s)
{
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t t = 0; t < s->n_trials; t++) {
        const double *genes = s->trial_genes + t * n;
        double *features = s->trial_features + t * d;
        size_t i = s->moved[t];
        if (s->space->places[i].has_children) {
            express(s->max, genes, s->coded, features);
            continue;
        }
        memcpy(features, s->features, d * sizeof *features);
        bandit_space_encode_parameter(s->space, i, bandit_genome_value(&s->max->genome, i, genes[i]),
                                      features);
    }
    evaluate_expressed(s);
}

static bool same_genes(const search *s, const double *a, const double *b)
{
    return memcmp(a, b, s->space->n * sizeof *a) == 0;
}

/* Keeps the best few, best first; a point that is there already is not kept twice. */
static void keep_start(search *s, const double *genes, double value)
{
    size_t n = s->space->n;
    if (isnan(value) || (s->n_starts == POOL && !(value > s->start_values[POOL - 1])))
        return;
    for (size_t k = 0; k < s->n_starts; k++) {
        if (s->start_values[k] == value && same_genes(s, s->start_genes + k * n, genes))
            return;
    }
    size_t place = s->n_starts < POOL ? s->n_starts++ : POOL - 1;
    for (; place > 0 && s->start_values[place - 1] < value; place--) {
        s->start_values[place] = s->start_values[place - 1];
        memcpy(s->start_genes + place * n, s->start_genes + (place - 1) * n, n * sizeof *genes);
    }
    s->start_values[place] = value;
    memcpy(s->start_genes + place * n, genes, n * sizeof *genes);
}

/* Steps of many sizes: of a few parameters, or of all; the discrete ones jump seldom. */
static void perturb(search *s, const double *centre, uint64_t number, double *genes)
{
    const bandit_genome *g = &s->max->genome;
    const uint64_t first = s->pick << 40 | number << 12;
    size_t n = s->space->n;
    double step = 0.3 * pow(0.1, (double)(number % 8) / 3.0);
    double share = number % 2 ? 1.0 : fmin(1.0, 2.0 / (double)n);
    memcpy(genes, centre, n * sizeof *genes);
    for (size_t i = 0; i < n; i++) {
        double u = bandit_random_uniform(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, first + 2 * i);
        double t = bandit_random_uniform(g->seed, s->max->batch, BANDIT_PURPOSE_PERTURB, first + 2 * i + 1);
        bool is_double = s->space->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
        bool is_integer = s->space->parameters[i].type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values;
        if (!isnan(g->fixed[i]) || u >= share)
            continue;
        if (is_double || is_integer) { /* a logistic step: normal enough, and cheap */
            double moved = genes[i] + step * 0.55 * log((t + 0x1p-54) / (1.0 - t));
            moved = fmin(1.0, fmax(0.0, moved));
            genes[i] = is_integer ? bandit_space_encode_number(s->space, i,
                                                               bandit_space_decode_number(s->space, i, moved))
                                  : moved;
        } else if (u < 1.0 / (double)n) {
            genes[i] = bandit_genome_gene(g, i, t);
        }
    }
}

/* Mean squared difference of numbers, 1 for any in what is discrete. Of random points it is about 1/6. */
static double apart(const search *s, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->space->n; i++) {
        bandit_parameter_type type = s->space->parameters[i].type;
        bool number = type == BANDIT_PARAMETER_DOUBLE || type == BANDIT_PARAMETER_INTEGER;
        sum += number ? (a[i] - b[i]) * (a[i] - b[i]) : a[i] != b[i] ? 1.0 : 0.0;
    }
    return sum / (double)s->space->n;
}

/* Of the pool, the best, and the best of those that are apart from the ones before; only so many stay. */
static void spread_starts(search *s, size_t wanted)
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

static void choose_starts(search *s, const double *grid_values)
{
    const bandit_maximizer *max = s->max;
    size_t n = s->space->n, d = s->space->dimension;
    for (size_t a = 0; a < max->n_grid; a++) {
        offer(s, max->genes + a * n, max->features + a * d, grid_values[a]);
        keep_start(s, max->genes + a * n, grid_values[a]);
    }
    if (max->exhaustive)
        return;
    spread_starts(s, CENTRES);
    size_t centres = s->n_starts;
    s->n_trials = centres * AROUND;
    for (size_t t = 0; t < s->n_trials; t++)
        perturb(s, s->start_genes + t % centres * n, t, s->trial_genes + t * n);
    evaluate_trials(s);
    for (size_t t = 0; t < s->n_trials; t++)
        keep_start(s, s->trial_genes + t * n, s->trial_values[t]);
    spread_starts(s, STARTS);
}

/* ---- climbing ------------------------------------------------------------------------------------------ */

/* The objective over the numbers that are free, integers relaxed; NLopt's function. */
static double along(unsigned n, const double *x, double *gradient, void *context)
{
    search *s = context;
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
    /* Stopping for rounding or at a limit is as good: the best point met is what counts. */
    nlopt_result result = ready ? nlopt_optimize(optimizer, x, &reached) : NLOPT_OUT_OF_MEMORY;
    nlopt_destroy(optimizer);
    return result != NLOPT_OUT_OF_MEMORY;
}

/* From s->genes, whose value is `value`, to where its doubles are best; relaxed: integers as well, which are
 * rounded then. Nothing changes if that is no better. false: no memory. */
static bool ascend(search *s, bool relaxed, double *value)
{
    const bandit_genome *g = &s->max->genome;
    s->n_free = 0;
    express(s->max, s->genes, s->coded, s->features);
    for (size_t i = 0; i < s->space->n; i++) {
        bandit_parameter_type type = s->space->parameters[i].type;
        bool number = type == BANDIT_PARAMETER_DOUBLE ||
                      (relaxed && type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values);
        if (!number || isnan(s->coded[i]) || !isnan(g->fixed[i]))
            continue;
        s->x[s->n_free] = s->genes[i];
        s->low[s->n_free] = 0.0;
        s->high[s->n_free] = 1.0;
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
    evaluate_trials(s);
    if (s->trial_values[0] > *value) {
        *value = s->trial_values[0];
        memcpy(s->genes, genes, s->space->n * sizeof *genes);
    }
    return true;
}

static void add_trial(search *s, size_t i, double gene)
{
    if (s->n_trials == TRIALS || gene == s->genes[i])
        return;
    s->moved[s->n_trials] = i;
    double *genes = s->trial_genes + s->n_trials++ * s->space->n;
    memcpy(genes, s->genes, s->space->n * sizeof *genes);
    genes[i] = gene;
}

/* Values of parameter i to try instead of the one it has: all if they are few, else neighbours and a few far
 * ones. */
static void add_moves(search *s, size_t i)
{
    const bandit_genome *g = &s->max->genome;
    const bandit_parameter *p = &s->space->parameters[i];
    uint64_t values = bandit_genome_values(g, i);
    if (values <= LISTED) {
        for (uint64_t k = 0; k < values; k++)
            add_trial(s, i, bandit_genome_value_gene(g, i, k));
        return;
    }
    if (p->type == BANDIT_PARAMETER_CATEGORICAL || g->choices[i].values) {
        for (uint64_t k = 0; k < LISTED; k++) {
            uint64_t index = s->pick << 40 | (uint64_t)1 << 39 | (uint64_t)i << 8 | k;
            add_trial(s, i,
                      bandit_genome_value_gene(g, i,
                                               bandit_random_below(g->seed, s->max->batch,
                                                                   BANDIT_PURPOSE_PERTURB, index, values)));
        }
        return;
    }
    uint64_t k = bandit_space_rank(s->space, i, bandit_genome_value(g, i, s->genes[i]));
    for (uint64_t step = 1; step < values; step = step < 2 ? 2 : step * 4) {
        if (k >= step)
            add_trial(s, i, bandit_genome_value_gene(g, i, k - step));
        if (values - 1 - k >= step)
            add_trial(s, i, bandit_genome_value_gene(g, i, k + step));
    }
}

/* Every parameter's best change among the trials: its gene in s->x (NaN: none helps), what it gains in
 * s->low. Returns how many there are; *best is the best trial. */
static size_t sort_out_moves(search *s, double value, size_t *best)
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

/* The best single change, and several at once: all that gain, and those that gain most. */
static void combine_moves(search *s, size_t best)
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
    evaluate_trials(s);
}

/* Changes of discrete parameters, one by one and together, as long as they help. True: moved. */
static bool move(search *s, double *value)
{
    bool moved = false;
    size_t n = s->space->n;
    for (int round = 0; round < MOVES; round++) {
        s->n_trials = 0;
        express(s->max, s->genes, s->coded, s->features);
        /* where trials do not suffice for all, another part of the parameters each time */
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)s->pick + (size_t)round * (TRIALS / LISTED)) % n;
            if (!isnan(s->coded[i]) && isnan(s->max->genome.fixed[i]) &&
                s->space->parameters[i].type != BANDIT_PARAMETER_DOUBLE)
                add_moves(s, i);
        }
        evaluate_moves(s);
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

static bool has_integers(const search *s)
{
    for (size_t i = 0; i < s->space->n; i++) {
        if (s->space->parameters[i].type == BANDIT_PARAMETER_INTEGER)
            return true;
    }
    return false;
}

bandit_status bandit_maximizer_run(bandit_maximizer *max, const bandit_objective *objective,
                                   const double *grid_values, uint64_t pick, double *coded, bool *found,
                                   bandit_error *err)
{
    search s;
    search_init(&s, max, objective, pick, coded);
    choose_starts(&s, grid_values);
    for (size_t k = 0; k < s.n_starts && !max->exhaustive; k++) {
        double value = s.start_values[k];
        memcpy(s.genes, s.start_genes + k * s.space->n, s.space->n * sizeof *s.genes);
        bool moved = true;
        for (int round = 0; moved && round < ROUNDS; round++) {
            if ((round == 0 && has_integers(&s) && !ascend(&s, true, &value)) || !ascend(&s, false, &value))
                return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
            moved = round + 1 < ROUNDS && move(&s, &value);
        }
    }
    *found = s.found;
    return BANDIT_OK;
}
