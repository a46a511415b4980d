/* The effect of a batch's picks in flight on the variances: variances shrink, the mean does not move ([BBKB]
 * Alg. 1, l. 8–9).
 *
 * Consecutive picks of one arm are kept as one run, so that a thousand repeats cost as much as one pick. Only
 * the last run is open. The closed runs turn the norm |w(x)|^2 of the start of the batch into
 * |w(x)|^2 − c' Q c. While there are at most m distinct picks, the coordinates c of x are its products with
 * them, c_i = w_i' w(x); from then on they are w(x) itself. The open run, n pulls of x_o with p = (I − Q)
 * applied to its coordinates and g = p' c_o, subtracts another (p' c)^2 / (1/n + g).
 *
 * To the bit, the state depends only on the sequence of picks, not on how calls divide it. */
#ifndef CORE_POSTERIOR_HALLUCINATION_H
#define CORE_POSTERIOR_HALLUCINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bandit_hallucination {
    size_t m;          /* length of w */
    bool in_w;         /* the coordinates are w(x) itself */
    size_t n_distinct; /* columns of W in use; no longer counted once in_w is set */
    uint32_t *arms;    /* m: the distinct picks, in the order of their first pick */
    double *W;         /* m x m: w of the distinct picks */
    double *Q;         /* m x m, lower triangle; the leading n_closed x n_closed part is in use */
    size_t n_closed;   /* length of the coordinates that Q acts on */
    uint64_t version;  /* increases whenever Q or the meaning of the coordinates changes */
    uint64_t runs;     /* number of runs opened so far */
    bool open;
    uint32_t open_arm;
    uint64_t open_count;
    double open_gain; /* g of the open run */
    double *p;        /* m; p of the open run, in as many entries as there are coordinates */
    double *c;        /* m: scratch, the opened arm's coordinates */
    double *product;  /* m: scratch */
    double *spare;    /* m x m: for the change of coordinates */
    size_t capacity;  /* the m that the arrays have memory for */
} bandit_hallucination;

/* Starts a batch without picks, for vectors of length m. *h is {0} or used before. Returns false when out of
 * memory; *h is then as before, and can be used or cleared. */
bool bandit_hallucination_reset(bandit_hallucination *h, size_t m);
void bandit_hallucination_clear(bandit_hallucination *h);

/* Adds one pull of `arm`, given w(arm) (aligned). Allocates nothing. */
void bandit_hallucination_add(bandit_hallucination *h, uint32_t arm, const double *w);

/* An arm's cached values, from which its norm is updated. w and coordinates have m entries each, aligned. The
 * caller sets w, coordinates and norm2, and zeroes the other members. */
typedef struct bandit_shadow {
    const double *w;
    double *coordinates;
    double norm2;         /* |w|^2 */
    size_t n_coordinates; /* coordinates computed so far */
    uint64_t version;     /* version of Q that `after_closed` was computed with, plus one; 0: none */
    double after_closed;  /* |w|^2 − c' Q c */
    uint64_t run;         /* run that `projection` was computed for; 0: none */
    double projection;    /* p' c */
} bandit_shadow;

/* |w(x)|^2 after all picks so far, never negative. To the bit, it depends only on w and the picks. */
double bandit_hallucination_norm2(const bandit_hallucination *h, bandit_shadow *shadow);

#endif
