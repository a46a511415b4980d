/* Thinning for plots, against all the values that were given. */
#include "server/data/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct given {
    int64_t trial;
    double value;
} given;

/* n values at trials with gaps; a fixed sequence of 15 bits, so that many are equal. */
static given *make(size_t n, unsigned seed)
{
    given *all = malloc((n + 1) * sizeof *all);
    assert_non_null(all);
    uint32_t x = seed;
    int64_t trial = 0;
    for (size_t i = 0; i < n; i++) {
        x = 1664525 * x + 1013904223;
        trial += 1 + (x >> 30);
        all[i] = (given){trial, (double)(x >> 17) - 16384};
    }
    return all;
}

/* The smallest power of two that makes the buckets fit: stated here again, from the header. */
static size_t bucket_width(size_t n, size_t points)
{
    size_t width = 1;
    while ((n + width - 1) / width > (points - 2) / 2)
        width *= 2;
    return width;
}

static bool has_value(const wire_series_point *kept, size_t n, int64_t from, int64_t to, double value)
{
    for (size_t i = 0; i < n; i++)
        if (kept[i].trial >= from && kept[i].trial <= to && kept[i].value == value)
            return true;
    return false;
}

static void add(series *s, int64_t trial, double value, int64_t told_at)
{
    const wire_series_point point = {.trial = trial, .value = value, .told_at = told_at};
    series_add(s, &point);
}

static void check(size_t n, size_t points, bool minimize)
{
    given *all = make(n, (unsigned)(n + points));
    series *s = series_new(points, minimize);
    size_t n_kept;
    int64_t count;
    assert_non_null(s);
    for (size_t i = 0; i < n; i++)
        add(s, all[i].trial, all[i].value, 1000 + all[i].trial);
    const wire_series_point *kept = series_finish(s, &n_kept, &count);
    assert_int_equal(count, n);
    assert_true(n_kept <= points);
    if (n <= points)
        assert_int_equal(n_kept, n);
    size_t at = 0;
    for (size_t i = 0; i < n_kept; i++) { /* each is one of them, in their order, with the best up to it */
        double best = all[0].value;
        while (at < n && all[at].trial < kept[i].trial)
            at++;
        assert_true(at < n && all[at].trial == kept[i].trial);
        assert_true(all[at].value == kept[i].value);
        assert_int_equal(kept[i].told_at, 1000 + kept[i].trial);
        for (size_t k = 0; k <= at; k++)
            if (minimize ? all[k].value < best : all[k].value > best)
                best = all[k].value;
        assert_true(kept[i].best == best);
        assert_true(i == 0 || kept[i - 1].trial < kept[i].trial);
    }
    if (n > 0) {
        assert_int_equal(kept[0].trial, all[0].trial);
        assert_int_equal(kept[n_kept - 1].trial, all[n - 1].trial);
    }
    size_t width = bucket_width(n, points);
    for (size_t first = 0; n > points && first < n; first += width) { /* the extremes of each bucket */
        size_t end = first + width < n ? first + width : n;
        double smallest = all[first].value, largest = all[first].value;
        for (size_t k = first; k < end; k++) {
            smallest = all[k].value < smallest ? all[k].value : smallest;
            largest = all[k].value > largest ? all[k].value : largest;
        }
        assert_true(has_value(kept, n_kept, all[first].trial, all[end - 1].trial, smallest));
        assert_true(has_value(kept, n_kept, all[first].trial, all[end - 1].trial, largest));
    }
    series_free(s);
    free(all);
}

static void test_few_values_are_all_kept(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 30; n++)
        check(n, 30, n % 2);
}

static void test_many_values_are_thinned(void **state)
{
    (void)state;
    for (size_t n = 10; n < 700; n++) {
        check(n, 10, false);
        check(n, 13, true);
    }
    check(1 << 14, 1000, false);
    check((1 << 14) + 1, 1000, true);
    check(20011, 999, false);
}

/* Values that break the bounds are the extremes of all buckets. The step of the best must be shown in its own bucket,
 * so that the best is exact at the end of each. */
static void test_steps_of_the_best_are_kept(void **state)
{
    (void)state;
    enum { N = 700 };
    for (size_t points = 10; points <= 100; points += 9) {
        series *s = series_new(points, false);
        double best[N + 1];
        size_t n, at = 0, wrong = 0, width = 1;
        int64_t count;
        assert_non_null(s);
        series_expect_bounds(s);
        while ((N + width - 1) / width > (points - 2) / 3)
            width *= 2;
        for (int64_t i = 0; i < N; i++) {
            bool feasible = i % 5 == 2;
            double value = feasible ? (double)(i / 100) : i % 2 ? 1000.0 : -1000.0;
            const wire_series_point point = {.trial = i + 1, .value = value};
            series_add_bounded(s, &point, feasible);
            best[i] = i < 2 ? -1.0 : (double)((i - (i + 3) % 5) / 100);
        }
        const wire_series_point *kept = series_finish(s, &n, &count);
        assert_true(n <= points && count == N);
        for (size_t end = width - 1; end < N; end += width) {
            while (at + 1 < n && kept[at + 1].trial <= (int64_t)end + 1)
                at++;
            wrong += kept[at].best != best[end];
        }
        assert_int_equal(wrong, 0);
        series_free(s);
    }
}

/* Equal values everywhere: a bucket has one point. */
static void test_a_constant(void **state)
{
    (void)state;
    series *s = series_new(10, false);
    size_t n;
    int64_t count;
    assert_non_null(s);
    for (int64_t i = 1; i <= 1000; i++)
        add(s, i, 0.5, 0);
    const wire_series_point *kept = series_finish(s, &n, &count);
    assert_true(n >= 2 && n <= 6);
    for (size_t i = 0; i < n; i++)
        assert_true(kept[i].value == 0.5 && kept[i].best == 0.5);
    assert_int_equal(kept[n - 1].trial, 1000);
    series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_values_are_all_kept),
        cmocka_unit_test(test_many_values_are_thinned),
        cmocka_unit_test(test_steps_of_the_best_are_kept),
        cmocka_unit_test(test_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
