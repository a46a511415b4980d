/* The rewards of distinct regions, for the unit of warped rewards.
 *
 * A search without noise spends most trials near the leader, on its next digits. The quartiles of all rewards then are
 * rewards of that place, and in their unit everything else is equally bad: a power of the warp bounds it all, and the
 * model can tell no other region from another. A search of the points of another word (word_search.h) would see a plain
 * there. So in the fits for such searches, of rewards at points near each other only the best counts. Other fits keep the
 * unit of all rewards, because the next digits come sooner with it. Ours. */
#include "core/base/allocate.h"
#include "core/learning/sample.h"

#include <math.h>
#include <stdlib.h>

static const double NEAR = 0.1; /* distance, in lengthscales of the previous fit */

typedef struct ranked {
    double mean;
    size_t row;
} ranked;

/* Best first; equal rewards in the order of their rows. */
static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->mean != y->mean ? (x->mean < y->mean) - (x->mean > y->mean)
                              : (x->row > y->row) - (x->row < y->row);
}

/* A lengthscale longer than the range of a number says that the number matters little; two points at the ends of the
 * range are not near each other for that. */
static bool is_near(const bandit_sample *s, const bandit_fitted *l, uint32_t a, uint32_t b)
{
    const bandit_fit_settings *settings = s->settings;
    double squares = 0.0;
    for (size_t j = 0; j < settings->arms->dimension; j++) {
        double length = settings->group ? fmin(1.0, l->lengthscales[settings->group[j]]) : 1.0;
        double e =
            (bandit_arms_feature(settings->arms, a, j) - bandit_arms_feature(settings->arms, b, j)) / length;
        squares += e * e;
    }
    return squares < NEAR * NEAR;
}

bool bandit_sample_counts_regions(const bandit_fit_settings *settings, uint64_t observations)
{
    return settings->regions && settings->learn_noise &&
           observations % BANDIT_WORDS_EVERY == BANDIT_WORDS_PLACE;
}

bandit_status bandit_sample_regions(const bandit_sample *s, const bandit_fitted *l, double *means, size_t *n,
                                    bandit_error *err)
{
    ranked *order = bandit_alloc(s->n, sizeof *order);
    *n = 0;
    if (!order)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < s->n; i++)
        order[i] = (ranked){bandit_sample_mean(&s->rows[i]), i};
    qsort(order, s->n, sizeof *order, compare_ranked);
    for (size_t k = 0; k < s->n; k++) {
        bool near = false;
        for (size_t m = 0; m < *n && !near; m++)
            near = is_near(s, l, s->rows[order[k].row].arm, s->rows[order[m].row].arm);
        if (!near)
            order[(*n)++] = order[k];
    }
    for (size_t k = 0; k < *n; k++)
        means[*n - 1 - k] = order[k].mean;
    free(order);
    return BANDIT_OK;
}
