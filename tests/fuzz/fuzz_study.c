/* A definition that is understood is written, understood again, and written the same. */
#include "bandit/algorithm.h"
#include "tests/fuzz/fuzz.h"

static char *encode(const wire_study *study)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, study);
    char *text;
    size_t size;
    HOLDS(wire_writer_finish(&w, &text, &size));
    HOLDS(strlen(text) == size);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire_errors errors = {0};
    wire_study *study;
    wire_status status =
        wire_decode_study(&study, (const char *)data, size, bandit_algorithm_names(), &errors);
    check_problems(status, study != NULL, &errors);
    if (status == WIRE_OK) {
        char *once = encode(study);
        wire_study *again;
        HOLDS(wire_decode_study(&again, once, strlen(once), bandit_algorithm_names(), &errors) == WIRE_OK);
        char *twice = encode(again);
        HOLDS(strcmp(once, twice) == 0);
        free(once);
        free(twice);
        wire_study_free(again);
    }
    wire_study_free(study);
    wire_errors_clear(&errors);
    return 0;
}
