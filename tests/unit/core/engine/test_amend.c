/* Results that are taken back or corrected after they have joined a model: afterwards the engine is that of a
 * study that was told the truth at first. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "tests/support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 30, ROUNDS = 4, PER_ROUND = 12, TOLD = ROUNDS * PER_ROUND };

/* What is told at first, and what is true. */
typedef struct told {
    bandit_result first, truth; /* repeats 0: no reward */
} told;

static void draw(told *list, const random_problem *problem)
{
    for (size_t i = 0; i < TOLD; i++) {
        uint32_t arm = (uint32_t)(random_problem_uniform(problem, 1, i) * 20); /* some arms stay untouched */
        double kind = random_problem_uniform(problem, 2, i);
        bandit_result truth = {.arm = arm,
                               .repeats = 1 + (uint32_t)(random_problem_uniform(problem, 3, i) * 3),
                               .reward = random_problem_reward(problem, arm, i),
                               .chosen = random_problem_uniform(problem, 4, i) < 0.7,
                               .variance = random_problem_uniform(problem, 5, i)};
        list[i] = (told){.first = truth, .truth = truth};
        if (i / PER_ROUND == ROUNDS - 1)
            continue; /* comes after the amendments */
        if (kind < 0.2)
            list[i].first.reward = 17.25 + (double)i;
        else if (kind < 0.3)
            list[i].truth.repeats = 0;
        else if (kind < 0.4)
            list[i].first.repeats = 0;
    }
}

