/* Candidates that are let in by their ranges alone can be scaled by the engine, whatever lies in between. */
#include "server/data/feature_ranges.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROWS = 40, TRIES = 40000 };

static uint64_t state = 1;

static double draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static bool the_engine_takes(const double *rows, bandit_scaling scaling)
{
    bandit_error error = {0};
    bandit_arms *arms;
    assert_int_equal(bandit_arms_new(&arms, ROWS, 1, &error), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, ROWS, rows, &error), BANDIT_OK);
    bool fine = bandit_arms_finish(arms, scaling, ROWS, &error) == BANDIT_OK;
    bandit_arms_free(arms);
    return fine;
}

/* Values of any size, in clusters of any distance. */
static void fill(double *rows)
{
    double size = pow(10, -323 + 631 * draw()), far = pow(10, -40 * draw());
    for (int i = 0; i < ROWS; i++)
        rows[i] = size * (draw() < 0.1 ? draw() - 0.5 : far * (draw() - 0.5));
}

static void what_is_let_in_can_be_scaled(void **unused)
{
    static const bandit_scaling all[] = {BANDIT_SCALING_STANDARDIZE, BANDIT_SCALING_UNIT,
                                         BANDIT_SCALING_NONE};
    int taken = 0, refused = 0;
    (void)unused;
    for (int n = 0; n < TRIES; n++) {
        double rows[ROWS];
        bandit_error error = {0};
        feature_ranges ranges = {0};
        fill(rows);
        assert_true(feature_ranges_add(&ranges, ROWS / 2, 1, rows));
        assert_true(feature_ranges_add(&ranges, ROWS - ROWS / 2, 1, rows + ROWS / 2));
        bool fine = feature_ranges_check(&ranges, all[n % 3], &error) == BANDIT_OK;
        feature_ranges_clear(&ranges);
        bool scaled = the_engine_takes(rows, all[n % 3]);
        if (fine && !scaled)
            fail_msg("let in, and cannot be scaled: seed %d, first %g", n, rows[0]);
        taken += fine;
        refused += !fine && !scaled;
    }
    assert_true(taken > TRIES / 2);
    assert_true(refused > 0);
}

static void equal_values_are_let_in(void **unused)
{
    double rows[4] = {3.0, DBL_MAX, 3.0, DBL_MAX};
    feature_ranges ranges = {0};
    bandit_error error = {0};
    (void)unused;
    assert_int_equal(feature_ranges_check(&ranges, BANDIT_SCALING_UNIT, &error), BANDIT_OK);
    assert_true(feature_ranges_add(&ranges, 2, 2, rows));
    assert_int_equal(feature_ranges_check(&ranges, BANDIT_SCALING_UNIT, &error), BANDIT_OK);
    feature_ranges_clear(&ranges);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_let_in_can_be_scaled),
        cmocka_unit_test(equal_values_are_let_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
