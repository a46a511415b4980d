/* log_ei in an open space, where a quadratic function predicts the results: its best point is picked in turn with those of the
 * model, and the search is far ahead of one without such picks. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 4, TRIALS = 50 };

static const double OPTIMUM[D] = {0.3, 0.6, 0.45, 0.7};

/* An oblique bowl, a thousand times as narrow in one direction as in another. Its best value is 0. */
static void bowl(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t i = 0; i < D; i++) {
        double along = 0.0;
        for (size_t j = 0; j < D; j++)
            along += cos(3.14159265358979324 * ((double)j + 0.5) * (double)i / D) * (x[j] - OPTIMUM[j]);
        y[0] -= pow(1e6, (double)i / (D - 1)) * along * along;
    }
}

/* The same with ripples, whose height is in proportion to the distance from the best value. */
static void uneven_bowl(const double *x, double *y)
{
    bowl(x, y);
    y[0] *= 1.0 + 0.1 * sin(20.0 * x[0] + 30.0 * x[2]);
}

static void ripples(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t j = 0; j < D; j++)
        y[0] += sin(40.0 * (x[j] - OPTIMUM[j]) + (double)j);
}

static void run(several *s, size_t revision, uint64_t seed, several_measured *measure, size_t batch,
                size_t trials)
{
    const bandit_metric metrics[] = {several_objective((double)NAN), several_objective((double)NAN)};
    several_open_cube(s, D, seed, metrics, 2, measure);
    several_revise(s, revision, true);
    several_run(s, trials, batch);
}

static double best_of(const several *s)
{
    double best = -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        best = fmax(best, s->values[i][0]);
    return best;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* Mean logarithms of the distance from the best value, of three runs. */
static void an_oblique_bowl_is_searched_faster(void **state)
{
    double logs[2] = {0.0, 0.0};
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (size_t k = 0; k < 2; k++) {
            several s;
            run(&s, 8 + k, seed, bowl, 1, TRIALS);
            logs[k] += log10(fmax(-best_of(&s), 1e-12)) / 3.0;
            several_close(&s);
        }
    }
    print_message("mean logarithm %.2f without quadratic picks, %.2f with them\n", logs[0], logs[1]);
    assert_true(logs[1] < logs[0] - 2.0);
}

/* Where the function does not predict the results, nothing changes. */
static void other_searches_stay(void **state)
{
    several before, now;
    (void)state;
    run(&before, 8, 1, ripples, 1, TRIALS);
    run(&now, 9, 1, ripples, 1, TRIALS);
    for (size_t i = 0; i < TRIALS; i++)
        assert_memory_equal(before.values[i], now.values[i], sizeof before.values[i]);
    several_close(&before);
    several_close(&now);
}

/* Of four picks in turn, two are of the function, as their reasons say. The engine may be restored at any of them. */
static void reasons_name_the_function(void **state)
{
    size_t quadratic = 0;
    (void)state;
    for (size_t more = 0; more < 4; more++) {
        several s;
        bandit_pick pick;
        run(&s, 9, 2, uneven_bowl, 1, 28 + more);
        bandit_reason reason = several_explain_next(&s, &pick);
        if (reason.rule == BANDIT_REASON_QUADRATIC) {
            quadratic++;
            assert_int_equal(reason.n, 1);
            assert_true(isfinite(reason.mean[0]) && reason.variance[0] >= 0.0);
            assert_true(isfinite(reason.incumbent) && isnan(reason.score) && isnan(reason.width));
        } else {
            assert_true(reason.rule == BANDIT_REASON_IMPROVEMENT || reason.rule == BANDIT_REASON_BOUND);
        }
        several_close(&s);
    }
    assert_int_equal(quadratic, 2);
}

/* One of a batch is the function's; no two picks are the same. */
static void a_batch_has_its_best_point_once(void **state)
{
    several s;
    bandit_pick picks[8];
    (void)state;
    run(&s, 9, 3, bowl, 8, 24);
    several_begin(&s, s.n - 8, s.n, NULL, 0);
    assert_int_equal(several_choose(s.engine, 8, picks), 8);
    size_t near = 0;
    for (size_t i = 0; i < 8; i++) {
        double x[SEVERAL_SIDES], y[3];
        bandit_arms_coded(s.arms, picks[i].arm, x);
        bowl(x, y);
        near += -y[0] < 1e-6;
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(picks[i].arm, picks[j].arm);
    }
    assert_int_equal(near, 1);
    several_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_oblique_bowl_is_searched_faster),
        cmocka_unit_test(other_searches_stay),
        cmocka_unit_test(reasons_name_the_function),
        cmocka_unit_test(a_batch_has_its_best_point_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
