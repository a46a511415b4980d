/* Engines with several modelled metrics: fronts that are found, bounds that are kept, and picks that depend only
 * on what is known, not on how an engine came to it. */
#include "bandit/engine.h"
#include "bandit/front.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 128, ARMS = 400, METRICS = 3 };

typedef void measured(const double *x, double *y);

/* A study in the unit square, as a space or as a list of random points. */
typedef struct several {
    bandit_arms *arms;
    bandit_options options;
    bandit_engine *engine;
    bandit_metric metrics[METRICS];
    measured *measure;
    double unit;    /* of the second metric */
    double (*x)[2]; /* of a list; NULL: a space */
    size_t n;       /* trials so far */
    bandit_pick picks[MOST];
    double values[MOST][METRICS];
    bandit_result results[MOST];
} several;

static const double no_bound = INFINITY;

static bandit_metric objective(double threshold)
{
    return (bandit_metric){.objective = true,
                           .has_threshold = isfinite(threshold),
                           .threshold = isfinite(threshold) ? threshold : 0.0,
                           .low = -no_bound,
                           .high = no_bound};
}

static bandit_metric at_least(double low)
{
    return (bandit_metric){.low = low, .high = no_bound};
}

static bandit_arms *square(void)
{
    bandit_arms *arms;
    bandit_error err;
    const bandit_parameter sides[2] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT}};
    must(bandit_arms_new_space(&arms, sides, 2, &err), &err);
    return arms;
}

static void open_study(several *s, bool list, const bandit_metric *metrics, size_t n, measured *measure)
{
    bandit_error err;
    uint64_t random = 9;
    *s = (several){.options = BANDIT_OPTIONS_INIT, .measure = measure, .unit = 1.0};
    memcpy(s->metrics, metrics, n * sizeof *metrics);
    s->options.algorithm = BANDIT_LOG_EI;
    s->options.learn_lengthscale = s->options.learn_noise = s->options.standardize_rewards = true;
    s->options.lambda_from_noise = s->options.warp_rewards = true;
    s->options.seed = 3;
    s->options.metrics = s->metrics;
    s->options.n_metrics = n;
    if (list) {
        s->x = dense_alloc(ARMS, sizeof *s->x);
        for (size_t i = 0; i < 2 * (size_t)ARMS; i++)
            s->x[i / 2][i % 2] = dense_uniform(&random);
        must(bandit_arms_new(&s->arms, ARMS, 2, &err), &err);
        must(bandit_arms_set_rows(s->arms, 0, ARMS, s->x[0], &err), &err);
        must(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
    } else {
        s->arms = square();
    }
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
}

static void close_study(several *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
    free(s->x);
}

static void point_of(const several *s, uint32_t arm, double *x)
{
    if (s->x)
        memcpy(x, s->x[arm], 2 * sizeof *x);
    else
        bandit_arms_coded(s->arms, arm, x);
}

/* Measures the trials from `from` on. */
static void measure(several *s, size_t from)
{
    for (size_t i = from; i < s->n; i++) {
        double x[2];
        point_of(s, s->picks[i].arm, x);
        s->measure(x, s->values[i]);
        s->values[i][1] *= s->unit;
        s->results[i] = (bandit_result){.arm = s->picks[i].arm,
                                        .repeats = 1,
                                        .reward = s->values[i][0],
                                        .chosen = true,
                                        .variance = s->picks[i].variance,
                                        .others = s->values[i] + 1};
    }
}

static void begin(several *s, size_t from, size_t to, const bandit_pick *pending, size_t n_pending)
{
    bandit_error err;
    must(bandit_engine_begin_batch(s->engine, s->results + from, to - from, pending, n_pending,
                                   &bandit_executor_serial, &err),
         &err);
}

static size_t choose(bandit_engine *engine, size_t n, bandit_pick *picks)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;
    limits.max_picks = n;
    limits.beyond_bound = true;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection.n_picks;
}

