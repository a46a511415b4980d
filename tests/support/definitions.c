#include "tests/support/definitions.h"

#include "bandit/algorithm.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

wire_status attempt_definition(const char *body, size_t size, wire_errors *errors)
{
    wire_study *study;
    wire_status status = wire_decode_study(&study, body, size, bandit_algorithm_names(), errors);
    assert_true((study != NULL) == (status == WIRE_OK));
    wire_study_free(study);
    return status;
}

wire_study *decode_definition(const char *text)
{
    char *body = with_quotes(text);
    wire_errors errors = {0};
    wire_study *study;
    wire_status status = wire_decode_study(&study, body, strlen(body), bandit_algorithm_names(), &errors);
    if (status != WIRE_OK && errors.n > 0)
        print_error("%s: %s\n", errors.items[0].pointer, errors.items[0].detail);
    assert_int_equal(status, WIRE_OK);
    free(body);
    return study;
}
