/* Partial dependence of the model's mean on one input or two. */
#include "core/insight/slices.h"
#include "core/insight/view.h"

#include "core/arms/genome.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 256,     /* for each average of one axis */
    POINTS_PAIR = 64, /* for each average of two axes */
    FEW = 8,       /* parameters with rules: there a sequence is quick enough, and its averages are closer */
    LONGEST = 1000 /* values of a parameter that is not a number, at most */
};

/* One cell of the grid. */
typedef struct cell {
    const double *coordinates;
    size_t n;
} cell;

static bandit_status average(bandit_insight *v, const cell *c, bandit_effect *out, bandit_error *err)
{
    bandit_prediction p = {0};
    bandit_status status = bandit_view_average(v, c->coordinates, c->n, &p.mean, &p.variance, err);
    p.ucb = p.mean;
    bandit_insight_in_reward_units(v, &p, 1);
    out->mean = p.mean;
    out->std = sqrt(p.variance);
    return status;
}

/* ---- in a space ------------------------------------------------------------------------------------------ */

/* The values of an axis: evenly spaced on the scale of a number, or all of them. `out` has LONGEST entries. */
static size_t axis_values(const bandit_space *space, size_t i, size_t points, double *out)
{
    const bandit_parameter *p = &space->parameters[i];
    bool is_number = p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
    size_t n = 0;
    if (!is_number) {
        uint64_t all = bandit_space_values(p);
        for (uint64_t k = 0; k < all && n < LONGEST; k++)
            out[n++] = bandit_space_value(space, i, k);
        return n;
    }
    for (size_t k = 0; k < points; k++) {
        double share = points > 1 ? (double)k / (double)(points - 1) : 0.5;
        double value = bandit_space_decode_number(space, i, share);
        if (p->type == BANDIT_PARAMETER_DOUBLE)
            value = bandit_space_round_number(space, i, value);
        if (n == 0 || value != out[n - 1])
            out[n++] = value;
    }
    return n;
}

typedef struct sweep {
    bandit_insight *view;
    double *fixed, *genes, *coded; /* one entry per parameter */
    double *drawn;                 /* POINTS x parameters; only with rules on few parameters */
    bandit_slices slices;          /* only with rules on more */
    double *coordinates;           /* POINTS x dimension */
} sweep;

/* Takes n points of the genome; with rules, those that keep them, of which there may be none. */
static bandit_status take_points(sweep *s, bandit_genome *genome, size_t n, size_t *taken, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(s->view);
    if (space->rules && space->n <= FEW) {
        bool found;
        bandit_status status = bandit_view_is_allowed(genome, s->genes, &found, err);
        if (status == BANDIT_OK && found)
            status = bandit_view_allowed(s->view, genome, n, s->drawn, s->coordinates, taken, err);
        return status;
    }
    if (space->rules)
        return bandit_slices_take(&s->slices, genome, s->coordinates, taken, err);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < space->n; j++)
            s->genes[j] = bandit_genome_gene(genome, j, bandit_view_uniform(s->view, (uint32_t)i, j));
        bandit_genome_coded(genome, s->genes, s->coded);
        bandit_space_encode(space, s->coded, s->coordinates + i * space->dimension);
    }
    *taken = n;
    return BANDIT_OK;
}

/* The average over n points that have the fixed values. The count stays 0 if no point has them. */
static bandit_status average_fixed(sweep *s, size_t n, bandit_effect *out, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(s->view);
    bandit_genome genome;
    bandit_status status = bandit_genome_init(&genome, space, s->fixed, s->view->inner->options.seed, err);
    size_t taken = 0;
    bool exists = status != BANDIT_INVALID_OPTION;
    if (status == BANDIT_OK)
        status = take_points(s, &genome, n, &taken, err);
    bandit_genome_clear(&genome);
    if (!exists || (status == BANDIT_OK && taken == 0))
        return BANDIT_OK;
    const cell c = {.coordinates = s->coordinates, .n = taken};
    out->count = taken;
    return status == BANDIT_OK ? average(s->view, &c, out, err) : status;
}

static bandit_status effects_space(bandit_insight *v, const size_t *axes, size_t n_axes, size_t points,
                                   bandit_effect **out, size_t *n, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(v);
    sweep s = {.view = v};
    double *values = bandit_alloc((size_t)2 * LONGEST + 3 * space->n, sizeof *values);
    s.coordinates = bandit_alloc(POINTS * space->dimension, sizeof *s.coordinates);
    s.drawn = space->rules && space->n <= FEW ? bandit_alloc(POINTS * space->n, sizeof *s.drawn) : NULL;
    bandit_status status = BANDIT_OK;
    size_t lengths[2] = {1, 1};
    for (size_t a = 0; values && a < n_axes; a++)
        lengths[a] = axis_values(space, axes[a], points, values + a * LONGEST);
    *out = values ? calloc(lengths[0] * lengths[1], sizeof **out) : NULL;
    *n = 0;
    if (!values || !s.coordinates || (space->rules && space->n <= FEW && !s.drawn) || !*out)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    else
        s.fixed = values + (size_t)2 * LONGEST;
    if (status == BANDIT_OK && space->rules && space->n > FEW)
        status = bandit_slices_init(&s.slices, space, n_axes > 1 ? POINTS_PAIR : POINTS, err);
    for (size_t k = 0; status == BANDIT_OK && k < lengths[0] * lengths[1]; k++) {
        /* back and forth, so that each cell follows a neighbour */
        size_t row = k / lengths[1], column = row % 2 ? lengths[1] - 1 - k % lengths[1] : k % lengths[1];
        const size_t at[2] = {row, column};
        bandit_effect *effect = *out + row * lengths[1] + column;
        s.genes = s.fixed + space->n;
        s.coded = s.genes + space->n;
        for (size_t j = 0; j < space->n; j++)
            s.fixed[j] = (double)NAN;
        for (size_t a = 0; a < n_axes; a++)
            s.fixed[axes[a]] = effect->at[a] = values[a * LONGEST + at[a]];
        status = average_fixed(&s, n_axes > 1 ? POINTS_PAIR : POINTS, effect, err);
    }
    for (size_t k = 0; status == BANDIT_OK && k < lengths[0] * lengths[1]; k++) {
        if ((*out)[k].count > 0)
            (*out)[(*n)++] = (*out)[k];
    }
    free(values);
    free(s.drawn);
    bandit_slices_clear(&s.slices);
    free(s.coordinates);
    return status;
}

