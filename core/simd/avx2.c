/* AVX2 and FMA: four doubles per vector. Half a tile is processed at a time, so that half a panel of R keeps
 * 12 sums in registers. */
#if defined(__x86_64__)

#if !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

#include <assert.h>
#include <immintrin.h>
#include <stdbool.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#endif

#define ALWAYS static inline __attribute__((always_inline))
#define VECTOR __m256d
enum { LANES = 4, POINTS = 2, ROWS = 6, WIDTH = 2 };

ALWAYS VECTOR vec_load(const double *p)
{
    return _mm256_loadu_pd(p);
}
ALWAYS void vec_store(double *p, VECTOR a)
{
    _mm256_storeu_pd(p, a);
}
ALWAYS __m256i lanes_below(size_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}
ALWAYS VECTOR vec_load_first(const double *p, size_t n)
{
    return _mm256_maskload_pd(p, lanes_below(n));
}
ALWAYS void vec_store_first(double *p, VECTOR a, size_t n)
{
    _mm256_maskstore_pd(p, lanes_below(n), a);
}
ALWAYS bool vec_all_reach(VECTOR a, VECTOR b)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_GE_OQ)) == 0xf;
}
ALWAYS VECTOR vec_with_lane(VECTOR a, size_t lane, VECTOR b)
{
    __m256i is_lane = _mm256_cmpeq_epi64(_mm256_set1_epi64x((long long)lane), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_blendv_pd(a, b, _mm256_castsi256_pd(is_lane));
}
ALWAYS VECTOR vec_set(double a)
{
    return _mm256_set1_pd(a);
}
ALWAYS VECTOR vec_zero(void)
{
    return _mm256_setzero_pd();
}
ALWAYS VECTOR vec_add(VECTOR a, VECTOR b)
{
    return _mm256_add_pd(a, b);
}
ALWAYS VECTOR vec_sub(VECTOR a, VECTOR b)
{
    return _mm256_sub_pd(a, b);
}
ALWAYS VECTOR vec_mul(VECTOR a, VECTOR b)
{
    return _mm256_mul_pd(a, b);
}
ALWAYS VECTOR vec_fma(VECTOR a, VECTOR b, VECTOR c)
{
    return _mm256_fmadd_pd(a, b, c);
}
ALWAYS VECTOR vec_sqrt(VECTOR a)
{
    return _mm256_sqrt_pd(a);
}

/* exp(−s) for s >= 0: −s = n ln2 + r, |r| <= ln2/2. The result is 2^n exp(r), with exp(r) from its Taylor
 * polynomial of degree 12 (next term 2e-16 at the end of the range). Exactly 1 at 0. From 708 on it is 0,
 * because 2^n would be subnormal; kernel entries that small are below the rounding errors of the others. */
ALWAYS VECTOR vec_exp_negative(VECTOR s)
{
    const double ln2 = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
    const double factorials[] = {1.0 / 479001600.0,
                                 1.0 / 39916800.0,
                                 1.0 / 3628800.0,
                                 1.0 / 362880.0,
                                 1.0 / 40320.0,
                                 1.0 / 5040.0,
                                 1.0 / 720.0,
                                 1.0 / 120.0,
                                 1.0 / 24.0,
                                 1.0 / 6.0,
                                 0.5,
                                 1.0,
                                 1.0};
    VECTOR in_range = _mm256_cmp_pd(s, vec_set(708.0), _CMP_LT_OQ);
    VECTOR x = _mm256_sub_pd(vec_zero(), _mm256_min_pd(s, vec_set(708.0)));
    VECTOR n = _mm256_round_pd(vec_mul(x, vec_set(0x1.71547652b82fep+0)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    VECTOR r = vec_fma(n, vec_set(-ln2), x);
    r = vec_fma(n, vec_set(-ln2_low), r);
    VECTOR p = vec_set(factorials[0]);
    _Pragma("GCC unroll 16") for (size_t i = 1; i < sizeof factorials / sizeof *factorials; i++) p =
        vec_fma(p, r, vec_set(factorials[i]));
    /* Adding 2^52 + 2^51 moves the integer n to the low bits. Shifted up, it is what to add to the
     * exponent. */
    __m256i bits = _mm256_castpd_si256(_mm256_add_pd(n, vec_set(0x1.8p52)));
    __m256i scaled = _mm256_add_epi64(_mm256_castpd_si256(p), _mm256_slli_epi64(bits, 52));
    return _mm256_and_pd(_mm256_castsi256_pd(scaled), in_range);
}

#include "core/simd/entries.h"

const bandit_simd bandit_simd_avx2 = {.name = "avx2",
                                      .entries = entries,
                                      .distances = distances,
                                      .means = means_of_tile,
                                      .norms = norms_of_tile,
                                      .norms_until = norms_until,
                                      .multiply_lower = multiply_lower};

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int bandit_no_avx2; /* ISO C requires a declaration */
#endif