/* Trials in batches of `batch`, each after the results of the one before. */
static void run(several *s, size_t trials, size_t batch)
{
    size_t told = 0;
    while (s->n < trials) {
        begin(s, told, s->n, NULL, 0);
        told = s->n;
        s->n += choose(s->engine, batch, s->picks + s->n);
        measure(s, told);
    }
}

/* ---- what is found ------------------------------------------------------------------------------------- */

/* Branin and Currin, both to be minimized. */
static void branin_currin(const double *x, double *y)
{
    const double pi = 3.141592653589793;
    double a = 15.0 * x[0] - 5.0, b = 15.0 * x[1];
    double t = b - 5.1 / (4.0 * pi * pi) * a * a + 5.0 / pi * a - 6.0;
    double share = x[1] > 0.0 ? 1.0 - exp(-0.5 / x[1]) : 1.0;
    double top = ((2300.0 * x[0] + 1900.0) * x[0] + 2092.0) * x[0] + 60.0;
    double bottom = ((100.0 * x[0] + 500.0) * x[0] + 4.0) * x[0] + 20.0;
    y[0] = -(t * t + 10.0 * (1.0 - 0.125 / pi) * cos(a) + 10.0);
    y[1] = -share * top / bottom;
    y[2] = 0.0;
}

static double volume_of(const double *points, size_t n)
{
    double volume, reference[2] = {-18.0, -6.0};
    must(bandit_hypervolume(&volume, points, n, 2, reference, NULL), NULL);
    return volume;
}

/* The share of the best hypervolume that the trials have. */
static double share_found(const several *s)
{
    double points[2 * MOST];
    for (size_t i = 0; i < s->n; i++)
        memcpy(points + 2 * i, s->values[i], 2 * sizeof *points);
    return volume_of(points, s->n) / 59.36;
}

/* The share that all points of the list have. */
static double share_on_list(const several *s)
{
    double points[2 * ARMS], y[METRICS];
    for (size_t i = 0; i < ARMS; i++) {
        s->measure(s->x[i], y);
        memcpy(points + 2 * i, y, 2 * sizeof *points);
    }
    return volume_of(points, ARMS) / 59.36;
}

static void finds_front_far_better_than_uniform(void **unused)
{
    (void)unused;
    several s;
    const bandit_metric metrics[] = {objective(-18.0), objective(-6.0)};
    open_study(&s, false, metrics, 2, branin_currin);
    run(&s, 30, 1);
    assert_true(share_found(&s) > 0.94);
    close_study(&s);
    open_study(&s, false, metrics, 2, branin_currin);
    run(&s, 30, 4);
    assert_true(share_found(&s) > 0.85);
    close_study(&s);
    open_study(&s, true, metrics, 2, branin_currin);
    run(&s, 30, 1);
    double found = share_found(&s);
    assert_true(found > 0.98 * share_on_list(&s));
    for (uint32_t i = 0; i < 30; i++) /* the list is in random order */
        s.picks[i] = (bandit_pick){.arm = i};
    measure(&s, 0);
    assert_true(share_found(&s) < 0.5 * found);
    close_study(&s);
}

/* Without thresholds the reference point is found on the way. */
static void finds_front_without_thresholds(void **unused)
{
    (void)unused;
    several s;
    const bandit_metric metrics[] = {objective(NAN), objective(NAN)};
    open_study(&s, false, metrics, 2, branin_currin);
    run(&s, 30, 1);
    assert_true(share_found(&s) > 0.8);
    close_study(&s);
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
        const bandit_metric metrics[] = {objective(NAN), at_least(-0.5)};
        open_study(&s, list == 1, metrics, 2, gardner);
        run(&s, 35, 1);
        for (size_t i = 0; i < s.n; i++) {
            if (s.values[i][1] >= -0.5)
                best = fmax(best, s.values[i][0]);
            else
                broken++;
        }
        assert_true(best > (list ? 1.75 : 1.9) && broken < 15);
        close_study(&s);
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
            const bandit_metric metrics[] = {objective(NAN), at_least(cases[i].low)};
            several s;
            bandit_error err;
            bool may = false;
            open_study(&s, list == 1, metrics, 2, disc);
            must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
            assert_true(may); /* there is no model */
            run(&s, 24, 1);
            must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
            assert_int_equal(may, cases[i].may);
            close_study(&s);
        }
    }
}

