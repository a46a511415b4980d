#include "core/posterior/hallucination.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bandit_hallucination_reset(bandit_hallucination *h, size_t m)
{
    if (m > h->capacity || !h->W) {
        bandit_hallucination fresh = {.capacity = m};
        fresh.arms = bandit_alloc(m, sizeof *fresh.arms);
        fresh.W = bandit_alloc(m, m * sizeof(double));
        fresh.Q = bandit_alloc(m, m * sizeof(double));
        fresh.p = bandit_alloc(m, sizeof(double));
        fresh.c = bandit_alloc(m, sizeof(double));
        fresh.product = bandit_alloc(m, sizeof(double));
        fresh.spare = bandit_alloc(m, m * sizeof(double));
        if (!fresh.arms || !fresh.W || !fresh.Q || !fresh.p || !fresh.c || !fresh.product || !fresh.spare) {
            bandit_hallucination_clear(&fresh);
            return false;
        }
        bandit_hallucination_clear(h);
        *h = fresh;
    }
    h->m = m;
    h->in_w = false;
    h->n_distinct = h->n_closed = 0;
    h->version = h->runs = 0;
    h->open = false;
    return true;
}

void bandit_hallucination_clear(bandit_hallucination *h)
{
    free(h->arms);
    free(h->W);
    free(h->Q);
    free(h->p);
    free(h->c);
    free(h->product);
    free(h->spare);
    *h = (bandit_hallucination){0};
}

/* Product of w with the i-th distinct pick. Each is its own ddot, so that its bits do not depend on how many
 * distinct picks there are. */
static double coordinate(const bandit_hallucination *h, size_t i, const double *w)
{
    return cblas_ddot((int)h->m, h->W + i * h->m, 1, w, 1);
}

/* out = Q c over the coordinates that Q acts on. */
static void apply_closed(const bandit_hallucination *h, const double *c, double *out)
{
    bandit_symmetric_times_vector(out, h->Q, h->n_closed, h->m, c);
}

/* Changes the coordinates from products with the distinct picks to w itself: Q becomes W Q W'. This happens
 * at most once per batch, when a pick comes that is distinct from m earlier ones. */
static void change_to_w(bandit_hallucination *h)
{
    int m = (int)h->m;
    assert(h->n_closed == h->m && !h->open);
    cblas_dsymm(CblasColMajor, CblasRight, CblasLower, m, m, 1.0, h->Q, m, h->W, m, 0.0, h->spare, m);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, m, m, 1.0, h->spare, m, h->W, m, 0.0, h->Q, m);
    h->in_w = true;
    h->version++;
}

/* Adds the open run to Q: Q += p p' / (1/n + g). */
static void close_run(bandit_hallucination *h)
{
    size_t n = h->in_w ? h->m : h->n_distinct;
    double scale = 1.0 / (1.0 / (double)h->open_count + h->open_gain);
    for (size_t k = h->n_closed; k < n; k++) { /* new distinct picks extend Q with zeros */
        for (size_t j = 0; j <= k; j++)
            h->Q[j * h->m + k] = 0.0;
    }
    cblas_dsyr(CblasColMajor, CblasLower, (int)n, scale, h->p, 1, h->Q, (int)h->m);
    h->n_closed = n;
    h->open = false;
    h->version++;
}

/* Opens a run of `arm`: p = e − Q c (or w − Q w when the coordinates are w), and g = p' c, where c are the
 * arm's coordinates. */
static void open_run(bandit_hallucination *h, uint32_t arm, const double *w)
{
    size_t index = 0, n = h->m;
    if (!h->in_w) {
        while (index < h->n_distinct && h->arms[index] != arm)
            index++;
        if (index == h->n_distinct && h->n_distinct == h->m)
            change_to_w(h);
    }
    if (h->in_w) {
        memcpy(h->c, w, h->m * sizeof *w);
    } else {
        if (index == h->n_distinct) {
            h->arms[index] = arm;
            memcpy(h->W + index * h->m, w, h->m * sizeof *w);
            h->n_distinct++;
        }
        n = h->n_distinct;
        for (size_t i = 0; i < n; i++)
            h->c[i] = coordinate(h, i, w);
    }
    memset(h->p, 0, n * sizeof *h->p);
    if (h->n_closed > 0)
        apply_closed(h, h->c, h->p);
    for (size_t i = 0; i < n; i++)
        h->p[i] = (h->in_w ? w[i] : (i == index ? 1.0 : 0.0)) - h->p[i];
    h->open_gain = fmax(0.0, cblas_ddot((int)n, h->p, 1, h->c, 1));
    h->open = true;
    h->open_arm = arm;
    h->open_count = 1;
    h->runs++;
}

void bandit_hallucination_add(bandit_hallucination *h, uint32_t arm, const double *w)
{
    if (h->m == 0)
        return;
    if (h->open && h->open_arm == arm) {
        h->open_count++;
        return;
    }
    if (h->open)
        close_run(h);
    open_run(h, arm, w);
}

double bandit_hallucination_norm2(const bandit_hallucination *h, bandit_shadow *shadow)
{
    if (!h->open) /* only before the first pick; after it a run is always open */
        return shadow->norm2;

    size_t n = h->in_w ? h->m : h->n_distinct;
    const double *c = shadow->w;
    if (!h->in_w) {
        for (; shadow->n_coordinates < n; shadow->n_coordinates++)
            shadow->coordinates[shadow->n_coordinates] = coordinate(h, shadow->n_coordinates, shadow->w);
        c = shadow->coordinates;
    }
    if (shadow->version != h->version + 1) {
        shadow->after_closed = shadow->norm2;
        if (h->n_closed > 0) {
            apply_closed(h, c, h->product);
            shadow->after_closed -= cblas_ddot((int)h->n_closed, h->product, 1, c, 1);
        }
        shadow->version = h->version + 1;
    }
    if (shadow->run != h->runs) {
        shadow->projection = cblas_ddot((int)n, h->p, 1, c, 1);
        shadow->run = h->runs;
    }
    double gained = shadow->projection * shadow->projection / (1.0 / (double)h->open_count + h->open_gain);
    return fmax(0.0, shadow->after_closed - gained);
}
