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

static series_key key_of(int64_t study)
{
    return (series_key){.study = study, .points = 10, .metric = ""};
}

/* A text of `size` times this letter, which stays valid until the next call. */
static const char *letters(char letter, size_t size)
{
    static char text[20000];
    assert_in_range(size, 0, sizeof text - 1);
    memset(text, letter, size);
    text[size] = '\0';
    return text;
}

/* How many of the studies 0 to n - 1 have an answer that is kept. Looks from the last on. */
static size_t count_kept(series_cache *c, int64_t n)
{
    size_t kept = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        size_t size;
        series_key key = key_of(i);
        char *text = series_cache_find(c, &key, &size);
        kept += text != NULL;
        free(text);
    }
    return kept;
}

static void test_the_least_used_give_way(void **state)
{
    (void)state;
    series_cache *c = series_cache_new(10000); /* two texts of 4000 and what holds them */
    keep(c, key_of(0), letters('0', 4000));
    keep(c, key_of(1), letters('1', 4000));
    expect(c, key_of(0), letters('0', 4000));
    keep(c, key_of(2), letters('2', 4000));
    expect(c, key_of(1), NULL);
    expect(c, key_of(0), letters('0', 4000));
    expect(c, key_of(2), letters('2', 4000));
    keep(c, key_of(1), letters('1', 10001));
    expect(c, key_of(1), NULL);
    expect(c, key_of(0), letters('0', 4000));
    keep(c, key_of(1), letters('1', 9000));
    expect(c, key_of(0), NULL);
    expect(c, key_of(2), NULL);
    expect(c, key_of(1), letters('1', 9000));
    series_cache_free(c);
}

static void test_keys_and_entries_count(void **state)
{
    (void)state;
    const size_t most = 10000;
    series_cache *c = series_cache_new(most);
    series_key named = key_of(500);
    keep(c, key_of(0), letters('0', most)); /* there is no room for its entry */
    expect(c, key_of(0), NULL);
    for (int64_t i = 0; i < 500; i++)
        keep(c, key_of(i), "");
    assert_in_range(count_kept(c, 500), 2, most / sizeof(series_key));
    named.metric = letters('m', 9000);
    keep(c, named, "y");
    expect(c, named, "y");
    assert_in_range(count_kept(c, 500), 1, 1000 / sizeof(series_key));
    named.metric = letters('m', most);
    keep(c, named, "y");
    expect(c, named, NULL);
    series_cache_free(c);
}

static void test_the_number_of_answers_is_bounded(void **state)
{
    (void)state;
    series_cache *c = series_cache_new(SERIES_CACHE_BYTES);
    for (int64_t i = 0; i <= SERIES_CACHE_ANSWERS; i++)
        keep(c, key_of(i), "few");
    expect(c, key_of(0), NULL);
    assert_int_equal(count_kept(c, SERIES_CACHE_ANSWERS + 1), SERIES_CACHE_ANSWERS);
    for (int64_t i = 1; i <= SERIES_CACHE_ANSWERS; i++) /* the same again, in another state */ {
        series_key key = key_of(i);
        key.last_seq = 1;
        keep(c, key, "more");
    }
    series_key first = key_of(1);
    first.last_seq = 1;
    expect(c, first, "more");
    series_cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_is_of_one_state_of_one_series),
        cmocka_unit_test(test_the_least_used_give_way),
        cmocka_unit_test(test_keys_and_entries_count),
        cmocka_unit_test(test_the_number_of_answers_is_bounded),
    };
    return cmocka_run_group_tests_name("series_cache", tests, NULL, NULL);
}
