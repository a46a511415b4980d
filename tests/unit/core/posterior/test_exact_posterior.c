/* The exact posterior against formulas computed another way: a dense inverse over all pulls, the recursions
 * of [CG17] App. F over all pairs of arms, and the determinant of I + K/lambda. */
#include "core/posterior/exact_posterior.h"

#include "bandit/rng.h"
#include "tests/support/near.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 83, D = 3, PULLS = 150, SEED = 11 };

static double uniform(uint64_t index)
{
    return bandit_random_uniform(SEED, 0, BANDIT_PURPOSE_UNIFORM, index);
}

typedef struct problem {
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_exact *posterior;
    double lambda;
    double k[N][N]; /* the prior covariance, from its textbook formula */
    uint32_t pulled[PULLS];
    double rewards[PULLS];
    size_t n_pulls;
} problem;

/* Arms 5, 40 and the last are the same point, 7 is within 1e-9 of 6, and 9 is the origin. */
static void make_points(double x[N][D])
{
    for (size_t a = 0; a < N; a++)
        for (size_t j = 0; j < D; j++)
            x[a][j] = uniform(a * D + j);
    memcpy(x[40], x[5], sizeof x[5]);
    memcpy(x[N - 1], x[5], sizeof x[5]);
    memcpy(x[7], x[6], sizeof x[6]);
    x[7][0] += 1e-9;
    memset(x[9], 0, sizeof x[9]);
}

static double textbook(bandit_kernel_type type, double lengthscale, const double *x, const double *y)
{
    double dot = 0.0, r2 = 0.0;
    for (size_t j = 0; j < D; j++) {
        dot += x[j] * y[j];
        r2 += (x[j] - y[j]) * (x[j] - y[j]) / (lengthscale * lengthscale);
    }
    if (type == BANDIT_KERNEL_LINEAR)
        return dot;
    if (type == BANDIT_KERNEL_GAUSSIAN)
        return exp(-r2 / 2.0);
    return (1.0 + sqrt(5.0 * r2) + 5.0 * r2 / 3.0) * exp(-sqrt(5.0 * r2));
}

