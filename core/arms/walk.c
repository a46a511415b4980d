#include "core/arms/walk.h"

#include "core/arms/feasible.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_walk_init(bandit_walk *w, bandit_genome *g, uint64_t stream, bandit_error *err)
{
    size_t n = g->space->n,
           rows = g->space->rules ? 3 * g->space->rules->n : 0; /* as polytope.c makes at most */
    *w = (bandit_walk){.g = g, .stream = stream, .memory = bandit_alloc(5 * n + rows, sizeof(double))};
    if (!w->memory)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    w->genes = w->memory;
    w->trial = w->genes + n;
    w->coded = w->trial + n;
    w->t = w->coded + n;
    w->direction = w->t + n;
    w->room = w->direction + n;
    return BANDIT_OK;
}

void bandit_walk_clear(bandit_walk *w)
{
    bandit_polytope_clear(&w->polytope);
    free(w->memory);
}

static double uniform(bandit_walk *w)
{
    return bandit_random_uniform(w->g->seed, w->stream, BANDIT_PURPOSE_SWEEP, (uint64_t)1 << 60 | w->next++);
}

static double normal(bandit_walk *w)
{
    return bandit_random_normal(w->g->seed, w->stream, BANDIT_PURPOSE_SWEEP, (uint64_t)5 << 58 | w->next++);
}

void bandit_walk_begin(bandit_walk *w, const double *genes)
{
    size_t n = w->g->space->n;
    bandit_error err;
    memcpy(w->genes, genes, n * sizeof *genes);
    memcpy(w->trial, genes, n * sizeof *genes);
    bandit_genome_point(w->g, w->genes, w->coded);
    if (bandit_polytope_build(&w->polytope, w->g, w->coded, &err) != BANDIT_OK || w->polytope.m == 0)
        return;
    if (bandit_polytope_centre(&w->polytope, w->t) > 0.0) {
        bandit_polytope_write(&w->polytope, w->t, w->trial);
        bandit_genome_coded(w->g, w->trial, w->coded);
        if (bandit_space_allows(w->g->space, w->coded))
            memcpy(w->genes, w->trial, n * sizeof *genes);
    }
}

enum { SHRINKS = 24 }; /* of an interval, towards a point that is allowed */

/* Hit and run over the free numbers. */
static void run(bandit_walk *w)
{
    const bandit_polytope *p = &w->polytope;
    size_t n = w->g->space->n;
    double from, to;
    bandit_error err;
    bandit_genome_coded(w->g, w->genes, w->coded);
    if (bandit_polytope_build(&w->polytope, w->g, w->coded, &err) != BANDIT_OK || p->n == 0 || p->impossible)
        return;
    bandit_polytope_read(p, w->genes, w->t);
    for (size_t j = 0; j < p->n; j++)
        w->direction[j] = normal(w) * (p->high[j] - p->low[j]);
    bandit_polytope_chord(p, w->t, w->direction, &from, &to);
    memcpy(w->trial, w->genes, n * sizeof *w->trial);
    for (int k = 0; k < SHRINKS; k++) {
        double step = from + uniform(w) * (to - from);
        for (size_t j = 0; j < p->n; j++)
            w->t[j] = w->genes[p->coordinates[j]] + step * w->direction[j];
        bandit_polytope_write(p, w->t, w->trial);
        bandit_genome_coded(w->g, w->trial, w->coded);
        if (bandit_space_allows(w->g->space, w->coded)) {
            memcpy(w->genes, w->trial, n * sizeof *w->genes);
            return;
        }
        if (step < 0.0)
            from = step;
        else
            to = step;
    }
}

/* Changes one parameter: to another value, or, where 0 has a meaning of its own, from 0 or to it. */
void bandit_walk_jump(bandit_walk *w)
{
    const bandit_space *s = w->g->space;
    size_t i = (size_t)(uniform(w) * (double)s->n);
    double u = uniform(w), v = uniform(w);
    bool real = s->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
    bandit_genome_coded(w->g, w->genes, w->coded);
    if (isnan(w->coded[i]) || !isnan(w->g->fixed[i]) || (real && !s->rules->counted[i]))
        return;
    memcpy(w->trial, w->genes, s->n * sizeof *w->trial);
    bool zero = s->rules->counted[i] && s->parameters[i].min <= 0.0 && s->parameters[i].max >= 0.0 &&
                w->coded[i] != 0.0 && u < 0.5;
    w->trial[i] = zero ? bandit_space_encode_number(s, i, 0.0) : bandit_genome_gene(w->g, i, v);
    if (bandit_feasible_repair(w->g, &w->polytope, false, w->trial, w->coded)) {
        memcpy(w->genes, w->trial, s->n * sizeof *w->genes);
        return;
    }
    /* such a change often requires another one, so a second parameter is changed too */
    size_t j = (size_t)(u * 0x1p20) % s->n;
    if (j == i || isnan(w->coded[j]) || !isnan(w->g->fixed[j]))
        return;
    memcpy(w->trial, w->genes, s->n * sizeof *w->trial);
    w->trial[i] = bandit_genome_gene(w->g, i, v);
    w->trial[j] = s->rules->counted[j] && s->parameters[j].min <= 0.0 && s->parameters[j].max >= 0.0
                      ? bandit_space_encode_number(s, j, 0.0)
                      : bandit_genome_gene(w->g, j, uniform(w));
    if (bandit_feasible_repair(w->g, &w->polytope, false, w->trial, w->coded))
        memcpy(w->genes, w->trial, s->n * sizeof *w->genes);
}