/* ---- on candidates --------------------------------------------------------------------------------------- */

typedef struct grouping {
    bandit_insight *view;
    uint32_t *arms;
    double *coordinates; /* n x d */
    size_t n, d;
    unsigned char *bins; /* n x 2; 0 where there is no second axis */
    double *members;     /* POINTS x d */
} grouping;

/* A feature as it was uploaded: scaling there and back leaves rounding errors, which are cut off at 13 digits of
 * the larger of mean and range. */
static double raw(const bandit_arms *arms, uint32_t arm, size_t j)
{
    double factor = arms->factor[j], shift = arms->shift[j];
    if (factor == 0.0)
        return shift;
    double value = shift + bandit_arms_feature(arms, arm, j) / factor;
    double digits = 13.0 - ceil(log10(fmax(fabs(shift), 1.0 / factor))), power = pow(10.0, digits);
    return isfinite(value * power) && power > 0.0 ? round(value * power) / power + 0.0 : value;
}

/* Fills `effect` from the candidates of one cell. */
static bandit_status average_cell(grouping *g, const size_t *axes, size_t n_axes, const unsigned char *bin,
                                  bandit_effect *effect, bandit_error *err)
{
    size_t count = 0, taken = 0;
    for (size_t i = 0; i < g->n; i++)
        count += g->bins[2 * i] == bin[0] && g->bins[2 * i + 1] == bin[1];
    effect->count = count;
    if (count == 0)
        return BANDIT_OK;
    size_t step = bandit_pieces(count, n_axes > 1 ? POINTS_PAIR : POINTS), seen = 0;
    for (size_t a = 0; a < n_axes; a++) {
        effect->low[a] = INFINITY;
        effect->high[a] = -INFINITY;
    }
    for (size_t i = 0; i < g->n; i++) {
        if (g->bins[2 * i] != bin[0] || g->bins[2 * i + 1] != bin[1])
            continue;
        for (size_t a = 0; a < n_axes; a++) {
            double value = raw(g->view->inner->arms, g->arms[i], axes[a]);
            effect->at[a] += value / (double)count;
            effect->low[a] = fmin(effect->low[a], value);
            effect->high[a] = fmax(effect->high[a], value);
        }
        if (seen++ % step == 0)
            memcpy(g->members + taken++ * g->d, g->coordinates + i * g->d, g->d * sizeof *g->members);
    }
    for (size_t a = 0; a < n_axes; a++)
        effect->at[a] = fmin(fmax(effect->at[a], effect->low[a]), effect->high[a]);
    const cell c = {.coordinates = g->members, .n = taken};
    return average(g->view, &c, effect, err);
}

static bandit_status effects_list(bandit_insight *v, const size_t *axes, size_t n_axes, size_t points,
                                  bandit_effect **out, size_t *n, bandit_error *err)
{
    grouping g = {.view = v, .d = bandit_view_dimension(v)};
    double *column = NULL;
    size_t cells = n_axes > 1 ? points * points : points;
    *n = 0;
    *out = NULL;
    bandit_status status = bandit_view_arms(v, &g.arms, &g.coordinates, &g.n, err);
    if (status == BANDIT_OK) {
        g.bins = bandit_alloc_zeroed(g.n, 2);
        g.members = bandit_alloc(POINTS * g.d, sizeof *g.members);
        column = bandit_alloc(g.n, sizeof *column);
        *out = calloc(cells, sizeof **out);
        if (!g.bins || !g.members || !column || !*out)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t a = 0; status == BANDIT_OK && a < n_axes; a++) {
        for (size_t i = 0; i < g.n; i++)
            column[i] = g.coordinates[i * g.d + axes[a]];
        status = bandit_view_bins(column, g.n, points, g.bins + a, 2, err);
    }
    for (size_t k = 0; status == BANDIT_OK && k < cells; k++) {
        const unsigned char bin[2] = {(unsigned char)(n_axes > 1 ? k / points : k),
                                      (unsigned char)(n_axes > 1 ? k % points : 0)};
        status = average_cell(&g, axes, n_axes, bin, *out + *n, err);
        if (status == BANDIT_OK)
            *n += (*out)[*n].count > 0;
    }
    free(column);
    free(g.arms);
    free(g.coordinates);
    free(g.bins);
    free(g.members);
    return status;
}

bandit_status bandit_insight_effects(bandit_insight *v, const size_t *axes, size_t n_axes, size_t points,
                                     bandit_effect **out, size_t *n, bandit_error *err)
{
    assert((n_axes == 1 || n_axes == 2) && points >= 1 && points <= BANDIT_EFFECTS_MOST);
    *out = NULL;
    bandit_status status = bandit_view_check(v, err);
    if (status != BANDIT_OK)
        return status;
    status = bandit_view_space(v) ? effects_space(v, axes, n_axes, points, out, n, err)
                                  : effects_list(v, axes, n_axes, points, out, n, err);
    if (status != BANDIT_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
