/* Covers by closed cubes: they tile the box, hold every arm in every cube that contains it, and split by the
 * rule. */
#include "cover.h"

#include "bandit/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* side^d points, as k / (side − 1) in raw units of `unit`. */
static bandit_arms *grid(size_t d, size_t side, double unit)
{
    size_t n = 1;
    for (size_t k = 0; k < d; k++)
        n *= side;
    bandit_arms *arms = NULL;
    double *rows = malloc(n * d * sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        for (size_t k = 0; k < d; k++, rest /= side)
            rows[i * d + k] = unit * (double)(rest % side) / (double)(side - 1);
    }
    assert_int_equal(bandit_arms_new(&arms, n, d, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, n, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, n, NULL), BANDIT_OK);
    free(rows);
    return arms;
}

/* Bounds of a cell along a side, in extended precision. */
static long double low_end(const bandit_cover *cover, const bandit_cell *cell, size_t k)
{
    return (long double)cell->corner[k] / ((long double)cover->initial * (long double)(1u << cell->level));
}

static long double high_end(const bandit_cover *cover, const bandit_cell *cell, size_t k)
{
    return (long double)(cell->corner[k] + 1) /
           ((long double)cover->initial * (long double)(1u << cell->level));
}

/* Interiors are disjoint; every arm is a member of exactly the closed cells that contain it, at least one;
 * with every cell inhabited the volumes add up to 1. */
