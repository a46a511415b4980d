/* What must hold for BBKB on every problem, checked on random ones with duplicates, near-duplicates, grids
 * and constant features: its dictionaries and posterior, and equality to the bit however it is called and
 * restored. BANDIT_TEST_FULL=1 runs ten times as many. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "core/posterior/sparse_posterior.h"
#include "tests/support/dense_reference.h"
#include "tests/support/must.h"
#include "tests/support/problem_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the dictionary ------------------------------------------------------------------------------------ */

static void dictionaries_follow_the_drawn_numbers(void **state)
{
    size_t drawn = 0, near = 0;
    (void)state;
    for (size_t i = 0; i < problems(60); i++) {
        random_problem problem;
        problem_study run;
        bandit_pick picks[STUDY_PICKS];
        bandit_checkpoint checkpoint;
        varied_problem_init(&problem, i, i % 2 ? 0.05 : 1.0);
        problem.options.q_bar = 0.3 + 0.2 * (double)(i % 9); /* some draws fail */
        problem_study_init(&run, &problem);
        problem_study_begin(&run, &bandit_executor_serial);
        double *variance = malloc(problem.n * sizeof *variance);
        assert_non_null(variance);
        for (size_t a = 0; a < problem.n; a++)
            variance[a] = random_problem_kernel(&problem, a, a) / problem.options.lambda;
        for (uint64_t batch = 1; batch < 12; batch++) {
            bandit_selection selection = problem_study_choose(&run, STUDY_PICKS, picks);
            problem_study_tell(&run, picks, selection.n_picks);
            problem_study_begin(&run, &bandit_executor_serial);
            bandit_engine_checkpoint(run.engine, &checkpoint);
            if (checkpoint.n_sums == 0)
                continue;
            bool any = false;
            for (size_t u = 0, k = 0; u < checkpoint.n_sums; u++) {
                uint32_t arm = checkpoint.sums[u].arm;
                double n = (double)checkpoint.sums[u].count;
                double p = fmin(1.0, problem.options.q_bar * variance[arm]);
                double inclusion = problem.options.resample != BANDIT_RESAMPLE_PER_PULL
                                       ? fmin(1.0, n * p)
                                       : 1.0 - pow(1.0 - p, n);
                uint64_t key = problem.options.resample == BANDIT_RESAMPLE_PERSISTENT ? 0 : batch;
                double number =
                    bandit_random_uniform(problem.options.seed, key, BANDIT_PURPOSE_RESAMPLE, arm);
                bool in = k < checkpoint.n_dictionary && checkpoint.dictionary[k] == arm;
                k += in;
                drawn++;
                any |= number < inclusion;
                if (fabs(number - inclusion) < 1e-8)
                    near++;
                else if (in != (number < inclusion))
                    assert_true(in && checkpoint.n_dictionary == 1);
            }
            if (!any) { /* none drawn: the pulled arm with the largest variance */
                assert_int_equal(checkpoint.n_dictionary, 1);
                for (size_t u = 0; u < checkpoint.n_sums; u++)
                    assert_true(variance[checkpoint.sums[u].arm] <=
                                variance[checkpoint.dictionary[0]] * (1.0 + 1e-9) + 1e-12);
            }
            dense_posterior reference;
            dense_posterior_init(&reference, &problem, checkpoint.dictionary, checkpoint.n_dictionary,
                                 checkpoint.sums, checkpoint.n_sums);
            memcpy(variance, reference.variance, problem.n * sizeof *variance);
            dense_posterior_clear(&reference);
        }
        free(variance);
        bandit_engine_free(run.engine);
        random_problem_clear(&problem);
    }
    assert_true(drawn > 1000 && near * 100 < drawn);
}

/* ---- all pulled arms as dictionary: the exact posterior ------------------------------------------------ */

