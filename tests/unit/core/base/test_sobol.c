/* Sobol's sequence: values of another implementation (scipy 1.x, qmc.Sobol without scrambling), and what makes
 * it a net. */
#include "core/base/sobol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const size_t dimensions[] = {0, 1, 2, 7, 30, 63};

/* Times 2^16. */
static const struct {
    uint32_t index, values[6];
} known[] = {
    {1, {32768, 32768, 32768, 32768, 32768, 32768}},  {2, {16384, 49152, 49152, 16384, 49152, 16384}},
    {3, {49152, 16384, 16384, 49152, 16384, 49152}},  {5, {40960, 8192, 57344, 8192, 8192, 57344}},
    {13, {45056, 53248, 28672, 28672, 61440, 12288}},
};

static void values_are_known(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(bandit_sobol(known[k].index, dimensions[j]), known[k].values[j] << 16);
}

static void every_interval_has_a_point(void **state)
{
    (void)state;
    for (size_t j = 0; j < BANDIT_SOBOL_DIMENSIONS; j++) {
        for (unsigned k = 0; k <= 10; k++) {
            bool met[1024] = {false};
            for (uint32_t i = 0; i < (uint32_t)1 << k; i++) {
                uint64_t place = (uint64_t)bandit_sobol(i, j) >> (32 - k);
                assert_false(met[place]);
                met[place] = true;
            }
        }
    }
}

/* Of the first two dimensions every box of area 2^-k, too. */
static void every_box_of_two_dimensions_has_a_point(void **state)
{
    (void)state;
    for (unsigned a = 0; a <= 8; a++) {
        bool met[256] = {false};
        for (uint32_t i = 0; i < 256; i++) {
            uint64_t x = (uint64_t)bandit_sobol(i, 0) >> (32 - a),
                     y = (uint64_t)bandit_sobol(i, 1) >> (24 + a);
            assert_false(met[x << (8 - a) | y]);
            met[x << (8 - a) | y] = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_known),
        cmocka_unit_test(every_interval_has_a_point),
        cmocka_unit_test(every_box_of_two_dimensions_has_a_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
