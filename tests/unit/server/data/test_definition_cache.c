/* Definitions that are kept between reads: which ones, how long, and that answers do not depend on it. */
#include "server/data/definition_cache.h"

#include "proto/encode.h"
#include "server/data/definition.h"
#include "server/data/study_view.h"
#include "tests/support/stored_definition.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A stored definition. */
static char *stored(const char *id)
{
    char text[512];
    snprintf(text, sizeof text,
             "{'id':'%s','metric':{'name':'yield','goal':'maximize'},'domain':{'type':'space','parameters':["
             "{'name':'x','type':'double','min':0,'max':1},"
             "{'name':'molecule','type':'categorical','values':['a','b'],'features':[[0.1],[0.7]]}]}}",
             id);
    return stored_definition(text);
}

static const wire_study *get(definition_cache *c, const char *text)
{
    const wire_study *definition;
    assert_int_equal(definition_cache_read(&definition, c, text), STORE_OK);
    assert_non_null(definition);
    return definition;
}

static void test_long_ones_are_kept(void **state)
{
    (void)state;
    char *text = stored("one"), *copy = strdup(text), *other = stored("two");
    definition_cache *c = definition_cache_new(strlen(text), 1 << 20),
                     *none = definition_cache_new(1 << 20, 1 << 20);
    const wire_study *first = get(c, text), *again = get(c, copy), *second = get(c, other);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, second);
    assert_string_equal(second->id, "two");
    assert_true(definition_cache_is_text(c, first));
    definition_cache_release(c, first);
    definition_cache_release(c, again);
    definition_cache_release(c, second);
    again = get(c, text);
    assert_ptr_equal(first, again);
    definition_cache_release(c, again);
    /* a short one is decoded each time, and so is any one without a cache */
    definition_cache *const without[] = {none, NULL};
    for (size_t i = 0; i < 2; i++) {
        first = get(without[i], text);
        second = get(without[i], text);
        assert_ptr_not_equal(first, second);
        assert_false(definition_cache_is_text(without[i], first));
        definition_cache_release(without[i], first);
        definition_cache_release(without[i], second);
        definition_cache_release(without[i], NULL);
    }
    definition_cache_free(c);
    definition_cache_free(none);
    definition_cache_free(NULL);
    free(text);
    free(copy);
    free(other);
}

static void test_the_longest_unused_goes(void **state)
{
    (void)state;
    char *texts[3] = {stored("one"), stored("two"), stored("six")};
    size_t size = strlen(texts[0]);
    definition_cache *c = definition_cache_new(1, 2 * size + size / 2);
    const wire_study *held = get(c, texts[0]);
    definition_cache_release(c, get(c, texts[1]));
    definition_cache_release(c, get(c, texts[2])); /* in place of the second one; the first one is in use */
    const wire_study *again = get(c, texts[0]), *third = get(c, texts[2]);
    assert_ptr_equal(held, again);
    const wire_study *second = get(c, texts[1]); /* there is no room, so it is not kept */
    assert_false(definition_cache_is_text(c, second));
    assert_true(definition_cache_is_text(c, third));
    definition_cache_release(c, second);
    definition_cache_release(c, third);
    definition_cache_release(c, again);
    definition_cache_release(c, held);
    definition_cache_free(c);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
}

static char *view(definition_cache *c, char *text)
{
    char *out;
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    const store_study row = {
        .id = "one", .definition = text, .state = STUDY_ACTIVE, .state_reason = "", .advice = ""};
    assert_int_equal(study_view_encode(&w, NULL, c, &row), STORE_OK);
    assert_true(wire_writer_finish(&w, &out, &size));
    return out;
}

/* The second text is one that an older version may have written: its members are in another order. */
static void test_answers_are_the_same(void **state)
{
    (void)state;
    char *text = stored("one"), *old = malloc(strlen(text) + 1);
    const char *rest = strstr(text, ",\"aim\"");
    assert_non_null(rest);
    sprintf(old, "{%.*s,\"id\":\"one\"}", (int)strlen(rest) - 2, rest + 1);
    char *texts[] = {text, old};
    definition_cache *c = definition_cache_new(1, 1 << 20);
    for (size_t i = 0; i < 2; i++) {
        char *without = view(NULL, texts[i]), *first = view(c, texts[i]), *second = view(c, texts[i]);
        const wire_study *definition = get(c, texts[i]);
        assert_true(definition_cache_is_text(c, definition) == (i == 0));
        definition_cache_release(c, definition);
        assert_string_equal(first, without);
        assert_string_equal(second, without);
        free(without);
        free(first);
        free(second);
    }
    definition_cache_free(c);
    free(text);
    free(old);
}

static void test_damaged_ones(void **state)
{
    (void)state;
    const wire_study *definition;
    definition_cache *c = definition_cache_new(1, 1 << 20);
    assert_int_equal(definition_cache_read(&definition, c, "{\"id\":"), STORE_CORRUPT);
    assert_null(definition);
    definition_cache_free(c);
}

enum { THREADS = 8, TEXTS = 3, READS = 300 };

typedef struct reader {
    definition_cache *c;
    char *const *texts;
    size_t first, wrong;
} reader;

/* Each reader holds up to two definitions and looks into them; what it finds is counted, for the main thread asserts. */
static void *read_many(void *arg)
{
    reader *r = arg;
    static const char *const ids[TEXTS] = {"one", "two", "six"};
    const wire_study *held = NULL;
    for (size_t i = 0; i < READS; i++) {
        size_t t = (r->first + i * i) % TEXTS;
        const wire_study *definition;
        if (definition_cache_read(&definition, r->c, r->texts[t]) != STORE_OK) {
            r->wrong++;
            continue;
        }
        r->wrong += strcmp(definition->id, ids[t]) != 0;
        definition_cache_is_text(r->c, definition); /* whether it is kept depends on the others */
        definition_cache_release(r->c, held);
        r->wrong += strcmp(definition->id, ids[t]) != 0; /* another user has gone, this one has not */
        held = definition;
    }
    definition_cache_release(r->c, held);
    return NULL;
}

/* There is room for two of three, so that entries come and go. */
static void test_many_threads(void **state)
{
    (void)state;
    char *texts[TEXTS] = {stored("one"), stored("two"), stored("six")};
    size_t size = strlen(texts[0]);
    definition_cache *c = definition_cache_new(1, 2 * size + size / 2);
    pthread_t threads[THREADS];
    reader readers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (reader){.c = c, .texts = texts, .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    const wire_study *first = get(c, texts[0]),
                     *again = get(c, texts[0]); /* nothing is held, so there is room */
    assert_ptr_equal(first, again);
    definition_cache_release(c, first);
    definition_cache_release(c, again);
    definition_cache_free(c);
    for (size_t i = 0; i < TEXTS; i++)
        free(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_ones_are_kept),   cmocka_unit_test(test_the_longest_unused_goes),
        cmocka_unit_test(test_answers_are_the_same), cmocka_unit_test(test_damaged_ones),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
