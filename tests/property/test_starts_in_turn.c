/* log_ei in an open space with one metric: the starts of its fits take turns, where each result makes a fit due. Elsewhere
 * they do not, so that studies pick as with the revision before. */
#include "bandit/engine.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 2, TRIALS = 44, BEFORE = 9, SINCE = 10, FIRST = 16 /* results of a fit with turns */ };

/* Rastrigin's function: a bowl with waves. Its best value is 0. */
static void waves(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t j = 0; j < D; j++) {
        double off = 4.0 * (x[j] - 0.4);
        y[0] -= off * off + 2.0 * (1.0 - cos(6.283185307179586 * off));
    }
    y[1] = x[0] - x[1];
}

static void run(several *s, bool list, size_t revision, bool single, size_t batch)
{
    const bandit_metric metrics[] = {several_objective((double)NAN), several_objective((double)NAN)};
    if (list)
        several_open(s, true, metrics, 2, waves);
    else
        several_open_cube(s, D, 1, metrics, 2, waves);
    several_revise(s, revision, single);
    several_run(s, TRIALS, batch);
}

/* How many of the first trials have the same values with both revisions. */
static size_t agreeing(bool list, bool single, size_t batch)
{
    several before, now;
    size_t same = 0;
    run(&before, list, BEFORE, single, batch);
    run(&now, list, SINCE, single, batch);
    while (same < TRIALS && memcmp(before.values[same], now.values[same], sizeof *now.values) == 0)
        same++;
    several_close(&before);
    several_close(&now);
    return same;
}

static void turns_begin_with_enough_results(void **state)
{
    (void)state;
    size_t same = agreeing(false, true, 1);
    assert_true(same >= FIRST && same < TRIALS);
}

/* With several results for each fit, several metrics or a list, all starts are tried. */
static void other_studies_keep_all_starts(void **state)
{
    (void)state;
    assert_int_equal(agreeing(false, true, 2), TRIALS);
    assert_int_equal(agreeing(false, false, 1), TRIALS);
    assert_int_equal(agreeing(true, true, 1), TRIALS);
}

/* An engine that is restored between two turns goes on as the other one. */
static void a_restart_keeps_the_turn(void **state)
{
    (void)state;
    several s;
    bandit_pick pick;
    run(&s, false, SINCE, true, 1);
    for (size_t more = 0; more < 3; more++) {
        several_explain_next(&s, &pick);
        s.picks[s.n++] = pick;
        several_measure(&s, s.n - 1);
    }
    several_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_begin_with_enough_results),
        cmocka_unit_test(other_studies_keep_all_starts),
        cmocka_unit_test(a_restart_keeps_the_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