static void full_dictionary_is_the_exact_posterior(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(40); i++) {
        random_problem problem;
        bandit_error err;
        varied_problem_init(&problem, i, i % 2 ? 0.01 : 1.0);
        size_t n = problem.n, n_sums = 0;
        bandit_arm_sum *sums = malloc(n * sizeof *sums);
        uint32_t *dictionary = malloc(n * sizeof *dictionary);
        double *mean = malloc(4 * n * sizeof *mean), *variance = mean + n, *exact = mean + 2 * n;
        assert_true(sums && dictionary && mean);
        for (uint32_t a = 0; a < n; a++) {
            uint64_t count = (uint64_t)(4.0 * random_problem_uniform(&problem, 9000, a));
            if (count == 0)
                continue;
            dictionary[n_sums] = a;
            sums[n_sums++] = (bandit_arm_sum){
                .arm = a, .count = count, .sum = (double)count * random_problem_reward(&problem, a, a)};
        }
        bandit_covariance covariance;
        bandit_posterior posterior = {0};
        must(bandit_covariance_init(&covariance, &problem.options.kernel, problem.arms, &err), &err);
        must(bandit_posterior_build(&posterior, &covariance, problem.options.lambda, dictionary, n_sums, sums,
                                    n_sums, &err),
             &err);
        must(bandit_posterior_evaluate_all(&posterior, &bandit_executor_serial, mean, variance, &err), &err);
        dense_exact(&problem, sums, n_sums, exact, exact + n);
        double effective_dimension = 0.0;
        for (size_t a = 0; a < n; a++) {
            assert_true(variance[a] >= 0.0);
            assert_true(fabs(mean[a] - exact[a]) < 1e-7 * (1.0 + fabs(exact[a])));
            assert_true(fabs(variance[a] - exact[n + a]) < 1e-7 * (1.0 + exact[n + a]));
        }
        for (size_t u = 0; u < n_sums; u++)
            effective_dimension += (double)sums[u].count * exact[n + sums[u].arm];
        double gain = dense_log_det(&problem, sums, n_sums);
        assert_true(fabs(posterior.effective_dimension - effective_dimension) <
                    1e-6 * (1.0 + effective_dimension));
        assert_true(fabs(posterior.log_det_ratio + posterior.residual_sum - gain) < 1e-6 * (1.0 + gain));
        bandit_posterior_clear(&posterior);
        bandit_covariance_clear(&covariance);
        free(sums);
        free(dictionary);
        free(mean);
        random_problem_clear(&problem);
    }
}

/* ---- equal to the bit ---------------------------------------------------------------------------------- */

/* Parts in a scrambled order on changing workers: what any pool of threads might do. */
static void scrambled(void *context, size_t n, bandit_task *task, void *arg)
{
    size_t *state = context, step = 7919;
    while (n % step == 0)
        step += 2;
    for (size_t i = 0; i < n; i++)
        task(arg, (i * step + *state) % n, (i + *state) % 3);
    *state += 1;
}

/* The same problem_study three ways: whole batches; one pick a call; destroyed and restored before every
 * batch and in the middle of each, with another executor. */
static void calls_restores_and_executors_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(60); i++) {
        random_problem problem;
        problem_study whole, single, cut;
        size_t scramble = i;
        const bandit_executor executor = {.for_each = scrambled, .context = &scramble, .workers = 3};
        varied_problem_init(&problem, i, i % 3 ? 0.01 : 1.0);
        varied_problem_algorithm(&problem, i);
        if (i % 8 == 0) { /* greedy */
            problem.options.confidence = BANDIT_CONFIDENCE_FIXED;
            problem.options.beta = 0.0;
        }
        problem_study_init(&whole, &problem);
        problem_study_init(&single, &problem);
        problem_study_init(&cut, &problem);
        for (int batch = 0; batch < 10; batch++) {
            bandit_pick a[STUDY_PICKS], b[STUDY_PICKS], c[STUDY_PICKS];
            bandit_error err;
            problem_study_begin(&whole, &bandit_executor_serial);
            problem_study_begin(&single, &bandit_executor_serial);
            problem_study_begin(&cut, &executor);
            bandit_selection of_whole = problem_study_choose(&whole, STUDY_PICKS, a), of_single, of_cut;
            size_t n = of_whole.n_picks, done = 0;
            do {
                of_single = problem_study_choose(&single, 1, b + done);
                done += of_single.n_picks;
            } while (of_single.stop_rule == BANDIT_STOP_NONE);
            assert_int_equal(done, n);

            size_t first = problem_study_choose(&cut, n / 2, c).n_picks;
            bandit_engine *again = problem_study_restored(&problem, cut.engine, NULL, 0, &executor);
            bandit_engine_free(cut.engine);
            cut.engine = again;
            must(bandit_engine_replay_picks(again, c, first, &executor, &err), &err);
            of_cut = problem_study_choose(&cut, STUDY_PICKS, c + first);
            assert_int_equal(first + of_cut.n_picks, n);
            for (size_t k = 0; k < n; k++) {
                assert_int_equal(a[k].arm, b[k].arm);
                assert_int_equal(a[k].arm, c[k].arm);
                assert_memory_equal(&a[k].variance, &b[k].variance, sizeof(double));
                assert_memory_equal(&a[k].variance, &c[k].variance, sizeof(double));
            }
            assert_memory_equal(&of_whole.ratio, &of_single.ratio, sizeof(double));
            assert_memory_equal(&of_whole.ratio, &of_cut.ratio, sizeof(double));
            assert_int_equal(of_whole.stop_rule, of_single.stop_rule);
            assert_int_equal(of_whole.stop_rule, of_cut.stop_rule);
            problem_study_tell(&whole, a, n);
            problem_study_tell(&single, b, n);
            problem_study_tell(&cut, c, n);
            bandit_checkpoint x, y;
            bandit_engine_checkpoint(whole.engine, &x);
            bandit_engine_checkpoint(cut.engine, &y);
            assert_int_equal(x.n_state, y.n_state);
            assert_memory_equal(x.state, y.state, x.n_state);
        }
        bandit_engine_free(whole.engine);
        bandit_engine_free(single.engine);
        bandit_engine_free(cut.engine);
        random_problem_clear(&problem);
    }
}

