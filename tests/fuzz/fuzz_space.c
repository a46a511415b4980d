/* Two lines: a definition and a request with a point. What the space takes is written, and taken again as the
 * same point. */
#include "bandit/algorithm.h"
#include "proto/constraints.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

static void check_point(const wire_study *study, const wire_assignments *point, wire_completeness how)
{
    size_t n = study->n_parameters;
    wire_errors errors = {0};
    double *values = malloc(n * sizeof *values), *again = malloc(n * sizeof *again);
    HOLDS(values && again);
    bool ok = wire_code_parameters(values, study->parameters, n, point, how, "/fixed", &errors);
    check_problems(ok ? WIRE_OK : WIRE_INVALID, ok, &errors);
    wire_errors_clear(&errors);
    if (ok) {
        for (size_t i = 0; how == WIRE_WHOLE && i < n; i++)
            HOLDS(isnan(values[i]) == !wire_parameter_is_active(study->parameters, values, i));
        if (how == WIRE_WHOLE)
            HOLDS((wire_broken_constraint(study, values) == NULL) ==
                  wire_check_constraints(study, values, "", &errors));
        wire_errors_clear(&errors);
        wire_writer w = WIRE_WRITER_INIT;
        wire_object_begin(&w);
        wire_key(&w, "fixed");
        wire_encode_parameters(&w, study->parameters, n, values);
        wire_object_end(&w);
        char *text;
        size_t size;
        wire_ask *ask;
        HOLDS(wire_writer_finish(&w, &text, &size));
        HOLDS(wire_decode_ask(&ask, text, size, &errors) == WIRE_OK);
        HOLDS(wire_code_parameters(again, study->parameters, n, &ask->fixed, how, "", &errors));
        for (size_t i = 0; i < n; i++)
            HOLDS(values[i] == again[i] || (isnan(values[i]) && isnan(again[i])));
        wire_ask_free(ask);
        free(text);
    }
    free(values);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    if (!end)
        return 0;
    size_t n = (size_t)(end - data);
    wire_errors errors = {0};
    wire_study *study;
    wire_ask *ask;
    if (wire_decode_study(&study, (const char *)data, n, bandit_algorithm_names(), &errors) == WIRE_OK) {
        if (wire_decode_ask(&ask, (const char *)end + 1, size - n - 1, &errors) == WIRE_OK &&
            study->n_parameters > 0) {
            check_point(study, &ask->fixed, WIRE_PARTIAL);
            check_point(study, &ask->fixed, WIRE_WHOLE);
        }
        wire_ask_free(ask);
    }
    wire_study_free(study);
    wire_errors_clear(&errors);
    return 0;
}
