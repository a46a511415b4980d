/* However a form is cut into pieces, the definition or the refusal is the same. */
#include "bandit/algorithm.h"
#include "proto/study_form.h"
#include "tests/fuzz/fuzz.h"

/* -> the definition that was read as text, or the first problem; owned by the caller */
static char *read_form(const uint8_t *data, size_t size, size_t chunk)
{
    wire_errors errors = {0};
    wire_study_form *form;
    wire_study *study = NULL;
    char *text;
    size_t written;
    HOLDS(wire_study_form_new(&form, "multipart/form-data; boundary=b", 4096, 1000, &errors) == WIRE_OK);
    wire_status status = WIRE_OK;
    for (size_t at = 0; at < size && status == WIRE_OK; at += chunk)
        status = wire_study_form_feed(form, (const char *)data + at, size - at < chunk ? size - at : chunk,
                                      &errors);
    if (status == WIRE_OK)
        status = wire_study_form_finish(form, &study, bandit_algorithm_names(), &errors);
    if (wire_study_form_is_too_large(form))
        HOLDS(status == WIRE_INVALID && errors.n == 0 && (text = strdup("too large")));
    else
        check_problems(status, study != NULL, &errors);
    if (study) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_definition(&w, study);
        HOLDS(wire_writer_finish(&w, &text, &written));
    } else if (errors.n > 0) {
        text = strdup(errors.items[0].detail);
    }
    wire_study_form_free(form);
    wire_study_free(study);
    wire_errors_clear(&errors);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t chunks[] = {1, 2, 7};
    char *whole = read_form(data, size, size + 1);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        char *cut = read_form(data, size, chunks[i]);
        HOLDS(strcmp(whole, cut) == 0);
        free(cut);
    }
    free(whole);
    return 0;
}
