#include "core/insight/slices.h"

#include "core/arms/feasible.h"
#include "core/arms/walk.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/insight/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM = 1 << 21,  /* and those after it, one for each cell; far from those of a search */
    STARTS = 8,        /* walks for the first points */
    FIRST_ROUNDS = 96, /* before the first point of such a walk */
    APART =
        4, /* rounds between two points of a walk, and in each further cell; jumps are in the first of them */
    TRIES = 8,        /* points that are repaired before a cell counts as far from the one before it */
    JUMPS_ONE_IN = 16 /* a round with jumps tries one for this many parameters */
};

bandit_status bandit_slices_init(bandit_slices *s, const bandit_space *space, size_t n, bandit_error *err)
{
    *s = (bandit_slices){.space = space, .n = n};
    s->genes = bandit_alloc((2 * n + 2) * space->n, sizeof *s->genes);
    if (!s->genes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    s->next = s->genes + n * space->n;
    s->own = s->next + n * space->n;
    s->coded = s->own + space->n;
    return BANDIT_OK;
}

void bandit_slices_clear(bandit_slices *s)
{
    free(s->genes < s->next ? s->genes : s->next); /* they are swapped */
}

/* Whether the fixed values break a rule that names no other parameters. */
static bool is_broken(const bandit_genome *g, size_t k)
{
    const bandit_rule *rule = &g->space->rules->list[k];
    bool all = rule->n > 0;
    for (size_t j = 0; all && j < rule->n; j++)
        all = !isnan(g->fixed[rule->parameters[j]]);
    return all && g->space->rules->slack(g->space->rules, k, g->fixed) > 0.0;
}

/* Whether a rule cannot hold with the fixed values, whatever the others are: quick, and not complete. */
static bool is_excluded(const bandit_genome *g)
{
    const bandit_space *s = g->space;
    for (size_t k = 0; k < s->rules->n; k++) {
        const bandit_rule *rule = &s->rules->list[k];
        double least = 0.0, most = 0.0, size = fabs(rule->bound);
        bool applies = rule->coefficients != NULL;
        for (size_t j = 0; applies && j < rule->n; j++) {
            size_t i = rule->parameters[j];
            bool is_fixed = !isnan(g->fixed[i]);
            double a = rule->coefficients[j];
            double low = a * (is_fixed ? g->fixed[i] : s->parameters[i].min);
            double high = a * (is_fixed ? g->fixed[i] : s->parameters[i].max);
            applies = s->parameters[i].parent == BANDIT_NO_PARENT;
            least += fmin(low, high);
            most += fmax(low, high);
            size += fmax(fabs(low), fabs(high));
        }
        double margin = 1e-6 * size;
        if (is_broken(g, k) ||
            (applies && (least > rule->bound + margin || (rule->equality && most < rule->bound - margin))))
            return true;
    }
    return false;
}

static void walk(bandit_walk *w, size_t rounds, bool jumps)
{
    for (size_t round = 0; round < rounds && !bandit_pause(); round++) {
        for (size_t k = 0; jumps && round % APART == 0 && k < 1 + w->g->space->n / JUMPS_ONE_IN; k++)
            bandit_walk_jump(w);
        bandit_walk_sweep(w);
    }
}

/* Fills `next` from one point. */
static void begin(bandit_slices *s, bandit_walk *w, const double *genes)
{
    size_t p = s->space->n, done = 0;
    bool jumps = bandit_walk_can_jump(s->space);
    for (size_t k = 0; k < STARTS; k++) {
        size_t share = (s->n - done) / (STARTS - k);
        bandit_walk_begin(w, genes);
        walk(w, FIRST_ROUNDS, jumps);
        for (size_t i = 0; i < share; i++, done++) {
            walk(w, APART, jumps);
            memcpy(s->next + done * p, w->genes, p * sizeof *genes);
        }
    }
}

/* Fills `next` from the points of the cell before; those that cannot be repaired are replaced by others. Returns
 * false if too few can. */
static bool take_over(bandit_slices *s, bandit_walk *w)
{
    size_t p = s->space->n, kept = 0;
    for (size_t i = 0; i < s->n && (kept > 0 || i < TRIES); i++) {
        double *to = s->next + kept * p;
        memcpy(to, s->genes + i * p, p * sizeof *to);
        for (size_t j = 0; j < p; j++)
            to[j] = isnan(w->g->fixed[j]) ? to[j] : bandit_genome_gene(w->g, j, 0.0);
        kept += bandit_feasible_repair(w->g, &w->polytope, false, to, w->coded);
    }
    if (2 * kept < s->n)
        return false;
    for (size_t i = kept; i < s->n; i++)
        memcpy(s->next + i * p, s->next + (i - kept) * p, p * sizeof *s->next);
    for (size_t i = 0; i < s->n; i++) {
        memcpy(w->genes, s->next + i * p, p * sizeof *w->genes);
        walk(w, APART, bandit_walk_can_jump(s->space));
        memcpy(s->next + i * p, w->genes, p * sizeof *w->genes);
    }
    return true;
}

/* Rounds the points; those that then break a rule and cannot be repaired are left out. */
static size_t place(bandit_slices *s, bandit_walk *w, double *coordinates)
{
    size_t taken = 0;
    for (size_t i = 0; i < s->n; i++) {
        memcpy(s->own, s->genes + i * s->space->n, s->space->n * sizeof *s->own);
        if (!bandit_feasible_repair(w->g, &w->polytope, false, s->own, s->coded))
            continue;
        bandit_space_encode(s->space, s->coded, coordinates + taken++ * s->space->dimension);
    }
    return taken;
}

bandit_status bandit_slices_take(bandit_slices *s, bandit_genome *genome, double *coordinates, size_t *taken,
                                 bandit_error *err)
{
    bandit_walk w;
    *taken = 0;
    if (is_excluded(genome))
        return BANDIT_OK;
    bandit_status status = bandit_walk_init(&w, genome, STREAM + s->cells++, err);
    bool found = status == BANDIT_OK && s->has_points && take_over(s, &w);
    if (status == BANDIT_OK && !found) {
        status = bandit_view_is_allowed(genome, s->own, &found, err);
        if (status == BANDIT_OK && found)
            begin(s, &w, s->own);
    }
    if (status == BANDIT_OK && found) {
        double *before = s->genes;
        s->genes = s->next;
        s->next = before;
        s->has_points = true;
        *taken = place(s, &w, coordinates);
    }
    if (status == BANDIT_OK && w.polytope.no_memory)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_pause_status(err);
    bandit_walk_clear(&w);
    return status;
}
