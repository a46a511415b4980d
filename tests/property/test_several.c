/* Engines with several modelled metrics: fronts that are found, bounds that are kept, and picks that depend only
 * on what is known, not on how an engine came to it. */
#include "bandit/engine.h"
#include "bandit/front.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- what is found ------------------------------------------------------------------------------------- */

static double volume_of(const double *points, size_t n)
{
    double volume, reference[2] = {-18.0, -6.0};
    must(bandit_hypervolume(&volume, points, n, 2, reference, NULL), NULL);
    return volume;
}

/* The share of the best hypervolume that the trials have. */
static double share_found(const several *s)
{
    double points[2 * SEVERAL_MOST];
    for (size_t i = 0; i < s->n; i++)
        memcpy(points + 2 * i, s->values[i], 2 * sizeof *points);
    return volume_of(points, s->n) / 59.36;
}

/* The share that all points of the list have. */
static double share_on_list(const several *s)
{
    double points[2 * SEVERAL_ARMS], y[SEVERAL_METRICS];
    for (size_t i = 0; i < SEVERAL_ARMS; i++) {
        s->measure(s->x[i], y);
        memcpy(points + 2 * i, y, 2 * sizeof *points);
    }
    return volume_of(points, SEVERAL_ARMS) / 59.36;
}

static void finds_front_far_better_than_uniform(void **unused)
{
    (void)unused;
    several s;
    const bandit_metric metrics[] = {several_objective(-18.0), several_objective(-6.0)};
    several_open(&s, false, metrics, 2, several_branin_currin);
    several_run(&s, 30, 1);
    assert_true(share_found(&s) > 0.94);
    several_close(&s);
    several_open(&s, false, metrics, 2, several_branin_currin);
    several_run(&s, 30, 4);
    assert_true(share_found(&s) > 0.85);
    several_close(&s);
    several_open(&s, true, metrics, 2, several_branin_currin);
    several_run(&s, 30, 1);
    double found = share_found(&s);
    assert_true(found > 0.98 * share_on_list(&s));
    for (uint32_t i = 0; i < 30; i++) /* the list is in random order */
        s.picks[i] = (bandit_pick){.arm = i};
    several_measure(&s, 0);
    assert_true(share_found(&s) < 0.5 * found);
    several_close(&s);
}

/* Without thresholds the reference point is found on the way. */
static void finds_front_without_thresholds(void **unused)
{
    (void)unused;
    several s;
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN)};
    several_open(&s, false, metrics, 2, several_branin_currin);
    several_run(&s, 30, 1);
    assert_true(share_found(&s) > 0.8);
    several_close(&s);
}

/* Gardner et al. 2014, simulation 1: the second metric must be at least −1/2; the best value is 2. */
static void gardner(const double *u, double *y)
{
    double x = 6.0 * u[0], z = 6.0 * u[1];
    y[0] = -(cos(2.0 * x) * cos(z) + sin(x));
    y[1] = -(cos(x) * cos(z) - sin(x) * sin(z));
    y[2] = 0.0;
}

static void keeps_bounds(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        several s;
        double best = -INFINITY;
        size_t broken = 0;
        const bandit_metric metrics[] = {several_objective(NAN), several_at_least(-0.5)};
        several_open(&s, list == 1, metrics, 2, gardner);
        several_run(&s, 35, 1);
        for (size_t i = 0; i < s.n; i++) {
            if (s.values[i][1] >= -0.5)
                best = fmax(best, s.values[i][0]);
            else
                broken++;
        }
        assert_true(best > (list ? 1.75 : 1.9) && broken < 15);
        several_close(&s);
    }
}

/* Only a disc of a fiftieth of the square keeps the bound. */
static void disc(const double *x, double *y)
{
    double dx = x[0] - 0.75, dy = x[1] - 0.2;
    y[0] = -x[0];
    y[1] = -sqrt(dx * dx + dy * dy);
    y[2] = 0.0;
}

/* The distance from the middle of the disc is at least 0, and in a list of random points some are near it. */
static void nothing_feasible_is_noticed(void **unused)
{
    (void)unused;
    const struct {
        double low;
        bool may;
    } cases[] = {{-0.2, true}, {0.2, false}};
    for (int list = 0; list < 2; list++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const bandit_metric metrics[] = {several_objective(NAN), several_at_least(cases[i].low)};
            several s;
            bandit_error err;
            bool may = false;
            several_open(&s, list == 1, metrics, 2, disc);
            must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
            assert_true(may); /* there is no model */
            several_run(&s, 24, 1);
            must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
            assert_int_equal(may, cases[i].may);
            several_close(&s);
        }
    }
}

