#include "core/arms/walk.h"

#include "core/arms/feasible.h"
#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_walk_init(bandit_walk *w, bandit_genome *g, uint64_t stream, bandit_error *err)
{
    size_t n = g->space->n;
    *w = (bandit_walk){.g = g, .stream = stream, .memory = bandit_alloc(5 * n, sizeof(double))};
    if (!w->memory)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    w->genes = w->memory;
    w->trial = w->genes + n;
    w->coded = w->trial + n;
    w->t = w->coded + n;
    w->direction = w->t + n;
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

/* Hit and run over the free numbers. */
static void run(bandit_walk *w)
{
    enum { SHRINKS = 24 };
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
static void jump(bandit_walk *w)
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
        jump(w);
    else
        run(w);
}
