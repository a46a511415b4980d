/* Every allocation of a space with rules and words fails once: the call says so, loses nothing, and what was there before
 * can still be used. */
#include "core/arms/arms_storage.h"
#include "core/arms/feasible.h"
#include "core/search/maximize.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/linear_rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUMBERS = 3, PARAMETERS = NUMBERS + 2, WORDS = 40, WIDTH = 2, WANTED = 30 };

static double properties[WORDS * WIDTH];

/* Three numbers that sum to 1, a word with properties, and an integer. */
static bandit_status new_arms(bandit_arms **out, linear_rules *rules, bandit_error *err)
{
    bandit_parameter parameters[PARAMETERS] = {
        [NUMBERS] = {.type = BANDIT_PARAMETER_CATEGORICAL,
                     .n_values = WORDS,
                     .features = properties,
                     .n_features = WIDTH,
                     .parent = BANDIT_NO_PARENT},
        [NUMBERS + 1] = {.type = BANDIT_PARAMETER_INTEGER, .max = 5.0, .parent = BANDIT_NO_PARENT}};
    for (size_t i = 0; i < NUMBERS; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    bandit_status status = bandit_arms_new_space(out, parameters, PARAMETERS, err);
    linear_rules_init(rules, PARAMETERS);
    linear_rules_add(rules, (const double[PARAMETERS]){1.0, 1.0, 1.0, 0.0, 0.0}, 1.0, true);
    linear_rules_add(rules, (const double[PARAMETERS]){1.0, -1.0, 0.0, 0.0, 0.0}, 0.0, false);
    linear_rules_add(rules, (const double[PARAMETERS]){-1.0, 1.0, 0.0, 0.0, 0.0}, 0.01,
                     false); /* so walks are needed */
    linear_rules_add(rules, (const double[PARAMETERS]){4.0, 0.0, 0.0, 0.0, 1.0}, 5.0, false);
    if (status == BANDIT_OK)
        bandit_arms_constrain(*out, &rules->rules);
    return status;
}

static bandit_status draw(bandit_arms *arms, bandit_error *err)
{
    bandit_genome genome = {0};
    double genes[WANTED * PARAMETERS], coded[PARAMETERS], share;
    size_t found = 0, broken;
    bandit_status status = bandit_genome_init(&genome, arms->space, NULL, 3, err);
    if (status == BANDIT_OK)
        status = bandit_feasible_draw(&genome, 0, WANTED, genes, &found, &share, err);
    for (size_t k = 0; status == BANDIT_OK && k < found; k++) {
        bandit_genome_point(&genome, genes + k * PARAMETERS, coded);
        assert_true(bandit_arms_allows(arms, coded, &broken));
    }
    assert_true(status != BANDIT_OK || found == WANTED);
    bandit_genome_clear(&genome);
    return status;
}

static bandit_status build(bandit_arms *arms, bandit_error *err)
{
    bandit_genome genome = {0};
    bandit_polytope polytope = {0};
    const double coded[PARAMETERS] = {0.3, 0.305, 0.395, 7.0, 1.0};
    double t[PARAMETERS];
    bandit_status status = bandit_genome_init(&genome, arms->space, NULL, 3, err);
    if (status == BANDIT_OK)
        status = bandit_polytope_build(&polytope, &genome, coded, err);
    assert_true(status != BANDIT_OK || bandit_polytope_centre(&polytope, t) > 0.0);
    bandit_polytope_clear(&polytope);
    bandit_genome_clear(&genome);
    return status;
}

static bandit_status find_allowed(bandit_arms *arms, bandit_error *err)
{
    bool found;
    double share;
    bandit_status status = bandit_arms_find_allowed(arms, SIZE_MAX, &found, &share, err);
    assert_true(status != BANDIT_OK || found);
    return status;
}

static double slopes(void *context, const double *x, double *gradient)
{
    const bandit_space *space = context;
    double sum = 0.0;
    for (size_t j = 0; j < space->dimension; j++) {
        sum -= (x[j] - 0.2) * (x[j] - 0.2);
        if (gradient)
            gradient[j] = -2.0 * (x[j] - 0.2);
    }
    return sum;
}

static void values(void *context, const double *features, size_t n, double *out)
{
    const bandit_space *space = context;
    for (size_t i = 0; i < n; i++)
        out[i] = slopes(context, features + i * space->dimension, NULL);
}

static bandit_status maximize(bandit_arms *arms, bandit_error *err)
{
    static double grid[4096];
    bandit_maximizer max = {0};
    const bandit_objective objective = {arms->space, values, slopes, NULL};
    double coded[PARAMETERS];
    bool found = false;
    size_t broken;
    bandit_status status = bandit_maximizer_start(&max, arms->space, NULL, 3, 0, err);
    if (status == BANDIT_OK) {
        values(arms->space, max.features, max.n_grid, grid);
        status = bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, err);
    }
    assert_true(status != BANDIT_OK || (found && bandit_arms_allows(arms, coded, &broken)));
    bandit_maximizer_clear(&max);
    return status;
}

