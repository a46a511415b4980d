/* Every version of the inner loops that this processor runs, against libm in long double and plain sums. */
#include "core/simd/simd.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[] = {"avx512", "avx2", "portable", "plain"};
enum { NAMES = sizeof names / sizeof *names };

/* Deterministic numbers in (−1, 1). */
static double number(size_t i)
{
    return sin(0.5 + 78.233 * (double)i);
}

/* In one dimension with the point at 0, Matérn 1/2's entry is exp(−|x|). */
static void exponentials(void **state)
{
    (void)state;
    for (size_t v = 0; v < NAMES; v++) {
        const bandit_simd *version = bandit_simd_named(names[v]);
        double tile[BANDIT_TILE], point = 0.0, out[BANDIT_TILE], worst = 0.0;
        if (!version)
            continue;
        for (size_t i = 0; i < 50000; i++) {
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                tile[lane] =
                    0x1p-30 * floor(0x1p30 * (700.0 * pow((double)i / 50000.0, 3.0) + 1e-3 * (double)lane));
            version->entries(BANDIT_PROFILE_MATERN12, 0.0, 1, tile, &point, 1, out, BANDIT_TILE);
            for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
                long double exact = expl(-(long double)tile[lane]);
                worst = fmax(worst, (double)fabsl((out[lane] - exact) / exact));
            }
        }
        print_message("%s: exp to %.2g\n", version->name, worst);
        assert_true(worst < 1e-15);

        const double far[] = {0.0, 1e-300, 744.0, 1e3, 1e8, 1e150, 1e160, 710.0};
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            tile[lane] = far[lane % 8];
        version->entries(BANDIT_PROFILE_MATERN12, 0.0, 1, tile, &point, 1, out, BANDIT_TILE);
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            assert_true(fabs(out[lane] - exp(-far[lane % 8])) <= 1e-15 * exp(-far[lane % 8]) + 1e-307);
            assert_true(lane % 8 > 1 || out[lane] == 1.0);
        }
    }
}

/* Entries do not depend on the lane, the number of points in the call, or the other points. */
static void entries_depend_on_the_arm_alone(void **state)
{
    enum { D = 7, N = 11 };
    double tile[D * BANDIT_TILE], turned[D * BANDIT_TILE], points[N * D], all[N * BANDIT_TILE],
        one[BANDIT_TILE];
    (void)state;
    for (size_t i = 0; i < N * D; i++)
        points[i] = number(i);
    for (size_t j = 0; j < D; j++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            tile[j * BANDIT_TILE + lane] = number(1000 + j * BANDIT_TILE + lane);
            turned[j * BANDIT_TILE + (lane + 5) % BANDIT_TILE] = tile[j * BANDIT_TILE + lane];
        }
    }
    for (size_t v = 0; v < NAMES; v++) {
        const bandit_simd *version = bandit_simd_named(names[v]);
        for (int kind = 0; version && kind < 2 * BANDIT_PROFILE_MATRIX; kind++) {
            int profile = kind / 2;
            double share = kind % 2 ? 0.3 : 0.0;
            version->entries((bandit_profile)profile, share, D, tile, points, N, all, BANDIT_TILE);
            for (size_t i = 0; i < N; i++) {
                version->entries((bandit_profile)profile, share, D, turned, points + i * D, 1, one,
                                 BANDIT_TILE);
                for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                    assert_true(all[i * BANDIT_TILE + lane] == one[(lane + 5) % BANDIT_TILE]);
            }
        }
    }
}

/* A short share adds the entries of coordinates that are further apart. The linear kernel has none. */
static void a_second_range_is_added(void **state)
{
    enum { D = 3, N = 5 };
    double tile[D * BANDIT_TILE], points[N * D], apart[D * BANDIT_TILE], points_apart[N * D];
    double one[N * BANDIT_TILE], other[N * BANDIT_TILE], both[N * BANDIT_TILE];
    (void)state;
    for (size_t i = 0; i < N * D; i++) {
        points[i] = number(i);
        points_apart[i] = points[i] / BANDIT_SHORT_RANGE;
    }
    for (size_t i = 0; i < D * BANDIT_TILE; i++) {
        tile[i] = number(1000 + i);
        apart[i] = tile[i] / BANDIT_SHORT_RANGE;
    }
    for (size_t v = 0; v < NAMES; v++) {
        const bandit_simd *version = bandit_simd_named(names[v]);
        for (int kind = 0; version && kind < BANDIT_PROFILE_MATRIX; kind++) {
            bandit_profile profile = (bandit_profile)kind;
            double share = profile == BANDIT_PROFILE_LINEAR ? 0.0 : 0.3;
            version->entries(profile, 0.0, D, tile, points, N, one, BANDIT_TILE);
            version->entries(profile, 0.0, D, apart, points_apart, N, other, BANDIT_TILE);
            version->entries(profile, share, D, tile, points, N, both, BANDIT_TILE);
            for (size_t i = 0; i < N * BANDIT_TILE; i++)
                assert_true(fabs(both[i] - (1.0 - share) * one[i] - share * other[i]) <
                            1e-14 * (1.0 + fabs(one[i])));
        }
    }
}

