#include "tests/fuzz/points.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sheet s = {0};
    wire_errors errors = {0};
    if (read_in_all_ways(&s, &errors, WIRE_POINTS_NPY, data, size) == WIRE_OK) {
        for (size_t i = 0; i < s.n; i++)
            HOLDS(isfinite(s.cells[i]));
    }
    free(s.cells);
    wire_keys_clear(&s.keys);
    wire_errors_clear(&errors);
    return 0;
}
