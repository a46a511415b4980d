/* What the fuzz targets share. A property that does not hold aborts. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "proto/wire.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* What is true of every decoder's answer. */
static inline void check_problems(wire_status status, bool has_value, const wire_errors *errors)
{
    HOLDS(status != WIRE_NO_MEMORY);
    HOLDS(has_value == (status == WIRE_OK));
    HOLDS((errors->n == 0) == (status == WIRE_OK));
    HOLDS(status != WIRE_MALFORMED || errors->n == 1);
    HOLDS(errors->n <= WIRE_ERRORS_MAX && (errors->dropped == 0 || errors->n == WIRE_ERRORS_MAX));
    for (size_t i = 0; i < errors->n; i++) {
        HOLDS(errors->items[i].pointer[0] == '\0' || errors->items[i].pointer[0] == '/');
        HOLDS(errors->items[i].detail[0] != '\0');
    }
}

/* The body of a target that only has a decoder. */
#define FUZZ_DECODER(name)                                                                                   \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                             \
    {                                                                                                        \
        wire_errors errors = {0};                                                                            \
        wire_##name *out;                                                                                    \
        wire_status status = wire_decode_##name(&out, (const char *)data, size, &errors);                    \
        check_problems(status, out != NULL, &errors);                                                        \
        wire_##name##_free(out);                                                                             \
        wire_errors_clear(&errors);                                                                          \
        return 0;                                                                                            \
    }

#endif
