/* AVX-512: eight doubles per vector. A tile is two vectors, and a panel of R keeps 24 sums in registers. */
#if defined(__x86_64__)

#if !defined(__clang__)
#pragma GCC target("avx2,fma,avx512f,avx512dq")
#endif

#include <assert.h>
#include <immintrin.h>
#include <stdbool.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512dq"))), apply_to = function)
#endif

#define ALWAYS static inline __attribute__((always_inline))
#define VECTOR __m512d
enum { LANES = 8, POINTS = 4, ROWS = 12, WIDTH = 2 };

ALWAYS VECTOR vec_load(const double *p)
{
    return _mm512_loadu_pd(p);
}
ALWAYS void vec_store(double *p, VECTOR a)
{
    _mm512_storeu_pd(p, a);
}
ALWAYS __mmask8 first_lanes(size_t n)
{
    return (__mmask8)((1U << n) - 1);
}
ALWAYS VECTOR vec_load_first(const double *p, size_t n)
{
    return _mm512_maskz_loadu_pd(first_lanes(n), p);
}
ALWAYS void vec_store_first(double *p, VECTOR a, size_t n)
{
    _mm512_mask_storeu_pd(p, first_lanes(n), a);
}
ALWAYS bool vec_all_reach(VECTOR a, VECTOR b)
{
    return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ) == 0xff;
}
ALWAYS VECTOR vec_with_lane(VECTOR a, size_t lane, VECTOR b)
{
    return _mm512_mask_mov_pd(a, (__mmask8)(1U << lane), b);
}
ALWAYS VECTOR vec_set(double a)
{
    return _mm512_set1_pd(a);
}
ALWAYS VECTOR vec_zero(void)
{
    return _mm512_setzero_pd();
}
ALWAYS VECTOR vec_add(VECTOR a, VECTOR b)
{
    return _mm512_add_pd(a, b);
}
ALWAYS VECTOR vec_sub(VECTOR a, VECTOR b)
{
    return _mm512_sub_pd(a, b);
}
ALWAYS VECTOR vec_mul(VECTOR a, VECTOR b)
{
    return _mm512_mul_pd(a, b);
}
ALWAYS VECTOR vec_fma(VECTOR a, VECTOR b, VECTOR c)
{
    return _mm512_fmadd_pd(a, b, c);
}
ALWAYS VECTOR vec_sqrt(VECTOR a)
{
    return _mm512_sqrt_pd(a);
}

/* exp(−s) for s >= 0: −s = (16 n + i) ln2/16 + r, |r| <= ln2/32. The result is 2^n 2^(i/16) exp(r), with
 * exp(r) from its Taylor polynomial of degree 6 (next term 5e-16 at the end of the range). Exactly 1 at 0; 0
 * from 745 on. */
ALWAYS VECTOR vec_exp_negative(VECTOR s)
{
    const VECTOR low = _mm512_setr_pd(0x1p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0,
                                      0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0,
                                      0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0);
    const VECTOR high = _mm512_setr_pd(0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0,
                                       0x1.9c49182a3f09p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0,
                                       0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0);
    const double ln2_16 = 0x1.62e42fefa39efp-5, ln2_16_low = 0x1.abc9e3b39803fp-60;
    VECTOR x = _mm512_sub_pd(vec_zero(), _mm512_min_pd(s, vec_set(746.0)));
    VECTOR steps = _mm512_roundscale_pd(vec_mul(x, vec_set(0x1.71547652b82fep+4)), _MM_FROUND_TO_NEAREST_INT);
    VECTOR r = vec_fma(steps, vec_set(-ln2_16), x);
    r = vec_fma(steps, vec_set(-ln2_16_low), r);
    VECTOR p = vec_fma(r, vec_set(1.0 / 720.0), vec_set(1.0 / 120.0));
    p = vec_fma(p, r, vec_set(1.0 / 24.0));
    p = vec_fma(p, r, vec_set(1.0 / 6.0));
    p = vec_fma(p, r, vec_set(0.5));
    p = vec_fma(p, r, vec_set(1.0));
    p = vec_fma(p, r, vec_set(1.0));
    /* Adding 2^52 + 2^51 moves the integer to the low bits, whose last four are the table index. */
    __m512i index = _mm512_castpd_si512(_mm512_add_pd(steps, vec_set(0x1.8p52)));
    VECTOR table = _mm512_permutex2var_pd(low, index, high);
    return _mm512_scalef_pd(vec_mul(p, table), vec_mul(steps, vec_set(0.0625)));
}

#include "core/simd/entries.h"

const bandit_simd bandit_simd_avx512 = {.name = "avx512",
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
typedef int bandit_no_avx512; /* ISO C requires a declaration */
#endif
