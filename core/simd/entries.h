/* Kernel entries and products with them. The including file defines its vectors:
 *   VECTOR, LANES, ALWAYS, vec_load, vec_store, vec_set, vec_zero, vec_add, vec_sub, vec_mul,
 *   vec_fma (a b + c), vec_sqrt, vec_exp_negative (exp(−s), s >= 0),
 *   vec_load_first, vec_store_first (the first n lanes; zeros in the others),
 *   vec_with_lane (a, with that lane of b), vec_all_reach (is a >= b in every lane?)
 *
 * Distances are computed from direct differences, which do not cancel for near-duplicates. */
#include "core/simd/simd.h"

enum { VECTORS = BANDIT_TILE / LANES };

ALWAYS VECTOR profile_value(bandit_profile profile, VECTOR s)
{
    if (profile == BANDIT_PROFILE_GAUSSIAN)
        return vec_exp_negative(s);
    if (profile == BANDIT_PROFILE_LINEAR)
        return s;
    VECTOR r = vec_sqrt(s), e = vec_exp_negative(r);
    if (profile == BANDIT_PROFILE_MATERN12)
        return e;
    if (profile == BANDIT_PROFILE_MATERN32)
        return vec_fma(r, e, e);
    return vec_mul(vec_fma(s, vec_set(1.0 / 3.0), vec_fma(r, vec_set(1.0), vec_set(1.0))), e);
}

/* `two`, a compile-time constant: whether the kernel has a part with a shorter range. */
ALWAYS VECTOR kernel_value(bandit_profile profile, bool two, double short_share, VECTOR s)
{
    VECTOR k = profile_value(profile, s);
    if (!two)
        return k;
    VECTOR near = profile_value(profile, vec_mul(vec_set(BANDIT_SHORT_RANGE_SQUARES), s));
    return vec_fma(vec_set(short_share), vec_sub(near, k), k);
}

/* Kernel entries of `count` points, a compile-time constant, with the whole tile, so that the tile's
 * coordinates are loaded once for all of them. */
ALWAYS void points_entries(bandit_profile profile, bool two, double short_share, size_t d, const double *tile,
                           const double *points, size_t count, double *out, size_t ld)
{
    VECTOR s[POINTS][VECTORS];
    _Pragma("GCC unroll 8") for (size_t i = 0; i < count; i++)
    {
        _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++) s[i][v] = vec_zero();
    }
    for (size_t j = 0; j < d; j++) {
        _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++)
        {
            VECTOR x = vec_load(tile + j * BANDIT_TILE + v * LANES);
            _Pragma("GCC unroll 8") for (size_t i = 0; i < count; i++)
            {
                VECTOR p = vec_set(points[i * d + j]);
                if (profile == BANDIT_PROFILE_LINEAR) {
                    s[i][v] = vec_fma(x, p, s[i][v]);
                } else {
                    VECTOR e = vec_sub(x, p);
                    s[i][v] = vec_fma(e, e, s[i][v]);
                }
            }
        }
    }
    _Pragma("GCC unroll 8") for (size_t i = 0; i < count; i++)
    {
        _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++)
            vec_store(out + i * ld + v * LANES, kernel_value(profile, two, short_share, s[i][v]));
    }
}

ALWAYS void all_entries(bandit_profile profile, bool two, double short_share, size_t d, const double *tile,
                        const double *points, size_t n, double *out, size_t ld)
{
    size_t i = 0;
    for (; i + POINTS <= n; i += POINTS)
        points_entries(profile, two, short_share, d, tile, points + i * d, POINTS, out + i * ld, ld);
    for (; i < n; i++)
        points_entries(profile, two, short_share, d, tile, points + i * d, 1, out + i * ld, ld);
}

ALWAYS void stationary_entries(bandit_profile profile, double short_share, size_t d, const double *tile,
                               const double *points, size_t n, double *out, size_t ld)
{
    if (short_share > 0.0)
        all_entries(profile, true, short_share, d, tile, points, n, out, ld);
    else
        all_entries(profile, false, 0.0, d, tile, points, n, out, ld);
}

static void entries(bandit_profile profile, double short_share, size_t d, const double *tile,
                    const double *points, size_t n, double *out, size_t ld)
{
    switch (profile) {
    case BANDIT_PROFILE_GAUSSIAN:
        stationary_entries(BANDIT_PROFILE_GAUSSIAN, short_share, d, tile, points, n, out, ld);
        break;
    case BANDIT_PROFILE_MATERN12:
        stationary_entries(BANDIT_PROFILE_MATERN12, short_share, d, tile, points, n, out, ld);
        break;
    case BANDIT_PROFILE_MATERN32:
        stationary_entries(BANDIT_PROFILE_MATERN32, short_share, d, tile, points, n, out, ld);
        break;
    case BANDIT_PROFILE_MATERN52:
        stationary_entries(BANDIT_PROFILE_MATERN52, short_share, d, tile, points, n, out, ld);
        break;
    case BANDIT_PROFILE_LINEAR:
        all_entries(BANDIT_PROFILE_LINEAR, false, 0.0, d, tile, points, n, out, ld);
        break;
    case BANDIT_PROFILE_MATRIX:
        assert(!"a precomputed set has no coordinates");
        break;
    }
}

