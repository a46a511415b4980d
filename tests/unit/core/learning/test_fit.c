/* Learning hyper-parameters: what is learned from data whose hyper-parameters are known, and from poor ones.
 */
#include "bandit/fit.h"
#include "core/learning/likelihood.h"
#include "tests/support/dense_gp.h"
#include "tests/support/fit_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const bandit_fit_limits limits = {.max_inducing = 64, .max_evaluations = 60};

/* A draw of a Gaussian process at the problem's points, plus noise. */
static void draw(fit_problem *p, const double *theta, uint64_t seed)
{
    size_t n = p->data.n, q = p->data.n_lengthscales;
    uint64_t state = seed;
    static double a[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS];
    double z[FIT_PROBLEM_POINTS];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = exp(theta[q]) * (fit_problem_kernel(p, theta, i, j) + (i == j ? 1e-9 : 0.0));
        z[i] = dense_normal(&state);
    }
    dense_factorize(a, n);
    for (size_t i = 0; i < n; i++) {
        p->mean[i] = sqrt(exp(theta[q + 1])) * dense_normal(&state);
        p->count[i] = 1.0;
        for (size_t k = 0; k <= i; k++)
            p->mean[i] += a[i * n + k] * z[k];
    }
    p->data.within = p->data.within_degrees = 0.0;
}

static void lengthscales_of_a_draw_are_found(void **unused)
{
    (void)unused;
    static fit_problem p;
    double relevant[2] = {0.0, 0.0}, irrelevant = INFINITY;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const double truth[] = {log(0.3), log(0.3), log(50.0), log(1.0), log(1e-4)};
        double found[3] = {1.0, 1.0, 1.0};
        fit_problem_init(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 64, 3);
        draw(&p, truth, 100 + seed);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        double objective, true_value;
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &objective, NULL, NULL, &bandit_executor_serial, NULL),
            BANDIT_OK);
        bandit_likelihood o;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, found, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_evaluate(&o, truth, &true_value, NULL));
        assert_true(objective > true_value); /* the maximum is no worse than the truth */
        bandit_likelihood_clear(&o);
        relevant[0] += log(found[0]) / 5.0;
        relevant[1] += log(found[1]) / 5.0;
        irrelevant = fmin(irrelevant, found[2]);
        assert_true(found[2] > 4.0 * found[0] && found[2] > 4.0 * found[1]);
    }
    /* within a factor of two, on average over five draws */
    assert_true(fabs(relevant[0] - log(0.3)) < log(2.0) && fabs(relevant[1] - log(0.3)) < log(2.0));
    assert_true(irrelevant > 1.5);
}

static void noise_is_found(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (double noise = 1e-3; noise < 1.0; noise *= 10.0) {
        const double truth[] = {log(0.5), log(0.5), log(1.0), log(noise)};
        double found[2] = {1.0, 1.0};
        fit_problem_init(&p, 3, BANDIT_KERNEL_MATERN, 2.5, 64, 2);
        draw(&p, truth, 41);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, NULL, NULL, NULL, &bandit_executor_serial, NULL), BANDIT_OK);
        assert_true(h.noise > noise / 3.0 && h.noise < noise * 3.0);
    }
}

static void what_is_not_learned_stays(void **unused)
{
    (void)unused;
    static fit_problem p;
    fit_problem_init(&p, 3, BANDIT_KERNEL_MATERN, 2.5, 20, 2);
    for (int kept = 0; kept < 8; kept++) {
        double found[2] = {0.123, 4.56};
        bandit_hyperparameters h = {.lengthscales = found, .signal = 7.0, .noise = 0.89};
        p.data.learn_lengthscale = !(kept & 1);
        p.data.learn_signal = !(kept & 2);
        p.data.learn_noise = !(kept & 4);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, NULL, NULL, NULL, &bandit_executor_serial, NULL), BANDIT_OK);
        assert_true((relative_to_size(found[0], 0.123) < 1e-12 && relative_to_size(found[1], 4.56) < 1e-12) ==
                    (kept & 1));
        assert_true((relative_to_size(h.signal, 7.0) < 1e-12) == !!(kept & 2));
        assert_true((relative_to_size(h.noise, 0.89) < 1e-12) == !!(kept & 4));
    }
}

