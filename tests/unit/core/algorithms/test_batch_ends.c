/* Where batches end that are bounded by a ratio: at the first pick that takes it beyond the bound, and not at
 * one that brings it to the bound exactly. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 12, TOLD = 5 };

typedef struct batch {
    uint32_t arms[MOST];
    size_t n;
    double ratios[MOST]; /* after each pick */
    bandit_stop_rule end;
} batch;

/* A second batch under this bound, pick by pick, to its end or at most so many picks; picks that are out from
 * before come first. */
static batch plan(bandit_algorithm algorithm, small_set set, double bound, size_t most, bool pending)
{
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_options o = small_options(algorithm, set);
    bandit_result results[TOLD];
    bandit_pick first[TOLD];
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    batch b = {0};
    o.ratio_bound = bound;
    o.max_batch = MOST;
    o.lambda = 0.5;
    assert_int_equal(small_arms(&arms, set), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
    limits.max_picks = TOLD;
    limits.beyond_bound = true;
    assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial, first, &selection, NULL),
                     BANDIT_OK);
    assert_int_equal(selection.n_picks, TOLD);
    size_t n_told = pending ? TOLD - 1 : TOLD;
    for (size_t i = 0; i < n_told; i++)
        results[i] = (bandit_result){.arm = first[i].arm,
                                     .repeats = 1,
                                     .reward = small_worth(arms, set, first[i].arm),
                                     .chosen = true,
                                     .variance = first[i].variance};
    assert_int_equal(bandit_engine_begin_batch(engine, results, n_told, first + n_told, TOLD - n_told,
                                               &bandit_executor_serial, NULL),
                     BANDIT_OK);
    limits.max_picks = 1;
    limits.beyond_bound = false;
    while (b.n < most) {
        bandit_pick pick;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, NULL),
            BANDIT_OK);
        b.end = selection.stop_rule;
        if (selection.n_picks == 0)
            break;
        b.arms[b.n] = pick.arm;
        b.ratios[b.n++] = selection.ratio;
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return b;
}

/* The bound decides which picks are made, and they what the ratio is: a bound that is the ratio of its own
 * k-th pick is looked for by taking the ratio for the next bound. */
static bool find_own_bound(double *bound, bandit_algorithm algorithm, small_set set, size_t k, bool pending)
{
    *bound = 4.0;
    for (int i = 0; i < 40; i++) {
        batch b = plan(algorithm, set, *bound, k, pending);
        if (b.n == k && b.ratios[k - 1] == *bound)
            return true;
        if (b.n == 0)
            return false;
        *bound = b.n == k ? b.ratios[k - 1] : 1.5 * *bound;
    }
    return false;
}

static void a_batch_goes_on_at_its_bound(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_BUCB};
    static const small_set sets[] = {FEATURES, MATRIX, LISTED, BOX, SPACE};
    size_t found = 0, in_space = 0;
    (void)state;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
            for (size_t k = 1; k <= 3; k++) {
                bool pending = k == 2;
                double bound;
                if (!find_own_bound(&bound, algorithms[a], sets[s], k, pending))
                    continue;
                batch b = plan(algorithms[a], sets[s], bound, MOST, pending);
                assert_true(b.ratios[k - 1] == bound);
                assert_true(b.n > k); /* it went on */
                for (size_t i = 1; i < b.n; i++)
                    assert_true(b.ratios[i] >= b.ratios[i - 1]);
                for (size_t i = 0; i + 1 < b.n; i++)
                    assert_true(b.ratios[i] <= bound);
                if (b.n < MOST) {
                    assert_true(b.ratios[b.n - 1] > bound);
                    assert_int_equal(b.end, BANDIT_STOP_GLOBAL);
                }
                found++;
                in_space += sets[s] == BOX || sets[s] == SPACE;
            }
        }
    }
    print_message("%zu bounds that a pick meets, %zu in spaces\n", found, in_space);
    assert_true(found >= 15 && in_space >= 5);
}

/* Whoever takes more picks than a batch has at most, by asking beyond its bound, gets no more of it. */
static void full_batches_stay_full(void **state)
{
    static const small_set sets[] = {FEATURES, MATRIX, BOX, SPACE};
    size_t full = 0;
    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        for (size_t a = 0; a < SMALL_ALGORITHMS; a++) {
            bandit_arms *arms;
            bandit_engine *engine;
            bandit_options o = small_options(small_algorithms[a], sets[s]);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection selection;
            bandit_pick picks[6];
            if (small_algorithms[a] == BANDIT_S_GP_TS && sets[s] == MATRIX)
                continue;
            o.max_batch = 4;
            o.ratio_bound = 1e9;
            assert_int_equal(small_arms(&arms, sets[s]), BANDIT_OK);
            const double point[] = {0.5, 1.0, 3.0, 1.0};
            if (small_is_open(sets[s]))
                assert_int_equal(bandit_arms_append(arms, point, 1, NULL), BANDIT_OK);
            const bandit_result told = {.arm = 0, .repeats = 1, .reward = 0.5};
            assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
            assert_int_equal(
                bandit_engine_begin_batch(engine, &told, 1, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_OK);
            limits.max_picks = 6;
            limits.beyond_bound = true;
            assert_int_equal(
                bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                BANDIT_OK);
            assert_int_equal(selection.n_picks, 6);
            limits.beyond_bound = false;
            assert_int_equal(
                bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                BANDIT_OK);
            assert_int_equal(selection.n_picks, 0);
            assert_true(selection.stop_rule != BANDIT_STOP_NONE);
            full += selection.stop_rule == BANDIT_STOP_MAX_BATCH;
            bandit_engine_free(engine);
            bandit_arms_free(arms);
        }
    }
    print_message("%zu batches are full\n", full);
    assert_true(full >= 8);
}

