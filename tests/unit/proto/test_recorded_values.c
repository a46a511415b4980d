/* The stored text of values and standard errors: split and joined, read by metric, and whatever a metric is called. */
#include "proto/recorded_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Names that look like what separates the two parts. */
#define QUOTED "{\"a\\\"\\\":{\":1,\"b\\\"\":2}"

static const struct {
    const char *values, *std_errors, *text;
} cases[] = {
    {"", "", ""},
    {"{\"size\":2}", "", "{\"size\":2}"},
    {"", "{\"yield\":0.5}", "{\"\":{\"yield\":0.5}}"},
    {"{\"size\":2}", "{\"yield\":0.5,\"size\":1}", "{\"size\":2,\"\":{\"yield\":0.5,\"size\":1}}"},
    {QUOTED, "", QUOTED},
    {QUOTED, "{\"}\":0.5}", "{\"a\\\"\\\":{\":1,\"b\\\"\":2,\"\":{\"}\":0.5}}"},
};

static void parts_are_split_and_joined(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined = wire_join_recorded(cases[i].values, cases[i].std_errors);
        char *values = wire_recorded_values(cases[i].text), *errors = wire_recorded_std_errors(cases[i].text);
        assert_string_equal(joined, cases[i].text);
        assert_string_equal(values, cases[i].values);
        assert_string_equal(errors, cases[i].std_errors);
        assert_int_equal(wire_has_std_errors(cases[i].text), *cases[i].std_errors != '\0');
        free(joined);
        free(values);
        free(errors);
    }
    assert_false(wire_has_std_errors(NULL));
    assert_int_equal(wire_count_std_errors(cases[3].text), 2);
    assert_int_equal(wire_count_std_errors(cases[4].text), 0);
}

static void errors_are_read_by_metric(void **state)
{
    wire_metric yield = {.name = (char *)(uintptr_t) "yield"}, size = {.name = (char *)(uintptr_t) "size"};
    const wire_metric *const metrics[] = {&yield, &size};
    double out[2];
    (void)state;
    assert_true(wire_read_std_errors(cases[3].text, metrics, 2, out));
    assert_true(out[0] == 0.5 && out[1] == 1.0);
    assert_true(wire_read_std_errors(cases[2].text, metrics, 2, out));
    assert_true(out[0] == 0.5 && out[1] == 0.0);
    assert_true(wire_read_std_errors("", metrics, 2, out));
    assert_true(out[0] == 0.0 && out[1] == 0.0);
    assert_true(wire_read_recorded(cases[3].text, metrics + 1, 1, out));
    assert_true(out[0] == 2.0);
    assert_false(wire_read_std_errors("{\"\":{", metrics, 2, out));
    assert_int_equal(wire_count_std_errors("{\"\":{"), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_split_and_joined),
        cmocka_unit_test(errors_are_read_by_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
