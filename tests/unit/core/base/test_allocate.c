/* Arrays that grow: by how much, what of them is kept, and where they stand. */
#include "core/base/allocate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_aligned(const void *p)
{
    return p && (uintptr_t)p % 64 == 0;
}

static void sizes_come_in_whole_pieces(void **state)
{
    (void)state;
    for (size_t size = 1; size < 20; size++) {
        for (size_t n = 0; n < 100; n++) {
            size_t pieces = bandit_pieces(n, size);
            assert_true(pieces * size >= n && (pieces == 0 || (pieces - 1) * size < n));
            assert_int_equal(bandit_whole(n, size), pieces * size);
        }
    }
    assert_int_equal(bandit_aligned_doubles(0), 0);
    assert_int_equal(bandit_aligned_doubles(1), 8);
    assert_int_equal(bandit_aligned_doubles(8), 8);
    assert_int_equal(bandit_aligned_doubles(9), 16);
}

static void allocations_are_aligned(void **state)
{
    volatile size_t many = SIZE_MAX; /* the compiler would object */
    (void)state;
    for (size_t n = 0; n < 200; n += 7) {
        unsigned char *bytes = bandit_alloc(n, 3), *zeros = bandit_alloc_zeroed(n, 3);
        assert_true(is_aligned(bytes) && is_aligned(zeros));
        memset(bytes, 1, n * 3);
        for (size_t i = 0; i < n * 3; i++)
            assert_int_equal(zeros[i], 0);
        free(bytes);
        free(zeros);
    }
    assert_null(bandit_alloc(many, 1)); /* does not fit when rounded up */
    assert_null(bandit_alloc(many / 2, 3));
    assert_null(bandit_alloc(3, many / 2));
    assert_null(bandit_alloc_zeroed(many / 8 + 2, 8));
}

static void capacities_grow_by_a_share(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < 60; capacity++) {
        for (size_t n = 0; n < 120; n++) {
            size_t half = (size_t)(1.5 * (double)capacity), quarter = (size_t)(1.25 * (double)capacity);
            assert_int_equal(bandit_capacity(capacity, n), n <= capacity ? capacity : n > half ? n : half);
            assert_int_equal(bandit_capacity_kept(capacity, n), n <= capacity ? capacity
                                                                : n > quarter ? n
                                                                              : quarter);
        }
    }
}

static void arrays_grow_and_never_shrink(void **state)
{
    static const size_t wanted[] = {0, 5, 3, 5, 6, 7, 30, 31, 38, 39, 1};
    uint16_t *lost = NULL, *kept = NULL;
    size_t lost_capacity = 0, kept_capacity = 0, used = 0;
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t n = wanted[i], of_lost = bandit_capacity(lost_capacity, n),
               of_kept = bandit_capacity_kept(kept_capacity, n);
        uint16_t *before = lost;
        bool grows = of_lost > lost_capacity;
        assert_true(bandit_reserve((void **)&lost, &lost_capacity, n, sizeof *lost));
        assert_true(bandit_reserve_keep((void **)&kept, &kept_capacity, used, n, sizeof *kept));
        assert_true(lost_capacity == of_lost && kept_capacity == of_kept);
        assert_true(grows || lost == before);
        for (size_t k = 0; k < used; k++)
            assert_int_equal(kept[k], 1000 + k);
        for (; used < kept_capacity; used++)
            kept[used] = (uint16_t)(1000 + used);
        for (size_t k = 0; k < lost_capacity; k++)
            lost[k] = 7;
    }
    /* What cannot be had leaves all as it was. */
    volatile size_t many = SIZE_MAX / 2;
    size_t had = lost_capacity;
    const uint16_t *array = lost;
    assert_false(bandit_reserve((void **)&lost, &lost_capacity, many, 4));
    assert_true(lost == array && lost_capacity == had);
    had = kept_capacity;
    array = kept;
    assert_false(bandit_reserve_keep((void **)&kept, &kept_capacity, used, many, 4));
    assert_true(kept == array && kept_capacity == had && kept[0] == 1000);
    free(lost);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_come_in_whole_pieces),
        cmocka_unit_test(allocations_are_aligned),
        cmocka_unit_test(capacities_grow_by_a_share),
        cmocka_unit_test(arrays_grow_and_never_shrink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
