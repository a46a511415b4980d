/* Plain C: kernel entries with libm's exp. The caller computes products by BLAS. */
#include "core/simd/simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double profile_value(bandit_profile profile, double s)
{
    double r;
    switch (profile) {
    case BANDIT_PROFILE_GAUSSIAN:
        return exp(-s);
    case BANDIT_PROFILE_MATERN12:
        return exp(-sqrt(s));
    case BANDIT_PROFILE_MATERN32:
        r = sqrt(s);
        return (1.0 + r) * exp(-r);
    case BANDIT_PROFILE_MATERN52:
        r = sqrt(s);
        return (1.0 + r + s / 3.0) * exp(-r);
    case BANDIT_PROFILE_LINEAR:
        return s;
    case BANDIT_PROFILE_MATRIX:
        break;
    }
    assert(!"a precomputed set has no coordinates");
    return 0.0;
}

static void entries(bandit_profile profile, double short_share, size_t d, const double *tile,
                    const double *points, size_t n, double *out, size_t ld)
{
    const double closer = BANDIT_SHORT_RANGE_SQUARES;
    for (size_t i = 0; i < n; i++) {
        const double *point = points + i * d;
        double s[BANDIT_TILE] = {0.0};
        for (size_t j = 0; j < d; j++) {
            const double *x = tile + j * BANDIT_TILE;
            for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
                double e = profile == BANDIT_PROFILE_LINEAR ? 0.0 : x[lane] - point[j];
                s[lane] += profile == BANDIT_PROFILE_LINEAR ? x[lane] * point[j] : e * e;
            }
        }
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            double k = profile_value(profile, s[lane]);
            if (short_share > 0.0)
                k += short_share * (profile_value(profile, closer * s[lane]) - k);
            out[i * ld + lane] = k;
        }
    }
}

static void distances(size_t d, const double *x, size_t ld, const double *point, double factor, bool rooted,
                      double *out)
{
    double sum[BANDIT_TILE] = {0.0};
    for (size_t j = 0; j < d; j++) {
        for (size_t i = 0; i < BANDIT_TILE; i++) {
            double e = x[j * ld + i] - point[j];
            sum[i] += e * e;
        }
    }
    for (size_t i = 0; i < BANDIT_TILE; i++)
        out[i] = rooted ? sqrt(factor * sum[i]) : factor * sum[i];
}

static void means_of_tile(const double *a, size_t m, const double *k, double *means)
{
    double sums[BANDIT_TILE] = {0.0};
    for (size_t i = 0; i < m; i++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            sums[lane] += a[i] * k[i * BANDIT_TILE + lane];
    }
    memcpy(means, sums, sizeof sums);
}

const bandit_simd bandit_simd_portable = {.name = "portable",
                                          .entries = entries,
                                          .distances = distances,
                                          .means = means_of_tile,
                                          .norms = NULL,
                                          .norms_until = NULL,
                                          .multiply_lower = NULL};
const bandit_simd bandit_simd_plain = {.name = "plain",
                                       .two_norms = true,
                                       .entries = entries,
                                       .distances = distances,
                                       .means = means_of_tile,
                                       .norms = NULL,
                                       .norms_until = NULL,
                                       .multiply_lower = NULL};
