/* The order of keys against one found by counting: how many keys come before each. */
#include "server/base/ranking.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

static bool comes_before(const double *keys, size_t a, size_t b)
{
    if (isnan(keys[a]) || isnan(keys[b]))
        return isnan(keys[b]) && (!isnan(keys[a]) || a < b);
    return keys[a] > keys[b] || (keys[a] == keys[b] && a < b);
}

static void check(const double *keys, size_t n)
{
    uint32_t *order = ranking_of(keys, n);
    assert_non_null(order);
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        for (size_t j = 0; j < n; j++)
            before += j != i && comes_before(keys, j, i);
        assert_int_equal(order[before], i);
    }
    free(order);
}

static void test_order(void **state)
{
    (void)state;
    double special[] = {NAN, -INFINITY, 0.0, INFINITY, -0.0, NAN, 1e300, -1e-300, INFINITY};
    check(special, 0);
    for (size_t n = 1; n <= sizeof special / sizeof *special; n++)
        check(special, n);

    enum { N = 500 };
    double keys[N];
    srand(1);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < N; i++)
            keys[i] = round % 2 ? rand() % 7 : (double)rand();
        check(keys, N);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
