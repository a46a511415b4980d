/* Engines on spaces: equal after a restore, equal to the same algorithm on the enumerated space, obedient to
 * what is fixed and withheld; what they refuse. BANDIT_TEST_FULL=1 runs more of each. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/random_space.h"
#include "tests/support/repeats.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- restoring ----------------------------------------------------------------------------------------- */

static bandit_arms *copy_arms(const random_space *space, const bandit_arms *arms)
{
    bandit_arms *copy = space_study_arms(space->parameters, space->n);
    bandit_error err = {0};
    double coded[RANDOM_SPACE_MOST];
    for (size_t a = 0; a < bandit_arms_count(arms); a++) {
        bandit_arms_coded(arms, a, coded);
        assert_int_equal(bandit_arms_append(copy, coded, 1, &err), BANDIT_OK);
    }
    return copy;
}

static void assert_same_points(const bandit_arms *a, const bandit_arms *b)
{
    double x[RANDOM_SPACE_MOST], y[RANDOM_SPACE_MOST];
    assert_int_equal(bandit_arms_count(a), bandit_arms_count(b));
    for (size_t i = 0; i < bandit_arms_count(a); i++) {
        bandit_arms_coded(a, i, x);
        bandit_arms_coded(b, i, y);
        assert_memory_equal(x, y, bandit_arms_point_width(a) * sizeof *x);
    }
}

static void assert_same_models(const bandit_engine *a, const bandit_engine *b, size_t n_arms)
{
    bandit_description x, y;
    bandit_error err = {0};
    bandit_engine_describe(a, &x);
    bandit_engine_describe(b, &y);
    assert_int_equal(x.batch, y.batch);
    assert_int_equal(x.observations, y.observations);
    assert_true(x.beta == y.beta && x.effective_dimension == y.effective_dimension &&
                x.information_gain == y.information_gain);
    assert_int_equal(x.n_dictionary, y.n_dictionary);
    for (uint32_t arm = 0; x.has_model && arm < n_arms; arm++) {
        bandit_prediction p, q;
        assert_int_equal(bandit_engine_predict_arms(a, &arm, 1, &p, &err), BANDIT_OK);
        assert_int_equal(bandit_engine_predict_arms(b, &arm, 1, &q, &err), BANDIT_OK);
        assert_memory_equal(&p, &q, sizeof p);
    }
}

/* A study with results that come late, some never, failures, withheld points, values held fixed and picks
 * beyond the bound; in every batch an engine restored from the checkpoint, with half of the picks replayed,
 * goes on as the one that lived through it, to the bit. */
