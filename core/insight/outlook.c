/* The gain that is still possible, estimated by functions drawn from the posterior.
 *
 * With f_s the drawn functions, x^ the recommended point and X a set of points, draw s has
 *   possible_s = max_{x in X} f_s(x) − f_s(x^).
 * The gain of the next n trials is that of a fixed plan: the n points of X that together have the largest
 * expected maximum under one half of the draws, chosen one after another. The expectation of the gain is
 * taken over the other half, so that a plan that fits its own draws too well gains nothing by it. Trials of
 * which each learns from the earlier ones gain more. (Wilson 2024 asks the same question in order to stop a
 * search; the plan is ours.) */
#include "core/insight/view.h"

#include "core/arms/feasible.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAWS = 128,            /* a multiple of BANDIT_VIEW_DRAWS */
    LATE_DRAWS = DRAWS / 2, /* the draws by which gains are measured */
    WIDE = 1024,            /* points all over a space */
    NEAR = 512,             /* points near the recommended one */
    VISITED = 1000,         /* points with results, at most */
    STEPS = 7               /* lengths of steps from the recommended point: 0.2, 0.1, 0.05, … of a range */
};

typedef struct outlook {
    bandit_insight *view;
    size_t n, d;         /* points; the first is the recommended one */
    double *coordinates; /* n x d */
    double *values;      /* DRAWS x n */
    double *best;        /* DRAWS: the largest value of the plan so far */
} outlook;

/* What the model expects at the recommended arm. */
static bandit_status expect(bandit_insight *v, bandit_outlook *out, bandit_error *err)
{
    bandit_prediction p;
    bandit_status status = bandit_posterior_predict(v->posterior, 0.0, &out->arm, NULL, 1, &p, err);
    if (status != BANDIT_OK)
        return status;
    p.ucb = p.mean;
    bandit_insight_in_reward_units(v, &p, 1);
    out->mean = p.mean;
    out->std = sqrt(p.variance);
    return BANDIT_OK;
}

static void take_arm(outlook *o, uint32_t arm)
{
    for (size_t j = 0; j < o->d; j++)
        o->coordinates[o->n * o->d + j] = bandit_arms_feature(o->view->inner->arms, arm, j);
    o->n++;
}

/* A point near the recommended one, whose genes are `from`: numbers move, and some other values change. */
static void move(const outlook *o, const bandit_genome *g, size_t k, const double *from, double *genes)
{
    uint64_t seed = o->view->inner->options.seed;
    double step = 0.2 * ldexp(1.0, -(int)(k % STEPS));
    for (size_t j = 0; j < g->space->n; j++) {
        const bandit_parameter *p = &g->space->parameters[j];
        uint64_t index = (uint64_t)1 << 63 | (uint64_t)k << 32 | j;
        double chance = bandit_random_uniform(seed, 1, BANDIT_PURPOSE_INSIGHT, index);
        if (p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER) {
            double moved = from[j] + step * bandit_random_normal(seed, 2, BANDIT_PURPOSE_INSIGHT, index);
            genes[j] = fmin(1.0, fmax(0.0, moved));
        } else {
            genes[j] = chance < 0.8 ? from[j] : bandit_genome_gene(g, j, (chance - 0.8) / 0.2);
        }
    }
}

/* The same in a space with rules: only points that keep them. `from` has the genes of the recommended point. */
static bandit_status take_allowed(outlook *o, bandit_genome *genome, const double *from, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(o->view);
    bandit_polytope polytope = {0};
    size_t wide = 0;
    double *genes = bandit_alloc(WIDE * space->n, sizeof *genes);
    double *coded = bandit_alloc(space->n, sizeof *coded);
    bandit_status status =
        genes && coded ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_view_allowed(o->view, genome, WIDE, genes, o->coordinates + o->n * o->d, &wide, err);
    o->n += wide;
    for (size_t k = 0; status == BANDIT_OK && k < NEAR; k++) {
        move(o, genome, k, from, genes);
        if (bandit_feasible_step(genome, &polytope, from, genes, coded))
            bandit_space_encode(space, coded, o->coordinates + o->n++ * o->d);
        if (polytope.no_memory)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_polytope_clear(&polytope);
    free(genes);
    free(coded);
    return status;
}

static bandit_status take_space(outlook *o, uint32_t best, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(o->view);
    bandit_genome genome;
    double *genes = bandit_alloc(3 * space->n, sizeof *genes);
    if (!genes)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *from = genes + space->n, *coded = from + space->n;
    bandit_status status = bandit_genome_init(&genome, space, NULL, o->view->inner->options.seed, err);
    if (status == BANDIT_OK) {
        for (size_t j = 0; j < space->n; j++)
            from[j] = bandit_genome_gene(&genome, j, 0.5);
        bandit_arms_coded(o->view->inner->arms, best, coded);
        bandit_genome_take(&genome, coded, from);
    }
    if (status == BANDIT_OK && space->rules)
        status = take_allowed(o, &genome, from, err);
    for (size_t k = 0; status == BANDIT_OK && !space->rules && k < WIDE + NEAR; k++) {
        for (size_t j = 0; j < space->n && k < WIDE; j++)
            genes[j] = bandit_genome_gene(&genome, j, bandit_view_uniform(o->view, (uint32_t)k, j));
        if (k >= WIDE)
            move(o, &genome, k - WIDE, from, genes);
        bandit_genome_coded(&genome, genes, coded);
        bandit_space_encode(space, coded, o->coordinates + o->n++ * o->d);
    }
    bandit_genome_clear(&genome);
    free(genes);
    return status;
}

/* The set X: the recommended point, those with results, and the candidates or points of the space. */
static bandit_status take_points(outlook *o, uint32_t best, bandit_error *err)
{
    const bandit_insight *v = o->view;
    size_t visited = v->sums.n_sums < VISITED ? v->sums.n_sums : VISITED, n_arms = 0;
    bool open = bandit_arms_is_open_space(v->inner->arms);
    uint32_t *arms = NULL;
    double *features = NULL;
    bandit_status status = open ? BANDIT_OK : bandit_view_arms(v, &arms, &features, &n_arms, err);
    size_t most = 1 + visited + (open ? WIDE + NEAR : n_arms);
    o->coordinates = bandit_alloc(most * o->d, sizeof *o->coordinates);
    o->values = bandit_alloc(DRAWS * most, sizeof *o->values);
    o->best = bandit_alloc(DRAWS, sizeof *o->best);
    if (status == BANDIT_OK && (!o->coordinates || !o->values || !o->best))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        take_arm(o, best);
        for (size_t i = 0; i < visited; i++)
            take_arm(o, v->sums.sums[i * v->sums.n_sums / visited].arm);
        if (open)
            status = take_space(o, best, err);
        else
            memcpy(o->coordinates + o->n * o->d, features, n_arms * o->d * sizeof *features);
        o->n += n_arms;
    }
    free(arms);
    free(features);
    return status;
}

