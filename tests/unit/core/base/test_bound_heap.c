/* The heap of bounds, against a sort: through what is popped and lowered, set aside and brought back. */
#include "core/base/bound_heap.h"
#include "tests/support/dense_gp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 40 };

static int by_rank(const void *x, const void *y)
{
    const bandit_heap_entry *a = x, *b = y;
    if (a->bound != b->bound)
        return a->bound > b->bound ? -1 : 1;
    return a->arm < b->arm ? -1 : 1;
}

/* Pops all and puts them back: they must come in the order of `expected`, whatever that is in. */
static void assert_holds(bandit_heap *heap, bandit_heap_entry *expected, size_t n)
{
    assert_int_equal(heap->size, n);
    qsort(expected, n, sizeof *expected, by_rank);
    for (size_t i = 0; i < n; i++) {
        const bandit_heap_entry *entry = bandit_heap_pop(heap);
        assert_int_equal(entry->arm, expected[i].arm);
        assert_true(entry->bound == expected[i].bound);
        assert_int_equal(bandit_heap_popped(heap), i + 1);
    }
    bandit_heap_push_popped(heap);
    assert_int_equal(bandit_heap_popped(heap), 0);
}

static void the_largest_first_of_equal_ones_the_lowest_arm(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        bandit_heap_entry entries[MOST], expected[MOST];
        bandit_heap heap;
        for (size_t i = 0; i < n; i++) /* few values: many are equal */
            expected[i] = entries[i] = (bandit_heap_entry){
                .bound = (double)(int)(8.0 * dense_uniform(&random)), .arm = (uint32_t)((7 * i + 3) % 41)};
        bandit_heap_init(&heap, entries, n);
        assert_holds(&heap, expected, n);
        assert_holds(&heap, expected, n);
    }
}

static void what_is_lowered_or_set_aside_keeps_its_order(void **state)
{
    uint64_t random = 2;
    (void)state;
    for (size_t n = 2; n <= MOST; n++) {
        bandit_heap_entry entries[MOST], expected[MOST], aside[MOST];
        size_t n_expected = 0, n_aside = 0;
        bandit_heap heap;
        for (size_t i = 0; i < n; i++)
            entries[i] = (bandit_heap_entry){.bound = dense_uniform(&random), .arm = (uint32_t)i};
        bandit_heap_init(&heap, entries, n);
        for (size_t i = 0; i < n; i++) { /* a third is lowered, a third set aside */
            bandit_heap_entry *entry = bandit_heap_pop(&heap);
            if (i % 3 == 0)
                entry->bound -= dense_uniform(&random);
            if (i % 3 == 1) {
                aside[n_aside++] = *entry;
                bandit_heap_set_aside(&heap);
            } else {
                expected[n_expected++] = *entry;
            }
        }
        assert_int_equal(heap.size, 0);
        bandit_heap_push_popped(&heap);
        assert_holds(&heap, expected, n_expected);
        bandit_heap_push_aside(&heap);
        for (size_t i = 0; i < n_aside; i++)
            expected[n_expected++] = aside[i];
        assert_holds(&heap, expected, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_first_of_equal_ones_the_lowest_arm),
        cmocka_unit_test(what_is_lowered_or_set_aside_keeps_its_order),
    };
    return cmocka_run_group_tests_name("bound_heap", tests, NULL, NULL);
}