bool bandit_walk_can_jump(const bandit_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->parameters[i].type != BANDIT_PARAMETER_DOUBLE || s->rules->counted[i])
            return true;
    }
    return false;
}

void bandit_walk_step(bandit_walk *w, bool jumps)
{
    if (jumps && uniform(w) < 0.5)
        bandit_walk_jump(w);
    else
        run(w);
}

/* ---- sweeps -------------------------------------------------------------------------------------------- */

static bool is_parent(const bandit_space *s, size_t i)
{
    for (size_t k = 0; k < s->n; k++) {
        if (s->parameters[k].parent == i)
            return true;
    }
    return false;
}

/* Whether a rule that the polytope does not have names coordinate j or a pivot that follows it. */
static bool touches(const bandit_polytope *p, const bandit_rule *rule, size_t j)
{
    if (rule->coefficients)
        return false;
    for (size_t k = 0; k < rule->n; k++) {
        size_t i = rule->parameters[k];
        if (i == p->coordinates[j])
            return true;
        for (size_t pivot = 0; pivot < p->n_pivots; pivot++) {
            if (p->pivots[pivot] == i && p->d[pivot * p->n + j] != 0.0)
                return true;
        }
    }
    return false;
}

/* Sets the values of coordinate j and of the pivots, and checks the rules that name them and are not linear. */
static bool keeps_other_rules(bandit_walk *w, size_t j)
{
    const bandit_polytope *p = &w->polytope;
    const bandit_space *s = w->g->space;
    w->coded[p->coordinates[j]] = bandit_genome_value(w->g, p->coordinates[j], w->t[j]);
    for (size_t k = 0; k < p->n_pivots; k++) {
        double gene = p->c[k];
        for (size_t i = 0; i < p->n; i++)
            gene -= p->d[k * p->n + i] * w->t[i];
        w->coded[p->pivots[k]] = bandit_genome_value(w->g, p->pivots[k], fmin(1.0, fmax(0.0, gene)));
    }
    for (size_t k = 0; k < s->rules->n; k++) {
        if (touches(p, &s->rules->list[k], j) &&
            s->rules->slack(s->rules, k, w->coded) > -0.999 * s->rules->tolerance)
            return false;
    }
    return true;
}

/* Draws coordinate j. checked: whether rules outside the polytope name it. */
static void draw_coordinate(bandit_walk *w, size_t j, bool checked)
{
    const bandit_polytope *p = &w->polytope;
    double before = w->t[j], from = p->low[j] - before, to = p->high[j] - before, step = 0.0;
    for (size_t i = 0; i < p->m; i++) {
        double g = p->g[i * p->n + j];
        if (g > 0.0)
            to = fmin(to, w->room[i] / g);
        else if (g < 0.0)
            from = fmax(from, w->room[i] / g);
    }
    from = fmin(from, 0.0);
    to = fmax(to, 0.0);
    for (int k = 0; k < SHRINKS; k++) {
        step = from + uniform(w) * (to - from);
        w->t[j] = before + step;
        if (!checked || keeps_other_rules(w, j))
            break;
        if (step < 0.0)
            from = step;
        else
            to = step;
        step = 0.0;
    }
    w->t[j] = before + step;
    if (checked && step == 0.0)
        keeps_other_rules(w, j); /* for the values */
    for (size_t i = 0; i < p->m; i++)
        w->room[i] -= p->g[i * p->n + j] * step;
}

void bandit_walk_sweep(bandit_walk *w)
{
    const bandit_polytope *p = &w->polytope;
    const bandit_space *s = w->g->space;
    bool has_parents = false;
    bandit_error err;
    bandit_genome_coded(w->g, w->genes, w->coded);
    if (bandit_polytope_build(&w->polytope, w->g, w->coded, &err) != BANDIT_OK || p->n == 0 || p->impossible)
        return;
    bandit_polytope_read(p, w->genes, w->t);
    for (size_t i = 0; i < p->m; i++) {
        w->room[i] = p->h[i];
        for (size_t j = 0; j < p->n; j++)
            w->room[i] -= p->g[i * p->n + j] * w->t[j];
    }
    for (size_t j = 0; j < p->n; j++) {
        bool checked = false;
        for (size_t k = 0; k < s->rules->n && !checked; k++)
            checked = touches(p, &s->rules->list[k], j);
        if (is_parent(s, p->coordinates[j]))
            has_parents = true;
        else
            draw_coordinate(w, j, checked);
    }
    bandit_polytope_write(p, w->t, w->genes);
    if (has_parents)
        run(w);
}
