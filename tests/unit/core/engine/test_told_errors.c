/* Results with standard errors: what they weigh in every engine, by comparison with single results and with a given
 * noise; what is kept of them, and that restored and corrected engines are as the others. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "core/posterior/told_errors.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 8, ARMS = SIDE * SIDE };

static const double lengthscales[] = {3.0, 3.0};
static const bandit_algorithm some[] = {BANDIT_GP_UCB, BANDIT_BBKB, BANDIT_S_GP_TS, BANDIT_PI_GP_UCB,
                                        BANDIT_LOG_EI};
enum { SOME = sizeof some / sizeof *some };

static void grid_rows(double *rows)
{
    for (size_t i = 0; i < ARMS; i++) {
        rows[2 * i] = (double)(i % SIDE);
        rows[2 * i + 1] = (double)(i / SIDE);
    }
}

static bandit_arms *grid(void)
{
    bandit_arms *arms;
    bandit_error err;
    double rows[2 * ARMS];
    grid_rows(rows);
    must(bandit_arms_new(&arms, ARMS, 2, &err), &err);
    must(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
    return arms;
}

static bandit_arms *square(void)
{
    bandit_arms *arms;
    bandit_error err;
    const bandit_parameter sides[2] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 8.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 8.0, .parent = BANDIT_NO_PARENT}};
    must(bandit_arms_new_space(&arms, sides, 2, &err), &err);
    return arms;
}

/* The square with the points of the grid as its first arms. */
static bandit_arms *square_with_grid(void)
{
    bandit_arms *arms = square();
    bandit_error err;
    double rows[2 * ARMS];
    grid_rows(rows);
    must(bandit_arms_append(arms, rows, ARMS, &err), &err);
    return arms;
}

/* Only the unit of the rewards and the size of the function are learned. */
static bandit_engine *with_noise(bandit_arms *arms, bandit_algorithm algorithm, double noise_std)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_engine *engine;
    bandit_error err;
    learner_options(&o, algorithm);
    o.learn_lengthscale = o.learn_noise = o.warp_rewards = false;
    o.kernel.lengthscales = lengthscales;
    o.kernel.n_lengthscales = 2;
    o.noise_std = noise_std;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    return engine;
}

static bandit_engine *learning(bandit_arms *arms, bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_engine *engine;
    bandit_error err;
    learner_options(&o, algorithm);
    o.kernel.lengthscales = NULL;
    o.kernel.n_lengthscales = 0;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    return engine;
}

/* Multiples of 1/64, so that sums are exact. */
static double truth(uint32_t arm)
{
    return rint(64.0 * (3.0 * sin((double)(arm % SIDE) / 2.0) - 0.2 * (double)(arm / SIDE))) / 64.0;
}

static double off(uint32_t k)
{
    return (double)((k * 37) % 64) / 128.0 - 0.25;
}

static void assert_equal_models(const bandit_engine *a, const bandit_engine *b, double tolerance)
{
    for (uint32_t arm = 0; arm < ARMS; arm++) {
        bandit_prediction p, q;
        bandit_error err;
        must(bandit_engine_predict_arms(a, &arm, 1, &p, &err), &err);
        must(bandit_engine_predict_arms(b, &arm, 1, &q, &err), &err);
        if (!(fabs(p.mean - q.mean) <= tolerance * (1.0 + fabs(q.mean))) ||
            !(fabs(p.variance - q.variance) <= tolerance * (q.variance + 1e-6)))
            fail_msg("arm %u: %.17g and %.17g, %.17g and %.17g", arm, p.mean, q.mean, p.variance, q.variance);
    }
}

/* `means` has the mean of k pulls of every fourth arm, with 1 / sqrt(k) of the error of each; `single` the pulls. */
static void tell_means_and_pulls(bandit_engine *means, bandit_engine *single, uint32_t k, double unit)
{
    bandit_result one[ARMS / 4], pulls[2 * ARMS];
    size_t n = 0;
    for (uint32_t arm = 0; arm < ARMS; arm += 4, n++) {
        double mean = 0.0, error = arm % 8 ? 0.5 * unit : 0.0;
        for (uint32_t i = 0; i < k; i++) {
            double reward = unit * (truth(arm) + off(arm + i));
            pulls[k * n + i] = (bandit_result){.arm = arm, .repeats = 1, .reward = reward, .error = error};
            mean += reward / k;
        }
        one[n] = (bandit_result){.arm = arm, .repeats = k, .reward = mean, .error = error / sqrt(k)};
    }
    learner_begin(means, one, n);
    learner_begin(single, pulls, k * n);
}

/* Where the sums are exact, and where they are rounded. */
static void a_mean_is_its_results_among(bandit_arms *arms)
{
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a++) {
        for (int exact = 0; exact < 2; exact++) {
            bandit_engine *means = with_noise(arms, learner_algorithms[a], 0.1);
            bandit_engine *single = with_noise(arms, learner_algorithms[a], 0.1);
            tell_means_and_pulls(means, single, exact ? 4 : 7, exact ? 1.0 : 1.0 / 3.0);
            assert_equal_models(means, single, 1e-12);
            bandit_engine_free(means);
            bandit_engine_free(single);
        }
    }
}