/* One reward, equal rewards, equal points, all at once: always finite, and the same twice. */
static void poor_data_are_survived(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (size_t n = 1; n <= 12; n++) {
        for (int trouble = 0; trouble < 4; trouble++) {
            fit_problem_init(&p, n, BANDIT_KERNEL_GAUSSIAN, 2.5, n, 2);
            for (size_t i = 0; i < n; i++) {
                if (trouble & 1)
                    p.mean[i] = 0.0;
                if (trouble & 2)
                    memcpy(p.points + 2 * i, p.points, 2 * sizeof(double));
            }
            double found[2][2];
            bandit_hyperparameters h[2];
            for (int again = 0; again < 2; again++) {
                found[again][0] = found[again][1] = 1.0;
                h[again] =
                    (bandit_hyperparameters){.lengthscales = found[again], .signal = 1.0, .noise = 0.01};
                bandit_fit_limits few = {.max_inducing = 4, .max_evaluations = 60};
                assert_int_equal(bandit_fit(&p.data, &few, &h[again], &h[again], NULL, NULL, NULL,
                                            &bandit_executor_serial, NULL),
                                 BANDIT_OK);
                assert_true(isfinite(found[again][0]) && isfinite(found[again][1]));
                assert_true(h[again].signal > 0.0 && h[again].noise > 0.0 && isfinite(h[again].mean));
            }
            assert_memory_equal(found[0], found[1], sizeof found[0]);
            assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        }
    }
}

/* Parts in another order, each with a worker's memory of its own. */
static void backwards(void *context, size_t n, bandit_task *task, void *arg)
{
    size_t workers = *(const size_t *)context;
    for (size_t i = n; i-- > 0;)
        task(arg, i, (i + 1) % workers);
}

