/* Covers by closed cubes: they tile the box, hold every arm in every cube that contains it, and split by the
 * rule. */
#include "core/arms/cover.h"

#include "bandit/rng.h"
#include "bandit/space.h"

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
    double *unit = malloc(d * sizeof *unit), *again = malloc(d * sizeof *again); /* and no more */
    assert_true(unit && again);
    for (uint32_t a = 0; a < cover->arms->n; a++) {
        bandit_cell lowest;
        size_t homes = 0;
        bandit_cover_arm_to_unit(cover, a, unit);
        for (size_t k = 0; k < d; k++)
            again[k] = bandit_arms_feature(cover->arms, a, k);
        bandit_cover_to_unit(cover, again, again);
        assert_memory_equal(unit, again, d * sizeof *unit);
        bandit_cover_lowest_cell(cover, cells[0]->level, unit, &lowest);
        assert_int_equal(lowest.level, cells[0]->level);
        for (size_t k = 0; k < d; k++) { /* of two that meet there the one before */
            assert_true(high_end(cover, &lowest, k) >= unit[k] - 1e-11L);
            assert_true(lowest.corner[k] == 0 || low_end(cover, &lowest, k) < unit[k] - 1e-11L);
        }
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
    free(unit);
    free(again);
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
    enum { N = 20, D = BANDIT_COVER_DIMENSIONS };
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
    bandit_cover_init(&cover, arms, 1, 0.5); /* 1/b = 1: a level for every doubling, to the last */
    assert_true(bandit_cover_must_split(&cover, BANDIT_COVER_LEVELS - 1, UINT64_MAX));
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
    assert_int_equal(bandit_cover_initial_for(1, 0.5, 1e300), BANDIT_COVER_INITIAL);
    assert_int_equal(bandit_cover_initial_for(1, 1.5, 1e-300), 1);
}

static bool contains(const bandit_cover *cover, uint64_t corner, double u)
{
    const bandit_cell cell = {.corner = {corner}};
    return bandit_cell_contains(cover, &cell, &u);
}

/* Four cells of a line: each holds what is within 1e-12 of it, but for what is farther from the whole line.
 */
static void faces_have_a_tolerance(void **state)
{
    bandit_arms *arms = grid(1, 5, 1.0);
    bandit_cover cover;
    (void)state;
    bandit_cover_init(&cover, arms, 4, 0.5);
    for (uint64_t cell = 0; cell < 4; cell++) {
        double low = 0.25 * (double)cell, high = low + 0.25;
        assert_true(contains(&cover, cell, 0.5 * (low + high)));
        assert_true(contains(&cover, cell, low) && contains(&cover, cell, high));
        assert_true(contains(&cover, cell, low - 0.9e-12) && contains(&cover, cell, high + 0.9e-12));
        assert_false(contains(&cover, cell, low - 1.1e-12) || contains(&cover, cell, high + 1.1e-12));
        for (uint64_t other = 0; other < 4; other++) {
            bool neighbour = other == cell + 1 || other + 1 == cell;
            assert_true(contains(&cover, other, 0.5 * (low + high)) == (other == cell));
            assert_true(contains(&cover, other, low + 0.9e-12) ==
                        (other == cell || (neighbour && other < cell)));
            assert_true(contains(&cover, other, low + 1.1e-12) == (other == cell));
        }
        for (int beyond = 0; beyond < 2; beyond++) {
            double u = low + (beyond ? 1.1e-12 : 0.9e-12);
            bandit_cell lowest;
            bandit_cover_lowest_cell(&cover, 0, &u, &lowest);
            assert_int_equal(lowest.corner[0], beyond || cell == 0 ? cell : cell - 1);
        }
    }
    assert_true(contains(&cover, 0, -1e-12));
    bandit_arms_free(arms);
}

/* The unit box is the arms', a feature that never varies at 0; of a space it is the space. */
static void boxes_are_the_arms_or_the_spaces(void **state)
{
    const double rows[] = {-3.0, 7.0, 2.0, 5.0, 7.0, 2.5, 1.0, 7.0, 2.25}, width[] = {8.0, 0.0, 0.5};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = -2.0, .max = 6.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 10.0, .max = 20.0, .parent = BANDIT_NO_PARENT}};
    const double points[] = {0.0, 11.0, 2.0, 16.0};
    bandit_arms *arms;
    bandit_cover cover;
    double unit[3], of_arm[3];
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, 3, 3, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, 3, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 3, NULL), BANDIT_OK);
    bandit_cover_init(&cover, arms, 1, 0.5);
    for (uint32_t a = 0; a < 3; a++) {
        bandit_cover_to_unit(&cover, rows + 3 * a, unit);
        bandit_cover_arm_to_unit(&cover, a, of_arm);
        assert_memory_equal(unit, of_arm, sizeof unit);
        for (size_t k = 0; k < 3; k++)
            assert_true(unit[k] == (k == 1 ? 0.0 : (rows[3 * a + k] - (k == 0 ? -3.0 : 2.0)) / width[k]));
    }
    const double aside[] = {-3.0, 7.5, 2.0}; /* of what never varies: as far outside as it is */
    bandit_cover_to_unit(&cover, aside, unit);
    assert_true(unit[0] == 0.0 && unit[1] == 0.5 && unit[2] == 0.0);
    bandit_arms_free(arms);

    assert_int_equal(bandit_arms_new_space(&arms, parameters, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_append(arms, points, 2, NULL), BANDIT_OK);
    bandit_cover_init(&cover, arms, 1, 0.5);
    bandit_cover_arm_to_unit(&cover, 1, unit);
    assert_true(unit[0] == 0.5 && unit[1] == 0.6);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers_tile_the_box),
        cmocka_unit_test(arms_on_faces_belong_to_all_neighbours),
        cmocka_unit_test(empty_cells_are_not_kept),
        cmocka_unit_test(the_rule_splits),
        cmocka_unit_test(the_schedule_of_the_first_cover),
        cmocka_unit_test(faces_have_a_tolerance),
        cmocka_unit_test(boxes_are_the_arms_or_the_spaces),
    };
    return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