/* The gain from the recommended point to `value` under draw s, in the units of rewards. */
static double gain_of(const outlook *o, size_t s, double value)
{
    bandit_prediction p[2] = {{.mean = o->values[s * o->n]}, {.mean = value}};
    bandit_insight_in_reward_units(o->view, p, 2);
    return p[1].mean - p[0].mean;
}

static void judge(const outlook *o, double epsilon, bandit_outlook *out)
{
    size_t better = 0;
    out->possible = 0.0;
    for (size_t s = 0; s < DRAWS; s++) {
        const double *f = o->values + s * o->n;
        double most = f[0];
        for (size_t i = 1; i < o->n; i++)
            most = fmax(most, f[i]);
        double gain = gain_of(o, s, most);
        better += gain > epsilon;
        out->possible += gain / DRAWS;
    }
    out->draws = DRAWS;
    out->probability = (double)better / DRAWS;
}

/* Adds to the plan the point with the largest expected maximum under the first half of the draws. */
static void add_point(outlook *o)
{
    double most = -INFINITY;
    size_t chosen = 0;
    for (size_t i = 0; i < o->n; i++) {
        double sum = 0.0;
        for (size_t s = 0; s < DRAWS / 2; s++)
            sum += fmax(o->best[s], o->values[s * o->n + i]);
        if (sum > most) {
            most = sum;
            chosen = i;
        }
    }
    for (size_t s = 0; s < DRAWS; s++)
        o->best[s] = fmax(o->best[s], o->values[s * o->n + chosen]);
}

static bandit_status plan(outlook *o, bandit_outlook *out, bandit_error *err)
{
    static const size_t trials[BANDIT_OUTLOOK_GAINS] = {1, 10, 100};
    size_t planned = 0;
    for (size_t s = 0; s < DRAWS; s++)
        o->best[s] = o->values[s * o->n];
    for (size_t k = 0; k < BANDIT_OUTLOOK_GAINS; k++) {
        bandit_status status = BANDIT_OK;
        for (; status == BANDIT_OK && planned < trials[k]; planned++) {
            add_point(o);
            status = bandit_pause_status(err);
        }
        if (status != BANDIT_OK)
            return status;
        out->trials[k] = trials[k];
        out->gains[k] = 0.0;
        for (size_t s = DRAWS - LATE_DRAWS; s < DRAWS; s++)
            out->gains[k] += gain_of(o, s, o->best[s]) / LATE_DRAWS;
        out->gains[k] = fmin(out->gains[k], out->possible); /* which is known from twice as many draws */
    }
    return BANDIT_OK;
}

bandit_status bandit_insight_outlook(bandit_insight *v, uint32_t arm, double epsilon, bandit_outlook *out,
                                     bandit_error *err)
{
    outlook o = {.view = v, .d = bandit_view_dimension(v)};
    *out = (bandit_outlook){.arm = arm};
    bandit_status status = bandit_view_check(v, err);
    if (status == BANDIT_OK)
        status = expect(v, out, err);
    if (status == BANDIT_OK)
        status = take_points(&o, arm, err);
    for (size_t s = 0; status == BANDIT_OK && s < DRAWS; s += BANDIT_VIEW_DRAWS) {
        status = bandit_view_draw(v, s, err);
        if (status == BANDIT_OK)
            bandit_view_values(v, o.coordinates, o.n, o.values + s * o.n, o.n);
        if (status == BANDIT_OK)
            status = bandit_pause_status(err);
    }
    if (status == BANDIT_OK) {
        judge(&o, epsilon, out);
        status = plan(&o, out, err);
    }
    free(o.coordinates);
    free(o.values);
    free(o.best);
    return status;
}
