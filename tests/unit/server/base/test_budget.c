/* Shares of what is limited: nobody gets all of it, and what is given back is free again. */
#include "server/base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static size_t take_all(budget *b, const char *holder, size_t total)
{
    size_t n = 0;
    while (n < 2 * total && budget_take(b, holder, 1, total))
        n++;
    return n;
}

static void each_holder_leaves_half_of_the_rest(void **state)
{
    (void)state;
    budget *b = budget_new();
    assert_int_equal(take_all(b, "a", 1000), 500);
    assert_int_equal(take_all(b, "b", 1000), 250);
    assert_int_equal(take_all(b, "c", 1000), 125);
    assert_int_equal(take_all(b, "a", 1000), 0);
    assert_int_equal(budget_used(b), 875);
    budget_give(b, "a", 500);
    assert_int_equal(take_all(b, "d", 1000), 313); /* half of 625, and it is rounded up */
    for (int i = 0; i < 2000; i++) {
        char holder[16];
        snprintf(holder, sizeof holder, "%d", i);
        take_all(b, holder, 1000);
    }
    assert_int_equal(budget_used(b), 1000);
    assert_false(budget_take(b, "late", 1, 1000));
    budget_free(b);
}

static void one_holder_alone_gets_one_at_least(void **state)
{
    (void)state;
    budget *b = budget_new();
    assert_int_equal(take_all(b, "a", 1), 1);
    assert_int_equal(take_all(b, "b", 1), 0);
    budget_give(b, "a", 1);
    assert_int_equal(take_all(b, "b", 1), 1);
    budget_free(b);
}

static void some_are_not_counted(void **state)
{
    (void)state;
    budget *b = budget_new();
    assert_int_equal(take_all(b, "", 10), 20); /* the owner */
    assert_int_equal(take_all(b, NULL, 10), 20);
    assert_int_equal(take_all(NULL, "a", 10), 20);
    assert_int_equal(budget_used(b), 0);
    budget_free(b);
}

static void what_is_there_already_is_charged(void **state)
{
    (void)state;
    budget *b = budget_new();
    assert_true(budget_has_room(b, "a", 100));
    budget_charge(b, "a", 300);
    assert_false(budget_has_room(b, "a", 100));
    assert_false(budget_take(b, "a", 1, 100));
    assert_int_equal(budget_used(b), 300);
    budget_give(b, "a", 300);
    assert_true(budget_take_at_most(b, "a", 7, 7));
    assert_false(budget_take_at_most(b, "a", 1, 7));
    assert_false(budget_take(b, "a", SIZE_MAX, 100));
    budget_give(b, "a", 7);
    assert_int_equal(budget_used(b), 0);
    budget_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_holder_leaves_half_of_the_rest),
        cmocka_unit_test(one_holder_alone_gets_one_at_least),
        cmocka_unit_test(some_are_not_counted),
        cmocka_unit_test(what_is_there_already_is_charged),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
