/* Sobol indices of the mean over a space without rules, and of functions drawn from the posterior.
 *
 * Two blocks A and B of N points each, in genes (genome.h); A_B^i is A with gene i of B. With V the variance of
 * f over both blocks (Jansen 1999; Saltelli et al. 2010, table 2),
 *
 *   T_i = sum (f(A) − f(A_B^i))^2 / (2 N V),   S_i = 1 − sum (f(B) − f(A_B^i))^2 / (2 N V).
 *
 * A parameter that is not active also has a gene, which then changes nothing. The genes are therefore
 * independent, and the indices are those of the genes. */
#include "core/insight/view.h"

#include "core/arms/genome.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 1024,     /* of each block, for the mean */
    POINTS_MANY = 512, /* the same with more than MANY parameters */
    MANY = 50,
    POINTS_DRAWN = 256 /* for each of the functions: the first points of the blocks */
};

typedef struct sobol {
    bandit_insight *view;
    bandit_genome genome;
    size_t n, p;                          /* points of a block; parameters */
    double *genes_a, *genes_b;            /* n x p */
    double *genes, *coded;                /* p: of one point */
    double *coordinates;                  /* n x dimension */
    double *mean_a, *mean_b, *mean_ab;    /* n */
    double *drawn_a, *drawn_b, *drawn_ab; /* BANDIT_VIEW_DRAWS x POINTS_DRAWN */
} sobol;

static void clear(sobol *s)
{
    bandit_genome_clear(&s->genome);
    free(s->genes_a);
    free(s->genes_b);
    free(s->genes);
    free(s->coordinates);
    free(s->mean_a);
    free(s->drawn_a);
}

static bandit_status prepare(sobol *s, bandit_insight *view, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(view);
    *s = (sobol){.view = view, .p = space->n, .n = space->n > MANY ? POINTS_MANY : POINTS};
    bandit_status status = bandit_genome_init(&s->genome, space, NULL, view->inner->options.seed, err);
    if (status != BANDIT_OK)
        return status;
    s->genes_a = bandit_alloc(s->n * s->p, sizeof *s->genes_a);
    s->genes_b = bandit_alloc(s->n * s->p, sizeof *s->genes_b);
    s->genes = bandit_alloc(2 * s->p, sizeof *s->genes);
    s->coordinates = bandit_alloc(s->n * space->dimension, sizeof *s->coordinates);
    s->mean_a = bandit_alloc(3 * s->n, sizeof *s->mean_a);
    s->drawn_a = bandit_alloc((size_t)3 * BANDIT_VIEW_DRAWS * POINTS_DRAWN, sizeof *s->drawn_a);
    if (!s->genes_a || !s->genes_b || !s->genes || !s->coordinates || !s->mean_a || !s->drawn_a)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    s->coded = s->genes + s->p;
    s->mean_b = s->mean_a + s->n;
    s->mean_ab = s->mean_b + s->n;
    s->drawn_b = s->drawn_a + (size_t)BANDIT_VIEW_DRAWS * POINTS_DRAWN;
    s->drawn_ab = s->drawn_b + (size_t)BANDIT_VIEW_DRAWS * POINTS_DRAWN;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->p; j++) {
            double a = bandit_view_uniform(view, (uint32_t)i, j);
            double b = bandit_view_uniform(view, (uint32_t)i, s->p + j);
            s->genes_a[i * s->p + j] = bandit_genome_gene(&s->genome, j, a);
            s->genes_b[i * s->p + j] = bandit_genome_gene(&s->genome, j, b);
        }
    }
    return BANDIT_OK;
}

/* Mean and functions at the points of `genes`, with gene `swapped` (SIZE_MAX: none) from `other`. */
static void evaluate(sobol *s, const double *genes, const double *other, size_t swapped, double *mean,
                     double *drawn)
{
    const bandit_space *space = bandit_view_space(s->view);
    for (size_t i = 0; i < s->n; i++) {
        memcpy(s->genes, genes + i * s->p, s->p * sizeof *s->genes);
        if (swapped < s->p)
            s->genes[swapped] = other[i * s->p + swapped];
        bandit_genome_coded(&s->genome, s->genes, s->coded);
        bandit_space_encode(space, s->coded, s->coordinates + i * space->dimension);
    }
    bandit_view_means(s->view, s->coordinates, s->n, mean);
    bandit_view_values(s->view, s->coordinates, POINTS_DRAWN, drawn, POINTS_DRAWN);
}