/* Asynchronous feedback: of each batch a third is told at once, the rest is pending in the next one. A
 * restored engine, given what is pending, goes on with the same bits; the ratio counts what is pending. */
static void pending_picks_survive_a_restore(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(40); i++) {
        random_problem problem;
        problem_study run;
        bandit_pick pending[2 * STUDY_PICKS], next[STUDY_PICKS], again[STUDY_PICKS];
        size_t n_pending = 0;
        bandit_error err;
        varied_problem_init(&problem, i, i % 3 ? 0.05 : 1.0);
        varied_problem_algorithm(&problem, i);
        problem.options.ratio_bound = 4.0;
        problem_study_init(&run, &problem);
        for (int batch = 0; batch < 12; batch++) {
            must(bandit_engine_begin_batch(run.engine, run.results, run.n_results, pending, n_pending,
                                           &bandit_executor_serial, &err),
                 &err);
            run.n_results = 0;
            bandit_engine *other =
                problem_study_restored(&problem, run.engine, pending, n_pending, &bandit_executor_serial);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection a, b;
            limits.max_picks = STUDY_PICKS / 2;
            must(bandit_engine_select(run.engine, &limits, &bandit_executor_serial, next, &a, &err), &err);
            must(bandit_engine_select(other, &limits, &bandit_executor_serial, again, &b, &err), &err);
            assert_int_equal(a.n_picks, b.n_picks);
            assert_int_equal(a.stop_rule, b.stop_rule);
            assert_memory_equal(&a.ratio, &b.ratio, sizeof a.ratio);
            for (size_t k = 0; k < a.n_picks; k++) {
                assert_int_equal(next[k].arm, again[k].arm);
                assert_memory_equal(&next[k].variance, &again[k].variance, sizeof(double));
            }
            double total = 1.0;
            for (size_t k = 0; k < n_pending + a.n_picks; k++) {
                bandit_prediction p;
                uint32_t arm = k < n_pending ? pending[k].arm : next[k - n_pending].arm;
                must(bandit_engine_predict_arms(run.engine, &arm, 1, &p, &err), &err);
                total += p.variance / problem.options.lambda;
            }
            assert_true(fabs(a.ratio - total) <= 1e-10 * total);
            bandit_engine_free(other);

            for (size_t k = 0; k < a.n_picks; k++)
                pending[n_pending++] = next[k];
            size_t told = (n_pending + 2) / 3;
            problem_study_tell(&run, pending, told);
            n_pending -= told;
            memmove(pending, pending + told, n_pending * sizeof *pending);
        }
        bandit_engine_free(run.engine);
        random_problem_clear(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dictionaries_follow_the_drawn_numbers),
        cmocka_unit_test(full_dictionary_is_the_exact_posterior),
        cmocka_unit_test(calls_restores_and_executors_change_nothing),
        cmocka_unit_test(pending_picks_survive_a_restore),
    };
    return cmocka_run_group_tests_name("bbkb", tests, NULL, NULL);
}
