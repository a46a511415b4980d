/* The sentence says what the figures say. */
#include "server/study/why_sentence.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void says(const why_facts *facts, const char *expected)
{
    char out[WHY_SENTENCE];
    why_sentence(out, facts);
    assert_string_equal(out, expected);
}

/* A pick near trial 98 where the model knows most. */
static why_facts usual(void)
{
    return (why_facts){.rule = BANDIT_REASON_IMPROVEMENT,
                       .left = 0.1,
                       .promise = 2.0,
                       .ignorance = 1.0,
                       .has_nearest = true,
                       .nearest = 98,
                       .distance = 0.3,
                       .leader = 50};
}

static void scores(void **state)
{
    (void)state;
    why_facts f = usual();
    says(&f, "Refines trial 98.");
    f.leader = 98;
    says(&f, "Refines trial 98, the best so far.");
    f.leader = 50;
    f.ignorance = 3.0;
    says(&f, "Explores near trial 98: the model is not certain there.");
    f.promise = f.ignorance = (double)NAN;
    says(&f, "Refines trial 98.");
    f.left = 0.9;
    says(&f, "Explores: this point is far from all measured points.");
    f = usual();
    f.has_nearest = false;
    says(&f, "Explores: this point is far from all measured points.");
    f = usual();
    f.nearest = 0;
    says(&f, "Refines an imported result.");
    f.leader = 0;
    says(&f, "Refines an imported result.");
}

static void points_that_were_measured(void **state)
{
    (void)state;
    why_facts f = usual();
    f.distance = 0.0;
    says(&f, "Measures the point of trial 98 again: its value is not certain enough.");
    f.is_among_leaders = f.leaders_are_close = true;
    says(&f, "Measures again: the two leaders are within noise.");
}

static void first_points(void **state)
{
    (void)state;
    why_facts f = {.rule = BANDIT_REASON_FIRST, .left = (double)NAN};
    says(&f, "One of the first points: no result was known yet.");
    f.has_nearest = true; /* but all results are equal, say */
    says(&f, "One of the first points: the results so far do not lead the search yet.");
}

static void rules_without_a_score(void **state)
{
    (void)state;
    char out[WHY_SENTENCE];
    for (int rule = 0; rule < BANDIT_REASON_RULES; rule++) {
        why_facts f = {.rule = (bandit_reason_rule)rule, .left = (double)NAN};
        why_sentence(out, &f);
        assert_true(strlen(out) > 10 && out[strlen(out) - 1] == '.');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(points_that_were_measured),
        cmocka_unit_test(first_points),
        cmocka_unit_test(rules_without_a_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