static void restored_study(bandit_algorithm algorithm, uint64_t seed, bool learned)
{
    random_space space;
    random_space_init(&space, seed, 2 + seed % 6, false);
    if (algorithm == BANDIT_PI_GP_UCB)
        random_space_make_numeric(&space);
    bandit_arms *arms = space_study_arms(space.parameters, space.n);
    bandit_options o = space_study_options(algorithm, seed, seed % 2 ? 0.1 : 1e-3);
    if (learned) {
        o.learn_lengthscale = o.learn_noise = o.standardize_rewards = o.lambda_from_noise = true;
        o.kernel.n_lengthscales = 0;
    }
    if (seed % 3 == 0)
        o.posterior = BANDIT_POSTERIOR_DTC;
    bandit_engine *engine = space_study_engine(arms, &o);
    bandit_pick out[SPACE_STUDY_MOST], before[SPACE_STUDY_MOST];
    bandit_result results[SPACE_STUDY_MOST];
    size_t n_out = 0, n_results = 0;
    uint32_t withheld = 2, failed[SPACE_STUDY_MOST];
    size_t n_failed = 0;
    for (int round = 0; round < 6; round++) {
        memcpy(before, out, n_out * sizeof *out);
        size_t n_before = n_out;
        space_study_begin(engine, results, n_results, before, n_before);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        double fixed[RANDOM_SPACE_MOST];
        random_space_point(&space, fixed);
        for (size_t i = 0; i < space.n; i++) {
            if (space.parameters[i].parent != BANDIT_NO_PARENT || random_space_below(&space, 2))
                fixed[i] = NAN;
        }
        limits.max_picks = round == 1 ? 20 : 3; /* more than a surface has room for at first */
        limits.beyond_bound = round % 2 == 1;
        limits.withheld = &withheld;
        limits.n_withheld = bandit_arms_count(arms) > 2 ? 1 : 0;
        limits.failed = failed;
        limits.n_failed = n_failed;
        size_t first = space_study_choose(engine, &limits, out + n_out).n_picks;

        bandit_arms *copy = copy_arms(&space, arms);
        bandit_checkpoint checkpoint;
        bandit_engine *other;
        bandit_error err = {0};
        bandit_engine_checkpoint(engine, &checkpoint);
        if (bandit_engine_restore(&other, copy, &o, 0, &checkpoint, before, n_before, &bandit_executor_serial,
                                  &err) != BANDIT_OK)
            fail_msg("%s: %s", bandit_algorithm_name(algorithm), err.message);
        assert_int_equal(bandit_engine_replay_picks(other, out + n_out, first, &bandit_executor_serial, &err),
                         BANDIT_OK);
        limits.beyond_bound = true;
        limits.max_picks = 2;
        limits.fixed = round % 3 ? NULL : fixed;
        bandit_pick again[2];
        bandit_selection lived = space_study_choose(engine, &limits, out + n_out + first);
        bandit_selection restored = space_study_choose(other, &limits, again);
        assert_int_equal(lived.n_picks, restored.n_picks);
        assert_int_equal(lived.stop_rule, restored.stop_rule);
        assert_true(lived.ratio == restored.ratio);
        for (size_t i = 0; i < lived.n_picks; i++) {
            assert_int_equal(out[n_out + first + i].arm, again[i].arm);
            assert_true(out[n_out + first + i].variance == again[i].variance);
            double coded[RANDOM_SPACE_MOST];
            bandit_arms_coded(arms, again[i].arm, coded);
            for (size_t k = 0; limits.fixed && k < space.n; k++)
                assert_true(isnan(fixed[k]) || fixed[k] == coded[k]);
            assert_true(limits.n_withheld == 0 || again[i].arm != withheld);
        }
        assert_same_points(arms, copy);
        assert_same_models(engine, other, bandit_arms_count(arms));
        n_out += first + lived.n_picks;
        if (round % 2) { /* go on with the restored one */
            bandit_engine_free(engine);
            bandit_arms_free(arms);
            engine = other;
            arms = copy;
        } else {
            bandit_engine_free(other);
            bandit_arms_free(copy);
        }

        size_t kept = 0;
        n_results = 0;
        for (size_t i = 0; i < n_out; i++) {
            size_t fate = random_space_below(&space, 10);
            if (fate < 3)
                out[kept++] = out[i];
            else if (fate == 9)
                space_study_add_arm(failed, &n_failed, out[i].arm);
            else
                results[n_results++] =
                    (bandit_result){.arm = out[i].arm,
                                    .repeats = 1 + (uint32_t)(fate == 8),
                                    .reward = space_study_reward(arms, out[i].arm, &space.state, o.noise_std),
                                    .chosen = fate != 7,
                                    .variance = out[i].variance};
        }
        n_out = kept;
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void restores_to_the_bit(void **state)
{
    (void)state;
    for (size_t a = 0; a < SPACE_STUDY_ALGORITHMS; a++) {
        for (uint64_t seed = 1; seed <= (in_full() ? 12U : repeats(3, 1)); seed++)
            restored_study(space_study_algorithms[a], seed, false);
        if (space_study_algorithms[a] != BANDIT_UNIFORM &&
            space_study_algorithms[a] != BANDIT_REGULARIZED_EVOLUTION)
            restored_study(space_study_algorithms[a], 7, true);
    }
}

/* ---- against the enumerated space ---------------------------------------------------------------------- */

/* GP-UCB with picks hallucinated, GP-EI, GP-PI: on the space as on the list of its points, pick by pick. */
static void as_on_the_enumerated_space(void **state)
{
    static const bandit_algorithm exact[] = {BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_EI, BANDIT_GP_PI,
                                             BANDIT_GP_BUCB};
    size_t compared = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_space space;
        random_space_init(&space, seed, 2 + seed % 6, true);
        bandit_arms *open = space_study_arms(space.parameters, space.n),
                    *closed = space_study_arms(space.parameters, space.n);
        bandit_error err = {0};
        size_t size = bandit_arms_space_size(open);
        if (size >= 8 && size <= 2000) {
            assert_int_equal(bandit_arms_enumerate(closed, &err), BANDIT_OK);
            bandit_options o = space_study_options(exact[seed % 5], seed, 0.3);
            bandit_engine *in_space = space_study_engine(open, &o), *in_list = space_study_engine(closed, &o);
            bandit_result listed[6], spaced[6];
            for (size_t i = 0; i < 6; i++) {
                double coded[RANDOM_SPACE_MOST];
                random_space_point(&space, coded);
                if (bandit_arms_find(open, coded) == SIZE_MAX)
                    assert_int_equal(bandit_arms_append(open, coded, 1, &err), BANDIT_OK);
                spaced[i] = (bandit_result){.arm = (uint32_t)bandit_arms_find(open, coded), .repeats = 1};
                listed[i] = (bandit_result){.arm = (uint32_t)bandit_arms_find(closed, coded), .repeats = 1};
                spaced[i].reward = listed[i].reward = dense_normal(&space.state);
            }
            space_study_begin(in_space, spaced, 6, NULL, 0);
            space_study_begin(in_list, listed, 6, NULL, 0);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick one[5], other[5];
            limits.beyond_bound = true;
            limits.max_picks = 5;
            assert_int_equal(space_study_choose(in_space, &limits, one).n_picks, 5);
            assert_int_equal(space_study_choose(in_list, &limits, other).n_picks, 5);
            for (size_t i = 0; i < 5; i++) {
                double x[RANDOM_SPACE_MOST];
                bandit_arms_coded(open, one[i].arm, x);
                assert_int_equal(bandit_arms_find(closed, x), other[i].arm);
                assert_true(fabs(one[i].variance - other[i].variance) < 1e-7);
                compared++;
            }
            bandit_engine_free(in_space);
            bandit_engine_free(in_list);
        }
        bandit_arms_free(open);
        bandit_arms_free(closed);
    }
    assert_true(compared >= 50);
}

/* On the list of a space's points: picks have what is fixed, a restored engine goes on the same way, and what
 * no point has is refused. */
static void fixed_on_the_list(void **state)
{
    (void)state;
    for (size_t a = 0; a < SPACE_STUDY_ALGORITHMS; a++) {
        random_space space;
        bandit_error err = {0};
        random_space_init(&space, 21 + a, 4, true);
        if (space_study_algorithms[a] == BANDIT_PI_GP_UCB) {
            random_space_make_numeric(&space);
            for (size_t i = 0; i < space.n; i++)
                space.parameters[i].type = BANDIT_PARAMETER_INTEGER;
        }
        bandit_arms *arms = space_study_arms(space.parameters, space.n);
        assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_OK);
        bandit_options o = space_study_options(space_study_algorithms[a], 4, 1e-3);
        bandit_engine *engine = space_study_engine(arms, &o), *other;
        bandit_result results[6];
        for (size_t i = 0; i < 6; i++) {
            double x[RANDOM_SPACE_MOST];
            random_space_point(&space, x);
            results[i] = (bandit_result){.arm = (uint32_t)bandit_arms_find(arms, x), .repeats = 1};
            results[i].reward = space_study_reward(arms, results[i].arm, &space.state, 0.1);
        }
        space_study_begin(engine, results, 6, NULL, 0);
        bandit_checkpoint checkpoint;
        bandit_engine_checkpoint(engine, &checkpoint);
        assert_int_equal(
            bandit_engine_restore(&other, arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_OK);
        for (int round = 0; round < 8; round++) {
            double fixed[RANDOM_SPACE_MOST], x[RANDOM_SPACE_MOST];
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick one, same;
            random_space_point(&space, fixed);
            for (size_t i = 0; i < space.n; i++)
                fixed[i] = random_space_below(&space, 2) ? fixed[i] : (double)NAN;
            limits.max_picks = 1;
            limits.beyond_bound = true;
            limits.fixed = fixed;
            assert_int_equal(space_study_choose(engine, &limits, &one).n_picks, 1);
            assert_int_equal(space_study_choose(other, &limits, &same).n_picks, 1);
            assert_int_equal(one.arm, same.arm);
            bandit_arms_coded(arms, one.arm, x);
            for (size_t i = 0; i < space.n; i++)
                assert_true(isnan(fixed[i]) || fixed[i] == x[i]);
            fixed[0] = 1e6;
            bandit_selection selection;
            assert_int_equal(
                bandit_engine_select(engine, &limits, &bandit_executor_serial, &one, &selection, &err),
                BANDIT_INVALID_OPTION);
            assert_string_equal(err.field, "fixed");
        }
        bandit_engine_free(engine);
        bandit_engine_free(other);
        bandit_arms_free(arms);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void refusals(void **state)
{
    const double on[] = {1};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = 1, .parent_values = on, .n_parent_values = 1}};
    bandit_arms *arms = space_study_arms(parameters, 3);
    bandit_engine *engine;
    bandit_error err = {0};
    (void)state;
    bandit_options o = space_study_options(BANDIT_BBKB, 1, 0.1);
    o.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "batch_rule");
    o = space_study_options(BANDIT_S_GP_TS, 1, 0.1);
    o.features = BANDIT_FEATURES_EIGEN;
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "features");
    bandit_arms *line = space_study_arms(parameters, 1); /* of few enough dimensions for candidates */
    assert_int_equal(bandit_engine_new(&engine, line, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_non_null(strstr(err.message, "in an open space"));
    bandit_arms_free(line);
    o = space_study_options(BANDIT_PI_GP_UCB, 1, 0.1);
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "name");

    o = space_study_options(BANDIT_BBKB, 1, 0.1);
    engine = space_study_engine(arms, &o);
    space_study_begin(engine, NULL, 0, NULL, 0);
    const double impossible[][3] = {{2, NAN, NAN}, {NAN, 0, 0.5}};
    for (size_t i = 0; i < 2; i++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_pick pick;
        limits.max_picks = 1;
        limits.fixed = impossible[i];
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err),
            BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, "fixed");
    }
    /* What makes it active follows from what is fixed. */
    const double deep[] = {NAN, NAN, 0.5};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick pick;
    double x[3];
    limits.max_picks = 1;
    limits.fixed = deep;
    assert_int_equal(space_study_choose(engine, &limits, &pick).n_picks, 1);
    bandit_arms_coded(arms, pick.arm, x);
    assert_true(x[1] == 1.0 && x[2] == 0.5);
    const double outside[] = {0.5, 2, NAN};
    bandit_prediction prediction;
    assert_int_equal(bandit_engine_predict_points(engine, outside, 1, &prediction, &err),
                     BANDIT_INVALID_ARMS);
    bandit_engine_free(engine);

    assert_int_equal(bandit_engine_new(&engine, arms, &o, 100000, &err), BANDIT_OK);
    space_study_begin(engine, NULL, 0, NULL, 0);
    bandit_selection selection;
    limits.fixed = NULL;
    bandit_result result = {.arm = 0, .repeats = 1, .reward = 1.0};
    bandit_status status =
        bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err);
    if (status == BANDIT_OK)
        status = bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err);
    assert_int_equal(status, BANDIT_MEMORY_LIMIT);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* Sixty parameters of all types, and other kernels: nothing overflows, and picks are points of the
 * space. */
