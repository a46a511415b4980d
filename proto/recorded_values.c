#include "proto/recorded_values.h"

#include "proto/json_parse.h"

#include <string.h>

bool wire_read_recorded(const char *text, const wire_metric *const *metrics, size_t n, double *out)
{
    json_t *object = NULL;
    wire_errors errors = {0};
    bool fine = text && wire_parse(&object, text, strlen(text), &errors) == WIRE_OK && json_is_object(object);
    for (size_t i = 0; fine && i < n; i++) {
        const json_t *value = json_object_get(object, metrics[i]->name);
        fine = json_is_number(value);
        out[i] = fine ? json_number_value(value) : 0.0;
    }
    wire_errors_clear(&errors);
    json_decref(object);
    return fine;
}
