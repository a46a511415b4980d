#include "core/arms/feasible.h"

#include "core/arms/arms_storage.h"
#include "core/arms/walk.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- repairs ------------------------------------------------------------------------------------------- */

static bool is_allowed(const bandit_genome *g, const double *genes, double *coded)
{
    bandit_genome_point(g, genes, coded);
    return bandit_space_allows(g->space, coded);
}

/* Moves the free numbers into the polytope of the linear rules. */
static bool project(const bandit_genome *g, bandit_polytope *p, double *genes, double *coded)
{
    enum { CYCLES = 200 };
    const double *solved = coded;
    bandit_error err;
    if (bandit_polytope_build(p, g, coded, &err) != BANDIT_OK || p->n + p->n_pivots == 0)
        return false;
    for (size_t k = 0; k < p->n_pivots; k++) /* set by the equations */
        genes[p->pivots[k]] = bandit_space_encode_number(g->space, p->pivots[k], solved[p->pivots[k]]);
    double *t = malloc((p->n + 1) * sizeof *t);
    if (!t) {
        p->no_memory = true;
        return false;
    }
    bandit_polytope_read(p, genes, t);
    bool inside = bandit_polytope_enter(p, 0.0, CYCLES, t);
    /* leaves a little room for rounding; a set without an inner point has none */
    bandit_polytope_enter(p, 1e-11, 4, t);
    bandit_polytope_write(p, t, genes);
    free(t);
    return inside && is_allowed(g, genes, coded);
}

/* How far a point is from being allowed, by broken rules and by numbers outside their range. */
static double badness(const bandit_space *s, const double *coded)
{
    double sum = 0.0;
    for (size_t k = 0; k < s->rules->n; k++)
        sum += fmax(0.0, s->rules->slack(s->rules, k, coded) + 0.999 * s->rules->tolerance);
    for (size_t i = 0; i < s->n; i++) {
        const bandit_parameter *p = &s->parameters[i];
        bool number = p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER;
        if (number && !isnan(coded[i]))
            sum += fmax(0.0, fmax(p->min - coded[i], coded[i] - p->max)) / (p->max - p->min);
    }
    return sum;
}

enum { OPTIONS = 24 };

/* Genes to try in place of parameter i's. Returns how many. */
static size_t list_options(const bandit_genome *g, size_t i, double gene, double *out)
{
    static const double steps[] = {0.3, 0.1, 0.03, 0.01, 0.003};
    const bandit_space *s = g->space;
    size_t n = 0;
    bool number = s->parameters[i].type == BANDIT_PARAMETER_DOUBLE ||
                  (s->parameters[i].type == BANDIT_PARAMETER_INTEGER && !g->choices[i].values);
    if (!number) {
        uint64_t values = bandit_genome_values(g, i), most = values < OPTIONS ? values : OPTIONS;
        for (uint64_t k = 0; k < most; k++)
            out[n++] = bandit_genome_value_gene(g, i, k * values / most);
        return n;
    }
    double low = g->choices[i].low, high = g->choices[i].high;
    if (s->rules->counted[i] && s->parameters[i].min <= 0.0 && s->parameters[i].max >= 0.0)
        out[n++] = bandit_space_encode_number(s, i, 0.0);
    out[n++] = low;
    out[n++] = high;
    out[n++] = 0.5 * (low + high);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        out[n++] = fmin(high, gene + steps[k]);
        out[n++] = fmax(low, gene - steps[k]);
    }
    if (s->parameters[i].type == BANDIT_PARAMETER_INTEGER) {
        double value = bandit_space_decode_number(s, i, gene);
        double step = s->parameters[i].step > 0.0 ? s->parameters[i].step : 1.0;
        out[n++] = fmin(high, bandit_space_encode_number(s, i, fmin(s->parameters[i].max, value + step)));
        out[n++] = fmax(low, bandit_space_encode_number(s, i, fmax(s->parameters[i].min, value - step)));
    }
    return n;
}