/* Where no result is near the bound, the points between them are looked at as well. */
static void what_was_not_tried_may_be_feasible(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        const bandit_metric metrics[] = {objective(NAN), at_least(-0.08)};
        several s;
        bandit_error err;
        bool may = false;
        open_study(&s, list == 1, metrics, 2, disc);
        run(&s, 3, 3);
        begin(&s, 0, s.n, NULL, 0);
        for (size_t i = 0; i < s.n; i++)
            assert_true(s.values[i][1] < -0.08);
        must(bandit_engine_may_keep_bounds(s.engine, &may, &err), &err);
        assert_true(may);
        close_study(&s);
    }
}

static void seeks_bounds_while_none_is_kept(void **unused)
{
    (void)unused;
    several s;
    size_t kept = 0;
    const bandit_metric metrics[] = {objective(NAN), at_least(-0.08)};
    open_study(&s, false, metrics, 2, disc);
    run(&s, 20, 1);
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
    begin(&s, s.n - 1, s.n, NULL, 0);
    must(bandit_engine_feasible_arms(s.engine, &arm, 1, &probability, NULL), NULL);
    assert_true(probability > 0.5 && probability <= 1.0);
    const double far[2] = {0.05, 0.9};
    must(bandit_engine_feasible_points(s.engine, far, 1, &probability, NULL), NULL);
    assert_true(probability < 0.1);
    close_study(&s);
}

/* ---- what picks depend on ------------------------------------------------------------------------------ */

/* A bound that surely holds changes no pick. */
static void sure_bound_changes_nothing(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        several a, b;
        bandit_metric metrics[] = {objective(NAN)};
        open_study(&a, list == 1, metrics, 1, gardner);
        run(&a, 14, 1);
        metrics[0].low = -1e6;
        open_study(&b, list == 1, metrics, 1, gardner);
        run(&b, 14, 1);
        for (size_t i = 0; i < a.n; i++)
            assert_memory_equal(a.values[i], b.values[i], sizeof a.values[i]);
        close_study(&a);
        close_study(&b);
    }
}

static void unit_of_a_metric_changes_nothing(void **unused)
{
    (void)unused;
    for (int list = 0; list < 2; list++) {
        several a, b;
        bandit_metric metrics[] = {objective(-18.0), objective(-6.0)};
        open_study(&a, list == 1, metrics, 2, branin_currin);
        run(&a, 16, 2);
        metrics[1].threshold *= 1024.0;
        open_study(&b, list == 1, metrics, 2, branin_currin);
        b.unit = 1024.0;
        run(&b, 16, 2);
        for (size_t i = 0; i < a.n; i++)
            assert_true(a.values[i][0] == b.values[i][0] && 1024.0 * a.values[i][1] == b.values[i][1]);
        close_study(&a);
        close_study(&b);
    }
}

/* Arms equal to those of s, for another engine. */
static bandit_arms *same_arms(const several *s)
{
    bandit_error err;
    if (s->x)
        return s->arms; /* no engine changes a list */
    bandit_arms *arms = square();
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
    const bandit_metric cases[][METRICS] = {{objective(-18.0), objective(-6.0), at_least(-0.5)},
                                            {objective(NAN), at_least(-5.0), objective(NAN)}};
    for (int round = 0; round < 4; round++) {
        several s;
        size_t told = 0;
        bandit_metric metrics[METRICS];
        memcpy(metrics, cases[round / 2], sizeof metrics);
        open_study(&s, round % 2 == 1, metrics, METRICS, branin_currin);
        while (s.n < 24) {
            size_t before = s.n, pending = s.n > 8 ? 3 : 0, known = s.n - pending;
            bandit_checkpoint checkpoint;
            begin(&s, told, known, s.picks + known, pending);
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
                size_t n = choose(s.engine, 1, s.picks + s.n);
                assert_int_equal(n, 1);
                assert_int_equal(choose(other, 1, &pick), 1);
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
            measure(&s, before);
        }
        close_study(&s);
    }
}

