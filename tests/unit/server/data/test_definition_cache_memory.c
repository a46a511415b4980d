/* Each allocation of a read fails once: the read says so, or goes on without keeping the definition; nothing is lost. */
#include "server/data/definition_cache.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/stored_definition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BODY                                                                                                 \
    "{'id':'one','metric':{'name':'yield','goal':'maximize'},'domain':{'type':'space','parameters':["        \
    "{'name':'x','type':'double','min':0,'max':1},"                                                          \
    "{'name':'molecule','type':'categorical','values':['a','b'],'features':[[0.1],[0.7]]}],"                 \
    "'constraints':['if molecule = \\\"a\\\" then x <= 0.5']}}"

/* -> how often a read went on although an allocation had failed */
static long fail_each(definition_cache *c, const char *text)
{
    long before = live, unkept = 0, n = 0;
    for (bool failed = true; failed; n++) {
        const wire_study *definition;
        until_failure = n;
        store_status status = definition_cache_read(&definition, c, text);
        failed = has_failed();
        assert_true(status == STORE_OK || (status == STORE_NO_MEMORY && failed));
        assert_true((definition != NULL) == (status == STORE_OK));
        if (failed && status == STORE_OK) {
            assert_string_equal(definition->id, "one");
            assert_false(definition_cache_is_text(c, definition));
            unkept++;
        }
        if (failed) {
            definition_cache_release(c, definition);
            assert_int_equal(live, before);
        } else {
            assert_true(!c || definition_cache_is_text(c, definition));
            definition_cache_release(c, definition);
        }
    }
    assert_true(n > 10);
    return unkept;
}

static void test_each_allocation_of_a_read_fails(void **state)
{
    (void)state;
    char *text = stored_definition(BODY);
    long before = live;
    assert_int_equal(fail_each(NULL, text), 0);
    definition_cache *c = definition_cache_new(1, 1 << 20);
    assert_true(fail_each(c, text) > 2); /* the entry, its text and the text to compare with */
    const wire_study *first, *again;
    until_failure = 0; /* what is kept is found without memory */
    assert_int_equal(definition_cache_read(&first, c, text), STORE_OK);
    assert_int_equal(definition_cache_read(&again, c, text), STORE_OK);
    assert_int_equal(until_failure, 0);
    until_failure = -1;
    assert_ptr_equal(first, again);
    definition_cache_release(c, first);
    definition_cache_release(c, again);
    definition_cache_free(c);
    assert_int_equal(live, before);
    free(text);
}

static void test_a_cache_that_is_not_made(void **state)
{
    (void)state;
    until_failure = 0;
    assert_null(definition_cache_new(1, 1 << 20));
    assert_true(has_failed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_of_a_read_fails),
        cmocka_unit_test(test_a_cache_that_is_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