static void executors_change_nothing(void **unused)
{
    (void)unused;
    static fit_problem p;
    size_t workers = 3;
    const bandit_executor executors[] = {bandit_executor_serial,
                                         {.for_each = backwards, .context = &workers, .workers = workers}};
    for (size_t round = 0; round < 4; round++) {
        size_t inducing = round % 2 ? 64 : 8;
        double found[2][2], surprise[2][40], objective[2];
        bandit_hyperparameters h[2];
        const bandit_fit_limits some = {.max_inducing = inducing, .max_evaluations = 30};
        fit_problem_init(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        p.data.warped = p.data.learn_power = round >= 2;
        for (int i = 0; i < 2; i++) {
            found[i][0] = found[i][1] = 1.0;
            h[i] = (bandit_hyperparameters){
                .lengthscales = found[i], .signal = 1.0, .noise = 0.01, .power = 1.0};
            assert_int_equal(bandit_fit(&p.data, &some, &h[i], &h[i], &objective[i], surprise[i], NULL,
                                        &executors[i], NULL),
                             BANDIT_OK);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        assert_memory_equal(surprise[0], surprise[1], sizeof surprise[0]);
        assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        assert_true(objective[0] == objective[1] && h[0].power == h[1].power);
    }
}

/* A second fit of the same data with what the first knows, from elsewhere: as without. */
static void fixed_ends_change_nothing(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double theta[4], found[2][2], objective[2];
        bandit_fit_fixed fixed = {.theta = theta};
        bandit_hyperparameters h[2];
        fit_problem_init(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        for (int i = 0; i < 4; i++) { /* the last without */
            int k = i == 3;
            double from = i == 0 ? 1.0 : i == 1 ? 0.2 : 5.0;
            found[k][0] = found[k][1] = from;
            h[k] = (bandit_hyperparameters){.lengthscales = found[k], .signal = 1.0, .noise = 0.01};
            assert_int_equal(bandit_fit(&p.data, &limits, &h[k], &h[k], &objective[k], NULL,
                                        k ? NULL : &fixed, &bandit_executor_serial, NULL),
                             BANDIT_OK);
            assert_true(fixed.known);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        assert_true(objective[0] == objective[1]);
    }
}

/* What is known of the other ascents, as if they had come to nothing: only the one from the start counts. */
static bandit_fit_fixed none_else(double *theta)
{
    return (bandit_fit_fixed){.known = true, .value = -INFINITY, .theta = theta};
}

/* The first evaluation is at the start, brought inside the bounds: with no second one that is the result. */
static void starts_are_brought_inside_the_bounds(void **unused)
{
    enum { D = 3 };
    static const double extent[D] = {1.0, 0.25, 40.0};
    static fit_problem p;
    const bandit_fit_limits once = {.max_inducing = 64, .max_evaluations = 1};
    (void)unused;
    fit_problem_init(&p, 9, BANDIT_KERNEL_MATERN, 1.5, 12, D);
    memcpy(p.extent, extent, sizeof extent);
    for (int high = 0; high < 2; high++) {
        double theta[D + 2] = {0}, found[D], objective, value;
        bandit_fit_fixed fixed = none_else(theta);
        bandit_hyperparameters h = {
            .lengthscales = found, .signal = high ? 1e7 : 1e-7, .noise = high ? 1e7 : 1e-15};
        for (size_t j = 0; j < D; j++)
            found[j] = high ? 1e6 : 1e-6;
        assert_int_equal(
            bandit_fit(&p.data, &once, &h, &h, &objective, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        for (size_t j = 0; j < D; j++) {
            theta[j] = log((high ? 200.0 : 0.005) * extent[j]);
            assert_true(relative_to_size(found[j], exp(theta[j])) < 1e-12);
        }
        theta[D] = log(high ? 1e3 : 1e-2);
        theta[D + 1] = log(high ? 1e2 : 1e-8);
        assert_true(relative_to_size(h.signal, exp(theta[D])) < 1e-12);
        assert_true(relative_to_size(h.noise, exp(theta[D + 1])) < 1e-12);
        bandit_likelihood o;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, found, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_evaluate(&o, theta, &value, NULL));
        assert_true(relative_to_size(objective, value) < 1e-9);
        bandit_likelihood_clear(&o);
    }
}

/* With an evaluation for each ascent the result is the best of the four places where they begin: what is
 * given, the priors' peak, and there with lengthscales that are exp(1.4) times less and more. With two starts it is the better of them. */
static void ascents_begin_at_four_places(void **unused)
{
    enum { D = 2, PLACES = 4 };
    static const double aside[PLACES] = {0.0, 0.0, -1.4, 1.4};
    static fit_problem p;
    const bandit_fit_limits once = {.max_inducing = 64, .max_evaluations = 1};
    size_t best_at[PLACES] = {0};
    (void)unused;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        double peak[D], theta[PLACES][D + 2], fixed_theta[D + 2], found[D], value[PLACES], objective;
        bandit_hyperparameters prior = {.lengthscales = peak, .signal = 1.0, .noise = 1.0};
        bandit_fit_fixed fixed = {.theta = fixed_theta};
        fit_problem_init(&p, seed, BANDIT_KERNEL_GAUSSIAN, 0.0, 40, D);
        bandit_fit_prior(&p.data, &prior);
        for (size_t k = 0; k < PLACES; k++) {
            for (size_t j = 0; j < D; j++)
                theta[k][j] = k == 0 ? log(0.4) : log(peak[j]) + aside[k];
            theta[k][D] = k == 0 ? log(3.0) : log(prior.signal);
            theta[k][D + 1] = k == 0 ? log(0.5) : log(prior.noise);
        }
        draw(&p, theta[seed % PLACES], 50 + seed);
        size_t best = 0, best_else = 1;
        for (size_t k = 0; k < PLACES; k++) {
            bandit_likelihood o;
            assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, NULL, NULL), BANDIT_OK);
            assert_true(bandit_likelihood_evaluate(&o, theta[k], &value[k], NULL));
            bandit_likelihood_clear(&o);
            best = value[k] > value[best] ? k : best;
            best_else = k > 0 && value[k] > value[best_else] ? k : best_else;
        }
        best_at[best]++;
        found[0] = found[1] = 0.4;
        bandit_hyperparameters h = {.lengthscales = found, .signal = 3.0, .noise = 0.5};
        assert_int_equal(
            bandit_fit(&p.data, &once, &h, &h, &objective, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_true(relative_to_size(objective, value[best]) < 1e-9);
        for (size_t j = 0; j < D; j++)
            assert_true(relative_to_size(found[j], exp(theta[best][j])) < 1e-12);
        assert_true(relative_to_size(h.signal, exp(theta[best][D])) < 1e-12);
        assert_true(relative_to_size(h.noise, exp(theta[best][D + 1])) < 1e-12);
        assert_true(fixed.known && relative_to_size(fixed.value, value[best_else]) < 1e-9);
        for (size_t j = 0; j < D + 2; j++)
            assert_true(fabs(fixed_theta[j] - theta[best_else][j]) < 1e-12);
        for (size_t k = 1; k < PLACES; k++) {
            const bandit_fit_limits two = {.max_inducing = 64, .max_evaluations = 1, .other_start = k};
            found[0] = found[1] = 0.4;
            h.signal = 3.0;
            h.noise = 0.5;
            assert_int_equal(
                bandit_fit(&p.data, &two, &h, &h, &objective, NULL, NULL, &bandit_executor_serial, NULL),
                BANDIT_OK);
            assert_true(relative_to_size(objective, fmax(value[0], value[k])) < 1e-9);
        }
    }
    for (size_t k = 0; k < PLACES; k++)
        assert_true(best_at[k] > 0);
}

/* A fit that goes on from where one ended finds next to nothing. */
static void ascents_end_at_a_maximum(void **unused)
{
    static fit_problem p;
    (void)unused;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        double theta[4] = {0}, found[2] = {1.0, 1.0}, objective, further;
        bandit_fit_fixed fixed = none_else(theta);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        fit_problem_init(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &objective, NULL, NULL, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &further, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_true(further >= objective && further - objective < 1e-4);
    }
}

/* A matrix that is no kernel's whatever is added: no ascent gets anywhere, which is said, and not kept as
 * what is known of other fits. */
static void nothing_can_be_evaluated(void **unused)
{
    static fit_problem p;
    double theta[2];
    bandit_fit_fixed fixed = {.theta = theta};
    bandit_hyperparameters h = {.signal = 1.0, .noise = 0.01};
    bandit_error err = {0};
    (void)unused;
    fit_problem_init(&p, 4, BANDIT_KERNEL_LINEAR, 0.0, 2, 1);
    fit_problem_make_linear(&p);
    p.gram[0] = p.gram[3] = 0.0;
    p.gram[1] = p.gram[2] = 1e30;
    assert_int_equal(bandit_fit(&p.data, &limits, &h, &h, NULL, NULL, &fixed, &bandit_executor_serial, &err),
                     BANDIT_NUMERICAL);
    assert_int_equal(err.status, BANDIT_NUMERICAL);
    assert_false(fixed.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengthscales_of_a_draw_are_found),
        cmocka_unit_test(noise_is_found),
        cmocka_unit_test(what_is_not_learned_stays),
        cmocka_unit_test(poor_data_are_survived),
        cmocka_unit_test(executors_change_nothing),
        cmocka_unit_test(fixed_ends_change_nothing),
        cmocka_unit_test(starts_are_brought_inside_the_bounds),
        cmocka_unit_test(ascents_begin_at_four_places),
        cmocka_unit_test(ascents_end_at_a_maximum),
        cmocka_unit_test(nothing_can_be_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