/* Where no result is near the bound, the points between them are looked at as well. */
static void what_was_not_tried_may_be_feasible(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        const bandit_metric metrics[] = {several_objective(NAN), several_at_least(-0.08)};
        several s;
        bandit_error err;
        bool may = false;
        several_open(&s, list == 1, metrics, 2, disc);
        several_run(&s, 3, 3);
        several_begin(&s, 0, s.n, NULL, 0);
        for (size_t i = 0; i < s.n; i++)
            assert_true(s.values[i][1] < -0.08);
        must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
        assert_true(may);
        several_close(&s);
    }
}

static void seeks_bounds_while_none_is_kept(void **unused)
{
    (void)unused;
    several s;
    size_t kept = 0;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(-0.08)};
    several_open(&s, false, metrics, 2, disc);
    several_run(&s, 20, 1);
    for (size_t i = 0; i < s.n; i++)
        kept += s.values[i][1] >= -0.08;
    assert_true(kept >= 4);
    double probability, nearest = -INFINITY;
    uint32_t arm = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.values[i][1] > nearest)
            arm = s.picks[i].arm;
        nearest = fmax(nearest, s.values[i][1]);
    }
    several_begin(&s, s.n - 1, s.n, NULL, 0);
    must(bandit_engine_feasible_arms(s.engine, &arm, 1, &probability, NULL), NULL);
    assert_true(probability > 0.5 && probability <= 1.0);
    const double far[2] = {0.05, 0.9};
    must(bandit_engine_feasible_points(s.engine, far, 1, &probability, NULL), NULL);
    assert_true(probability < 0.1);
    several_close(&s);
}

/* The second metric is 1 in a disc, and 0 elsewhere. */
static void inside_disc(const double *x, double *y)
{
    double dx = x[0] - 0.4, dy = x[1] - 0.4;
    y[0] = x[0] + x[1];
    y[1] = dx * dx + dy * dy <= 0.09 ? 1.0 : 0.0;
    y[2] = 0.0;
}

/* The share of trials with the second metric on its bound that keep it with a probability of 1/2 or more. */
static double kept_on_the_bound(bool list, size_t revision)
{
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(1.0)};
    several s;
    bandit_error err;
    double on = 0.0, kept = 0.0;
    several_open(&s, list, metrics, 2, inside_disc);
    bandit_engine_free(s.engine);
    s.options.revision = revision;
    must(bandit_engine_new(&s.engine, s.arms, &s.options, 0, &err), &err);
    several_run(&s, 30, 1);
    several_begin(&s, s.n - 1, s.n, NULL, 0);
    for (size_t i = 0; i < s.n; i++) {
        double probability;
        must(bandit_engine_feasible_arms(s.engine, &s.picks[i].arm, 1, &probability, NULL), NULL);
        on += s.values[i][1];
        kept += s.values[i][1] * (probability >= 0.5);
    }
    several_close(&s);
    assert_true(on >= 2.0);
    return kept / on;
}

/* Values on a bound keep it, for the models too. Before revision 3 chance decides. */
static void values_on_a_bound_keep_it(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        assert_true(kept_on_the_bound(list == 1, 2) < 0.75);
        assert_true(kept_on_the_bound(list == 1, 3) == 1.0);
    }
}

/* The second metric is far above the others only in a twentieth of the square. */
static void cliff(const double *x, double *y)
{
    y[0] = 1.0 - x[0];
    y[1] = 0.2 * x[0] + (x[0] > 0.7 ? 100.0 * (x[0] - 0.7) : 0.0);
    y[2] = 0.0;
}

/* A study of a list, told of the first arms whose second metric is low, and of some with these values of it. */
static void open_cliff(several *s, const bandit_metric *metrics, size_t revision, const double *high,
                       size_t n_high)
{
    bandit_error err;
    several_open(s, true, metrics, 2, cliff);
    bandit_engine_free(s->engine);
    s->options.revision = revision;
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
    for (uint32_t i = 0; s->n < 22; i++)
        if (s->x[i][0] < 0.65)
            s->picks[s->n++] = (bandit_pick){.arm = i};
    several_measure(s, 0);
    for (size_t i = 0; i < n_high; i++) {
        s->values[i][1] = high[i];
        s->results[i].others = s->values[i] + 1;
    }
    several_begin(s, 0, s->n, NULL, 0);
}

