/* What hallucinated picks leave of the norms against (I + sum of w w')^{-1} by elimination, through runs of
 * one arm, returns to former arms, and more distinct arms than there are coordinates. */
#include "core/posterior/hallucination.h"

#include "core/base/allocate.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 14, MOST = 9, PICKS = 60 };

typedef struct problem {
    size_t m;
    double *w; /* ARMS x MOST, each row aligned */
    double *coordinates;
    bandit_shadow shadows[ARMS];
    uint64_t pulls[ARMS];
} problem;

static size_t row(size_t arm)
{
    return arm * bandit_aligned_doubles(MOST);
}

static bandit_shadow fresh_shadow(const problem *p, size_t arm, double *coordinates)
{
    double norm2 = 0.0;
    for (size_t i = 0; i < p->m; i++)
        norm2 += p->w[row(arm) + i] * p->w[row(arm) + i];
    return (bandit_shadow){.w = p->w + row(arm), .coordinates = coordinates, .norm2 = norm2};
}

static void set_up(problem *p, size_t m, uint64_t seed)
{
    *p = (problem){.m = m};
    p->w = bandit_alloc_zeroed(row(ARMS), sizeof(double));
    p->coordinates = bandit_alloc_zeroed(row(ARMS), sizeof(double));
    assert_true(p->w && p->coordinates);
    for (size_t a = 0; a < ARMS; a++) {
        for (size_t i = 0; i < m; i++)
            p->w[row(a) + i] = dense_normal(&seed) * (a % 3 == 0 ? 2.0 : 0.3);
        p->shadows[a] = fresh_shadow(p, a, p->coordinates + row(a));
    }
}

static void tear_down(problem *p)
{
    free(p->w);
    free(p->coordinates);
}

/* w' (I + sum of n w w')^{-1} w */
static double dense(const problem *p, size_t arm)
{
    double a[MOST][MOST + 1];
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->m; j++) {
            a[i][j] = i == j ? 1.0 : 0.0;
            for (size_t k = 0; k < ARMS; k++)
                a[i][j] += (double)p->pulls[k] * p->w[row(k) + i] * p->w[row(k) + j];
        }
        a[i][p->m] = p->w[row(arm) + i];
    }
    double sum = 0.0;
    for (size_t k = 0; k < p->m; k++) {
        for (size_t i = 0; i < p->m; i++) {
            double f = i == k ? 0.0 : a[i][k] / a[k][k];
            for (size_t j = k; j <= p->m; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    for (size_t i = 0; i < p->m; i++)
        sum += p->w[row(arm) + i] * a[i][p->m] / a[i][i];
    return sum;
}

/* A shadow that is brought up to date now and then says, to the bit, what a new one says. */
static void check(const bandit_hallucination *h, problem *p, size_t now)
{
    double *coordinates = bandit_alloc_zeroed(bandit_aligned_doubles(MOST), sizeof(double));
    assert_non_null(coordinates);
    for (size_t a = 0; a < ARMS; a++) {
        bandit_shadow fresh = fresh_shadow(p, a, coordinates);
        double norm2 = bandit_hallucination_norm2(h, &fresh), expected = dense(p, a);
        assert_true(norm2 >= 0.0 && fabs(norm2 - expected) <= 1e-10 * fmax(1.0, fresh.norm2));
        if ((a + now) % 4 != 0)
            assert_true(bandit_hallucination_norm2(h, &p->shadows[a]) == norm2);
    }
    free(coordinates);
}

/* Runs of up to four pulls; the arms come again, and are more than there are coordinates. */
static void picks_shrink_the_norms(void **state)
{
    bandit_hallucination h = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        for (size_t m = 1; m <= MOST; m += 2) {
            problem p;
            uint64_t random = 100 * seed + m;
            set_up(&p, m, seed);
            assert_true(bandit_hallucination_reset(&h, m));
            check(&h, &p, 0);
            for (size_t pick = 0; pick < PICKS;) {
                uint32_t arm = (uint32_t)(ARMS * dense_uniform(&random));
                size_t run = 1 + (size_t)(4.0 * dense_uniform(&random));
                for (size_t k = 0; k < run; k++, pick++) {
                    bandit_hallucination_add(&h, arm, p.w + row(arm));
                    p.pulls[arm]++;
                    check(&h, &p, pick);
                }
            }
            tear_down(&p);
        }
    }
    bandit_hallucination_clear(&h);
}

/* Vectors of no length have a norm that nothing shrinks. */
static void without_coordinates(void **state)
{
    bandit_hallucination h = {0};
    bandit_shadow shadow = {0};
    const double none = 0.0;
    (void)state;
    assert_true(bandit_hallucination_reset(&h, 0));
    bandit_hallucination_add(&h, 3, &none);
    assert_true(bandit_hallucination_norm2(&h, &shadow) == 0.0);
    bandit_hallucination_clear(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_shrink_the_norms),
        cmocka_unit_test(without_coordinates),
    };
    return cmocka_run_group_tests_name("hallucination", tests, NULL, NULL);
}
