/* Points in NDJSON: the same rows or the same refusal however the text is cut. */
#include "tests/fuzz/points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sheet s = {0};
    wire_errors errors = {0};
    read_in_all_ways(&s, &errors, WIRE_POINTS_NDJSON, data, size);
    free(s.cells);
    wire_keys_clear(&s.keys);
    wire_errors_clear(&errors);
    return 0;
}