static void a_mean_is_its_results(void **unused)
{
    (void)unused;
    bandit_arms *list = grid(), *space = square_with_grid();
    a_mean_is_its_results_among(list);
    a_mean_is_its_results_among(space);
    bandit_arms_free(list);
    bandit_arms_free(space);
}

/* If every result has the same error and nothing else is noise, that error is the noise; to 1e-6, because a noise
 * given as 0 is 1e-4 of the unit of the rewards. */
static void equal_errors_are_a_given_noise(void **unused)
{
    (void)unused;
    bandit_arms *arms = grid();
    for (size_t a = 0; a < SOME; a++) {
        bandit_engine *told = with_noise(arms, some[a], 0.0), *given = with_noise(arms, some[a], 0.3);
        bandit_result results[ARMS];
        size_t n = 0;
        for (uint32_t k = 0; k < ARMS; k++)
            results[n++] = (bandit_result){
                .arm = 3 * (k % 16), .repeats = 1, .reward = truth(3 * (k % 16)) + off(k), .error = 0.3};
        learner_begin(told, results, n);
        for (size_t i = 0; i < n; i++)
            results[i].error = 0.0;
        learner_begin(given, results, n);
        assert_equal_models(told, given, 1e-6);
        bandit_engine_free(told);
        bandit_engine_free(given);
    }
    bandit_arms_free(arms);
}