static void join(bandit_engine *engine, const told *list, size_t round, bool truth)
{
    bandit_result results[PER_ROUND];
    size_t n = 0;
    bandit_error error = {0};
    for (size_t i = round * PER_ROUND; i < (round + 1) * PER_ROUND; i++) {
        bandit_result result = truth ? list[i].truth : list[i].first;
        if (result.repeats > 0)
            results[n++] = result;
    }
    assert_int_equal(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
}

/* The corrected sums of every arm of an amendment, in the order of joining. */
static void amend(bandit_engine *engine, const told *list)
{
    bandit_amendment amendments[TOLD];
    bandit_arm_sum sums[ARMS];
    size_t n = 0, n_sums = 0;
    bandit_error error = {0};
    for (size_t i = 0; i < TOLD - PER_ROUND; i++) {
        const bandit_result *first = &list[i].first, *truth = &list[i].truth;
        if (first->repeats != truth->repeats || first->reward != truth->reward)
            amendments[n++] = (bandit_amendment){.arm = truth->arm,
                                                 .was = {.repeats = first->repeats, .reward = first->reward},
                                                 .now = {.repeats = truth->repeats, .reward = truth->reward},
                                                 .chosen = truth->chosen,
                                                 .variance = truth->variance};
    }
    assert_true(n > 5);
    for (uint32_t arm = 0; arm < ARMS; arm++) {
        bool amended = false;
        bandit_arm_sum sum = {.arm = arm};
        for (size_t i = 0; i < n; i++)
            amended |= amendments[i].arm == arm;
        for (size_t i = 0; amended && i < TOLD - PER_ROUND; i++) {
            if (list[i].truth.arm != arm)
                continue;
            sum.count += list[i].truth.repeats;
            sum.sum += list[i].truth.repeats * list[i].truth.reward;
        }
        if (amended)
            sums[n_sums++] = sum;
    }
    assert_int_equal(bandit_engine_amend(engine, amendments, n, sums, n_sums, NULL, 0, &error), BANDIT_OK);
}

static void predict(const bandit_engine *engine, bandit_prediction *out)
{
    uint32_t arms[ARMS];
    for (uint32_t i = 0; i < ARMS; i++)
        arms[i] = i;
    assert_int_equal(bandit_engine_predict_arms(engine, arms, ARMS, out, NULL), BANDIT_OK);
}

/* An engine that starts from the checkpoint, and the one it was taken from, predict and choose alike. */
static void check_restored(bandit_engine *engine, const random_problem *problem)
{
    bandit_checkpoint checkpoint;
    bandit_engine *restored;
    bandit_error error = {0};
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_status status = bandit_engine_restore(&restored, problem->arms, &problem->options, 0, &checkpoint,
                                                 NULL, 0, &bandit_executor_serial, &error);
    assert_int_equal(status, BANDIT_OK);
    bandit_description a, b;
    bandit_engine_describe(engine, &a);
    bandit_engine_describe(restored, &b);
    assert_int_equal(a.observations, b.observations);
    assert_memory_equal(&a.beta, &b.beta, sizeof a.beta);
    if (a.has_model) {
        bandit_prediction p[ARMS], q[ARMS];
        predict(engine, p);
        predict(restored, q);
        assert_memory_equal(p, q, sizeof p);
    }
    bandit_pick picks[2][4] = {0};
    bandit_selection selections[2];
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = 4;
    limits.beyond_bound = true;
    assert_int_equal(
        bandit_engine_select(engine, &limits, &bandit_executor_serial, picks[0], &selections[0], &error),
        BANDIT_OK);
    assert_int_equal(
        bandit_engine_select(restored, &limits, &bandit_executor_serial, picks[1], &selections[1], &error),
        BANDIT_OK);
    assert_int_equal(selections[0].n_picks, selections[1].n_picks);
    for (size_t i = 0; i < selections[0].n_picks; i++)
        assert_int_equal(picks[0][i].arm, picks[1][i].arm);
    bandit_engine_free(restored);
}

/* Algorithms whose posterior is a function of counts and sums alone. (BBKB's, with every pulled arm in its
 * dictionary.) */
static bool posterior_follows_from_sums(bandit_algorithm algorithm)
{
    return algorithm != BANDIT_S_GP_TS;
}

static void check_algorithm(bandit_algorithm algorithm, uint64_t seed)
{
    random_problem problem;
    random_problem_init(&problem, seed, ARMS, 2, BANDIT_KERNEL_MATERN, 0.1, 0);
    problem.options.algorithm = algorithm;
    problem.options.q_bar = 1e6; /* every pulled arm is in the dictionary */
    problem.options.inducing = 8;
    problem.options.prior_features = 50;
    problem.options.dpp_steps = 50;
    problem.options.population = 10;
    problem.options.sample = 3;
    told list[TOLD];
    draw(list, &problem);
    bandit_engine *amended, *truthful;
    bandit_error error = {0};
    assert_int_equal(bandit_engine_new(&amended, problem.arms, &problem.options, 0, &error), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&truthful, problem.arms, &problem.options, 0, &error), BANDIT_OK);
    for (size_t round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS - 1) { /* the batch in force stays as it is */
            bandit_description now, then;
            bandit_prediction before[ARMS], after[ARMS];
            uint32_t dictionary[ARMS];
            bandit_engine_describe(amended, &now);
            assert_true(now.n_dictionary <= ARMS);
            for (size_t i = 0; i < now.n_dictionary; i++)
                dictionary[i] = now.dictionary[i];
            if (now.has_model)
                predict(amended, before);
            amend(amended, list);
            bandit_engine_describe(amended, &then);
            assert_int_equal(then.n_dictionary, now.n_dictionary);
            for (size_t i = 0; i < now.n_dictionary; i++)
                assert_int_equal(then.dictionary[i], dictionary[i]);
            if (now.has_model) {
                predict(amended, after);
                assert_memory_equal(before, after, sizeof before);
            }
        }
        join(amended, list, round, false);
        join(truthful, list, round, true);
    }
    bandit_checkpoint a, b;
    bandit_engine_checkpoint(amended, &a);
    bandit_engine_checkpoint(truthful, &b);
    assert_int_equal(a.n_sums, b.n_sums);
    for (size_t i = 0; i < a.n_sums; i++) {
        assert_int_equal(a.sums[i].arm, b.sums[i].arm);
        assert_int_equal(a.sums[i].count, b.sums[i].count);
        assert_memory_equal(&a.sums[i].sum, &b.sums[i].sum, sizeof a.sums[i].sum);
    }
    bandit_description description;
    bandit_engine_describe(amended, &description);
    if (description.has_model && posterior_follows_from_sums(algorithm)) {
        bandit_prediction p[ARMS], q[ARMS];
        predict(amended, p);
        predict(truthful, q);
        for (size_t i = 0; i < ARMS; i++) {
            assert_true(fabs(p[i].mean - q[i].mean) <= 1e-7 * (1 + fabs(q[i].mean)));
            assert_true(fabs(p[i].variance - q[i].variance) <= 1e-7);
            /* the log-sum keeps the terms of what was taken back */
            assert_true(p[i].ucb >= q[i].ucb - 1e-7);
        }
    }
    check_restored(amended, &problem);
    bandit_engine_free(amended);
    bandit_engine_free(truthful);
    random_problem_clear(&problem);
}

static void the_truth_in_the_end_is_the_truth_from_the_start(void **state)
{
    (void)state;
    for (int algorithm = 0; algorithm < BANDIT_ALGORITHMS; algorithm++)
        for (uint64_t seed = 1; seed <= 5; seed++)
            check_algorithm((bandit_algorithm)algorithm, seed);
}