/* Corrected results make the model that right ones would have made, of every metric. */
static void amended_results_are_those_of_all_metrics(void **unused)
{
    (void)unused;
    several a, b;
    bandit_error err;
    const bandit_metric metrics[] = {objective(NAN), objective(NAN)};
    open_study(&a, true, metrics, 2, branin_currin);
    open_study(&b, true, metrics, 2, branin_currin);
    for (uint32_t i = 0; i < 12; i++)
        a.picks[i] = b.picks[i] = (bandit_pick){.arm = i};
    a.n = b.n = 12;
    measure(&a, 0);
    measure(&b, 0);
    double right[2] = {a.values[5][0], a.values[5][1]};
    b.results[5].reward = 3.0;
    b.values[5][1] = -44.0;
    begin(&a, 0, 11, NULL, 0);
    begin(&b, 0, 11, NULL, 0);
    bandit_amendment change = {.arm = 5,
                               .was = {.repeats = 1, .reward = 3.0, .others = {-44.0}},
                               .now = {.repeats = 1, .reward = right[0], .others = {right[1]}}};
    const bandit_arm_sum sums[] = {{.arm = 5, .count = 1, .sum = right[0]},
                                   {.arm = 5, .count = 1, .sum = right[1]}};
    must(bandit_engine_amend(b.engine, &change, 1, sums, 1, NULL, 0, &err), &err);
    begin(&a, 11, 12, NULL, 0);
    begin(&b, 11, 12, NULL, 0);
    for (size_t j = 0; j < 2; j++) {
        const uint32_t arms[] = {5, 200};
        bandit_prediction p[2], q[2];
        must(bandit_engine_predict_arms(bandit_engine_of_metric(a.engine, j), arms, 2, p, &err), &err);
        must(bandit_engine_predict_arms(bandit_engine_of_metric(b.engine, j), arms, 2, q, &err), &err);
        for (size_t i = 0; i < 2; i++)
            assert_true(fabs(p[i].mean - q[i].mean) < 0.05 * (1.0 + fabs(p[i].mean)));
    }
    close_study(&a);
    close_study(&b);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void broken_states_are_refused(void **unused)
{
    (void)unused;
    several s;
    bandit_error err;
    bandit_checkpoint checkpoint;
    const bandit_metric metrics[] = {objective(NAN), objective(NAN)};
    open_study(&s, true, metrics, 2, branin_currin);
    run(&s, 8, 2);
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
    close_study(&s);
}

static void bad_metrics_are_refused(void **unused)
{
    (void)unused;
    several s;
    bandit_error err;
    bandit_engine *engine;
    const bandit_metric good[] = {objective(NAN), at_least(0.0)};
    open_study(&s, true, good, 2, branin_currin);
    bandit_options o = s.options;
    o.algorithm = BANDIT_BBKB;
    assert_int_equal(bandit_engine_new(&engine, s.arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "name");
    const bandit_metric cases[][2] = {{at_least(0.0), objective(NAN)},
                                      {objective(1.0), objective(NAN)},
                                      {objective(NAN), {.low = 1.0, .high = 1.0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o = s.options;
        o.metrics = cases[i];
        assert_int_equal(bandit_engine_new(&engine, s.arms, &o, 0, &err), BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, "metrics");
    }
    close_study(&s);
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
        cmocka_unit_test(sure_bound_changes_nothing),
        cmocka_unit_test(unit_of_a_metric_changes_nothing),
        cmocka_unit_test(restored_engine_chooses_the_same),
        cmocka_unit_test(amended_results_are_those_of_all_metrics),
        cmocka_unit_test(broken_states_are_refused),
        cmocka_unit_test(bad_metrics_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
