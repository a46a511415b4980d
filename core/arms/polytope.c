#include "core/arms/polytope.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ------------------------------------------------------------------------------------------ */

static bool is_free(const bandit_genome *g, const double *coded, size_t i)
{
    const bandit_space *s = g->space;
    return s->parameters[i].type == BANDIT_PARAMETER_DOUBLE && !isnan(coded[i]) && isnan(g->fixed[i]) &&
           !(s->rules && s->rules->counted[i] && coded[i] == 0.0);
}

/* The row of a rule over genes of the n free numbers, and its bound last. Returns false if it does not apply. */
static bool fill_row(const bandit_polytope *p, const bandit_genome *g, const bandit_rule *rule, size_t n,
                     const double *coded, double *row)
{
    const bandit_space *s = g->space;
    bool touches = false;
    if (!rule->coefficients)
        return false;
    memset(row, 0, n * sizeof *row);
    row[n] = rule->bound;
    for (size_t j = 0; j < rule->n; j++) {
        size_t i = rule->parameters[j], column = p->place[i];
        if (isnan(coded[i]))
            return false;
        if (column == SIZE_MAX) {
            row[n] -= rule->coefficients[j] * coded[i];
            continue;
        }
        row[column] += rule->coefficients[j] * s->places[i].width;
        row[n] -= rule->coefficients[j] * s->places[i].low;
        touches |= rule->coefficients[j] != 0.0;
    }
    return touches;
}

/* Brings the equations, rows of n + 1 entries, to the form in which each pivot occurs in one equation only.
 * pivots: the column of each, SIZE_MAX for an equation that follows from the others. */
static void eliminate(bandit_polytope *p, size_t q, size_t n, double *rows, size_t *pivots)
{
    for (size_t k = 0; k < q; k++) {
        double *row = rows + k * (n + 1), largest = 0.0;
        pivots[k] = SIZE_MAX;
        for (size_t j = 0; j < n; j++) {
            if (fabs(row[j]) > largest * (1.0 + 1e-9)) {
                largest = fabs(row[j]);
                pivots[k] = j;
            }
        }
        if (largest <= 1e-12 * (1.0 + fabs(row[n]))) {
            p->impossible |= fabs(row[n]) > 1e-9;
            pivots[k] = SIZE_MAX;
            continue;
        }
        double by = row[pivots[k]];
        for (size_t j = 0; j <= n; j++)
            row[j] /= by;
        for (size_t other = 0; other < q; other++) {
            double factor = rows[other * (n + 1) + pivots[k]];
            for (size_t j = 0; other != k && j <= n && factor != 0.0; j++)
                rows[other * (n + 1) + j] -= factor * row[j];
        }
    }
}

/* Adds row t <= bound in the remaining coordinates, normalized. A row of zeros is not added; its bound shows
 * whether it can hold. */
static void add_row(bandit_polytope *p, const double *row, double bound)
{
    double norm = 0.0, *out = p->g + p->m * p->n;
    for (size_t j = 0; j < p->n; j++)
        norm += row[j] * row[j];
    norm = sqrt(norm);
    if (norm <= 1e-13) {
        p->impossible |= bound < -1e-9;
        return;
    }
    for (size_t j = 0; j < p->n; j++)
        out[j] = row[j] / norm;
    p->h[p->m++] = bound / norm;
}

/* Replaces the pivots in a row over all free numbers; `out` gets the remaining coordinates. Returns the row's
 * bound. */
static double reduce_row(const bandit_polytope *p, const double *row, size_t n, const size_t *column,
                         double *out)
{
    double bound = row[n];
    for (size_t j = 0; j < p->n; j++)
        out[j] = row[column[j]];
    for (size_t k = 0; k < p->n_pivots; k++) {
        double a = row[column[p->n + k]];
        bound -= a * p->c[k];
        for (size_t j = 0; j < p->n; j++)
            out[j] -= a * p->d[k * p->n + j];
    }
    return bound;
}