/* It predicts as a study does that was told nothing; of its bounds, what widths have gathered stays. */
static void check_empty(const bandit_engine *engine, const random_problem *problem)
{
    bandit_engine *untold;
    bandit_error error = {0};
    bandit_description description;
    bandit_prediction p[ARMS], q[ARMS];
    bandit_engine_describe(engine, &description);
    assert_int_equal(description.observations, 0);
    assert_int_equal(description.fitted_on, 0);
    if (!description.has_model)
        return;
    assert_int_equal(bandit_engine_new(&untold, problem->arms, &problem->options, 0, &error), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(untold, NULL, 0, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
    predict(engine, p);
    predict(untold, q);
    for (size_t i = 0; i < ARMS; i++) {
        assert_float_equal(p[i].mean, q[i].mean, 1e-12);
        assert_float_equal(p[i].variance, q[i].variance, 1e-12);
    }
    bandit_engine_free(untold);
}

/* All results of a study are taken back, and others told. */
static void take_all_back(bandit_algorithm algorithm, bool learns)
{
    random_problem problem;
    random_problem_init(&problem, 3, ARMS, 2, BANDIT_KERNEL_MATERN, 0.1, 0);
    problem.options.algorithm = algorithm;
    problem.options.inducing = 8;
    problem.options.prior_features = 50;
    if (learns) {
        problem.options.learn_lengthscale = problem.options.learn_noise = true;
        problem.options.learn_norm_bound = problem.options.standardize_rewards = true;
    }
    bandit_engine *engine;
    bandit_error error = {0};
    bandit_description description;
    const bandit_result results[] = {{.arm = 5, .repeats = 2, .reward = 1.5},
                                     {.arm = 9, .repeats = 1, .reward = -3.0}};
    const bandit_amendment amendments[] = {{.arm = 5, .was = {.repeats = 2, .reward = 1.5}},
                                           {.arm = 9, .was = {.repeats = 1, .reward = -3.0}}};
    const bandit_arm_sum sums[] = {{.arm = 5}, {.arm = 9}};
    const bandit_result another = {.arm = 7, .repeats = 2, .reward = 1.5};
    assert_int_equal(bandit_engine_new(&engine, problem.arms, &problem.options, 0, &error), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, results, 2, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
    assert_int_equal(bandit_engine_amend(engine, amendments, 2, sums, 2, NULL, 0, &error), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
    check_empty(engine, &problem);
    check_restored(engine, &problem);
    assert_int_equal(bandit_engine_begin_batch(engine, &another, 1, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
    bandit_engine_describe(engine, &description);
    assert_int_equal(description.observations, 2);
    check_restored(engine, &problem);
    bandit_engine_free(engine);
    random_problem_clear(&problem);
}

static void nothing_is_left(void **state)
{
    (void)state;
    for (int algorithm = 0; algorithm < BANDIT_ALGORITHMS; algorithm++) {
        take_all_back((bandit_algorithm)algorithm, false);
        take_all_back((bandit_algorithm)algorithm, true);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    random_problem problem;
    random_problem_init(&problem, 3, ARMS, 2, BANDIT_KERNEL_MATERN, 0.1, 0);
    bandit_engine *engine;
    bandit_error error = {0};
    bandit_amendment good = {.arm = 5, .now = {.repeats = 1, .reward = 1.5}},
                     bad = {.arm = ARMS, .now = {.repeats = 1, .reward = 1.5}};
    bandit_arm_sum sums[] = {{.arm = 5, .count = 1, .sum = 1.5}, {.arm = 4, .count = 1, .sum = 1.0}};
    assert_int_equal(bandit_engine_new(&engine, problem.arms, &problem.options, 0, &error), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_OK);
    assert_int_equal(bandit_engine_amend(engine, &bad, 1, sums, 1, NULL, 0, &error), BANDIT_INVALID_STATE);
    bad.arm = UINT32_MAX;
    assert_int_equal(bandit_engine_amend(engine, &bad, 1, sums, 1, NULL, 0, &error), BANDIT_INVALID_STATE);
    assert_int_equal(bandit_engine_amend(engine, &good, 1, sums, 2, NULL, 0, &error), BANDIT_INVALID_STATE);
    bad = good;
    bad.now.reward = NAN;
    assert_int_equal(bandit_engine_amend(engine, &bad, 1, sums, 1, NULL, 0, &error), BANDIT_INVALID_STATE);
    bad.now.reward = 1e200; /* its square is not finite */
    assert_int_equal(bandit_engine_amend(engine, &bad, 1, sums, 1, NULL, 0, &error), BANDIT_INVALID_STATE);
    const bandit_result large = {.arm = 5, .repeats = 1, .reward = 1e200};
    assert_int_equal(bandit_engine_begin_batch(engine, &large, 1, NULL, 0, &bandit_executor_serial, &error),
                     BANDIT_INVALID_STATE);
    sums[0].sum = INFINITY;
    assert_int_equal(bandit_engine_amend(engine, &good, 1, sums, 1, NULL, 0, &error), BANDIT_INVALID_STATE);
    bandit_engine_free(engine);
    random_problem_clear(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_in_the_end_is_the_truth_from_the_start),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
