/* Arrays that grow, and binary search: against the plain loop. */
#include "proto/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void capacities_double_from_the_least(void **state)
{
    uint32_t *list = NULL;
    size_t capacity = 0;
    (void)state;
    assert_true(wire_grow(&list, &capacity, 0, 3, sizeof *list));
    assert_null(list);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(wire_grow(&list, &capacity, i + 1, 3, sizeof *list));
        list[i] = i * i;
        size_t expected = 3;
        while (expected < i + 1)
            expected *= 2;
        assert_int_equal(capacity, expected);
    }
    assert_true(wire_grow(&list, &capacity, 1000, 3, sizeof *list));
    assert_int_equal(capacity, 1536);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(list[i], i * i);
    free(list);
}

static void sizes_that_are_no_size_t_are_refused(void **state)
{
    uint64_t *list = NULL;
    size_t capacity = 0;
    (void)state;
    assert_true(wire_grow(&list, &capacity, 5, 8, sizeof *list));
    list[4] = 7;
    assert_false(wire_grow(&list, &capacity, SIZE_MAX, 8, sizeof *list));
    assert_false(wire_grow(&list, &capacity, SIZE_MAX / sizeof *list + 1, 8, sizeof *list));
    assert_int_equal(capacity, 8);
    assert_int_equal(list[4], 7);
    free(list);
}

static void the_first_place_that_is_not_below(void **state)
{
    static const int list[] = {1, 3, 3, 3, 8, 9, 12};
    (void)state;
    for (size_t n = 0; n <= sizeof list / sizeof *list; n++)
        for (int value = 0; value < 14; value++) {
            size_t place, expected = 0;
            while (expected < n && list[expected] < value)
                expected++;
            BANDIT_LOWER_BOUND(place, n, i, list[i] < value);
            assert_int_equal(place, expected);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacities_double_from_the_least),
        cmocka_unit_test(sizes_that_are_no_size_t_are_refused),
        cmocka_unit_test(the_first_place_that_is_not_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
