/* Picks among the points of an enumerated space: the defaults first, fixed values, and no point twice without
 * noise as long as there is another. Against the list of all points. */
#include "core/algorithms/enumerated.h"

#include "bandit/space.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 8 };

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    double points[POINTS][3]; /* coded */
    bandit_result results[3 * POINTS];
    size_t n_results;
} study;

/* A switch that is there with 3, a number from 1 to 3, and a word of two: 2 * 2 points and 2 * 2 with the
 * switch. The defaults are on, `number` and `word`. */
static void open_study(study *s, double noise_std, bool has_default, double number, double word)
{
    static const double three = 3.0, lengthscale = 0.7;
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_BOOLEAN,
         .has_default = has_default,
         .default_value = 1.0,
         .parent = 1,
         .parent_values = &three,
         .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_INTEGER,
         .min = 1,
         .max = 3,
         .has_default = true,
         .default_value = number,
         .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL,
         .n_values = 2,
         .has_default = true,
         .default_value = word,
         .parent = BANDIT_NO_PARENT},
    };
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_error err;
    memset(s, 0, sizeof *s);
    o.algorithm = BANDIT_GP_EI;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = 1;
    o.noise_std = noise_std;
    must(bandit_arms_new_space(&s->arms, parameters, 3, &err), &err);
    must(bandit_arms_enumerate(s->arms, &err), &err);
    assert_int_equal(bandit_arms_count(s->arms), POINTS);
    for (size_t a = 0; a < POINTS; a++)
        bandit_arms_coded(s->arms, a, s->points[a]);
    must(bandit_engine_new(&s->engine, s->arms, &o, 0, &err), &err);
}

