/* log_ei in an open space with more results than its dictionary may have: how many members there are, that the rest of the
 * results still count, and that an engine from a checkpoint picks the same. */
#include "core/algorithms/space_thinning.h"

#include "bandit/space.h"
#include "tests/support/must.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MORE = 40, MOST = BANDIT_MOST_MEMBERS + MORE, MEMBERS_AFTER = BANDIT_KEPT_MEMBERS };

static const double lengthscales[] = {0.15};

typedef struct study {
    bandit_arms *arms;
    bandit_options options;
    bandit_engine *engine;
    bandit_result results[MOST];
} study;

/* A smooth function with its maximum at (0.4, 0.4). */
static double reward_at(double x, double y)
{
    return -4.0 * ((x - 0.4) * (x - 0.4) + (y - 0.4) * (y - 0.4)) + 0.1 * sin(9.0 * x);
}

/* Points all over the square, with one result each. */
static void start(study *s, size_t revision)
{
    bandit_error err = {0};
    *s = (study){.arms = space_study_cube(2), .options = space_study_options(BANDIT_LOG_EI, 7, 1e-3)};
    s->options.kernel.lengthscales = lengthscales;
    s->options.revision = revision;
    s->engine = space_study_engine(s->arms, &s->options);
    for (uint32_t i = 0; i < MOST; i++) {
        double at[] = {fmod(0.5 + 0.7548776662 * i, 1.0), fmod(0.5 + 0.5698402909 * i, 1.0)};
        must(bandit_arms_append(s->arms, at, 1, &err), &err);
        s->results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = reward_at(at[0], at[1])};
    }
}

static void end(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

static bandit_description described(const bandit_engine *engine)
{
    bandit_description d;
    bandit_engine_describe(engine, &d);
    return d;
}

static void the_dictionary_stays_small(void **state)
{
    (void)state;
    for (size_t revision = 4; revision <= 5; revision++) {
        study s;
        start(&s, revision);
        space_study_begin(s.engine, s.results, BANDIT_MOST_MEMBERS, NULL, 0);
        assert_int_equal(described(s.engine).n_dictionary, BANDIT_MOST_MEMBERS);
        space_study_begin(s.engine, s.results + BANDIT_MOST_MEMBERS, 1, NULL, 0);
        size_t kept = described(s.engine).n_dictionary;
        assert_int_equal(kept, revision == 5 ? MEMBERS_AFTER : BANDIT_MOST_MEMBERS + 1);
        space_study_begin(s.engine, s.results + BANDIT_MOST_MEMBERS + 1, MORE - 1, NULL, 0);
        assert_int_equal(described(s.engine).n_dictionary, kept + MORE - 1);
        assert_int_equal(described(s.engine).observations, MOST);
        end(&s);
    }
}

/* With all results and few members, the model predicts nearly what the one with all members predicts. */
static void what_is_no_member_counts(void **state)
{
    study few, all;
    bandit_prediction *here, *there;
    uint32_t arms[MOST];
    double furthest = 0.0, best = 0.0;
    bandit_error err = {0};
    (void)state;
    start(&few, 5);
    start(&all, 4);
    space_study_begin(few.engine, few.results, MOST, NULL, 0);
    space_study_begin(all.engine, all.results, MOST, NULL, 0);
    here = calloc(MOST, sizeof *here);
    there = calloc(MOST, sizeof *there);
    assert_true(here && there);
    for (uint32_t i = 0; i < MOST; i++)
        arms[i] = i;
    must(bandit_engine_predict_arms(few.engine, arms, MOST, here, &err), &err);
    must(bandit_engine_predict_arms(all.engine, arms, MOST, there, &err), &err);
    for (size_t i = 0; i < MOST; i++) {
        double off = fabs(here[i].mean - there[i].mean);
        furthest = fmax(furthest, off);
        if (few.results[i].reward > -0.1)
            best = fmax(best, off);
    }
    assert_true(furthest < 0.1); /* of values from −4 to 0.1 */
    assert_true(best < 1e-5);
    free(here);
    free(there);
    end(&few);
    end(&all);
}

static void a_restored_engine_goes_on_alike(void **state)
{
    study s;
    bandit_checkpoint checkpoint;
    bandit_engine *restored;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick one, other;
    bandit_error err = {0};
    (void)state;
    start(&s, 5);
    space_study_begin(s.engine, s.results, BANDIT_MOST_MEMBERS + 1, NULL, 0);
    space_study_begin(s.engine, s.results + BANDIT_MOST_MEMBERS + 1, MORE - 1, NULL, 0);
    bandit_engine_checkpoint(s.engine, &checkpoint);
    must(bandit_engine_restore(&restored, s.arms, &s.options, 0, &checkpoint, NULL, 0,
                               &bandit_executor_serial, &err),
         &err);
    assert_int_equal(described(restored).n_dictionary, described(s.engine).n_dictionary);
    limits.max_picks = 1;
    assert_int_equal(space_study_choose(s.engine, &limits, &one).n_picks, 1);
    assert_int_equal(space_study_choose(restored, &limits, &other).n_picks, 1);
    assert_int_equal(one.arm, other.arm);
    assert_true(one.variance == other.variance);
    bandit_engine_free(restored);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_dictionary_stays_small),
                                       cmocka_unit_test(what_is_no_member_counts),
                                       cmocka_unit_test(a_restored_engine_goes_on_alike)};
    return cmocka_run_group_tests_name("thinning", tests, NULL, NULL);
}
