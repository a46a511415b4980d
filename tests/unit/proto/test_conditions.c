/* Conditions that can never hold, and bounds outside the range of the parameter that they name. */
#include "proto/conditions.h"

#include "bandit/algorithm.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const others[] = {
    "'type':'double','min':0.5,'max':2",  "'type':'double','min':0.1,'max':2.35,'step':0.1",
    "'type':'integer','min':1,'max':12",  "'type':'integer','min':8,'max':250,'step':8",
    "'type':'discrete','values':[8,2,4]",
};

/* The problems of a parameter that is active with these bounds. */
static wire_errors problems_of(const char *other, const char *bounds)
{
    char text[512];
    wire_errors errors = {0};
    wire_study *study;
    snprintf(text, sizeof text,
             "{'metric':{'name':'value','goal':'maximize'},'domain':{'type':'space','parameters':["
             "{'name':'a',%s},{'name':'b','type':'boolean','active_when':{'parameter':'a',%s}}]}}",
             other, bounds);
    char *body = with_quotes(text);
    assert_int_equal(wire_decode_study(&study, body, strlen(body), bandit_algorithm_names(), &errors),
                     WIRE_OK);
    assert_int_equal(errors.n, 0);
    assert_true(wire_check_conditions(study, &errors) == (errors.n == 0));
    wire_study_free(study);
    free(body);
    return errors;
}

static void test_bounds(void **state)
{
    (void)state;
    static const struct {
        int other;
        const char *bounds, *at; /* `at`: the member that is wrong; NULL: none */
    } cases[] = {
        {0, "'min':0.5", NULL},
        {0, "'min':2", NULL},
        {0, "'max':0.5", NULL},
        {0, "'min':0.7,'max':0.7", NULL},
        {0, "'min':2.1", "/min"},
        {0, "'min':0.4", "/min"},
        {0, "'max':0.4", "/max"},
        {0, "'min':1,'max':9", "/max"},
        {1, "'min':1.2", NULL},
        {1, "'min':0.3,'max':0.3", NULL},
        {1, "'min':2.25,'max':2.3", NULL},
        {1, "'min':2.31,'max':2.35", ""}, /* the last step is at 2.3 */
        {1, "'min':0.31,'max':0.39", ""},
        {2, "'min':12", NULL},
        {2, "'min':3.5,'max':4", NULL},
        {2, "'min':3.2,'max':3.8", ""},
        {2, "'min':13", "/min"},
        {3, "'min':9,'max':16", NULL},
        {3, "'min':9,'max':15", ""},
        {3, "'min':249,'max':250", ""},
        {4, "'min':3,'max':5", NULL},
        {4, "'min':8", NULL},
        {4, "'min':5,'max':7", ""},
        {4, "'max':1.9", "/max"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_errors errors = problems_of(others[cases[i].other], cases[i].bounds);
        char pointer[64];
        if (errors.n != (cases[i].at != NULL))
            fail_msg("%s with %s: %zu problems", others[cases[i].other], cases[i].bounds, errors.n);
        if (cases[i].at) {
            snprintf(pointer, sizeof pointer, "/domain/parameters/1/active_when%s", cases[i].at);
            assert_string_equal(errors.items[0].pointer, pointer);
        }
        wire_errors_clear(&errors);
    }
}

static void test_both_bounds(void **state)
{
    (void)state;
    wire_errors errors = problems_of(others[2], "'min':-3,'max':99");
    assert_int_equal(errors.n, 2);
    assert_string_equal(errors.items[1].pointer, "/domain/parameters/1/active_when/max");
    assert_string_equal(errors.items[1].detail, "must be in the range of \"a\", from 1 to 12");
    wire_errors_clear(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_both_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