/* Makes the one change that helps most. Returns false if none does. */
static bool improve(const bandit_genome *g, double *genes, double *coded, double *bad)
{
    size_t n = g->space->n, changed = n;
    double best = *bad * (1.0 - 1e-9), gene = 0.0, options[OPTIONS];
    bandit_genome_point(g, genes, coded);
    for (size_t i = 0; i < n; i++) {
        if (isnan(coded[i]) || !isnan(g->fixed[i]))
            continue;
        double before = genes[i];
        size_t n_options = list_options(g, i, before, options);
        for (size_t k = 0; k < n_options; k++) {
            genes[i] = options[k];
            bandit_genome_point(g, genes, coded);
            double now = badness(g->space, coded);
            if (now < best) {
                best = now;
                changed = i;
                gene = options[k];
            }
        }
        genes[i] = before;
        bandit_genome_point(g, genes, coded);
    }
    if (changed == n)
        return false;
    genes[changed] = gene;
    *bad = best;
    return true;
}

bool bandit_feasible_repair(const bandit_genome *g, bandit_polytope *p, bool thorough, double *genes,
                            double *coded)
{
    if (is_allowed(g, genes, coded) || project(g, p, genes, coded))
        return true;
    bandit_genome_point(g, genes, coded);
    double bad = badness(g->space, coded);
    for (size_t round = 0; thorough && round < 4 * g->space->n + 16 && !bandit_pause(); round++) {
        if (!improve(g, genes, coded, &bad))
            return false;
        if (is_allowed(g, genes, coded) || project(g, p, genes, coded))
            return true;
    }
    return false;
}