static void distances(size_t d, const double *x, size_t ld, const double *point, double factor, bool rooted,
                      double *out)
{
    VECTOR sum[VECTORS];
    _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++) sum[v] = vec_zero();
    for (size_t j = 0; j < d; j++) {
        VECTOR p = vec_set(point[j]);
        _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++)
        {
            VECTOR e = vec_sub(vec_load(x + j * ld + v * LANES), p);
            sum[v] = vec_add(sum[v], vec_mul(e, e));
        }
    }
    _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++)
    {
        VECTOR scaled = vec_mul(vec_set(factor), sum[v]);
        vec_store(out + v * LANES, rooted ? vec_sqrt(scaled) : scaled);
    }
}

/* a'k for WIDTH vectors of a tile. */
ALWAYS void lanes_means(const double *a, size_t m, const double *k, double *means)
{
    VECTOR mean[WIDTH];
    _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) mean[v] = vec_zero();
    for (size_t i = 0; i < m; i++) {
        VECTOR weight = vec_set(a[i]);
        _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) mean[v] =
            vec_fma(weight, vec_load(k + i * BANDIT_TILE + v * LANES), mean[v]);
    }
    _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) vec_store(means + v * LANES, mean[v]);
}

static void means_of_tile(const double *a, size_t m, const double *k, double *means)
{
    for (size_t lane = 0; lane < BANDIT_TILE; lane += (size_t)WIDTH * LANES)
        lanes_means(a, m, k + lane, means + lane);
}

/* |R k|^2 for WIDTH vectors of a tile, by panels of R, each for all k. With `need`, it stops as soon as every
 * lane has reached its entry of `need`. Returns whether all panels were used. */
ALWAYS bool lanes_norms(const double *packed, size_t m, const double *k, const double *need, double *norms)
{
    VECTOR norm[WIDTH];
    bool left = true; /* some lane has not reached its `need` */
    _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) norm[v] = vec_zero();
    size_t first = 0;
    for (; first < m && left; first += BANDIT_PANEL) {
        size_t columns = first + BANDIT_PANEL < m ? first + BANDIT_PANEL : m;
        for (size_t part = 0; part < BANDIT_PANEL; part += ROWS) {
            VECTOR sum[ROWS][WIDTH];
            _Pragma("GCC unroll 16") for (size_t row = 0; row < ROWS; row++)
            {
                _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) sum[row][v] = vec_zero();
            }
            for (size_t i = 0; i < columns; i++) {
                VECTOR x[WIDTH];
                const double *r = packed + i * BANDIT_PANEL + part;
                _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) x[v] =
                    vec_load(k + i * BANDIT_TILE + v * LANES);
                _Pragma("GCC unroll 16") for (size_t row = 0; row < ROWS; row++)
                {
                    VECTOR weight = vec_set(r[row]);
                    _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) sum[row][v] =
                        vec_fma(weight, x[v], sum[row][v]);
                }
            }
            _Pragma("GCC unroll 16") for (size_t row = 0; row < ROWS; row++)
            {
                _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) norm[v] =
                    vec_fma(sum[row][v], sum[row][v], norm[v]);
            }
        }
        packed += columns * BANDIT_PANEL;
        if (need) {
            left = false;
            _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) left |=
                !vec_all_reach(norm[v], vec_load(need + v * LANES));
        }
    }
    _Pragma("GCC unroll 8") for (size_t v = 0; v < WIDTH; v++) vec_store(norms + v * LANES, norm[v]);
    return first >= m;
}

static void norms_of_tile(const double *packed, const double *a, size_t m, const double *k, double *norms,
                          double *means)
{
    for (size_t lane = 0; lane < BANDIT_TILE; lane += (size_t)WIDTH * LANES) {
        lanes_means(a, m, k + lane, means + lane);
        lanes_norms(packed, m, k + lane, NULL, norms + lane);
    }
}

static void norms_until(const double *packed, size_t m, const double *k, const double *need, double *norms,
                        bool *whole)
{
    for (size_t lane = 0; lane < BANDIT_TILE; lane += (size_t)WIDTH * LANES) {
        bool all = lanes_norms(packed, m, k + lane, need + lane, norms + lane);
        for (size_t i = 0; i < (size_t)WIDTH * LANES; i++)
            whole[lane + i] = all;
    }
}

/* Writes rows first … first + rows − 1 of A x to x. Only the part of A in those rows is used, from its last
 * column to its first. Entries above the diagonal are read; the lanes that they affect are overwritten
 * afterwards. */
ALWAYS void rows_of_product(size_t first, size_t rows, const double *a, size_t ld, double *x)
{
    VECTOR sum = vec_zero();
    for (size_t k = first + rows; k-- > first;) {
        VECTOR column = vec_load_first(a + k * ld + first, rows), factor = vec_set(x[k]);
        sum = vec_with_lane(vec_fma(factor, column, sum), k - first, vec_mul(factor, column));
    }
    for (size_t k = first; k-- > 0;)
        sum = vec_fma(vec_set(x[k]), vec_load_first(a + k * ld + first, rows), sum);
    vec_store_first(x + first, sum, rows);
}

static void multiply_lower(size_t n, const double *a, size_t ld, double *x)
{
    size_t whole = n / LANES * LANES;
    if (whole < n)
        rows_of_product(whole, n - whole, a, ld, x);
    for (size_t end = whole; end > 0; end -= LANES)
        rows_of_product(end - LANES, LANES, a, ld, x);
}