/* Stops only where all lanes that it stops for have what they need, and with no more than all rows give. */
static void norms_until_enough(const bandit_simd *version, const double *packed, size_t m, const double *k,
                               const double *norms)
{
    double need[BANDIT_TILE], part[BANDIT_TILE];
    bool whole[BANDIT_TILE];
    if (!version->norms_until)
        return;
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        need[lane] = INFINITY;
    version->norms_until(packed, m, k, need, part, whole);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        assert_true(whole[lane] && part[lane] == norms[lane]);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        need[lane] = 0.5 * norms[lane];
    version->norms_until(packed, m, k, need, part, whole);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
        assert_true(part[lane] >= need[lane] && part[lane] <= norms[lane]);
        assert_true(!whole[lane] || part[lane] == norms[lane]);
    }
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        need[lane] = 0.0;
    version->norms_until(packed, m, k, need, part, whole);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        assert_true(whole[lane] == (m <= BANDIT_PANEL));
}

static void norms_and_means(void **state)
{
    static const size_t sizes[] = {1, 5, 12, 13, 24, 37, 100};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t m = sizes[s];
        double *R = calloc(m * m, sizeof *R), *packed = calloc(bandit_simd_packed_size(m), sizeof *packed);
        double *a = calloc(m, sizeof *a), *k = calloc(m * BANDIT_TILE, sizeof *k);
        assert_true(R && packed && a && k);
        for (size_t i = 0; i < m * m; i++)
            R[i] = number(i); /* the upper triangle must not count */
        for (size_t i = 0; i < m * BANDIT_TILE; i++)
            k[i] = number(7777 + i);
        for (size_t i = 0; i < m; i++)
            a[i] = number(99 + i);
        bandit_simd_pack(packed, R, m);
        for (size_t v = 0; v < NAMES; v++) {
            const bandit_simd *version = bandit_simd_named(names[v]);
            double norms[BANDIT_TILE], means[BANDIT_TILE], alone[BANDIT_TILE];
            if (!version)
                continue;
            version->means(a, m, k, alone);
            if (version->norms)
                version->norms(packed, a, m, k, norms, means);
            norms_until_enough(version, packed, m, k, norms);
            for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
                double norm = 0.0, mean = 0.0;
                for (size_t row = 0; row < m; row++) {
                    double sum = 0.0;
                    for (size_t i = 0; i <= row; i++)
                        sum += R[i * m + row] * k[i * BANDIT_TILE + lane];
                    norm += sum * sum;
                    mean += a[row] * k[row * BANDIT_TILE + lane];
                }
                assert_true(fabs(alone[lane] - mean) <= 1e-12 * (double)m);
                if (!version->norms)
                    continue;
                assert_true(fabs(norms[lane] - norm) <= 1e-12 * (1.0 + norm));
                assert_true(means[lane] == alone[lane]);
            }
        }
        free(R);
        free(packed);
        free(a);
        free(k);
    }
}

static void distances(void **state)
{
    enum { D = 7, LD = 3 * BANDIT_TILE, FIRST = 5 };
    double x[D * LD], point[D], out[BANDIT_TILE];
    (void)state;
    for (size_t i = 0; i < D * LD; i++)
        x[i] = number(i);
    for (size_t j = 0; j < D; j++)
        point[j] = number(3333 + j);
    for (size_t v = 0; v < NAMES; v++) {
        const bandit_simd *version = bandit_simd_named(names[v]);
        for (int rooted = 0; version && rooted < 2; rooted++) {
            version->distances(D, x + FIRST, LD, point, 3.7, rooted, out);
            for (size_t i = 0; i < BANDIT_TILE; i++) {
                double sum = 0.0;
                for (size_t j = 0; j < D; j++) {
                    double e = x[j * LD + FIRST + i] - point[j];
                    sum += e * e;
                }
                assert_true(out[i] == (rooted ? sqrt(3.7 * sum) : 3.7 * sum)); /* to the bit */
            }
        }
    }
}

/* Neither what stands above the diagonal nor what lies beyond the last row shows in the product. */
static void triangles(void **state)
{
    enum { MOST = 64, LD = MOST + 3 };
    static double a[MOST * LD];
    (void)state;
    for (size_t v = 0; v < NAMES; v++) {
        const bandit_simd *version = bandit_simd_named(names[v]);
        for (size_t n = 1; version && version->multiply_lower && n <= MOST; n++) {
            double x[MOST + 1], before[MOST];
            for (size_t k = 0; k < n; k++) {
                for (size_t i = 0; i < LD; i++)
                    a[k * LD + i] = i >= k && i < n ? number(k * LD + i) : NAN;
                x[k] = before[k] = number(4444 + k);
            }
            x[n] = 17.0;
            version->multiply_lower(n, a, LD, x);
            for (size_t i = 0; i < n; i++) {
                long double sum = 0.0;
                for (size_t k = 0; k <= i; k++)
                    sum += (long double)a[k * LD + i] * before[k];
                assert_true(fabsl(x[i] - sum) <= 1e-15 * (double)n);
            }
            assert_true(x[n] == 17.0);
        }
    }
}

static void choosing(void **state)
{
    (void)state;
    assert_null(bandit_simd_named("sse9"));
    assert_ptr_equal(bandit_simd_named(bandit_simd_best()->name), bandit_simd_best());
    assert_false(bandit_simd_best()->two_norms);
    assert_non_null(bandit_simd_named("portable"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials),
        cmocka_unit_test(entries_depend_on_the_arm_alone),
        cmocka_unit_test(a_second_range_is_added),
        cmocka_unit_test(norms_and_means),
        cmocka_unit_test(distances),
        cmocka_unit_test(triangles),
        cmocka_unit_test(choosing),
    };
    return cmocka_run_group_tests_name("simd", tests, NULL, NULL);
}
