/* log_ei in an open space, where one word has the best results and most of them: when it searches the other words, and
 * which of them. */
#include "core/algorithms/word_search.h"

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

enum { WORDS = 3, MOST = 16 };

/* Word and number of each point, in the order of the results; word 0 is the best. */
static const struct {
    double word, x, reward;
} visited[MOST] = {{0, 0.1, 0.0},   {1, 0.2, -2.0},  {2, 0.7, -3.0},  {0, 0.5, 0.9},
                   {1, 0.6, -1.0},  {0, 0.6, 1.0},   {0, 0.61, 1.0},  {0, 0.59, 1.0},
                   {0, 0.62, 0.99}, {0, 0.58, 0.99}, {0, 0.605, 1.0}, {0, 0.595, 1.0},
                   {0, 0.615, 1.0}, {0, 0.585, 1.0}, {0, 0.63, 0.98}, {0, 0.57, 0.98}};

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_result results[MOST];
    bandit_arm_sum sums[MOST];
    bandit_ledger ledger;
} study;

static void begin(study *s, size_t n, size_t revision)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = WORDS, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = BANDIT_NO_PARENT}};
    bandit_options o = space_study_options(BANDIT_LOG_EI, 1, 1e-3);
    bandit_error err = {0};
    o.revision = revision;
    *s = (study){.arms = space_study_arms(parameters, 2)};
    s->engine = space_study_engine(s->arms, &o);
    for (uint32_t i = 0; i < n; i++) {
        double point[] = {visited[i].word, visited[i].x};
        must(bandit_arms_append(s->arms, point, 1, &err), &err);
        s->results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = visited[i].reward};
        s->sums[i] = (bandit_arm_sum){.arm = i, .count = 1, .sum = visited[i].reward};
    }
    s->ledger = (bandit_ledger){.sums = s->sums, .n = n, .observations = n};
}

static void end(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* The word that is searched after n_picks picks with these points in flight; −1: none. */
static int searched(study *s, const uint32_t *out, size_t n_out, uint64_t n_picks, const double *given)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_error err = {0};
    double *fixed;
    limits.fixed = given;
    must(bandit_word_search(s->engine, &s->ledger, out, n_out, &limits, n_picks, &fixed, &err), &err);
    int word = fixed ? (int)fixed[0] : -1;
    assert_true(!fixed || isnan(fixed[1]));
    free(fixed);
    return word;
}

static void every_fourth_pick_searches_the_word_with_the_fewest_results(void **state)
{
    (void)state;
    for (size_t n = 6; n <= MOST; n++) {
        for (size_t revision = 3; revision <= 4; revision++) {
            study s;
            begin(&s, n, revision);
            /* the sixth point is the best, and brings the last gain that matters */
            bool still = n >= 9;
            assert_int_equal(searched(&s, NULL, 0, 0, NULL), revision == 4 && still && n % 4 == 3 ? 2 : -1);
            assert_int_equal(searched(&s, NULL, 0, 1, NULL), revision == 4 && still && n % 4 == 2 ? 2 : -1);
            end(&s);
        }
    }
}

static void points_in_flight_count(void **state)
{
    const uint32_t out[] = {2, 2}, all[] = {2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1};
    study s;
    (void)state;
    begin(&s, 11, 4);
    assert_int_equal(searched(&s, out, 1, 0, NULL), 1);
    assert_int_equal(searched(&s, out, 2, 0, NULL), 1);
    assert_int_equal(searched(&s, all, 14, 0, NULL), -1);
    s.sums[2].sum = -0.5; /* of words with as many points, the best one is first */
    assert_int_equal(searched(&s, out, 1, 0, NULL), 2);
    assert_int_equal(searched(&s, out, 2, 0, NULL), 1);
    end(&s);
}

static void a_search_that_gains_goes_on(void **state)
{
    study s;
    (void)state;
    begin(&s, 11, 4);
    s.sums[9].sum = 1.005; /* the mean is about 0, so a hundredth matters */
    assert_int_equal(searched(&s, NULL, 0, 0, NULL), 2);
    s.sums[9].sum = 1.1;
    assert_int_equal(searched(&s, NULL, 0, 0, NULL), -1);
    end(&s);
}

static void an_ask_with_fixed_values_is_like_others(void **state)
{
    const double given[] = {(double)NAN, 0.5};
    study s;
    (void)state;
    begin(&s, 11, 4);
    assert_int_equal(searched(&s, NULL, 0, 0, given), -1);
    end(&s);
}

/* The pick has the word, and its reason is the improvement on that word's best mean. */
static void the_pick_improves_on_the_words_best(void **state)
{
    study s;
    bandit_reason reason;
    bandit_error err = {0};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    double coded[2];
    (void)state;
    begin(&s, 11, 4);
    limits.max_picks = 1;
    bandit_pick pick;
    space_study_begin(s.engine, s.results, 11, NULL, 0);
    assert_int_equal(space_study_choose(s.engine, &limits, &pick).n_picks, 1);
    bandit_arms_coded(s.arms, pick.arm, coded);
    assert_true(coded[0] == 2.0);
    space_study_begin(s.engine, NULL, 0, NULL, 0);
    must(bandit_engine_explain(s.engine, pick.arm, &limits, &bandit_executor_serial, &reason, &err), &err);
    assert_int_equal(reason.rule, BANDIT_REASON_IMPROVEMENT);
    assert_true(fabs(reason.incumbent - -3.0) < 0.1);
    must(bandit_engine_explain(s.engine, 6, &limits, &bandit_executor_serial, &reason, &err), &err);
    assert_true(fabs(reason.incumbent - 1.0) < 0.1); /* an arm with another word has the usual reason */
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fourth_pick_searches_the_word_with_the_fewest_results),
        cmocka_unit_test(points_in_flight_count),
        cmocka_unit_test(a_search_that_gains_goes_on),
        cmocka_unit_test(an_ask_with_fixed_values_is_like_others),
        cmocka_unit_test(the_pick_improves_on_the_words_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