static bool reserve(bandit_polytope *p, const bandit_space *s)
{
    size_t n = s->n, r = s->rules ? s->rules->n : 0;
    size_t rows = 3 * r + 1; /* each rule, and two faces for each pivot */
    return bandit_reserve((void **)&p->memory, &p->capacity,
                          2 * n + rows * (n + 1) + r * (n + 1) + r * (n + 1) + 2 * (n + 1), sizeof(double)) &&
           bandit_reserve((void **)&p->indices, &p->capacity_indices, 4 * n + r + 4, sizeof(size_t));
}

/* Sorts the free numbers: coordinates first, then pivots. column: the old place of each. */
static void sort_columns(bandit_polytope *p, size_t all, const size_t *pivots, size_t q, size_t *column,
                         size_t *free_parameters)
{
    p->n = p->n_pivots = 0;
    for (size_t j = 0; j < all; j++) {
        bool is_pivot = false;
        for (size_t k = 0; k < q; k++)
            is_pivot |= pivots[k] == j;
        if (!is_pivot)
            column[p->n++] = j;
    }
    for (size_t k = 0; k < q; k++) {
        if (pivots[k] != SIZE_MAX)
            column[p->n + p->n_pivots++] = pivots[k];
    }
    for (size_t j = 0; j < all; j++)
        p->coordinates[j] = free_parameters[column[j]];
    p->pivots = p->coordinates + p->n;
}

/* Lays out the coefficients in `at`, and sets the bounds of the n coordinates. */
static void place_coefficients(bandit_polytope *p, const bandit_genome *g, size_t n_rules, double *at)
{
    p->low = at;
    p->high = p->low + p->n;
    p->c = p->high + p->n;
    p->d = p->c + p->n_pivots;
    p->h = p->d + p->n_pivots * p->n;
    p->g = p->h + 3 * n_rules + 1;
    for (size_t j = 0; j < p->n; j++) {
        p->low[j] = g->choices[p->coordinates[j]].low;
        p->high[j] = g->choices[p->coordinates[j]].high;
    }
}

/* Solves the q eliminated equations, of all + 1 numbers each, for their pivots: pivot = c − d · coordinates. */
static void solve_for_pivots(bandit_polytope *p, const double *equations, size_t q, size_t all,
                             const size_t *pivots, const size_t *column)
{
    for (size_t k = 0, at = 0; k < q; k++) {
        const double *equation = equations + k * (all + 1);
        if (pivots[k] == SIZE_MAX)
            continue;
        p->c[at] = equation[all];
        for (size_t j = 0; j < p->n; j++)
            p->d[at * p->n + j] = equation[column[j]];
        at++;
    }
}

