/* Answers that are kept between requests for a series: which ones, and how long. */
#include "server/data/series_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void keep(series_cache *c, series_key key, const char *text)
{
    series_cache_keep(c, &key, text, strlen(text));
}

/* text NULL: nothing is kept. */
static void expect(series_cache *c, series_key key, const char *text)
{
    size_t size = 0;
    char *found = series_cache_find(c, &key, &size);
    if (text) {
        assert_non_null(found);
        assert_string_equal(found, text);
        assert_int_equal(size, strlen(text));
    } else {
        assert_null(found);
    }
    free(found);
}

static void test_an_answer_is_of_one_state_of_one_series(void **state)
{
    (void)state;
    series_cache *c = series_cache_new(1000);
    const series_key key = {.study = 1, .last_seq = 7, .updated_at = 70, .points = 10, .metric = ""};
    series_key later = key, lost = key, finer = key, named = key, other = key;
    later.last_seq = 8;
    lost.updated_at = 71;
    finer.points = 11;
    named.metric = "y";
    other.study = 2;
    keep(c, key, "first");
    expect(c, key, "first");
    const series_key others[] = {later, lost, finer, named, other};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect(c, others[i], NULL);
    keep(c, finer, "finer");
    keep(c, later, "later");
    expect(c, key, NULL);
    expect(c, later, "later");
    expect(c, finer, "finer");
    series_cache_free(c);
}

static void test_the_least_used_give_way(void **state)
{
    (void)state;
    series_cache *c = series_cache_new(10);
    series_key keys[3];
    for (int i = 0; i < 3; i++)
        keys[i] = (series_key){.study = i, .points = 10, .metric = ""};
    keep(c, keys[0], "zero");
    keep(c, keys[1], "one");
    expect(c, keys[0], "zero");
    keep(c, keys[2], "two2");
    expect(c, keys[1], NULL);
    expect(c, keys[0], "zero");
    expect(c, keys[2], "two2");
    keep(c, keys[1], "more than ten");
    expect(c, keys[1], NULL);
    keep(c, keys[1], "just ten..");
    expect(c, keys[0], NULL);
    expect(c, keys[2], NULL);
    expect(c, keys[1], "just ten..");
    series_cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_is_of_one_state_of_one_series),
        cmocka_unit_test(test_the_least_used_give_way),
    };
    return cmocka_run_group_tests_name("series_cache", tests, NULL, NULL);
}
