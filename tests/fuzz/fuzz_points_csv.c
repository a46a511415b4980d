#include "tests/fuzz/points.h"

#include <math.h>

static void read_sheet(const uint8_t *data, size_t size, bool named)
{
    sheet s = {.named = named};
    wire_errors errors = {0};
    if (read_in_all_ways(&s, &errors, WIRE_POINTS_CSV, data, size) == WIRE_OK) {
        for (size_t i = 0; i < s.n; i++)
            HOLDS(isfinite(s.cells[i]));
    }
    free(s.cells);
    wire_keys_clear(&s.keys);
    wire_errors_clear(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_sheet(data, size, false);
    read_sheet(data, size, true);
    return 0;
}