/* Values are cut 20 quartile ranges above the others. A bound beyond that is not kept by values that are cut. */
static void bounds_beyond_the_cut_are_not_kept(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(50.0)};
    const double high[] = {20.0, 30.0};
    for (size_t revision = 1; revision <= 2; revision++) {
        several s;
        double probability;
        open_cliff(&s, metrics, revision, high, 2);
        must(bandit_engine_feasible_arms(s.engine, &s.picks[1].arm, 1, &probability, NULL), NULL);
        assert_true(revision == 1 ? probability > 0.2 : probability < 1e-3);
        several_close(&s);
    }
}

/* Two bounds beyond the cut still differ, and what is between them is found. */
static void bounds_beyond_the_cut_are_found(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), {.low = 25.0, .high = 28.0}};
    for (size_t revision = 1; revision <= 2; revision++) {
        several s;
        size_t kept = 0, told = 0;
        open_cliff(&s, metrics, revision, NULL, 0);
        for (told = s.n; s.n < 40; told = s.n) {
            s.n += several_choose(s.engine, 1, s.picks + s.n);
            several_measure(&s, told);
            several_begin(&s, told, s.n, NULL, 0);
            kept += s.values[told][1] >= 25.0 && s.values[told][1] <= 28.0;
        }
        assert_true(revision == 1 ? kept <= 2 : kept >= 5);
        several_close(&s);
    }
}

/* However far away the bounds are, and on whichever side, nothing is refused, and nothing keeps them. */
static void bounds_out_of_reach_are_not_kept(void **unused)
{
    (void)unused;
    const double ends[][2] = {{1e15, 2e15}, {-2e15, -1e15}, {1e300, 2e300}, {-2e300, -1e300}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        several s;
        double probability;
        bandit_metric metrics[] = {several_objective(NAN), {.low = ends[i][0], .high = ends[i][1]}};
        open_cliff(&s, metrics, 2, NULL, 0);
        for (size_t told = s.n; s.n < 26; told = s.n) {
            s.n += several_choose(s.engine, 1, s.picks + s.n);
            several_measure(&s, told);
            several_begin(&s, told, s.n, NULL, 0);
        }
        must(bandit_engine_feasible_arms(s.engine, &s.picks[1].arm, 1, &probability, NULL), NULL);
        assert_true(probability < 1e-3);
        several_close(&s);
    }
}

/* ---- what picks depend on ------------------------------------------------------------------------------ */

/* A bound that surely holds changes no pick. */
static void sure_bound_changes_nothing(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        several a, b;
        bandit_metric metrics[] = {several_objective(NAN)};
        several_open(&a, list == 1, metrics, 1, gardner);
        several_run(&a, 14, 1);
        metrics[0].low = -1e6;
        several_open(&b, list == 1, metrics, 1, gardner);
        several_run(&b, 14, 1);
        for (size_t i = 0; i < a.n; i++)
            assert_memory_equal(a.values[i], b.values[i], sizeof a.values[i]);
        several_close(&a);
        several_close(&b);
    }
}

static void unit_of_a_metric_changes_nothing(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        several a, b;
        bandit_metric metrics[] = {several_objective(-18.0), several_objective(-6.0)};
        several_open(&a, list == 1, metrics, 2, several_branin_currin);
        several_run(&a, 16, 2);
        metrics[1].threshold *= 1024.0;
        several_open(&b, list == 1, metrics, 2, several_branin_currin);
        b.unit = 1024.0;
        several_run(&b, 16, 2);
        for (size_t i = 0; i < a.n; i++)
            assert_true(a.values[i][0] == b.values[i][0] && 1024.0 * a.values[i][1] == b.values[i][1]);
        several_close(&a);
        several_close(&b);
    }
}

static void currin_branin(const double *x, double *y)
{
    double other[SEVERAL_METRICS];
    several_branin_currin(x, other);
    y[0] = other[1];
    y[1] = other[0];
    y[2] = 0.0;
}

/* On a list the picks are the same, although the metrics have other random numbers then: the dictionaries of so few
 * points have all of them. */