static void check_cover(const bandit_cover *cover, const bandit_cell *const *cells, size_t n, bool full)
{
    long double volume = 0.0L;
    size_t d = cover->dimension;
    for (size_t i = 0; i < n; i++) {
        long double v = 1.0L;
        for (size_t k = 0; k < d; k++) {
            assert_true(low_end(cover, cells[i], k) >= 0.0L && high_end(cover, cells[i], k) <= 1.0L);
            v *= high_end(cover, cells[i], k) - low_end(cover, cells[i], k);
        }
        volume += v;
        for (size_t j = 0; j < i; j++) {
            bool apart = false;
            for (size_t k = 0; k < d; k++)
                apart |= high_end(cover, cells[i], k) <= low_end(cover, cells[j], k) ||
                         high_end(cover, cells[j], k) <= low_end(cover, cells[i], k);
            assert_true(apart);
        }
        for (size_t m = 1; m < cells[i]->n; m++)
            assert_true(cells[i]->members[m] > cells[i]->members[m - 1]);
    }
    assert_true(!full || fabsl(volume - 1.0L) < 1e-12L);

    size_t *next = calloc(n, sizeof *next);
    assert_non_null(next);
    for (uint32_t a = 0; a < cover->arms->n; a++) {
        double unit[BANDIT_COVER_DIMENSIONS];
        size_t homes = 0;
        bandit_cover_arm_to_unit(cover, a, unit);
        for (size_t i = 0; i < n; i++) {
            bool inside = true;
            for (size_t k = 0; k < d; k++)
                inside &= unit[k] >= low_end(cover, cells[i], k) - 1e-11L &&
                          unit[k] <= high_end(cover, cells[i], k) + 1e-11L;
            bool member = next[i] < cells[i]->n && cells[i]->members[next[i]] == a;
            assert_true(member == inside);
            assert_true(bandit_cell_contains(cover, cells[i], unit) == inside);
            next[i] += member;
            homes += member;
        }
        assert_true(homes >= 1);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(next[i], cells[i]->n);
    free(next);
}

/* Splits random cells again and again, checking the whole cover after each. */
static void split_and_check(const bandit_arms *arms, uint32_t initial, size_t splits, bool full)
{
    enum { MOST = 4096 };
    bandit_cover cover;
    bandit_cells made[64] = {{0}};
    static const bandit_cell *cells[MOST];
    size_t n = 0;
    assert_true(splits < 63);
    bandit_cover_init(&cover, arms, initial, 1.5);
    assert_int_equal(bandit_cover_first_cells(&cover, &made[0], NULL), BANDIT_OK);
    for (size_t i = 0; i < made[0].n; i++)
        cells[n++] = &made[0].cells[i];
    check_cover(&cover, cells, n, full);
    for (size_t s = 1; s <= splits; s++) {
        size_t chosen = bandit_random_below(6, s, BANDIT_PURPOSE_UNIFORM, 0, n);
        if (cells[chosen]->level > 4)
            continue;
        assert_int_equal(bandit_cover_split(&cover, cells[chosen], &made[s], NULL), BANDIT_OK);
        cells[chosen] = cells[--n];
        for (size_t i = 0; i < made[s].n; i++) {
            assert_true(n < MOST);
            cells[n++] = &made[s].cells[i];
        }
        check_cover(&cover, cells, n, full && s < 4);
    }
    for (size_t s = 0; s < 64; s++)
        bandit_cells_clear(&made[s]);
}

static void covers_tile_the_box(void **state)
{
    const struct {
        size_t d, side;
        double unit;
        uint32_t initial;
        size_t splits;
    } cases[] = {
        {1, 65, 1.0, 1, 20}, {2, 30, 1.0, 1, 40}, {2, 33, 7.3, 4, 40},
        {2, 31, 0.1, 3, 40}, {3, 13, 100, 2, 20}, {3, 9, 1.0, 1, 20},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bandit_arms *arms = grid(cases[c].d, cases[c].side, cases[c].unit);
        split_and_check(arms, cases[c].initial, cases[c].splits, cases[c].d < 3);
        bandit_arms_free(arms);
    }
}

/* The grid of 33 points meets the faces of a 4 x 4 cover: rounding of scaled features must not lose one. */
static void arms_on_faces_belong_to_all_neighbours(void **state)
{
    bandit_arms *arms = grid(2, 33, 0.3);
    bandit_cover cover;
    bandit_cells cells = {0};
    size_t memberships = 0;
    (void)state;
    bandit_cover_init(&cover, arms, 4, 2.5);
    assert_int_equal(bandit_cover_first_cells(&cover, &cells, NULL), BANDIT_OK);
    assert_int_equal(cells.n, 16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(cells.cells[i].n, 81);
        memberships += cells.cells[i].n;
    }
    assert_int_equal(memberships, 36 * 36); /* three of 33 lines a side counted twice */
    bandit_cells_clear(&cells);
    bandit_arms_free(arms);
}

/* Few arms in many dimensions: cells without arms are not made. A feature that never varies spans nothing. */
static void empty_cells_are_not_kept(void **state)
{
    enum { N = 20, D = 8 };
    bandit_arms *arms = NULL;
    double rows[N * D];
    (void)state;
    for (size_t i = 0; i < N * D; i++)
        rows[i] = i % D == 3 ? 5.0 : bandit_random_uniform(8, 0, BANDIT_PURPOSE_UNIFORM, i);
    assert_int_equal(bandit_arms_new(&arms, N, D, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    split_and_check(arms, 1, 10, false);
    split_and_check(arms, 5, 10, false);
    bandit_arms_free(arms);
}

/* rho^{−1/b} < N + 1, in d = 2, nu = 3/2: 1/b = 5/3. Sides 1, 1/2, 1/4: 1, 3.17, 10.08. */
static void the_rule_splits(void **state)
{
    bandit_arms *arms = grid(2, 5, 1.0);
    bandit_cover cover;
    const uint64_t least[] = {1, 3, 10, 32, 101};
    (void)state;
    bandit_cover_init(&cover, arms, 1, 1.5);
    for (uint32_t level = 0; level < 5; level++) {
        assert_false(bandit_cover_must_split(&cover, level, least[level] - 1));
        assert_true(bandit_cover_must_split(&cover, level, least[level]));
    }
    assert_false(bandit_cover_must_split(&cover, BANDIT_COVER_LEVELS, UINT64_MAX));
    /* one pull more never asks for two levels: the cover does not depend on how pulls are grouped */
    const double nus[] = {0.5, 1.5, 2.5};
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t initial = 1; initial < 7; initial++) {
            bandit_cover_init(&cover, arms, initial, nus[k]);
            uint32_t level = 0;
            for (uint64_t pulls = 0; pulls < 5000; pulls++) {
                if (pulls > 0 && bandit_cover_must_split(&cover, level, pulls))
                    level++;
                assert_false(bandit_cover_must_split(&cover, level, pulls));
            }
        }
    }
    bandit_arms_free(arms);
}

/* T^q in d = 2, nu = 3/2: q = 6/11, 10^4^(3/11) = 12.3 a side; d = 1: q = 1/3, 10^4^(1/3) = 21.5. */
static void the_schedule_of_the_first_cover(void **state)
{
    (void)state;
    assert_int_equal(bandit_cover_initial_for(2, 1.5, 1e4), 12);
    assert_int_equal(bandit_cover_initial_for(1, 1.5, 1e4), 22);
    assert_int_equal(bandit_cover_initial_for(3, 1.5, 1e4), 8);
    assert_int_equal(bandit_cover_initial_for(3, 1.5, 1.0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers_tile_the_box),
        cmocka_unit_test(arms_on_faces_belong_to_all_neighbours),
        cmocka_unit_test(empty_cells_are_not_kept),
        cmocka_unit_test(the_rule_splits),
        cmocka_unit_test(the_schedule_of_the_first_cover),
    };
    return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