bandit_status bandit_polytope_build(bandit_polytope *p, const bandit_genome *g, const double *coded,
                                    bandit_error *err)
{
    const bandit_space *s = g->space;
    const bandit_rules *rules = s->rules;
    size_t all = 0, q = 0, r = rules ? rules->n : 0;
    if (!reserve(p, s)) {
        p->no_memory = true;
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    p->coordinates = p->indices;
    p->place = p->indices + s->n;
    size_t *column = p->place + s->n, *free_parameters = column + s->n, *pivots = free_parameters + s->n;
    p->impossible = false;
    p->m = 0;
    for (size_t i = 0; i < s->n; i++) {
        p->place[i] = is_free(g, coded, i) ? all : SIZE_MAX;
        if (p->place[i] != SIZE_MAX)
            free_parameters[all++] = i;
    }
    double *equations = p->memory, *row = equations + r * (s->n + 1), *reduced = row + s->n + 1;
    for (size_t k = 0; k < r; k++) {
        if (rules->list[k].equality && fill_row(p, g, &rules->list[k], all, coded, equations + q * (all + 1)))
            q++;
    }
    eliminate(p, q, all, equations, pivots);
    sort_columns(p, all, pivots, q, column, free_parameters);
    place_coefficients(p, g, r, reduced + s->n + 1);
    solve_for_pivots(p, equations, q, all, pivots, column);
    for (size_t k = 0; k < r; k++) {
        if (!rules->list[k].equality && fill_row(p, g, &rules->list[k], all, coded, row)) {
            double bound = reduce_row(p, row, all, column, reduced);
            add_row(p, reduced, bound);
        }
    }
    for (size_t k = 0; k < p->n_pivots; k++) {
        const bandit_choices *c = &g->choices[p->pivots[k]];
        const double *d = p->d + k * p->n;
        for (size_t j = 0; j < p->n; j++)
            reduced[j] = -d[j];
        add_row(p, reduced, c->high - p->c[k]);
        add_row(p, d, p->c[k] - c->low);
    }
    return BANDIT_OK;
}

void bandit_polytope_clear(bandit_polytope *p)
{
    free(p->memory);
    free(p->indices);
    *p = (bandit_polytope){0};
}

/* ---- points -------------------------------------------------------------------------------------------- */

void bandit_polytope_read(const bandit_polytope *p, const double *genes, double *t)
{
    for (size_t j = 0; j < p->n; j++)
        t[j] = genes[p->coordinates[j]];
}

void bandit_polytope_write(const bandit_polytope *p, const double *t, double *genes)
{
    for (size_t j = 0; j < p->n; j++)
        genes[p->coordinates[j]] = t[j];
    for (size_t k = 0; k < p->n_pivots; k++) {
        double value = p->c[k];
        for (size_t j = 0; j < p->n; j++)
            value -= p->d[k * p->n + j] * t[j];
        genes[p->pivots[k]] = fmin(1.0, fmax(0.0, value));
    }
}

static double product(const double *row, const double *t, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
        sum += row[j] * t[j];
    return sum;
}

bool bandit_polytope_enter(const bandit_polytope *p, double margin, unsigned cycles, double *t)
{
    const double enough = margin > 0.0 ? 0.5 * margin : 1e-10;
    if (p->impossible)
        return false;
    for (unsigned cycle = 0;; cycle++) {
        double worst = 0.0;
        for (size_t j = 0; j < p->n; j++) {
            double inset = margin * (p->high[j] - p->low[j]);
            t[j] = fmin(p->high[j] - inset, fmax(p->low[j] + inset, t[j]));
        }
        for (size_t i = 0; i < p->m; i++)
            worst = fmax(worst, product(p->g + i * p->n, t, p->n) - (p->h[i] - margin));
        if (worst <= enough)
            return true;
        if (cycle == cycles || (cycle % 64 == 63 && bandit_pause()))
            return false;
        for (size_t i = 0; i < p->m; i++) {
            const double *row = p->g + i * p->n;
            double over = product(row, t, p->n) - (p->h[i] - margin);
            for (size_t j = 0; over > 0.0 && j < p->n; j++)
                t[j] -= over * row[j];
        }
    }
}

double bandit_polytope_centre(const bandit_polytope *p, double *t)
{
    enum { CYCLES = 500, HALVINGS = 27 }; /* down to 1e-9 */
    for (int halving = 0; halving < HALVINGS; halving++) {
        double margin = ldexp(0.1, -halving);
        for (size_t j = 0; j < p->n; j++)
            t[j] = 0.5 * (p->low[j] + p->high[j]);
        if (bandit_polytope_enter(p, margin, CYCLES, t))
            return margin;
    }
    return 0.0;
}

void bandit_polytope_chord(const bandit_polytope *p, const double *t, const double *direction, double *from,
                           double *to)
{
    *from = -INFINITY;
    *to = INFINITY;
    for (size_t j = 0; j < p->n; j++) {
        double a = (p->low[j] - t[j]) / direction[j], b = (p->high[j] - t[j]) / direction[j];
        if (direction[j] == 0.0)
            continue;
        *from = fmax(*from, fmin(a, b));
        *to = fmin(*to, fmax(a, b));
    }
    for (size_t i = 0; i < p->m; i++) {
        double along = product(p->g + i * p->n, direction, p->n);
        double room = p->h[i] - product(p->g + i * p->n, t, p->n);
        if (along > 0.0)
            *to = fmin(*to, room / along);
        else if (along < 0.0)
            *from = fmax(*from, room / along);
    }
    *from = fmin(*from, 0.0);
    *to = fmax(*to, 0.0);
    if (!isfinite(*from) || !isfinite(*to))
        *from = *to = 0.0;
}