static void close_study(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

static void begin(study *s, const bandit_pick *pending, size_t n_pending)
{
    bandit_error err;
    must(bandit_engine_begin_batch(s->engine, s->results, s->n_results, pending, n_pending,
                                   &bandit_executor_serial, &err),
         &err);
    s->n_results = 0;
}

static void tell(study *s, uint32_t arm)
{
    s->results[s->n_results++] = (bandit_result){.arm = arm, .repeats = 1, .reward = sin(arm)};
}

/* Up to `most` picks without the arms withheld, with values fixed; returns how many. */
static size_t choose(study *s, size_t most, uint64_t remaining, const uint32_t *withheld, size_t n_withheld,
                     const double *fixed, bandit_pick *picks)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;
    limits.max_picks = most;
    limits.remaining = remaining;
    limits.beyond_bound = true;
    limits.withheld = withheld;
    limits.n_withheld = n_withheld;
    limits.fixed = fixed;
    must(bandit_engine_select(s->engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection.n_picks;
}

static bool has(const study *s, uint32_t arm, double on, double number, double word)
{
    const double *p = s->points[arm];
    return (isnan(on) ? isnan(p[0]) : p[0] == on) && p[1] == number && p[2] == word;
}

static void the_defaults_are_first(void **state)
{
    (void)state;
    for (int active = 0; active < 2; active++) {
        for (int known = 0; known < 2; known++) {
            study s;
            bandit_pick picks[2];
            double number = active ? 3.0 : 2.0, on = active ? 1.0 : (double)NAN;
            const double fixed[] = {NAN, number, NAN}, elsewhere[] = {NAN, 1.0, NAN};
            open_study(&s, 0.1, known, number, 1.0);
            begin(&s, NULL, 0);
            bool first = known || !active; /* every active parameter has one */
            assert_int_equal(choose(&s, 1, UINT64_MAX, NULL, 0, fixed, picks), 1);
            if (first)
                assert_true(has(&s, picks[0].arm, on, number, 1.0));
            assert_true(s.points[picks[0].arm][1] == number);
            /* It is out, and so nothing is the first pick any more. */
            assert_int_equal(choose(&s, 1, UINT64_MAX, NULL, 0, elsewhere, picks), 1);
            assert_true(s.points[picks[0].arm][1] == 1.0);
            close_study(&s);

            open_study(&s, 0.1, known, number, 1.0);
            begin(&s, NULL, 0);
            assert_int_equal(choose(&s, 1, UINT64_MAX, NULL, 0, elsewhere, picks), 1);
            assert_true(s.points[picks[0].arm][1] == 1.0);
            close_study(&s);
        }
    }
}

/* Withheld points are never picked, and the defaults are no exception; nor are they waited for where a reward
 * is known already. */
static void what_is_withheld_is_not_picked(void **state)
{
    study s;
    bandit_pick picks[9];
    uint32_t withheld[7], n = 0;
    (void)state;
    for (int told = 0; told < 2; told++) {
        open_study(&s, 0.1, true, 2.0, 1.0);
        if (told)
            tell(&s, 0);
        begin(&s, NULL, 0);
        n = 0;
        for (uint32_t a = 0; a < POINTS; a++) {
            if (a != 6 && (told || !has(&s, a, NAN, 2.0, 1.0)))
                withheld[n++] = a;
        }
        assert_int_equal(n, told ? 7 : 6);
        assert_int_equal(choose(&s, 1, UINT64_MAX, withheld, n, NULL, picks), 1);
        assert_true(told ? picks[0].arm == 6 : has(&s, picks[0].arm, NAN, 2.0, 1.0));
        assert_int_equal(choose(&s, 3, UINT64_MAX, withheld, n, NULL, picks), 3);
        for (size_t i = 0; i < 3; i++) {
            for (uint32_t w = 0; w < n; w++)
                assert_true(picks[i].arm != withheld[w]);
        }
        close_study(&s);
    }
}

/* If the point of the defaults itself is withheld, another one is first. The caller may forbid that. */
static void other_points_are_first_without_the_defaults(void **state)
{
    study s;
    bandit_selection selection;
    bandit_pick picks[3];
    uint32_t withheld[POINTS], n = 0;
    (void)state;
    open_study(&s, 0.1, true, 2.0, 1.0);
    begin(&s, NULL, 0);
    for (uint32_t a = 0; a < POINTS; a++) {
        if (s.points[a][1] == 2.0)
            withheld[n++] = a;
    }
    bandit_select_limits limits = {.max_picks = 3,
                                   .remaining = 9,
                                   .beyond_bound = true,
                                   .withheld = withheld,
                                   .n_withheld = n,
                                   .most_repeats = UINT64_MAX};
    for (int none = 1; none >= 0; none--) {
        bandit_error err;
        limits.defaults_or_none = none;
        must(bandit_engine_select(s.engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
        assert_int_equal(selection.n_picks, none ? 0 : 3);
        assert_true(!none || selection.stop_rule == BANDIT_STOP_EXHAUSTED);
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(s.points[picks[i].arm][1] != 2.0);
    close_study(&s);
}

/* A hundredth of the prior's deviation is so little noise that no point is looked at twice, told or out, in
 * this batch or one before; until all have been. Above that, the best may be. */
static void silent_points_are_picked_once(void **state)
{
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        study s;
        bandit_pick picks[9], out[2];
        bool met[POINTS] = {false};
        size_t repeats = 0;
        open_study(&s, silent ? 0.01 : nextafter(0.01, 1.0), true, 2.0, 0.0);
        assert_true(bandit_is_silent(s.engine) == silent);
        for (uint32_t a = 0; a < 3; a++) {
            tell(&s, a);
            met[a] = true;
        }
        begin(&s, NULL, 0);
        for (size_t round = 0; round < 2; round++) {
            assert_int_equal(choose(&s, 2, UINT64_MAX, NULL, 0, NULL, out), 2);
            for (size_t i = 0; i < 2; i++) {
                repeats += met[out[i].arm];
                met[out[i].arm] = true;
            }
            if (round == 0)
                tell(&s, out[0].arm);
            begin(&s, out + (round == 0), round == 0 ? 1 : 2);
            if (round == 1) /* its rewards never came; it is out all the same */
                break;
        }
        assert_true(!silent || repeats == 0);
        const double fixed[] = {NAN, NAN, 0.0};
        for (int any = 0; any < 2 && silent; any++) { /* the rest, and then again */
            for (size_t i = 0; i < 3; i++) {
                bool left = false;
                for (size_t a = 0; a < POINTS; a++)
                    left |= !met[a] && (any || s.points[a][2] == 0.0);
                assert_int_equal(choose(&s, 1, UINT64_MAX, NULL, 0, any ? NULL : fixed, picks), 1);
                assert_true(any || s.points[picks[0].arm][2] == 0.0);
                assert_true(!left || !met[picks[0].arm]);
                met[picks[0].arm] = true;
            }
        }
        close_study(&s);
    }
}

static void limits_are_kept(void **state)
{
    const double nowhere[] = {1.0, 2.0, NAN}, inactive[] = {NAN, NAN, 1.0};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick picks[9];
    bandit_error err = {0};
    study s;
    (void)state;
    open_study(&s, 0.001, true, 2.0, 1.0);
    begin(&s, NULL, 0);
    assert_int_equal(choose(&s, 0, UINT64_MAX, NULL, 0, NULL, picks), 0);
    assert_int_equal(choose(&s, 5, 3, NULL, 0, NULL, picks), 3); /* trials that are left */
    assert_int_equal(choose(&s, 3, 5, NULL, 0, inactive, picks), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(s.points[picks[i].arm][2] == 1.0);
    limits.max_picks = 1;
    limits.fixed = nowhere;
    assert_int_equal(
        bandit_engine_select(s.engine, &limits, &bandit_executor_serial, picks, &selection, &err),
        BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "fixed");
    close_study(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_first),
        cmocka_unit_test(other_points_are_first_without_the_defaults),
        cmocka_unit_test(what_is_withheld_is_not_picked),
        cmocka_unit_test(silent_points_are_picked_once),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
