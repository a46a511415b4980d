/* Versions are compared by their numbers. */
#include "server/base/libraries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void versions_compare_by_number(void **state)
{
    (void)state;
    assert_true(libraries_compare("0.9.75", "1.0.0") < 0);
    assert_true(libraries_compare("3.40.1", "3.51.3") < 0);
    assert_true(libraries_compare("3.51.3", "3.6.99") > 0);
    assert_true(libraries_compare("0.3.9", "0.3.21") < 0);
    assert_true(libraries_compare("3.46", "3.46.1") < 0);
    assert_int_equal(libraries_compare("0.3.30.dev", "0.3.30"), 0);
    assert_int_equal(libraries_compare("1.0.1", "1.0.1"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(versions_compare_by_number)};
    return cmocka_run_group_tests_name("libraries", tests, NULL, NULL);
}
