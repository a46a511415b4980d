/* A value that stands out from all others, without noise: it is set aside as an outlier, and what then becomes of its
 * arm. In an open space and on a list, with one metric and with two. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KNOWN = 21, TRIALS = 20, MOST = KNOWN + TRIALS + 2, LISTED = 120, SIDE = 101 };

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_options options;
    bandit_metric metrics[2];
    bool list;
    double peak; /* the reward of arm 0 */
    double others[MOST];
    size_t n;
} study;

static void place(const study *s, uint32_t arm, double *x)
{
    uint64_t random = 1000 + arm;
    if (!s->list)
        bandit_arms_coded(s->arms, arm, x);
    for (size_t j = 0; j < 2 && s->list; j++)
        x[j] = arm == 0 ? 50.0 : floor(SIDE * dense_uniform(&random));
}

static bandit_result measured(study *s, uint32_t arm)
{
    double x[2];
    place(s, arm, x);
    double a = x[0] / 100.0 - 0.5, b = x[1] / 100.0 - 0.5;
    s->others[s->n] = -(a - 0.02) * (a - 0.02) - b * b;
    return (bandit_result){.arm = arm,
                           .repeats = 1,
                           .reward = arm == 0 ? s->peak : -a * a - b * b,
                           .others = s->others + s->n++};
}

static void make_arms(study *s)
{
    double rows[LISTED][2];
    bandit_error err;
    bandit_parameter sides[2];
    uint64_t random = 1;
    for (size_t j = 0; j < 2; j++)
        sides[j] = (bandit_parameter){
            .type = BANDIT_PARAMETER_INTEGER, .min = 0.0, .max = SIDE - 1, .parent = BANDIT_NO_PARENT};
    if (!s->list) {
        must(bandit_arms_new_space(&s->arms, sides, 2, &err), &err);
        for (size_t i = 0; i < 2 * (size_t)KNOWN; i++)
            rows[i / 2][i % 2] = i < 2 ? 50.0 : floor(SIDE * dense_uniform(&random));
        must(bandit_arms_append(s->arms, rows[0], KNOWN, &err), &err);
        return;
    }
    for (uint32_t i = 0; i < LISTED; i++)
        place(s, i, rows[i]);
    must(bandit_arms_new(&s->arms, LISTED, 2, &err), &err);
    must(bandit_arms_set_rows(s->arms, 0, LISTED, rows[0], &err), &err);
    must(bandit_arms_finish(s->arms, BANDIT_SCALING_STANDARDIZE, LISTED, &err), &err);
}

/* A study that knows KNOWN results, among them the peak. */
static void open_study(study *s, bool list, size_t n_metrics, double peak, size_t revision)
{
    bandit_error err;
    *s = (study){.options = BANDIT_OPTIONS_INIT, .list = list, .peak = peak};
    make_arms(s);
    learner_options(&s->options, BANDIT_LOG_EI);
    s->options.agreeing_repeats = 0.05;
    s->options.in_flight = BANDIT_IN_FLIGHT_SURPASS;
    s->options.warp_unit = BANDIT_WARP_IN_TURN;
    s->options.revision = revision;
    s->options.seed = 1;
    for (size_t j = 0; j < 2; j++)
        s->metrics[j] = (bandit_metric){.objective = true, .low = -INFINITY, .high = INFINITY};
    s->options.metrics = n_metrics > 1 ? s->metrics : NULL;
    s->options.n_metrics = n_metrics > 1 ? n_metrics : 0;
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
    bandit_result results[KNOWN];
    for (uint32_t i = 0; i < KNOWN; i++)
        results[i] = measured(s, i);
    learner_begin(s->engine, results, KNOWN);
}

static void close_study(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

static uint64_t set_aside(const study *s)
{
    bandit_description about;
    bandit_engine_describe(s->engine, &about);
    return about.set_aside;
}

/* The next pick. First, the first allocation of the same call fails. */
static uint32_t pick(study *s)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection = {0};
    bandit_pick none;
    bandit_error err = {0};
    limits.max_picks = 1;
    limits.beyond_bound = true;
    if (s->options.revision > 1 && set_aside(s) > 0) {
        until_failure = 0;
        bandit_status status =
            bandit_engine_select(s->engine, &limits, &bandit_executor_serial, &none, &selection, &err);
        if (has_failed())
            assert_int_equal(status, BANDIT_NO_MEMORY);
        if (status == BANDIT_OK)
            return none.arm;
    }
    return learner_pick(s->engine).arm;
}

/* How many of TRIALS trials measure the peak again, one at a time. */
static size_t repeats(bool list, size_t n_metrics, size_t revision)
{
    size_t n = 0;
    study s;
    open_study(&s, list, n_metrics, n_metrics > 1 ? 300.0 : 3.0, revision);
    assert_int_equal(set_aside(&s), 1);
    for (size_t i = 0; i < TRIALS; i++) {
        uint32_t arm = pick(&s);
        n += arm == 0;
        bandit_result result = measured(&s, arm);
        learner_begin(s.engine, &result, 1);
    }
    close_study(&s);
    return n;
}

static void a_peak_is_not_measured_again_and_again(void **unused)
{
    (void)unused;
    long before = live;
    const struct {
        bool list;
        size_t n_metrics, first; /* so often at least in the first revision */
    } cases[] = {{false, 1, 15}, {false, 2, 15}, {true, 2, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t first = repeats(cases[i].list, cases[i].n_metrics, 1),
               now = repeats(cases[i].list, cases[i].n_metrics, 2);
        assert_true(first >= cases[i].first);
        assert_true(now <= 1);
    }
    assert_int_equal(live, before);
}

/* The user measures the peak again. */
static void an_equal_repeat_confirms(void **unused)
{
    (void)unused;
    for (size_t revision = 1; revision <= 2; revision++) {
        study s;
        open_study(&s, false, 1, 3.0, revision);
        size_t again = 0;
        bandit_result equal = measured(&s, 0), other = equal;
        other.reward = 0.0;
        learner_begin(s.engine, &equal, 1);
        for (uint32_t i = 0; i < 8; i++) {
            again += set_aside(&s) > 0;
            bandit_result result = measured(&s, learner_pick(s.engine).arm);
            learner_begin(s.engine, &result, 1);
        }
        assert_true(revision == 1 ? again > 0 : again == 0); /* it stays confirmed */
        close_study(&s);
        open_study(&s, false, 1, 3.0, revision);
        learner_begin(s.engine, &other, 1);
        assert_true(set_aside(&s) > 0);
        close_study(&s);
    }
}

/* How many of TRIALS trials in a space measure a point again that has a result. */
static size_t all_repeats(size_t revision, double peak)
{
    size_t n = 0;
    study s;
    open_study(&s, false, 1, peak, revision);
    for (size_t i = 0; i < TRIALS; i++) {
        size_t known = bandit_arms_count(s.arms);
        uint32_t arm = pick(&s);
        n += arm < known;
        bandit_result result = measured(&s, arm);
        learner_begin(s.engine, &result, 1);
    }
    close_study(&s);
    return n;
}

/* Lower peaks look like noise, until repeats have agreed. */
static void repeats_that_agree_are_few_in_a_space(void **unused)
{
    (void)unused;
    for (double peak = 0.25; peak <= 4.0; peak *= 2.0) {
        assert_true(all_repeats(1, peak) >= 6);
        assert_true(all_repeats(2, peak) <= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_peak_is_not_measured_again_and_again),
                                       cmocka_unit_test(an_equal_repeat_confirms),
                                       cmocka_unit_test(repeats_that_agree_are_few_in_a_space)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
