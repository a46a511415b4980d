/* The streaming reader and the decoder of predictions, which has jansson parse the same {"points": …}, take
 * the same documents and the same numbers out of them. */
#include "tests/fuzz/points.h"

/* Predictions have points or keys. */
static bool has_keys(const wire_errors *errors)
{
    return errors->n > 0 && strstr(errors->items[0].detail, "cannot be given together with");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sheet s = {0};
    wire_errors errors = {0}, other_errors = {0};
    wire_predict *predict;
    wire_status status = read_in_all_ways(&s, &errors, WIRE_POINTS_JSON, data, size);
    wire_status other = wire_decode_predict(&predict, (const char *)data, size, &other_errors);
    if (status == WIRE_OK) {
        HOLDS(other == WIRE_OK || s.rows > WIRE_MAX_PREDICTIONS || has_keys(&other_errors));
    } else if (other == WIRE_OK && predict->points) {
        /* A number or a name of more than 1024 characters. */
        HOLDS(size > 1024);
    }
    if (status == WIRE_OK && other == WIRE_OK) {
        HOLDS(predict->n == s.rows && predict->dimension == s.dimension);
        for (size_t i = 0; i < s.n; i++)
            HOLDS(predict->points[i] == s.cells[i]); /* -0 is the integer 0 for jansson */
    }
    free(s.cells);
    wire_keys_clear(&s.keys);
    wire_predict_free(predict);
    wire_errors_clear(&errors);
    wire_errors_clear(&other_errors);
    return 0;
}
