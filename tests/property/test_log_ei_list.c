/* log_ei on lists: first picks, when batches end, which arms come again, and that picks are a function of what is
 * known, not of threads or of how the engine came to it. */
#include "bandit/engine.h"
#include "tests/support/dense_gp.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 3000, DIMENSION = 2, MOST = 256 };

typedef struct list {
    bandit_arms *arms;
    double x[ARMS * DIMENSION];
    size_t n;
    bandit_options options;
    bandit_engine *engine;
    uint64_t random;
} list;

static const double lengthscale = 0.3;

static void open_list(list *l, size_t n, double noise_std)
{
    bandit_error err;
    *l = (list){.n = n, .options = BANDIT_OPTIONS_INIT, .random = 77};
    for (size_t i = 0; i < n * DIMENSION; i++)
        l->x[i] = dense_uniform(&l->random);
    must(bandit_arms_new(&l->arms, n, DIMENSION, &err), &err);
    must(bandit_arms_set_rows(l->arms, 0, n, l->x, &err), &err);
    must(bandit_arms_finish(l->arms, BANDIT_SCALING_NONE, n, &err), &err);
    l->options.algorithm = BANDIT_LOG_EI;
    l->options.kernel.lengthscales = &lengthscale;
    l->options.kernel.n_lengthscales = 1;
    l->options.noise_std = noise_std;
    l->options.lambda = fmax(1e-6, noise_std * noise_std);
    must(bandit_engine_new(&l->engine, l->arms, &l->options, 0, &err), &err);
}

static void close_list(list *l)
{
    bandit_engine_free(l->engine);
    bandit_arms_free(l->arms);
}

static double worth(const list *l, uint32_t arm)
{
    const double *x = l->x + 2 * (size_t)arm;
    return sin(5.0 * x[0]) * cos(4.0 * x[1]) + 0.3 * x[0];
}

static bandit_result result_of(list *l, const bandit_pick *pick)
{
    return learner_result(pick, worth(l, pick->arm) + l->options.noise_std * dense_normal(&l->random));
}

static bandit_selection choose(list *l, bandit_engine *engine, size_t n, bool beyond, bandit_pick *picks,
                               const bandit_executor *executor)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;
    (void)l;
    limits.max_picks = n;
    limits.beyond_bound = beyond;
    must(bandit_engine_select(engine, &limits, executor, picks, &selection, &err), &err);
    return selection;
}

static size_t different(const bandit_pick *picks, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= picks[k].arm == picks[i].arm;
        count += !again;
    }
    return count;
}

/* Two first picks by rule; however many, they are drawn without replacement, and of what is in flight none. */
static void first_picks_are_different(void **state)
{
    (void)state;
    static list l;
    bandit_pick picks[40];
    bandit_error err;
    open_list(&l, 40, 0.1);
    learner_begin(l.engine, NULL, 0);
    bandit_selection s = choose(&l, l.engine, 40, false, picks, &bandit_executor_serial);
    assert_int_equal(s.n_picks, 2);
    assert_int_equal(s.stop_rule, BANDIT_STOP_INITIAL);
    s = choose(&l, l.engine, 38, true, picks + 2, &bandit_executor_serial);
    assert_int_equal(s.n_picks, 38);
    assert_int_equal(different(picks, 40), 40);
    /* the next batch, with 30 of them in flight */
    must(bandit_engine_begin_batch(l.engine, NULL, 0, picks, 30, &bandit_executor_serial, &err), &err);
    s = choose(&l, l.engine, 10, true, picks + 30, &bandit_executor_serial);
    assert_int_equal(s.n_picks, 10);
    assert_int_equal(different(picks, 40), 40);
    close_list(&l);
}

/* Batches of one up to a hundred results; then as long as BBKB's rule allows. */
static void batches_grow_after_a_hundred_results(void **state)
{
    (void)state;
    static list l;
    bandit_result results[160];
    bandit_pick picks[MOST];
    size_t told = 0, longest = 0;
    open_list(&l, 400, 0.5);
    learner_begin(l.engine, NULL, 0);
    bandit_selection s = choose(&l, l.engine, MOST, false, picks, &bandit_executor_serial);
    while (told < 160) {
        size_t n = s.n_picks < 160 - told ? s.n_picks : 160 - told;
        for (size_t i = 0; i < n; i++)
            results[i] = result_of(&l, &picks[i]);
        learner_begin(l.engine, results, n);
        told += n;
        s = choose(&l, l.engine, MOST, false, picks, &bandit_executor_serial);
        if (told < 100) {
            assert_int_equal(s.n_picks, 1);
            assert_int_equal(s.stop_rule, BANDIT_STOP_SEQUENTIAL);
        } else {
            assert_int_equal(s.stop_rule, BANDIT_STOP_GLOBAL);
            assert_true(s.ratio > l.options.ratio_bound);
            assert_true(s.ratio - picks[s.n_picks - 1].variance <= l.options.ratio_bound);
            longest = s.n_picks > longest ? s.n_picks : longest;
        }
    }
    assert_true(longest > 1);
    close_list(&l);
}

/* Without noise each arm comes once, then all again; the last batches are beyond the number of arms. */
static void an_arm_comes_once_while_there_are_others(void **state)
{
    (void)state;
    static list l;
    bandit_pick pick;
    size_t pulls[30] = {0};
    open_list(&l, 30, 0.0);
    learner_begin(l.engine, NULL, 0);
    for (size_t i = 0; i < 75; i++) {
        assert_int_equal(choose(&l, l.engine, 1, true, &pick, &bandit_executor_serial).n_picks, 1);
        pulls[pick.arm]++;
        for (size_t a = 0; a < 30; a++)
            assert_true(i >= 30 || pulls[a] <= 1);
        bandit_result r = result_of(&l, &pick);
        learner_begin(l.engine, &r, 1);
    }
    for (size_t a = 0; a < 30; a++)
        assert_true(pulls[a] >= 1);
    close_list(&l);
}

