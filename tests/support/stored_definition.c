#include "tests/support/stored_definition.h"

#include "proto/encode.h"
#include "server/data/definition.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *stored_definition(const char *text)
{
    char *body = with_quotes(text), *out;
    size_t size;
    wire_study *study;
    wire_errors errors = {0};
    wire_writer w = WIRE_WRITER_INIT;
    if (study_config_decode(&study, body, strlen(body), &errors) != WIRE_OK ||
        study_config_complete(study, &errors) != WIRE_OK)
        fail_msg("%s: %s", errors.items[0].pointer, errors.items[0].detail);
    wire_encode_definition(&w, study);
    assert_true(wire_writer_finish(&w, &out, &size));
    wire_study_free(study);
    free(body);
    return out;
}
