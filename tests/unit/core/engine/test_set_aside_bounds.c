/* Results of a metric with bounds that stand out from all others: those that keep the bounds are not all set aside as
 * outliers. */
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

enum { RESULTS = 80 };

/* The third metric is the distance from here, less than 0. */
static double centre[2];

/* The second metric is 1 at few points without a pattern, and elsewhere 0. */
static void rarely_kept(const double *x, double *y)
{
    y[0] = x[0] + x[1];
    y[1] = fmod(97.0 * x[0] + 61.0 * x[1], 1.0) < 0.08 ? 1.0 : 0.0;
    y[2] = -hypot(x[0] - centre[0], x[1] - centre[1]);
}

typedef struct found {
    uint64_t set_aside; /* of the second metric */
    size_t within,
        known; /* results that keep its bounds, and those that keep all with a probability of 1/2 or more */
    double places[RESULTS][2]; /* where they are */
    bool may;                  /* bandit_engine_may_keep_bounds */
} found;

/* A study of a list that is told the results of its first arms. */
static found tell_first(bandit_metric second, double nearest, size_t revision)
{
    const bandit_metric metrics[] = {several_objective(NAN), second, several_at_least(nearest)};
    several s;
    found out = {0};
    bandit_description about;
    bandit_error err;
    several_open(&s, true, metrics, 3, rarely_kept);
    bandit_engine_free(s.engine);
    s.options.revision = revision;
    must(bandit_engine_new(&s.engine, s.arms, &s.options, 0, &err), &err);
    for (s.n = 0; s.n < RESULTS; s.n++)
        s.picks[s.n] = (bandit_pick){.arm = (uint32_t)s.n};
    several_measure(&s, 0);
    several_begin(&s, 0, s.n, NULL, 0);
    bandit_engine_describe(bandit_engine_of_metric(s.engine, 1), &about);
    out.set_aside = about.set_aside;
    for (size_t i = 0; i < s.n; i++) {
        double probability;
        bool within = s.values[i][1] >= second.low && s.values[i][1] <= second.high;
        must(bandit_engine_feasible_arms(s.engine, &s.picks[i].arm, 1, &probability, NULL), NULL);
        memcpy(out.places[out.within], s.x[i], sizeof s.x[i]);
        out.within += within;
        out.known += within && probability >= 0.5;
    }
    must(bandit_engine_may_keep_bounds(s.engine, &out.may, &err), &err);
    several_close(&s);
    return out;
}

static void one_within_the_bounds_stays(void **unused)
{
    (void)unused;
    bandit_metric below = several_at_least(-INFINITY), above = several_at_least(1.0);
    found former = tell_first(above, -INFINITY, 3), now = tell_first(above, -INFINITY, 4);
    assert_true(former.within > 0 && former.set_aside == former.within);
    assert_true(former.known == 0 && !former.may);
    assert_true(now.set_aside == now.within - 1 && now.known >= 1 && now.may);
    /* Without a bound, and with one that all others keep, there is nothing to keep. */
    assert_int_equal(tell_first(below, -INFINITY, 4).set_aside, former.within);
    below.high = 0.5;
    assert_int_equal(tell_first(below, -INFINITY, 4).set_aside, former.within);
}

/* Only one arm keeps all bounds. Its value of the second metric may be set aside, because another one stays. */
static void what_was_kept_may_be_kept(void **unused)
{
    (void)unused;
    found all = tell_first(several_at_least(1.0), -INFINITY, 4);
    assert_true(all.set_aside > 0 && all.within > 1);
    size_t unknown = 0;
    for (size_t i = 0; i < all.within; i++) {
        memcpy(centre, all.places[i], sizeof centre);
        found now = tell_first(several_at_least(1.0), -1e-6, 4);
        unknown += now.known == 0;
        assert_true(now.may);
    }
    assert_true(unknown > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_within_the_bounds_stays),
                                       cmocka_unit_test(what_was_kept_may_be_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
