/* The picks of a batch in the making: variance shrinks, the mean does not move ([BBKB] Alg. 1, l. 8–9).
 *
 * A sequence of picks is kept as runs of one arm, so that a thousand repeats cost as much as one. After the
 * closed runs the norm |w(x)|^2 of the start of the batch has become |w(x)|^2 − c' Q c, where the
 * coordinates c of x are its products with the distinct picks, c_i = w_i' w(x), while these are fewer than
 * m, and w(x) itself from then on. The open run, n pulls of x_o with p = (I − Q) applied to its
 * coordinates and g = p' c_o, takes off another (p' c)^2 / (1/n + g).
 *
 * The state is a function of the sequence of picks alone, to the bit: how calls cut it does not matter. */
#ifndef CORE_POSTERIOR_HALLUCINATION_H
#define CORE_POSTERIOR_HALLUCINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bandit_hallucination {
    size_t m;          /* length of w */
    bool in_w;         /* coordinates are w(x) itself */
    size_t n_distinct; /* columns of W in use, while !in_w */
    uint32_t *arms;    /* m: the distinct picks, in the order of their first pick */
    double *W;         /* m x m: w of the distinct picks */
    double *Q;         /* m x m, lower triangle; the leading n_closed x n_closed part is in use */
    size_t n_closed;   /* length of the coordinates that Q acts on */
    uint64_t version;  /* grows whenever Q or the meaning of the coordinates changes */
    uint64_t runs;     /* opened so far */
    bool open;
    uint32_t open_arm;
    uint64_t open_count;
    double open_gain; /* g */
    double *p;        /* m; the leading n_coordinates entries are in use */
    double *c;        /* m: scratch, the opened arm's coordinates */
    double *product;  /* m: scratch */
    double *spare;    /* m x m: for the change of coordinates */
    size_t capacity;  /* the m that the arrays can take */
} bandit_hallucination;

/* No picks, for vectors of length m; *h is {0} or used before. false: no memory, *h can still be used
 * (as before) or cleared. */
bool bandit_hallucination_reset(bandit_hallucination *h, size_t m);
void bandit_hallucination_clear(bandit_hallucination *h);

/* One more pull of `arm`, w(arm) given (aligned). Allocates nothing. */
void bandit_hallucination_add(bandit_hallucination *h, uint32_t arm, const double *w);

/* What an arm needs to be brought up to date. w and coordinates: m entries each, aligned. Set w, norm2, and
 * zero the rest. */
typedef struct bandit_shadow {
    const double *w;
    double *coordinates;
    double norm2;         /* |w|^2 */
    size_t n_coordinates; /* computed so far */
    uint64_t version;     /* that `after_closed` belongs to, plus one; 0: none */
    double after_closed;  /* |w|^2 − c' Q c */
    uint64_t run;         /* that `projection` belongs to; 0: none */
    double projection;    /* p' c */
} bandit_shadow;

/* |w(x)|^2 after all picks so far, never negative. A function of w and the picks alone, to the bit. */
double bandit_hallucination_norm2(const bandit_hallucination *h, bandit_shadow *shadow);

#endif