/* An arm with a small error and one with a large: the model goes through the first. Learned from all. */
static void small_errors_weigh_more(void **unused)
{
    (void)unused;
    for (size_t a = 0; a <= SOME; a++) {
        bandit_arms *arms = a < SOME ? grid() : square();
        bandit_engine *engine = learning(arms, a < SOME ? some[a] : BANDIT_LOG_EI);
        bandit_result results[2 * 24];
        bandit_pick picks[24];
        for (uint32_t i = 0; i < 24; i++) {
            learner_begin(engine, i ? results + 2 * (i - 1) : NULL, i ? 2 : 0);
            picks[i] = learner_pick(engine);
            double x[2];
            if (a < SOME)
                x[0] = picks[i].arm % SIDE;
            else
                bandit_arms_coded(arms, picks[i].arm, x);
            double value = sin(x[0] / 2.0);
            results[2 * i] =
                (bandit_result){.arm = picks[i].arm, .repeats = 1, .reward = value, .error = 0.01};
            results[2 * i + 1] =
                (bandit_result){.arm = picks[i].arm, .repeats = 1, .reward = value + 1.0, .error = 1.0};
        }
        learner_begin(engine, results + 2 * 23, 2);
        double squares = 0.0;
        for (uint32_t i = 0; i < 24; i++) {
            bandit_prediction p;
            bandit_error err;
            must(bandit_engine_predict_arms(engine, &picks[i].arm, 1, &p, &err), &err);
            squares += (p.mean - results[2 * i].reward) * (p.mean - results[2 * i].reward) / 24.0;
        }
        if (!(sqrt(squares) < 0.15))
            fail_msg("algorithm %zu is off by %g", a, sqrt(squares));
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

static double error_of_round(uint32_t round)
{
    static const double errors[] = {0.0, 0.1, 0.5, 0.02};
    return errors[round % 4];
}

/* Ask, tell and restore after every batch: the restored engine picks what the other one picks. */
static void restored_engines_pick_the_same(void **unused)
{
    (void)unused;
    bandit_arms *arms = grid();
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a++) {
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_engine *engine = learning(arms, learner_algorithms[a]);
        bandit_result result = {0};
        learner_options(&o, learner_algorithms[a]);
        for (uint32_t round = 0; round < 20; round++) {
            bandit_checkpoint c;
            bandit_engine *again;
            bandit_error err;
            learner_begin(engine, &result, round > 0);
            bandit_engine_checkpoint(engine, &c);
            must(bandit_engine_restore(&again, arms, &o, 0, &c, NULL, 0, &bandit_executor_serial, &err),
                 &err);
            assert_equal_models(engine, again, 0.0);
            bandit_pick pick = learner_pick(engine), same = learner_pick(again);
            assert_int_equal(pick.arm, same.arm);
            result = learner_result(&pick, truth(pick.arm) + off(round));
            result.error = error_of_round(round);
            bandit_engine_free(round % 2 ? engine : again);
            engine = round % 2 ? again : engine;
        }
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* Corrected errors make the model that right ones would have made; without any left, that of a study without. */
static void corrected_errors_are_as_if_told_so(void **unused)
{
    (void)unused;
    bandit_arms *arms = grid();
    bandit_error err;
    for (size_t a = 0; a < SOME; a++) {
        for (int left = 0; left < 2; left++) {
            bandit_engine *wrong = with_noise(arms, some[a], 0.1), *right = with_noise(arms, some[a], 0.1);
            bandit_result results[16];
            for (uint32_t i = 0; i < 16; i++)
                results[i] = (bandit_result){
                    .arm = 4 * i, .repeats = 1, .reward = truth(4 * i), .error = left && i < 8 ? 0.25 : 0.0};
            learner_begin(right, results, 16);
            bandit_result was = results[5];
            results[5].error = 2.0;
            learner_begin(wrong, results, 16);
            bandit_amendment change = {.arm = was.arm,
                                       .was = {.repeats = 1, .reward = was.reward},
                                       .now = {.repeats = 1, .reward = was.reward}};
            bandit_arm_sum sum = {.arm = was.arm, .count = 1, .sum = was.reward};
            must(bandit_engine_amend(wrong, &change, 1, &sum, 1, &was, 1, &err), &err);
            must(bandit_engine_amend(right, &change, 1, &sum, 1, &was, 1, &err),
                 &err); /* so that it fits, too */
            learner_begin(wrong, NULL, 0);
            learner_begin(right, NULL, 0);
            assert_equal_models(wrong, right, 0.01); /* fits begin elsewhere */
            bandit_engine_free(wrong);
            bandit_engine_free(right);
        }
    }
    bandit_arms_free(arms);
}

/* An error told in a wrong unit does not pin the model to one result. */
static void a_tiny_error_has_a_floor(void **unused)
{
    (void)unused;
    bandit_arms *arms = grid();
    bandit_engine *engine = with_noise(arms, BANDIT_BBKB, 0.0);
    bandit_result results[ARMS];
    bandit_prediction p;
    bandit_error err;
    const uint32_t arm = 10;
    for (uint32_t i = 0; i < ARMS; i++)
        results[i] =
            (bandit_result){.arm = i, .repeats = 1, .reward = truth(i), .error = i == arm ? 1e-30 : 0.5};
    learner_begin(engine, results, ARMS);
    must(bandit_engine_predict_arms(engine, &arm, 1, &p, &err), &err);
    assert_true(p.variance > 0.5 * 1e-4 * 0.25 && p.variance < 2.0 * 1e-4 * 0.25);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void impossible_errors_are_refused(void **unused)
{
    (void)unused;
    bandit_arms *arms = grid();
    bandit_engine *engine = with_noise(arms, BANDIT_BBKB, 0.1);
    const double bad[] = {-1.0, NAN, INFINITY, 1e-170, 1e200};
    bandit_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bandit_result result = {.arm = 1, .repeats = 1, .reward = 1.0, .error = bad[i]};
        assert_int_equal(
            bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_INVALID_STATE);
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* However many results and errors there are, an arm has a row for each factor of 2^(1/4); a row's mean has the
 * variance that the row says, and at most 3.1 % more than the mean with the best weights. */
static void rows_are_few_and_lose_little(void **unused)
{
    (void)unused;
    bandit_told_errors empty = {0}, errors = {0};
    bandit_error err;
    enum { N = 4000 };
    bandit_result *results = calloc(N, sizeof *results);
    assert_non_null(results);
    for (uint32_t i = 0; i < N; i++) /* errors from 0.1 to 10 */
        results[i] = (bandit_result){.arm = i % 2,
                                     .repeats = 1 + i % 3,
                                     .reward = off(i),
                                     .error = 0.1 * pow(10.0, 2.0 * i / (N - 1.0))};
    must(bandit_told_errors_add(&errors, &empty, results, N, &err), &err);
    size_t first, n = bandit_told_errors_of(&errors, 1, &first);
    assert_int_equal(n, errors.n / 2);
    assert_true(n <= 2 + (size_t)ceil(4.0 * log2(100.0 * sqrt(3.0))));
    uint64_t count = 0;
    double worst = 1.0;
    for (size_t r = 0; r < errors.n; r++) {
        const bandit_error_row *row = &errors.rows[r];
        double variance = 0.0, best = 0.0, pulls = 0.0;
        for (uint32_t i = 0; i < N; i++) {
            double v = bandit_error_of_pull(&results[i]);
            if (results[i].arm != row->arm || (int32_t)lrint(2.0 * log2(v)) != row->level)
                continue;
            variance += results[i].repeats * v;
            best += results[i].repeats / v;
            pulls += results[i].repeats;
        }
        assert_equal_reals(bandit_error_of_row(row), variance / pulls);
        assert_true((double)row->count == pulls);
        worst = fmax(worst, variance / pulls / pulls * best);
        count += row->count;
    }
    assert_true(worst > 1.005 && worst < 1.031);
    assert_true(count == 4000 + 3999); /* repeats 1, 2, 3 in turn, the last 1 */
    bandit_told_errors_clear(&errors);
    free(results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_is_its_results),
        cmocka_unit_test(equal_errors_are_a_given_noise),
        cmocka_unit_test(small_errors_weigh_more),
        cmocka_unit_test(restored_engines_pick_the_same),
        cmocka_unit_test(corrected_errors_are_as_if_told_so),
        cmocka_unit_test(a_tiny_error_has_a_floor),
        cmocka_unit_test(impossible_errors_are_refused),
        cmocka_unit_test(rows_are_few_and_lose_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