bool bandit_feasible_step(const bandit_genome *g, bandit_polytope *p, const double *from, double *genes,
                          double *coded)
{
    enum { HALVINGS = 6 };
    const bandit_space *s = g->space;
    if (is_allowed(g, genes, coded))
        return true;
    double *whole = malloc(s->n * sizeof *whole);
    bool found = false;
    if (!whole) {
        p->no_memory = true;
        return false;
    }
    memcpy(whole, genes, s->n * sizeof *whole);
    found = bandit_feasible_repair(g, p, false, genes, coded);
    for (int k = 0; k < HALVINGS && !found; k++) {
        for (size_t i = 0; i < s->n; i++) {
            bool real = s->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
            genes[i] = real ? from[i] + ldexp(whole[i] - from[i], -k) : from[i];
        }
        found = bandit_feasible_repair(g, p, false, genes, coded);
    }
    free(whole);
    return found;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

enum {
    STARTS = 8,      /* walks */
    ATTEMPTS = 64,   /* points of the sequence that are repaired to start them */
    LOOK = 400,      /* points of the sequence that are tried first */
    ONE_IN = 20,     /* one in this many of them must keep the rules */
    LEAST_STEPS = 10 /* between two points of a walk */
};

/* Collects points of the sequence that keep the rules. Stops if too few do. */
static size_t draw_sequence(bandit_walk *w, size_t wanted, double *genes, double *share)
{
    size_t n = w->g->space->n, found = 0, looked = 0;
    for (; found < wanted && (looked < LOOK || found * ONE_IN >= looked); looked++) {
        double *to = genes + found * n;
        bandit_genome_sweep(w->g, looked, to);
        found += is_allowed(w->g, to, w->coded);
    }
    if (share)
        *share = (double)found / (double)looked;
    return found;
}

static void draw_walks(bandit_walk *w, size_t wanted, double *genes, size_t *found)
{
    const bandit_space *s = w->g->space;
    size_t n = s->n, n_starts = 0, apart = n > LEAST_STEPS ? n : LEAST_STEPS, done = 0;
    double *starts = malloc(STARTS * n * sizeof *starts);
    *found = 0;
    w->polytope.no_memory |= !starts;
    for (size_t k = 0; starts && k < ATTEMPTS && n_starts < STARTS && !bandit_pause(); k++) {
        double *to = starts + n_starts * n;
        bandit_genome_sweep(w->g, k, to);
        n_starts += bandit_feasible_repair(w->g, &w->polytope, true, to, w->coded);
    }
    bool jumps = bandit_walk_can_jump(s);
    for (size_t k = 0; k < n_starts; k++) {
        size_t share = (wanted - done) / (n_starts - k);
        bandit_walk_begin(w, starts + k * n);
        done += share;
        for (size_t point = 0; point < share && !bandit_pause(); point++) {
            for (size_t i = 0; i < apart; i++)
                bandit_walk_step(w, jumps);
            double *to = genes + *found * n;
            memcpy(to, w->genes, n * sizeof *to);
            *found += bandit_feasible_repair(w->g, &w->polytope, false, to, w->coded);
        }
    }
    for (size_t k = 0; k < n_starts && *found < wanted; k++)
        memcpy(genes + (*found)++ * n, starts + k * n, n * sizeof *genes);
    free(starts);
}

bandit_status bandit_feasible_draw(bandit_genome *g, uint64_t stream, size_t wanted, double *genes,
                                   size_t *found, double *share, bandit_error *err)
{
    bandit_walk w;
    bandit_status status = bandit_walk_init(&w, g, stream, err);
    if (status == BANDIT_OK)
        status = bandit_genome_sequence(g, stream, err);
    *found = 0;
    if (share)
        *share = 0.0;
    if (status == BANDIT_OK) {
        *found = draw_sequence(&w, wanted, genes, share);
        if (*found < wanted)
            draw_walks(&w, wanted, genes, found);
        if (w.polytope.no_memory)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_walk_clear(&w);
    return status;
}

/* ---- whether there are any ----------------------------------------------------------------------------- */

/* The rules of a space except one. */
typedef struct masked_rules {
    bandit_rules rules; /* first */
    const bandit_rules *all;
    size_t without;
    bandit_rule *list;
} masked_rules;

static double masked_slack(const bandit_rules *rules, size_t i, const double *coded)
{
    const masked_rules *masked = (const masked_rules *)(const void *)rules;
    return i == masked->without ? -1.0 : masked->all->slack(masked->all, i, coded);
}

/* Whether the free numbers of a point can move: the linear rules leave an inner point. */
static bandit_status has_room(const bandit_genome *g, const double *genes, bool *room, bandit_error *err)
{
    size_t n = g->space->n;
    bandit_polytope polytope = {0};
    double *coded = bandit_alloc(2 * n, sizeof *coded);
    bandit_status status = coded ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        bandit_genome_point(g, genes, coded);
        status = bandit_polytope_build(&polytope, g, coded, err);
    }
    if (status == BANDIT_OK)
        *room = polytope.m == 0 || bandit_polytope_centre(&polytope, coded + n) > 0.0;
    bandit_polytope_clear(&polytope);
    free(coded);
    return status;
}

bandit_status bandit_arms_find_allowed(const bandit_arms *arms, size_t without, bool *found, double *share,
                                       bandit_error *err)
{
    enum { WANTED = 8 };
    bandit_space *s = arms->space;
    masked_rules masked = {.rules = *s->rules, .all = s->rules, .without = without};
    bandit_space look = *s;
    bandit_genome genome = {0};
    size_t drawn = 0;
    masked.rules.slack = masked_slack;
    look.rules = &masked.rules;
    *found = false;
    *share = 0.0;
    masked.list = bandit_alloc(s->rules->n, sizeof *masked.list);
    double *genes = bandit_alloc(WANTED * s->n, sizeof *genes);
    bandit_status status =
        masked.list && genes ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        memcpy(masked.list, s->rules->list, s->rules->n * sizeof *masked.list);
        if (without < s->rules->n)
            masked.list[without].coefficients = NULL;
        masked.rules.list = masked.list;
        status = bandit_genome_init(&genome, &look, NULL, 0, err);
    }
    if (status == BANDIT_OK)
        status = bandit_feasible_draw(&genome, 0, WANTED, genes, &drawn, share, err);
    for (size_t k = 0; status == BANDIT_OK && k < drawn && !*found; k++)
        status = has_room(&genome, genes + k * s->n, found, err);
    bandit_genome_clear(&genome);
    free(masked.list);
    free(genes);
    return status;
}