static void order_of_metrics_changes_nothing(void **unused)
{
    (void)unused;
    several a, b;
    const bandit_metric metrics[] = {several_objective(-18.0), several_objective(-6.0)};
    const bandit_metric others[] = {metrics[1], metrics[0]};
    several_open(&a, true, metrics, 2, several_branin_currin);
    several_open(&b, true, others, 2, currin_branin);
    several_run(&a, 24, 2);
    several_run(&b, 24, 2);
    for (size_t i = 0; i < a.n; i++)
        assert_true(a.values[i][0] == b.values[i][1] && a.values[i][1] == b.values[i][0]);
    several_close(&a);
    several_close(&b);
}

/* Arms equal to those of s, for another engine. */
static bandit_arms *same_arms(const several *s)
{
    bandit_error err;
    if (s->x)
        return s->arms; /* no engine changes a list */
    bandit_arms *arms = several_cube(2);
    for (size_t i = 0; i < bandit_arms_count(s->arms); i++) {
        double x[2];
        bandit_arms_coded(s->arms, i, x);
        must(bandit_arms_append(arms, x, 1, &err), &err);
    }
    return arms;
}

/* An engine that is restored in the middle of a batch chooses as the one that made the picks: it has other heaps
 * of bounds, other caches and another memory. With picks of earlier batches in flight. */
static void restored_engine_chooses_the_same(void **unused)
{
    (void)unused;
    bandit_error err;
    const bandit_metric cases[][SEVERAL_METRICS] = {
        {several_objective(-18.0), several_objective(-6.0), several_at_least(-0.5)},
        {several_objective(NAN), several_at_least(-5.0), several_objective(NAN)}};
    for (int round = 0; round < 4; round++) {
        several s;
        size_t told = 0;
        bandit_metric metrics[SEVERAL_METRICS];
        memcpy(metrics, cases[round / 2], sizeof metrics);
        several_open(&s, round % 2 == 1, metrics, SEVERAL_METRICS, several_branin_currin);
        while (s.n < 24) {
            size_t before = s.n, pending = s.n > 8 ? 3 : 0, known = s.n - pending;
            bandit_checkpoint checkpoint;
            several_begin(&s, told, known, s.picks + known, pending);
            told = known;
            for (size_t k = 0; k < 3; k++) {
                bandit_engine *other;
                bandit_pick pick;
                bandit_engine_checkpoint(s.engine, &checkpoint);
                bandit_arms *arms = same_arms(&s);
                must(bandit_engine_restore(&other, arms, &s.options, 0, &checkpoint, s.picks + known, pending,
                                           &bandit_executor_serial, &err),
                     &err);
                must(bandit_engine_replay_picks(other, s.picks + before, s.n - before,
                                                &bandit_executor_serial, &err),
                     &err);
                size_t n = several_choose(s.engine, 1, s.picks + s.n);
                assert_int_equal(n, 1);
                assert_int_equal(several_choose(other, 1, &pick), 1);
                assert_int_equal(pick.arm, s.picks[s.n].arm);
                assert_true(pick.variance == s.picks[s.n].variance);
                if (!s.x) {
                    double x[2], y[2];
                    bandit_arms_coded(s.arms, pick.arm, x);
                    bandit_arms_coded(arms, pick.arm, y);
                    assert_memory_equal(x, y, sizeof x);
                }
                s.n++;
                bandit_engine_free(other);
                if (arms != s.arms)
                    bandit_arms_free(arms);
            }
            several_measure(&s, before);
        }
        several_close(&s);
    }
}