/* With noise the arms that may be the best are measured again and again, the others hardly ever. */
static void repeats_are_earned(void **state)
{
    (void)state;
    static list l;
    bandit_pick pick;
    size_t pulls[60] = {0}, repeated_far = 0, repeated_near = 0;
    double best = -INFINITY;
    open_list(&l, 60, 0.4);
    for (uint32_t a = 0; a < 60; a++)
        best = fmax(best, worth(&l, a));
    learner_begin(l.engine, NULL, 0);
    for (size_t i = 0; i < 250; i++) {
        assert_int_equal(choose(&l, l.engine, 1, true, &pick, &bandit_executor_serial).n_picks, 1);
        if (++pulls[pick.arm] > 1) {
            repeated_near += worth(&l, pick.arm) > best - 0.4;
            repeated_far += worth(&l, pick.arm) <= best - 0.4;
        }
        bandit_result r = result_of(&l, &pick);
        learner_begin(l.engine, &r, 1);
    }
    print_message("%zu repeats near the best, %zu elsewhere\n", repeated_near, repeated_far);
    assert_true(repeated_near > 100);
    assert_true(repeated_far < repeated_near / 4);
    close_list(&l);
}

/* The noise that is learned when two repeats agree, of rewards that have as many values as that. */
static double noise_after_repeats(size_t values)
{
    static list l;
    bandit_result results[32];
    bandit_description seen;
    bandit_error err;
    open_list(&l, 30, 0.1);
    bandit_engine_free(l.engine);
    l.options.kernel.n_lengthscales = 0;
    learner_options(&l.options, BANDIT_LOG_EI);
    must(bandit_engine_new(&l.engine, l.arms, &l.options, 0, &err), &err);
    learner_begin(l.engine, NULL, 0);
    for (uint32_t i = 0; i < 32; i++) {
        bandit_pick pick = {.arm = i < 30 ? i : i - 30};
        results[i] = learner_result(&pick, (double)(pick.arm * 7 % values));
    }
    learner_begin(l.engine, results, 30);
    learner_begin(l.engine, results + 30, 2);
    bandit_engine_describe(l.engine, &seen);
    close_list(&l);
    return seen.noise_std;
}

/* If a metric has few values, repeats often agree by chance, and do not mean that there is no noise. */
static void repeats_that_agree_by_chance_prove_nothing(void **state)
{
    (void)state;
    assert_true(noise_after_repeats(2) > 0.0);
    assert_true(noise_after_repeats(4) > 0.0);
    assert_true(noise_after_repeats(30) == 0.0);
}

/* Parts in a scrambled order on changing workers. */
static void scrambled(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        task(arg, n - 1 - i, i % 3);
}

/* Plates of 96 with something in flight, out of three thousand: all different, and the same from an engine that is
 * restored in the midst of each and from one with other threads. */
static void plates_are_different_and_do_not_depend_on_the_way(void **state)
{
    (void)state;
    static const double noises[] = {0.0, 0.1};
    const bandit_executor others = {.for_each = scrambled, .workers = 3};
    for (size_t k = 0; k < 2; k++) {
        static list l;
        bandit_pick pending[8], picks[96], again[96];
        bandit_result results[96];
        bandit_error err;
        size_t n_results = 0, n_pending = 0;
        open_list(&l, ARMS, noises[k]);
        for (size_t plate = 0; plate < 5; plate++) {
            bandit_checkpoint at;
            bandit_engine *restored;
            must(bandit_engine_begin_batch(l.engine, results, n_results, pending, n_pending, &others, &err),
                 &err);
            bandit_selection s = choose(&l, l.engine, 96, true, picks, &others);
            assert_int_equal(s.n_picks, 96);
            assert_int_equal(different(picks, 96), 96);
            bandit_engine_checkpoint(l.engine, &at);
            must(bandit_engine_restore(&restored, l.arms, &l.options, 0, &at, pending, n_pending,
                                       &bandit_executor_serial, &err),
                 &err);
            must(bandit_engine_replay_picks(restored, picks, 40, &bandit_executor_serial, &err), &err);
            assert_int_equal(choose(&l, restored, 56, true, again, &bandit_executor_serial).n_picks, 56);
            for (size_t i = 0; i < 56; i++)
                assert_true(again[i].arm == picks[40 + i].arm && again[i].variance == picks[40 + i].variance);
            bandit_engine_free(restored);
            for (size_t i = 0; i < n_pending; i++) /* those held over are told now */
                results[i] = result_of(&l, &pending[i]);
            for (size_t i = 0; i < 88; i++)
                results[n_pending + i] = result_of(&l, &picks[i]);
            n_results = n_pending + 88;
            memcpy(pending, picks + 88, sizeof pending);
            n_pending = 8;
        }
        close_list(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_picks_are_different),
        cmocka_unit_test(batches_grow_after_a_hundred_results),
        cmocka_unit_test(an_arm_comes_once_while_there_are_others),
        cmocka_unit_test(repeats_are_earned),
        cmocka_unit_test(repeats_that_agree_by_chance_prove_nothing),
        cmocka_unit_test(plates_are_different_and_do_not_depend_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