typedef bandit_status call(bandit_arms *arms, bandit_error *err);

/* A call on a set of arms with the nth allocation failing, for every n up to 40 and some beyond; before that, the set
 * itself. */
static void against_all_odds(call *f)
{
    bandit_status status = BANDIT_NO_MEMORY;
    for (long n = 0; status != BANDIT_OK; n += 1 + n / 40) {
        long before = live;
        bandit_error err = {0};
        linear_rules rules;
        bandit_arms *arms = NULL;
        until_failure = n;
        status = new_arms(&arms, &rules, &err);
        if (status == BANDIT_OK)
            status = f(arms, &err);
        bool reached = has_failed();
        bandit_arms_free(arms);
        assert_int_equal(live, before);
        assert_int_equal(status, reached ? BANDIT_NO_MEMORY : BANDIT_OK);
    }
}

static void drawing(void **state)
{
    (void)state;
    against_all_odds(draw);
}

static void a_polytope(void **state)
{
    (void)state;
    against_all_odds(build);
}

static void looking_for_a_point(void **state)
{
    (void)state;
    against_all_odds(find_allowed);
}

static void maximizing(void **state)
{
    (void)state;
    against_all_odds(maximize);
}

static bool count(void *context, const double *coded)
{
    (void)coded;
    ++*(size_t *)context;
    return true;
}

/* A walk over a space of words and integers, and its list of points. */
static void listing(void **state)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 150, .codes = true, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .max = 3.0, .parent = BANDIT_NO_PARENT}};
    bandit_status status = BANDIT_NO_MEMORY;
    (void)state;
    for (long n = 0; status != BANDIT_OK; n++) {
        long before = live;
        bandit_error err = {0};
        linear_rules rules;
        bandit_arms *arms = NULL;
        bool complete = false;
        size_t visited = 0;
        linear_rules_init(&rules, 2);
        linear_rules_add(&rules, (const double[]){0.0, 1.0}, 1.0, false);
        until_failure = n;
        status = bandit_arms_new_space(&arms, parameters, 2, &err);
        if (status == BANDIT_OK) {
            bandit_arms_constrain(arms, &rules.rules);
            status = bandit_space_walk(arms->space, count, &visited, &complete, &err);
        }
        assert_true(status != BANDIT_OK || (complete && visited == 300));
        if (status == BANDIT_OK)
            status = bandit_arms_enumerate(arms, &err);
        bool reached = has_failed();
        assert_true(status != BANDIT_OK || bandit_arms_count(arms) == 300);
        bandit_arms_free(arms);
        assert_int_equal(live, before);
        assert_int_equal(status, reached ? BANDIT_NO_MEMORY : BANDIT_OK);
    }
}

static int fill_properties(void **state)
{
    (void)state;
    for (size_t k = 0; k < WORDS * WIDTH; k++)
        properties[k] = sin((double)(k * k));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawing),    cmocka_unit_test(a_polytope), cmocka_unit_test(looking_for_a_point),
        cmocka_unit_test(maximizing), cmocka_unit_test(listing),
    };
    return cmocka_run_group_tests(tests, fill_properties, NULL);
}