/* Corrected results make the model that right ones would have made, of every metric. */
static void amended_results_are_those_of_all_metrics(void **unused)
{
    (void)unused;
    several a, b;
    bandit_error err;
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN)};
    several_open(&a, true, metrics, 2, several_branin_currin);
    several_open(&b, true, metrics, 2, several_branin_currin);
    for (uint32_t i = 0; i < 12; i++)
        a.picks[i] = b.picks[i] = (bandit_pick){.arm = i};
    a.n = b.n = 12;
    several_measure(&a, 0);
    several_measure(&b, 0);
    double right[2] = {a.values[5][0], a.values[5][1]};
    b.results[5].reward = 3.0;
    b.values[5][1] = -44.0;
    several_begin(&a, 0, 11, NULL, 0);
    several_begin(&b, 0, 11, NULL, 0);
    bandit_amendment change = {.arm = 5,
                               .was = {.repeats = 1, .reward = 3.0, .others = {-44.0}},
                               .now = {.repeats = 1, .reward = right[0], .others = {right[1]}}};
    const bandit_arm_sum sums[] = {{.arm = 5, .count = 1, .sum = right[0]},
                                   {.arm = 5, .count = 1, .sum = right[1]}};
    must(bandit_engine_amend(b.engine, &change, 1, sums, 1, NULL, 0, &err), &err);
    several_begin(&a, 11, 12, NULL, 0);
    several_begin(&b, 11, 12, NULL, 0);
    for (size_t j = 0; j < 2; j++) {
        const uint32_t arms[] = {5, 200};
        bandit_prediction p[2], q[2];
        must(bandit_engine_predict_arms(bandit_engine_of_metric(a.engine, j), arms, 2, p, &err), &err);
        must(bandit_engine_predict_arms(bandit_engine_of_metric(b.engine, j), arms, 2, q, &err), &err);
        for (size_t i = 0; i < 2; i++)
            assert_true(fabs(p[i].mean - q[i].mean) < 0.05 * (1.0 + fabs(p[i].mean)));
    }
    several_close(&a);
    several_close(&b);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void broken_states_are_refused(void **unused)
{
    (void)unused;
    several s;
    bandit_error err;
    bandit_checkpoint checkpoint;
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN)};
    several_open(&s, true, metrics, 2, several_branin_currin);
    several_run(&s, 8, 2);
    bandit_engine_checkpoint(s.engine, &checkpoint);
    size_t whole = checkpoint.n_state;
    unsigned char *state = dense_alloc(whole + 1, 1);
    memcpy(state, checkpoint.state, whole);
    state[whole] = 0;
    checkpoint.state = state;
    for (size_t n = 0; n <= whole + 1; n++) {
        bandit_engine *other;
        checkpoint.n_state = n;
        bandit_status status = bandit_engine_restore(&other, s.arms, &s.options, 0, &checkpoint, NULL, 0,
                                                     &bandit_executor_serial, &err);
        assert_int_equal(status, n == whole ? BANDIT_OK : BANDIT_INVALID_STATE);
        bandit_engine_free(n == whole ? other : NULL);
    }
    free(state);
    several_close(&s);
}

static void bad_metrics_are_refused(void **unused)
{
    (void)unused;
    several s;
    bandit_error err;
    bandit_engine *engine;
    const bandit_metric good[] = {several_objective(NAN), several_at_least(0.0)};
    several_open(&s, true, good, 2, several_branin_currin);
    bandit_options o = s.options;
    o.algorithm = BANDIT_BBKB;
    assert_int_equal(bandit_engine_new(&engine, s.arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "name");
    const bandit_metric cases[][2] = {{several_at_least(0.0), several_objective(NAN)},
                                      {several_objective(1.0), several_objective(NAN)},
                                      {several_objective(NAN), {.low = 1.0, .high = 1.0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o = s.options;
        o.metrics = cases[i];
        assert_int_equal(bandit_engine_new(&engine, s.arms, &o, 0, &err), BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, "metrics");
    }
    several_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_front_far_better_than_uniform),
        cmocka_unit_test(finds_front_without_thresholds),
        cmocka_unit_test(keeps_bounds),
        cmocka_unit_test(nothing_feasible_is_noticed),
        cmocka_unit_test(what_was_not_tried_may_be_feasible),
        cmocka_unit_test(seeks_bounds_while_none_is_kept),
        cmocka_unit_test(values_on_a_bound_keep_it),
        cmocka_unit_test(bounds_beyond_the_cut_are_not_kept),
        cmocka_unit_test(bounds_beyond_the_cut_are_found),
        cmocka_unit_test(bounds_out_of_reach_are_not_kept),
        cmocka_unit_test(sure_bound_changes_nothing),
        cmocka_unit_test(unit_of_a_metric_changes_nothing),
        cmocka_unit_test(order_of_metrics_changes_nothing),
        cmocka_unit_test(restored_engine_chooses_the_same),
        cmocka_unit_test(amended_results_are_those_of_all_metrics),
        cmocka_unit_test(broken_states_are_refused),
        cmocka_unit_test(bad_metrics_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