static double variance_of(const double *a, const double *b, size_t n)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] + b[i];
    double mean = sum / (2.0 * (double)n);
    for (size_t i = 0; i < n; i++)
        squares += (a[i] - mean) * (a[i] - mean) + (b[i] - mean) * (b[i] - mean);
    return squares / (2.0 * (double)n);
}

/* sum (f − g)^2 / (2 n V) */
static double part(const double *f, const double *g, size_t n, double variance)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (f[i] - g[i]) * (f[i] - g[i]);
    return variance > 0.0 ? sum / (2.0 * (double)n * variance) : 0.0;
}

/* The standard deviation of T_i among the functions. */
static double deviation(const sobol *s)
{
    double sum = 0.0, squares = 0.0, n = BANDIT_VIEW_DRAWS;
    for (size_t r = 0; r < BANDIT_VIEW_DRAWS; r++) {
        size_t at = r * POINTS_DRAWN;
        double variance = variance_of(s->drawn_a + at, s->drawn_b + at, POINTS_DRAWN);
        double total = part(s->drawn_a + at, s->drawn_ab + at, POINTS_DRAWN, variance);
        sum += total;
        squares += total * total;
    }
    return sqrt(fmax(0.0, squares - sum * sum / n) / (n - 1.0));
}

/* The bin of every gene: equal parts of a number's range, or the values. */
static void bin_genes(const sobol *s, const double *genes, unsigned char *bins)
{
    for (size_t j = 0; j < s->p; j++) {
        const bandit_parameter *parameter = &bandit_view_space(s->view)->parameters[j];
        bool is_number =
            parameter->type == BANDIT_PARAMETER_DOUBLE || parameter->type == BANDIT_PARAMETER_INTEGER;
        double values = is_number ? 1.0 : (double)bandit_space_values(parameter);
        for (size_t i = 0; i < s->n; i++) {
            double gene = genes[i * s->p + j], bin;
            if (is_number || values > BANDIT_VIEW_BINS)
                bin = gene / values * BANDIT_VIEW_BINS;
            else
                bin = gene;
            bins[i * s->p + j] = (unsigned char)fmin(bin, BANDIT_VIEW_BINS - 1);
        }
    }
}

static bandit_status find_top(sobol *s, bandit_importance *out, bandit_error *err)
{
    unsigned char *bins = bandit_alloc(2 * s->n, s->p);
    double *shares = bandit_alloc(s->p, sizeof *shares);
    bandit_status status =
        bins && shares ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        bin_genes(s, s->genes_a, bins);
        bin_genes(s, s->genes_b, bins + s->n * s->p);
        status = bandit_view_top(s->mean_a, bins, 2 * s->n, s->p, shares, err); /* mean_b follows mean_a */
    }
    for (size_t j = 0; status == BANDIT_OK && j < s->p; j++)
        out[j].top = shares[j];
    free(bins);
    free(shares);
    return status;
}

bandit_status bandit_importance_space(bandit_insight *view, bandit_importance *out, double *variance,
                                      bandit_error *err)
{
    sobol s;
    bandit_status status = prepare(&s, view, err);
    if (status == BANDIT_OK) {
        evaluate(&s, s.genes_a, NULL, SIZE_MAX, s.mean_a, s.drawn_a);
        evaluate(&s, s.genes_b, NULL, SIZE_MAX, s.mean_b, s.drawn_b);
        *variance = variance_of(s.mean_a, s.mean_b, s.n);
        status = bandit_pause_status(err);
    }
    for (size_t j = 0; status == BANDIT_OK && j < s.p; j++) {
        evaluate(&s, s.genes_a, s.genes_b, j, s.mean_ab, s.drawn_ab);
        out[j].total = part(s.mean_a, s.mean_ab, s.n, *variance);
        out[j].first = *variance > 0.0 ? fmax(0.0, 1.0 - part(s.mean_b, s.mean_ab, s.n, *variance)) : 0.0;
        out[j].total = fmax(out[j].total, out[j].first); /* as the indices are, but for sampling errors */
        out[j].std = deviation(&s);
        status = bandit_pause_status(err);
    }
    if (status == BANDIT_OK)
        status = find_top(&s, out, err);
    clear(&s);
    return status;
}