/* The same before the first reward in a space, where the design, or the most uncertain points, end the batch.
 */
static void first_batches_stay_full(void **state)
{
    enum { TAKEN = 14, LIMIT = 4 };
    static const small_set sets[] = {BOX, SPACE};
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_BKB};
    (void)state;
    for (size_t k = 0; k < 9; k++) {
        bandit_arms *arms;
        bandit_engine *engine;
        small_set set = sets[k % 2];
        bandit_options o = small_options(k == 8 ? BANDIT_PI_GP_UCB : algorithms[k / 2 % 2], set);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_pick picks[TAKEN];
        bool uncertain = k / 4 == 1;
        o.max_batch = LIMIT;
        o.init = uncertain ? BANDIT_INIT_UNCERTAINTY : o.init;
        assert_int_equal(small_arms(&arms, set), BANDIT_OK);
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                         BANDIT_OK);
        limits.max_picks = TAKEN;
        limits.beyond_bound = true;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
            BANDIT_OK);
        assert_int_equal(selection.n_picks, TAKEN);
        limits.beyond_bound = false;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
            BANDIT_OK);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, uncertain ? BANDIT_STOP_MAX_BATCH : BANDIT_STOP_INITIAL);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

static bandit_selection first_batch(bandit_arms *arms, const bandit_options *o, bandit_pick *picks)
{
    bandit_engine *engine;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    assert_int_equal(bandit_engine_new(&engine, arms, o, 0, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
    limits.max_picks = MOST;
    assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                     BANDIT_OK);
    bandit_engine_free(engine);
    return selection;
}

/* First picks by their uncertainty: one, though no variance was above 1/P to begin with. */
static void a_first_batch_is_not_empty(void **state)
{
    static const small_set sets[] = {FEATURES, MATRIX, BOX, SPACE};
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_TS, BANDIT_GP_BUCB};
    (void)state;
    for (size_t k = 0; k < 12; k++) {
        bandit_options o = small_options(algorithms[k / 4], sets[k % 4]);
        bandit_arms *arms;
        bandit_pick picks[MOST];
        o.init = BANDIT_INIT_UNCERTAINTY;
        o.lambda = 10.0;
        o.parallelism = 2.0;
        o.max_batch = MOST;
        assert_int_equal(small_arms(&arms, sets[k % 4]), BANDIT_OK);
        bandit_selection selection = first_batch(arms, &o, picks);
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        bandit_arms_free(arms);
    }
}

/* Nor does it end while a variance is 1/P exactly: of arms that tell nothing of each other all are picked,
 * each once. */
static void a_first_batch_goes_on_at_its_bound(void **state)
{
    enum { ARMS = 5 };
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_TS, BANDIT_GP_BUCB};
    double identity[ARMS * ARMS] = {0.0};
    (void)state;
    for (size_t a = 0; a < ARMS; a++)
        identity[a * ARMS + a] = 1.0;
    for (size_t k = 0; k < 3; k++) {
        bandit_options o = small_options(algorithms[k], MATRIX);
        bandit_arms *arms;
        bandit_pick picks[MOST];
        bool seen[ARMS] = {false};
        o.init = BANDIT_INIT_UNCERTAINTY;
        o.lambda = 2.0;
        o.parallelism = 2.0;
        o.max_batch = MOST;
        assert_int_equal(bandit_arms_new_precomputed(&arms, ARMS, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, identity, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
        assert_int_equal(first_batch(arms, &o, picks).n_picks, ARMS);
        for (size_t i = 0; i < ARMS; i++) {
            assert_false(seen[picks[i].arm]);
            seen[picks[i].arm] = true;
        }
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_goes_on_at_its_bound), cmocka_unit_test(full_batches_stay_full),
        cmocka_unit_test(first_batches_stay_full), cmocka_unit_test(a_first_batch_is_not_empty),
        cmocka_unit_test(a_first_batch_goes_on_at_its_bound)};
    return cmocka_run_group_tests_name("ends of batches", tests, NULL, NULL);
}