/* `precomputed`: the same kernel, given to the library as its matrix. */
static problem *make_problem(bandit_kernel_type type, bool precomputed, double lambda)
{
    problem *p = calloc(1, sizeof *p);
    double x[N][D], lengthscale = 0.4;
    assert_non_null(p);
    make_points(x);
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++)
            p->k[a][b] = textbook(type, lengthscale, x[a], x[b]);
    if (precomputed) {
        assert_int_equal(bandit_arms_new_precomputed(&p->arms, N, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(p->arms, 0, N, &p->k[0][0], NULL), BANDIT_OK);
    } else {
        assert_int_equal(bandit_arms_new(&p->arms, N, D, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(p->arms, 0, N, &x[0][0], NULL), BANDIT_OK);
    }
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    bandit_kernel kernel = {.type = precomputed ? BANDIT_KERNEL_PRECOMPUTED : type,
                            .nu = 2.5,
                            .lengthscales = &lengthscale,
                            .n_lengthscales = 1};
    assert_int_equal(bandit_covariance_init(&p->covariance, &kernel, p->arms, NULL), BANDIT_OK);
    p->lambda = lambda;
    assert_int_equal(bandit_exact_new(&p->posterior, &p->covariance, lambda, NULL), BANDIT_OK);

    p->n_pulls = PULLS;
    for (size_t s = 0; s < PULLS; s++) { /* about half the arms, the first few often */
        double u = uniform(1000 + s);
        p->pulled[s] = (uint32_t)(u * u * N * 0.6);
        p->rewards[s] = sin(5.0 * x[p->pulled[s]][0]) + 0.3 * uniform(2000 + s);
    }
    return p;
}

static void free_problem(problem *p)
{
    bandit_exact_free(p->posterior);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
    free(p);
}

static void reserve(problem *p, size_t n_solid, size_t n_hallucinated)
{
    assert_int_equal(bandit_exact_reserve(p->posterior, n_solid, n_hallucinated, 1, NULL), BANDIT_OK);
}

static bandit_pull single(const problem *p, size_t s)
{
    return (bandit_pull){.arm = p->pulled[s], .repeats = 1, .reward = p->rewards[s]};
}

static void observe_one_by_one(problem *p)
{
    reserve(p, PULLS, 0);
    for (size_t s = 0; s < PULLS; s++) {
        bandit_pull pull = single(p, s);
        bandit_exact_observe(p->posterior, &pull, 1, false, &bandit_executor_serial);
    }
}

/* As counts and mean rewards, ascending by arm, in blocks. */
static size_t observe_merged(problem *p)
{
    bandit_pull pulls[N];
    size_t n = 0;
    for (uint32_t a = 0; a < N; a++) {
        bandit_pull pull = {.arm = a};
        for (size_t s = 0; s < PULLS; s++) {
            if (p->pulled[s] == a) {
                pull.repeats++;
                pull.reward += p->rewards[s];
            }
        }
        if (pull.repeats > 0) {
            pull.reward /= (double)pull.repeats;
            pulls[n++] = pull;
        }
    }
    reserve(p, n, 0);
    bandit_exact_observe(p->posterior, pulls, n, true, &bandit_executor_serial);
    return n;
}

/* (K_t + lambda I)^{-1} over all t pulls, one row a pull; also log det(I + K_t/lambda). */
static double dense_inverse(const problem *p, double inverse[PULLS][PULLS])
{
    double log_det = 0.0;
    for (size_t s = 0; s < PULLS; s++) {
        for (size_t r = 0; r < PULLS; r++)
            inverse[s][r] = p->k[p->pulled[s]][p->pulled[r]];
        inverse[s][s] += p->lambda;
    }
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', PULLS, &inverse[0][0], PULLS), 0);
    for (size_t s = 0; s < PULLS; s++)
        log_det += 2.0 * log(inverse[s][s]) - log(p->lambda);
    assert_int_equal(LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', PULLS, &inverse[0][0], PULLS), 0);
    for (size_t s = 0; s < PULLS; s++)
        for (size_t r = 0; r < s; r++)
            inverse[r][s] = inverse[s][r];
    return log_det;
}

static void check_against_dense(const problem *p, double tolerance)
{
    static double inverse[PULLS][PULLS];
    double log_det = dense_inverse(p, inverse);
    const double *mean = bandit_exact_mean(p->posterior), *variance = bandit_exact_variance(p->posterior);
    for (size_t a = 0; a < N; a++) {
        double mu = 0.0, v = p->k[a][a];
        for (size_t s = 0; s < PULLS; s++) {
            double weight = 0.0;
            for (size_t r = 0; r < PULLS; r++)
                weight += inverse[s][r] * p->k[a][p->pulled[r]];
            mu += weight * p->rewards[s];
            v -= weight * p->k[a][p->pulled[s]];
        }
        assert_near(mean[a], mu, tolerance);
        assert_near(variance[a], v, tolerance);
        assert_true(variance[a] >= 0.0);
    }
    assert_near(bandit_exact_information_gain(p->posterior), 0.5 * log_det, tolerance * log_det);
    /* the mean is sum_s alpha_s k(x_s, .): its norm is alpha' K alpha */
    double alpha[PULLS] = {0}, norm2 = 0.0;
    for (size_t s = 0; s < PULLS; s++)
        for (size_t r = 0; r < PULLS; r++)
            alpha[s] += inverse[s][r] * p->rewards[r];
    for (size_t s = 0; s < PULLS; s++)
        for (size_t r = 0; r < PULLS; r++)
            norm2 += alpha[s] * p->k[p->pulled[s]][p->pulled[r]] * alpha[r];
    assert_near(bandit_exact_mean_norm(p->posterior), sqrt(norm2), tolerance * (1.0 + sqrt(norm2)));
}

static void each_kernel(void (*check)(bandit_kernel_type type, bool precomputed))
{
    check(BANDIT_KERNEL_GAUSSIAN, false);
    check(BANDIT_KERNEL_MATERN, false);
    check(BANDIT_KERNEL_LINEAR, false);
    check(BANDIT_KERNEL_MATERN, true);
    check(BANDIT_KERNEL_LINEAR, true);
}

static void dense_check(bandit_kernel_type type, bool precomputed)
{
    problem *p = make_problem(type, precomputed, 0.05);
    observe_one_by_one(p);
    assert_int_equal(bandit_exact_solid(p->posterior), PULLS);
    check_against_dense(p, 1e-9);
    bandit_exact_reset(p->posterior);
    size_t n = observe_merged(p);
    assert_true(n < PULLS / 2);
    assert_int_equal(bandit_exact_solid(p->posterior), n);
    check_against_dense(p, 1e-9);
    /* Blocks that begin at odd places, and one that would go on in the next chunk. */
    bandit_pull pulls[PULLS];
    for (size_t s = 0; s < PULLS; s++)
        pulls[s] = single(p, s);
    bandit_exact_reset(p->posterior);
    reserve(p, PULLS, 0);
    bandit_exact_observe(p->posterior, pulls, 45, false, &bandit_executor_serial);
    bandit_exact_observe(p->posterior, pulls + 45, PULLS - 45, true, &bandit_executor_serial);
    check_against_dense(p, 1e-9);
    free_problem(p);
}

static void one_by_one_and_merged_equal_the_dense_inverse(void **state)
{
    (void)state;
    each_kernel(dense_check);
}

/* (19)–(21) of [CG17] App. F, over all pairs of arms. */
static void recursion_check(bandit_kernel_type type, bool precomputed)
{
    problem *p = make_problem(type, precomputed, 0.02);
    static double k[N][N];
    double mu[N] = {0.0};
    memcpy(k, p->k, sizeof k);
    reserve(p, PULLS, 0);
    for (size_t s = 0; s < PULLS; s++) {
        uint32_t x = p->pulled[s];
        double column[N], gain = 1.0 / (p->lambda + k[x][x]), surprise = p->rewards[s] - mu[x];
        for (size_t a = 0; a < N; a++)
            column[a] = k[a][x];
        for (size_t a = 0; a < N; a++) {
            mu[a] += column[a] * gain * surprise;
            for (size_t b = 0; b < N; b++)
                k[a][b] -= column[a] * column[b] * gain;
        }
        bandit_pull pull = single(p, s);
        bandit_exact_observe(p->posterior, &pull, 1, false, &bandit_executor_serial);
        for (size_t a = 0; a < N; a++) {
            assert_near(bandit_exact_mean(p->posterior)[a], mu[a], 1e-9);
            assert_near(bandit_exact_variance(p->posterior)[a], k[a][a], 1e-9);
        }
    }
    free_problem(p);
}

static void every_step_equals_the_recursions(void **state)
{
    (void)state;
    each_kernel(recursion_check);
}

static void hallucinating_moves_the_selection_variance_only(void **state)
{
    (void)state;
    problem *p = make_problem(BANDIT_KERNEL_MATERN, false, 0.05),
            *q = make_problem(BANDIT_KERNEL_MATERN, false, 0.05);
    double mean[N], variance[N];
    observe_one_by_one(p);
    memcpy(mean, bandit_exact_mean(p->posterior), sizeof mean);
    memcpy(variance, bandit_exact_variance(p->posterior), sizeof variance);

    /* q observes what p imagines: variances do not depend on rewards. */
    observe_one_by_one(q);
    reserve(p, PULLS, 40);
    reserve(q, PULLS + 40, 0);
    for (uint32_t s = 0; s < 40; s++) {
        uint32_t arm = s * 7 % N;
        double before = bandit_exact_selection_variance(p->posterior)[arm];
        assert_near(bandit_exact_hallucinate(p->posterior, arm, &bandit_executor_serial), before, 0.0);
        bandit_pull pull = {.arm = arm, .repeats = 1, .reward = 3.0};
        bandit_exact_observe(q->posterior, &pull, 1, false, &bandit_executor_serial);
        assert_memory_equal(bandit_exact_selection_variance(p->posterior),
                            bandit_exact_variance(q->posterior), sizeof variance);
    }
    assert_int_equal(bandit_exact_hallucinated(p->posterior), 40);
    assert_memory_equal(bandit_exact_mean(p->posterior), mean, sizeof mean);
    assert_memory_equal(bandit_exact_variance(p->posterior), variance, sizeof variance);
    bandit_exact_forget(p->posterior);
    assert_memory_equal(bandit_exact_selection_variance(p->posterior), variance, sizeof variance);
    free_problem(p);
    free_problem(q);
}

static void points_are_predicted_as_the_arms_there(void **state)
{
    (void)state;
    problem *p = make_problem(BANDIT_KERNEL_GAUSSIAN, false, 0.05);
    double x[N][D], mean[N], variance[N];
    make_points(x);
    for (int pulled = 0; pulled < 2; pulled++) {
        if (pulled)
            observe_merged(p);
        assert_int_equal(bandit_exact_predict(p->posterior, &x[0][0], N, mean, variance, NULL), BANDIT_OK);
        for (size_t a = 0; a < N; a++) {
            assert_near(mean[a], bandit_exact_mean(p->posterior)[a], 1e-10);
            assert_near(variance[a], bandit_exact_variance(p->posterior)[a], 1e-10);
            assert_true(variance[a] >= 0.0);
        }
    }
    free_problem(p);
}

static void equal_arms_have_equal_bits(void **state)
{
    (void)state;
    problem *p = make_problem(BANDIT_KERNEL_MATERN, false, 0.05);
    observe_merged(p);
    reserve(p, bandit_exact_solid(p->posterior) + 1, 1);
    bandit_pull pull = {.arm = 5, .repeats = 1, .reward = 1.0};
    bandit_exact_observe(p->posterior, &pull, 1, false, &bandit_executor_serial);
    bandit_exact_hallucinate(p->posterior, 40, &bandit_executor_serial);
    const double *arrays[] = {bandit_exact_mean(p->posterior), bandit_exact_variance(p->posterior),
                              bandit_exact_selection_variance(p->posterior)};
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(&arrays[i][5], &arrays[i][40], sizeof(double));
        assert_memory_equal(&arrays[i][5], &arrays[i][N - 1], sizeof(double));
    }
    free_problem(p);
}

/* 10^5 pulls of three near-duplicates at a tiny lambda: variances come down to lambda / n, never below 0. */
static void variances_stay_variances(void **state)
{
    (void)state;
    const double lambda = 1e-6;
    problem *p = make_problem(BANDIT_KERNEL_GAUSSIAN, false, lambda);
    uint64_t repeats = 100000;
    reserve(p, 64, 64);
    for (size_t s = 0; s < 64; s++) {
        bandit_pull pull = {.arm = (uint32_t)(5 + s % 3), .repeats = repeats, .reward = 0.5};
        bandit_exact_observe(p->posterior, &pull, 1, false, &bandit_executor_serial);
        bandit_exact_hallucinate(p->posterior, 6, &bandit_executor_serial);
        for (size_t a = 0; a < N; a++) {
            assert_true(bandit_exact_variance(p->posterior)[a] >= 0.0);
            assert_true(bandit_exact_selection_variance(p->posterior)[a] >= 0.0);
        }
        bandit_exact_forget(p->posterior);
    }
    assert_true(bandit_exact_variance(p->posterior)[5] < 2.0 * lambda / (double)repeats);
    assert_near(bandit_exact_mean(p->posterior)[5], 0.5, 1e-6);
    free_problem(p);
}

/* Parts in descending order, on worker 1 of 2. */
static void backwards(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    while (n-- > 0)
        task(arg, n, 1);
}

static void the_executor_changes_no_bit(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    const bandit_executor executor = {.for_each = backwards, .workers = 2};
    double lengthscale = 0.1, *results[2];
    double *x = malloc(MANY * sizeof *x);
    assert_non_null(x);
    for (size_t a = 0; a < MANY; a++)
        x[a] = uniform(a);
    for (int i = 0; i < 2; i++) {
        bandit_arms *arms;
        bandit_covariance covariance;
        bandit_exact *posterior;
        const bandit_executor *chosen = i ? &executor : &bandit_executor_serial;
        bandit_kernel kernel = {
            .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
        assert_int_equal(bandit_arms_new(&arms, MANY, 1, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, MANY, x, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, MANY, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_exact_new(&posterior, &covariance, 0.01, NULL), BANDIT_OK);
        assert_int_equal(bandit_exact_reserve(posterior, 100, 0, chosen->workers, NULL), BANDIT_OK);
        for (uint32_t s = 0; s < 100; s += 50) {
            bandit_pull pulls[50];
            for (uint32_t j = 0; j < 50; j++)
                pulls[j] = (bandit_pull){.arm = (s + j) * 37, .repeats = 1, .reward = sin(s + j)};
            bandit_exact_observe(posterior, pulls, 50, s == 0, chosen);
        }
        results[i] = malloc(2 * MANY * sizeof(double));
        assert_non_null(results[i]);
        memcpy(results[i], bandit_exact_mean(posterior), MANY * sizeof(double));
        memcpy(results[i] + MANY, bandit_exact_variance(posterior), MANY * sizeof(double));
        bandit_exact_free(posterior);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
    assert_memory_equal(results[0], results[1], 2 * MANY * sizeof(double));
    free(results[0]);
    free(results[1]);
    free(x);
}

static void the_memory_promised_is_the_memory_held(void **state)
{
    (void)state;
    problem *p = make_problem(BANDIT_KERNEL_GAUSSIAN, false, 0.05);
    size_t first = bandit_exact_need(NULL, &p->covariance, 1, 0, 1);
    reserve(p, 1, 0);
    assert_int_equal(first, bandit_exact_memory(p->posterior));
    for (size_t n_solid = 1; n_solid <= 400; n_solid += 1 + n_solid / 7) { /* as they grow */
        size_t need = bandit_exact_need(p->posterior, &p->covariance, n_solid, n_solid / 2, 1);
        reserve(p, n_solid, n_solid / 2);
        assert_int_equal(need, bandit_exact_memory(p->posterior));
    }
    free_problem(p);
}

/* There is room for so many columns more where reserving them would hold nothing more, and for so many
 * workers; what is promised for several workers is held as well, and for no columns what a new one holds. */
static void there_is_room_where_nothing_more_would_be_held(void **state)
{
    static const size_t solid[] = {10, 64, 90, 192, 210}, hallucinated[] = {0, 0, 14, 0, 28};
    size_t with = 0, without = 0;
    (void)state;
    problem *p = make_problem(BANDIT_KERNEL_GAUSSIAN, false, 0.05);
    assert_int_equal(bandit_exact_need(NULL, &p->covariance, 0, 0, 4), bandit_exact_memory(p->posterior));
    for (size_t step = 0; step < 5; step++) {
        size_t workers = 1 + 2 * step % 5, n = solid[step], need;
        need = bandit_exact_need(p->posterior, &p->covariance, n, hallucinated[step], workers);
        assert_int_equal(bandit_exact_reserve(p->posterior, n, hallucinated[step], workers, NULL), BANDIT_OK);
        assert_int_equal(need, bandit_exact_memory(p->posterior));
        while (bandit_exact_solid(p->posterior) < n) {
            bandit_pull pull = single(p, bandit_exact_solid(p->posterior) % PULLS);
            bandit_exact_observe(p->posterior, &pull, 1, false, &bandit_executor_serial);
        }
        for (size_t more = 0; more < 150; more++) {
            for (size_t of = 1; of <= 6; of++) {
                bool room = bandit_exact_has_room(p->posterior, more, of);
                need = bandit_exact_need(p->posterior, &p->covariance, n, more, of);
                assert_true(room == (need == bandit_exact_memory(p->posterior)));
                with += room;
                without += !room;
            }
        }
    }
    assert_true(with > 100 && without > 100);
    /* more than there are addresses for; what would be twice that does not come round to less */
    assert_int_equal(bandit_exact_need(NULL, &p->covariance, (size_t)1 << 54, 0, 1), SIZE_MAX / 2);
    assert_int_equal(bandit_exact_need(NULL, &p->covariance, (size_t)1 << 55, 0, 1), SIZE_MAX / 2);
    free_problem(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one_and_merged_equal_the_dense_inverse),
        cmocka_unit_test(every_step_equals_the_recursions),
        cmocka_unit_test(hallucinating_moves_the_selection_variance_only),
        cmocka_unit_test(points_are_predicted_as_the_arms_there),
        cmocka_unit_test(equal_arms_have_equal_bits),
        cmocka_unit_test(variances_stay_variances),
        cmocka_unit_test(the_executor_changes_no_bit),
        cmocka_unit_test(the_memory_promised_is_the_memory_held),
        cmocka_unit_test(there_is_room_where_nothing_more_would_be_held),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
