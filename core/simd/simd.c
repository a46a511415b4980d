#include "core/simd/simd.h"

#include <string.h>

/* Fastest first. */
static const bandit_simd *const versions[] = {
#if defined(__x86_64__)
    &bandit_simd_avx512, &bandit_simd_avx2,
#endif
    &bandit_simd_portable, &bandit_simd_plain, /* selected only by name */
};
enum { VERSIONS = sizeof versions / sizeof *versions };

static int runs_here(const bandit_simd *version)
{
#if defined(__x86_64__)
    if (version == &bandit_simd_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
    if (version == &bandit_simd_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)version;
    return 1;
}

const bandit_simd *bandit_simd_best(void)
{
    int i = 0;
    while (i < VERSIONS - 1 && !runs_here(versions[i])) /* the last one runs everywhere */
        i++;
    return versions[i];
}

const bandit_simd *bandit_simd_named(const char *name)
{
    for (int i = 0; i < VERSIONS; i++) {
        if (strcmp(versions[i]->name, name) == 0)
            return runs_here(versions[i]) ? versions[i] : NULL;
    }
    return NULL;
}

static size_t panel_columns(size_t first, size_t m)
{
    return first + BANDIT_PANEL < m ? first + BANDIT_PANEL : m;
}

size_t bandit_simd_packed_size(size_t m)
{
    size_t size = 0;
    for (size_t first = 0; first < m; first += BANDIT_PANEL)
        size += BANDIT_PANEL * panel_columns(first, m);
    return size;
}

void bandit_simd_pack(double *packed, const double *R, size_t m)
{
    for (size_t first = 0; first < m; first += BANDIT_PANEL) {
        for (size_t k = 0; k < panel_columns(first, m); k++) {
            for (size_t row = first; row < first + BANDIT_PANEL; row++)
                *packed++ = row < m && row >= k ? R[k * m + row] : 0.0;
        }
    }
}
