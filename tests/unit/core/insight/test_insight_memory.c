/* Every allocation of what is read from a model fails once: the call says so, and loses nothing. */
#include "tests/support/failing_allocations.h"
#include "tests/support/insight_study.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static double function(const double *x)
{
    return sin(5.0 * x[0]) + x[1];
}

typedef bandit_status call(bandit_insight *insight, bandit_error *err);

static bandit_status importance(bandit_insight *insight, bandit_error *err)
{
    bandit_importance found[2];
    double variance;
    return bandit_insight_importance(insight, found, &variance, err);
}

static bandit_status effects(bandit_insight *insight, bandit_error *err)
{
    static const size_t axes[2] = {0, 1};
    bandit_effect *found;
    size_t n;
    bandit_status status = bandit_insight_effects(insight, axes, 2, 3, &found, &n, err);
    free(found);
    return status;
}

static bandit_status leave_one_out(bandit_insight *insight, bandit_error *err)
{
    bandit_left_out *found;
    size_t n;
    bandit_status status = bandit_insight_leave_one_out(insight, &found, &n, err);
    free(found);
    return status;
}

static bandit_status outlook(bandit_insight *insight, bandit_error *err)
{
    bandit_outlook found;
    return bandit_insight_outlook(insight, 0, 0.1, &found, err);
}

/* A view and one call, with the nth allocation failing, for every n that there is. */
static void against_all_odds(const insight_study *s, call *f)
{
    for (long n = 0;; n++) {
        long before = live;
        bandit_error err = {0};
        bandit_insight *insight;
        until_failure = n;
        bandit_status status = bandit_insight_new(&insight, s->engine, &err);
        if (status == BANDIT_OK)
            status = f(insight, &err);
        bool reached = has_failed();
        bandit_insight_free(insight);
        assert_int_equal(live, before);
        if (status == BANDIT_OK) {
            assert_false(reached);
            return;
        }
        assert_int_equal(status, BANDIT_NO_MEMORY);
        assert_int_equal(err.status, BANDIT_NO_MEMORY);
        assert_true(n < 2000);
    }
}

static void failing_allocations_are_reported(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_UCB};
    static call *const calls[] = {importance, effects, leave_one_out, outlook};
    (void)state;
    double rows[60];
    for (size_t i = 0; i < 60; i++)
        rows[i] = fmod(0.618 * (double)(i * i), 1.0);
    bandit_parameter parameters[2] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 9.0, .parent = BANDIT_NO_PARENT}};
    for (size_t a = 0; a < repeats(2, 1); a++) {
        bandit_options o = insight_learning(algorithms[a]);
        for (size_t c = 0; c < repeats(4, 3); c++) { /* the outlook, the last one, takes long */
            insight_study s;
            if (calls[c] == outlook && a > 0)
                continue; /* it draws many functions, whatever the algorithm */
            insight_study_list(&s, rows, 30, 2, &o, function, 12);
            against_all_odds(&s, calls[c]);
            insight_study_clear(&s);
            insight_study_space(&s, parameters, 2, &o, function, 12);
            against_all_odds(&s, calls[c]);
            insight_study_clear(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