static void many_parameters(void **state)
{
    enum { MANY = 60 };
    static bandit_parameter parameters[MANY];
    static double x[MANY];
    const double numbers[] = {1, 10, 100}, on[] = {1};
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        parameters[i] = (bandit_parameter){.type = (bandit_parameter_type)(i % 5),
                                           .min = 1,
                                           .max = 1000,
                                           .log = i % 2,
                                           .parent = BANDIT_NO_PARENT};
        if (parameters[i].type == BANDIT_PARAMETER_DISCRETE)
            parameters[i].numbers = numbers;
        if (parameters[i].type == BANDIT_PARAMETER_DISCRETE ||
            parameters[i].type == BANDIT_PARAMETER_CATEGORICAL)
            parameters[i].n_values = 3;
        if (i % 10 == 5) { /* active with the boolean before it */
            parameters[i].parent = i - 1;
            parameters[i].parent_values = on;
            parameters[i].n_parent_values = 1;
        }
    }
    for (size_t k = 0; k < 2 * SPACE_STUDY_ALGORITHMS; k += in_full() ? 1 : repeats(5, 9)) {
        bandit_options o = space_study_options(space_study_algorithms[k / 2], 3, 0.1);
        bandit_error err = {0};
        if (o.algorithm == BANDIT_PI_GP_UCB)
            continue; /* ten parameters at most */
        if (k % 2) {
            o.kernel.type = BANDIT_KERNEL_LINEAR;
            o.kernel.n_lengthscales = 0;
        }
        bandit_arms *arms = space_study_arms(parameters, MANY);
        bandit_engine *engine = space_study_engine(arms, &o);
        bandit_result results[8];
        size_t n_results = 0;
        for (int round = 0; round < 2; round++) {
            bandit_pick picks[2];
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            space_study_begin(engine, results, n_results, NULL, 0);
            limits.max_picks = 2;
            limits.beyond_bound = true;
            assert_int_equal(space_study_choose(engine, &limits, picks).n_picks, 2);
            n_results = 0;
            for (size_t i = 0; i < 2; i++) {
                bandit_arms_coded(arms, picks[i].arm, x);
                assert_int_equal(bandit_arms_check_point(arms, x, &err), BANDIT_OK);
                results[n_results++] = (bandit_result){.arm = picks[i].arm,
                                                       .repeats = 1,
                                                       .reward = x[4] + x[0] / 1000.0,
                                                       .chosen = true,
                                                       .variance = picks[i].variance};
            }
        }
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* What is stored is checked before it is believed. */
static void damaged_states(void **state)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .max = 9, .parent = BANDIT_NO_PARENT}};
    (void)state;
    for (size_t a = 0; a < SPACE_STUDY_ALGORITHMS; a++) {
        bandit_arms *arms = space_study_arms(parameters, 2);
        bandit_options o = space_study_options(space_study_algorithms[a], 3, 0.1);
        bandit_engine *engine = space_study_engine(arms, &o), *other;
        bandit_pick picks[3];
        bandit_result results[3];
        bandit_error err = {0};
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        space_study_begin(engine, NULL, 0, NULL, 0);
        limits.max_picks = 3;
        limits.beyond_bound = true;
        size_t n = space_study_choose(engine, &limits, picks).n_picks;
        for (size_t i = 0; i < n; i++)
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = (double)i,
                                         .chosen = true,
                                         .variance = picks[i].variance};
        space_study_begin(engine, results, n, NULL, 0);
        bandit_checkpoint good;
        bandit_engine_checkpoint(engine, &good);
        unsigned char *bytes = dense_alloc(good.n_state, 1);
        const uint32_t unordered[] = {2, 1};
        for (int kind = 0; kind < 5; kind++) {
            bandit_checkpoint bad = good;
            memcpy(bytes, good.state, good.n_state);
            bad.state = bytes;
            if (kind == 0)
                bad.n_state--;
            if (kind == 1)
                memset(bytes, 0x7f, 8);
            if (kind == 2)
                memset(bytes, 0xff, good.n_state);
            if (kind == 3) {
                if (space_study_algorithms[a] == BANDIT_UNIFORM ||
                    space_study_algorithms[a] == BANDIT_REGULARIZED_EVOLUTION)
                    continue; /* nothing stands on their sums */
                bad.n_sums--;
            }
            if (kind == 4) {
                if (good.n_dictionary == 0)
                    continue;
                bad.dictionary = unordered;
                bad.n_dictionary = 2;
            }
            assert_int_equal(
                bandit_engine_restore(&other, arms, &o, 0, &bad, NULL, 0, &bandit_executor_serial, &err),
                BANDIT_INVALID_STATE);
            assert_null(other);
        }
        assert_int_equal(
            bandit_engine_restore(&other, arms, &o, 0, &good, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_OK);
        bandit_engine_free(other);
        free(bytes);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restores_to_the_bit), cmocka_unit_test(as_on_the_enumerated_space),
        cmocka_unit_test(fixed_on_the_list),   cmocka_unit_test(refusals),
        cmocka_unit_test(many_parameters),     cmocka_unit_test(damaged_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
