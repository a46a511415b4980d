/* What every engine refuses, whatever its algorithm: options out of their range, stored states that are
 * damaged, results and picks of no arm, predictions that cannot be made; and how it ends where nothing is
 * left to choose. */
#include "bandit/engine.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- options ------------------------------------------------------------------------------------------- */

static const double length = 1.0;

static bandit_options good_options(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &length;
    o.kernel.n_lengthscales = 1;
    return o;
}

/* The options are refused for this field, and taken when `mended` is what stands there. */
#define REFUSED(algorithm, dimension, name, bad, mended, ...)                                                \
    do {                                                                                                     \
        bandit_options o = good_options(algorithm);                                                          \
        bandit_error err = {0};                                                                              \
        __VA_ARGS__;                                                                                         \
        o.bad;                                                                                               \
        assert_int_equal(bandit_options_check(&o, dimension, &err), BANDIT_INVALID_OPTION);                  \
        assert_string_equal(err.field, name);                                                                \
        o.mended;                                                                                            \
        assert_int_equal(bandit_options_check(&o, dimension, &err), BANDIT_OK);                              \
    } while (0)

static void options_have_ranges(void **state)
{
    (void)state;
    REFUSED(BANDIT_BBKB, 2, "name", algorithm = BANDIT_ALGORITHMS, algorithm = BANDIT_BBKB, (void)0);
    REFUSED(BANDIT_BBKB, 2, "lambda", lambda = 0.0, lambda = 1e-300, (void)0);
    REFUSED(BANDIT_BBKB, 2, "lambda", lambda = (double)INFINITY, lambda = 1e300, (void)0);
    REFUSED(BANDIT_BBKB, 2, "noise_std", noise_std = -1e-300, noise_std = 0.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "noise_std", noise_std = (double)NAN, noise_std = 1.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "norm_bound", norm_bound = -1.0, norm_bound = 0.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "delta", delta = 0.0, delta = 0.5, (void)0);
    REFUSED(BANDIT_BBKB, 2, "delta", delta = 1.0, delta = 0.999, (void)0);
    REFUSED(BANDIT_BBKB, 2, "q_bar", q_bar = 0.0, q_bar_theory = true, (void)0);
    REFUSED(BANDIT_BBKB, 2, "ratio_bound", ratio_bound = 0.999, ratio_bound = 1.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "confidence/beta", beta = -1.0, beta = 0.0,
            o.confidence = BANDIT_CONFIDENCE_FIXED);
    REFUSED(BANDIT_BBKB, 2, "init/parallelism", parallelism = 0.0, parallelism = 1e-300,
            o.init = BANDIT_INIT_UNCERTAINTY);
    REFUSED(BANDIT_GP_UCB, 2, "gamma", gamma_value = -1.0, gamma_value = 0.0, o.gamma = BANDIT_GAMMA_FIXED);
    REFUSED(BANDIT_GP_UCB, 2, "gamma_scale", gamma_scale = 0.0, gamma_scale = 1e-300,
            o.gamma = BANDIT_GAMMA_BOUND);
    REFUSED(BANDIT_GP_TS, 2, "scale", scale = 0.0, scale = 1e-300, (void)0);
    REFUSED(BANDIT_EPSILON_GREEDY, 2, "epsilon", epsilon = -0.1, epsilon = 0.0, (void)0);
    REFUSED(BANDIT_EPSILON_GREEDY, 2, "epsilon", epsilon = 1.1, epsilon = 1.0, (void)0);
    REFUSED(BANDIT_GP_EI, 2, "zeta", zeta = -0.1, zeta = 0.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "max_batch", max_batch = 0, max_batch = 1, (void)0);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "population", population = 0, population = 1, o.sample = 1);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "sample", sample = 0, sample = 1, (void)0);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "sample", sample = 101, sample = 100, (void)0);
    REFUSED(BANDIT_UNIFORM, 2, "init/type", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            (void)0);
}

static void options_go_together(void **state)
{
    (void)state;
    REFUSED(BANDIT_BBKB, 2, "kernel/lengthscale", kernel.type = BANDIT_KERNEL_LINEAR,
            learn_lengthscale = false, (o.learn_lengthscale = true, o.kernel.n_lengthscales = 0));
    static const bandit_algorithm with_gamma[] = {BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB, BANDIT_GP_TS,
                                                  BANDIT_ASYNC_TS};
    for (size_t i = 0; i < sizeof with_gamma / sizeof with_gamma[0]; i++) {
        REFUSED(with_gamma[i], 0, "gamma", gamma = BANDIT_GAMMA_BOUND, gamma = BANDIT_GAMMA_EXACT,
                o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
        REFUSED(with_gamma[i], 0, "gamma", gamma = BANDIT_GAMMA_BOUND, algorithm = BANDIT_BBKB,
                o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
    }
    REFUSED(BANDIT_S_GP_TS, 2, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM, (void)0);
    REFUSED(BANDIT_S_GP_TS, 0, "kernel/type", algorithm = BANDIT_S_GP_TS, algorithm = BANDIT_GP_TS,
            o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
    REFUSED(BANDIT_S_GP_TS, 4, "features", features = BANDIT_FEATURES_EIGEN, features = BANDIT_FEATURES_RFF,
            (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "posterior", posterior = BANDIT_POSTERIOR_FEATURES,
            features = BANDIT_FEATURES_EIGEN, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 199, prior_features = 200,
            (o.posterior = BANDIT_POSTERIOR_FEATURES, o.features = BANDIT_FEATURES_EIGEN));
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 1, prior_features = 0,
            (o.posterior = BANDIT_POSTERIOR_FEATURES, o.features = BANDIT_FEATURES_EIGEN, o.horizon = 100));
    REFUSED(BANDIT_S_GP_TS, 2, "inducing", inducing = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "inducing", inducing = 2001, inducing = 2000, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 20001, prior_features = 20000, (void)0);
    REFUSED(BANDIT_S_GP_TS, 3, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            o.features = BANDIT_FEATURES_EIGEN);
    REFUSED(BANDIT_PI_GP_UCB, 2, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "kernel/type", kernel.type = BANDIT_KERNEL_GAUSSIAN,
            kernel.type = BANDIT_KERNEL_MATERN, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 11, "name", algorithm = BANDIT_PI_GP_UCB, algorithm = BANDIT_BBKB, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "initial_cells", initial_cells = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "initial_cells", initial_cells = (1 << 20) + 1, initial_cells = 1 << 20,
            (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 10, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            (void)0);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int i = BANDIT_OK; i <= BANDIT_NUMERICAL; i++) {
        for (int k = BANDIT_OK; k < i; k++)
            assert_string_not_equal(bandit_status_text((bandit_status)i),
                                    bandit_status_text((bandit_status)k));
    }
    assert_string_equal(bandit_status_text(BANDIT_OK), "ok");
    assert_string_equal(bandit_status_text((bandit_status)(BANDIT_NUMERICAL + 1)), "unknown status");
}

/* ---- engines that have been told something --------------------------------------------------------------
 */

typedef struct subject {
    small_set set;
    bandit_options options;
    bandit_arms *arms;
    bandit_engine *engine;
} subject;

static void begin(subject *s, const bandit_result *results, size_t n)
{
    assert_int_equal(bandit_engine_begin_batch(s->engine, results, n, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
}

static bandit_selection choose(subject *s, const bandit_select_limits *limits, bandit_pick *picks)
{
    bandit_selection out;
    assert_int_equal(bandit_engine_select(s->engine, limits, &bandit_executor_serial, picks, &out, NULL),
                     BANDIT_OK);
    return out;
}

/* A batch of three picks, told, and the next batch begun. */
static void set_up(subject *s, bandit_algorithm algorithm, small_set set)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[3];
    bandit_result results[3];
    *s = (subject){.set = set, .options = small_options(algorithm, set)};
    limits.max_picks = 3;
    limits.beyond_bound = true;
    assert_int_equal(small_arms(&s->arms, set), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&s->engine, s->arms, &s->options, 0, NULL), BANDIT_OK);
    begin(s, NULL, 0);
    assert_int_equal(choose(s, &limits, picks).n_picks, 3);
    for (size_t i = 0; i < 3; i++)
        results[i] = (bandit_result){.arm = picks[i].arm,
                                     .repeats = 1,
                                     .reward = small_worth(s->arms, set, picks[i].arm),
                                     .chosen = true,
                                     .variance = picks[i].variance};
    begin(s, results, 3);
}

static void tear_down(subject *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* On all kinds of sets, with all algorithms that there are for them. */
static void with_each(void (*check)(subject *s))
{
    static const small_set sets[] = {FEATURES, MATRIX, LISTED, BOX, SPACE};
    for (size_t k = 0; k < LENGTH(sets); k++) {
        for (size_t a = 0; a <= SMALL_ALGORITHMS; a++) {
            subject s;
            bandit_algorithm algorithm = a < SMALL_ALGORITHMS ? small_algorithms[a] : BANDIT_PI_GP_UCB;
            if ((algorithm == BANDIT_S_GP_TS && sets[k] == MATRIX) ||
                (algorithm == BANDIT_PI_GP_UCB && sets[k] != FEATURES && sets[k] != BOX))
                continue;
            set_up(&s, algorithm, sets[k]);
            check(&s);
            tear_down(&s);
        }
    }
}

/* ---- stored states ---------------------------------------------------------------------------------------
 */

static bandit_status try_restore(const subject *s, const bandit_checkpoint *checkpoint)
{
    bandit_engine *engine;
    bandit_error err = {0};
    bandit_status status = bandit_engine_restore(&engine, s->arms, &s->options, 0, checkpoint, NULL, 0,
                                                 &bandit_executor_serial, &err);
    assert_true((engine != NULL) == (status == BANDIT_OK));
    assert_int_equal(err.status, status);
    bandit_engine_free(engine);
    return status;
}

static void check_state(subject *s)
{
    bandit_checkpoint good, bad;
    unsigned char bytes[4096];
    bandit_engine_checkpoint(s->engine, &good);
    assert_true(good.n_state + 1 <= sizeof bytes);
    assert_int_equal(try_restore(s, &good), BANDIT_OK);
    bad = good;
    bad.state = bytes;
    memcpy(bytes, good.state, good.n_state);
    bytes[good.n_state] = 0;
    for (size_t n = 0; n <= good.n_state + 1; n++) { /* cut at every length, and too long */
        bad.n_state = n;
        assert_int_equal(try_restore(s, &bad), n == good.n_state ? BANDIT_OK : BANDIT_INVALID_STATE);
    }
    bad.n_state = good.n_state;
    /* Every word set to all ones: NaN, and a count beyond all others. Behind the first one there may be the
     * name of the kernels that ran, which may be another machine's. */
    for (size_t at = 0; at + 8 <= good.n_state; at += 8) {
        memset(bytes + at, 0xff, 8);
        bandit_status status = try_restore(s, &bad);
        assert_true(status == BANDIT_INVALID_STATE || (status == BANDIT_OK && at >= 8 && at < 24));
        memcpy(bytes + at, good.state + at, 8);
    }
}

/* A word that is another number is refused, or is in force and stored again: there is none that nobody reads.
 * As above, but for the name of the kernels that ran. */
static void check_words(subject *s)
{
    static const double reals[] = {-1.0, INFINITY, 0.5};
    static const uint64_t steps[] = {1, (uint64_t)1 << 61,
                                     UINT64_MAX}; /* more, modulo 2^64; the last is less */
    bandit_checkpoint good, changed, again;
    unsigned char bytes[4096];
    bandit_engine_checkpoint(s->engine, &good);
    changed = good;
    changed.state = bytes;
    memcpy(bytes, good.state, good.n_state);
    for (size_t at = 24; at + 8 <= good.n_state; at += 8) {
        for (size_t k = 0; k < LENGTH(reals) + LENGTH(steps); k++) {
            bandit_engine *engine;
            uint64_t word;
            memcpy(&word, good.state + at, sizeof word);
            if (k < LENGTH(reals))
                memcpy(&word, &reals[k], sizeof word);
            else
                word += steps[k - LENGTH(reals)];
            memcpy(bytes + at, &word, sizeof word);
            bandit_status status = bandit_engine_restore(&engine, s->arms, &s->options, 0, &changed, NULL, 0,
                                                         &bandit_executor_serial, NULL);
            assert_true(status == BANDIT_OK || status == BANDIT_INVALID_STATE);
            if (status == BANDIT_OK) {
                bandit_engine_checkpoint(engine, &again);
                assert_int_equal(again.n_state, good.n_state);
                if (memcmp(again.state, bytes, good.n_state) != 0)
                    fail_msg("%s, set %d: byte %zu is not stored again",
                             bandit_algorithm_name(s->options.algorithm), (int)s->set, at);
                bandit_engine_free(engine);
            }
        }
        memcpy(bytes + at, good.state + at, 8);
    }
}

static void damaged_states_are_refused(void **state)
{
    (void)state;
    with_each(check_state);
    with_each(check_words);
}

static void check_sums(subject *s)
{
    bandit_checkpoint good, bad;
    bandit_arm_sum sums[3];
    bandit_description d;
    bandit_engine_describe(s->engine, &d);
    bandit_engine_checkpoint(s->engine, &good);
    assert_true(good.n_sums > 0 && good.n_sums <= LENGTH(sums));
    for (int damage = 0; damage < 5; damage++) {
        memcpy(sums, good.sums, good.n_sums * sizeof *sums);
        bad = good;
        bad.sums = sums;
        bandit_arm_sum *last = &sums[good.n_sums - 1];
        switch (damage) {
        case 0:
            last->arm = (uint32_t)bandit_arms_count(s->arms);
            break;
        case 1:
            last->count = 0;
            break;
        case 2:
            last->sum = (double)NAN;
            break;
        case 3:
            last->count++;
            break;
        case 4:
            bad.n_sums--;
            break;
        }
        /* Without a model the counts are for people, and all there is. */
        assert_int_equal(try_restore(s, &bad), d.has_model || damage < 3 ? BANDIT_INVALID_STATE : BANDIT_OK);
    }
}

static void damaged_sums_are_refused(void **state)
{
    (void)state;
    with_each(check_sums);
}

/* ---- results and picks -----------------------------------------------------------------------------------
 */

static void check_results(subject *s)
{
    uint32_t beyond = (uint32_t)bandit_arms_count(s->arms);
    const bandit_result bad[] = {
        {.arm = beyond, .repeats = 1},
        {.repeats = 0},
        {.repeats = 1, .reward = (double)NAN},
        {.repeats = 1, .reward = (double)-INFINITY},
        {.repeats = 1, .chosen = true, .variance = -1e-9},
        {.repeats = 1, .chosen = true, .variance = (double)NAN},
    };
    bandit_error err;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        const bandit_result results[] = {{.repeats = 1, .reward = 0.5}, bad[i]};
        err.status = BANDIT_OK;
        assert_int_equal(
            bandit_engine_begin_batch(s->engine, results, 2, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_INVALID_STATE);
        assert_int_equal(err.status, BANDIT_INVALID_STATE);
    }
    const bandit_pick pick = {.arm = beyond};
    assert_int_equal(bandit_engine_begin_batch(s->engine, NULL, 0, &pick, 1, &bandit_executor_serial, &err),
                     BANDIT_INVALID_STATE);
    assert_int_equal(bandit_engine_replay_picks(s->engine, &pick, 1, &bandit_executor_serial, &err),
                     BANDIT_INVALID_STATE);
    bandit_checkpoint checkpoint;
    bandit_engine *restored;
    bandit_engine_checkpoint(s->engine, &checkpoint);
    assert_int_equal(bandit_engine_restore(&restored, s->arms, &s->options, 0, &checkpoint, &pick, 1,
                                           &bandit_executor_serial, &err),
                     BANDIT_INVALID_STATE);
    assert_null(restored);
    /* It is as it was. */
    bandit_description d;
    bandit_engine_describe(s->engine, &d);
    assert_int_equal(d.batch, 1);
    assert_int_equal(d.observations, 3);
    begin(s, NULL, 0);
}

static void results_of_no_arm_are_refused(void **state)
{
    (void)state;
    with_each(check_results);
}

/* Corrections of no arm, to or from what is no reward, of a pick without a variance; sums that are none, or
 * not ascending. What is right but for that is taken: the last of each. */
static void check_amendments(subject *s)
{
    const uint32_t n = (uint32_t)bandit_arms_count(s->arms), last = n - 1;
    const double nan = (double)NAN, infinite = (double)INFINITY;
    const bandit_amendment amendments[] = {{.arm = n, .now = {1, 0.5}},
                                           {.arm = 0, .was = {1, nan}},
                                           {.arm = 0, .was = {2, -infinite}},
                                           {.arm = 0, .now = {1, nan}},
                                           {.arm = 0, .now = {2, infinite}},
                                           {.arm = 0, .now = {1, 0.5}, .chosen = true, .variance = nan},
                                           {.arm = 0, .now = {1, 0.5}, .chosen = true, .variance = infinite},
                                           {.arm = 0, .now = {1, 0.5}, .chosen = true, .variance = -1e-300},
                                           {.arm = last, .now = {1, 0.5}, .chosen = false, .variance = nan},
                                           {.arm = last, .now = {1, 0.5}, .chosen = true, .variance = 0.0}};
    const bandit_arm_sum sums[][3] = {
        {{0, 1, 0.5}, {last, 1, 0.5}, {n, 1, 0.5}},      {{0, 1, 0.5}, {last, 1, 0.5}, {last, 1, 0.5}},
        {{1, 1, 0.5}, {0, 1, 0.5}, {last, 1, 0.5}},      {{0, 1, nan}, {1, 1, 0.5}, {last, 1, 0.5}},
        {{0, 1, 0.5}, {1, 1, 0.5}, {last, 1, infinite}}, {{0, 1, 0.5}, {1, 1, 0.5}, {last, 1, 0.5}}};
    const size_t wrong_sum[] = {2, 2, 1, 0, 2};
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(s->engine, &checkpoint);
    for (size_t i = 0; i < LENGTH(amendments) + LENGTH(sums); i++) {
        bool of_sums = i >= LENGTH(amendments);
        size_t k = of_sums ? i - LENGTH(amendments) : i;
        const bandit_amendment both[] = {{.arm = 0, .now = {1, 0.5}},
                                         of_sums ? amendments[LENGTH(amendments) - 1] : amendments[k]};
        const bandit_arm_sum *now = sums[of_sums ? k : LENGTH(sums) - 1];
        bandit_engine *engine;
        bandit_error err = {0};
        char said[64] = "";
        assert_int_equal(bandit_engine_restore(&engine, s->arms, &s->options, 0, &checkpoint, NULL, 0,
                                               &bandit_executor_serial, NULL),
                         BANDIT_OK);
        bool good = of_sums ? k + 1 == LENGTH(sums) : k + 2 >= LENGTH(amendments);
        assert_int_equal(bandit_engine_amend(engine, both, 2, now, 3, &err),
                         good ? BANDIT_OK : BANDIT_INVALID_STATE);
        if (!good && of_sums)
            snprintf(said, sizeof said, "the corrected sum %zu is not valid", wrong_sum[k]);
        else if (!good)
            strcpy(said, "amendment 1 is not valid");
        assert_string_equal(err.message, said);
        bandit_engine_free(engine);
    }
}

static void corrections_that_are_none_are_refused(void **state)
{
    (void)state;
    with_each(check_amendments);
}

/* ---- predictions -----------------------------------------------------------------------------------------
 */

static void check_predictions(subject *s)
{
    bandit_prediction p;
    bandit_error err = {0};
    bandit_description d;
    uint32_t arm = 0;
    double point[SMALL_WIDTH] = {0};
    if (small_is_space(s->set))
        bandit_arms_coded(s->arms, 0, point);
    bandit_engine_describe(s->engine, &d);
    assert_true(d.signal_std == 1.0 && d.unit == 1.0); /* nothing is learned */
    assert_true(d.lambda == s->options.lambda && d.noise_std == s->options.noise_std);
    bandit_status wanted = d.has_model ? BANDIT_OK : BANDIT_UNSUPPORTED;
    assert_int_equal(bandit_engine_predict_arms(s->engine, &arm, 1, &p, &err), wanted);
    assert_int_equal(bandit_engine_predict_points(s->engine, point, 1, &p, &err),
                     s->set == MATRIX ? BANDIT_UNSUPPORTED : wanted);
    if (d.has_model && s->set != MATRIX) { /* the point is that of the arm, also behind another */
        double points[2 * SMALL_WIDTH];
        bandit_prediction at[2];
        size_t width = bandit_arms_point_width(s->arms);
        memcpy(points, point, width * sizeof *points);
        memcpy(points + width, point, width * sizeof *points);
        assert_int_equal(bandit_engine_predict_arms(s->engine, &arm, 1, &p, &err), BANDIT_OK);
        assert_int_equal(bandit_engine_predict_points(s->engine, points, 2, at, &err), BANDIT_OK);
        for (size_t i = 0; i < 2; i++)
            assert_true(fabs(at[i].mean - p.mean) < 1e-9 && fabs(at[i].variance - p.variance) < 1e-9);
    }
    /* Before the first batch: the prior, of mean 0 and variance 1 with these kernels. */
    bandit_engine *fresh;
    assert_int_equal(bandit_engine_new(&fresh, s->arms, &s->options, 0, NULL), BANDIT_OK);
    if (d.has_model) {
        assert_int_equal(bandit_engine_predict_arms(fresh, &arm, 1, &p, &err), BANDIT_OK);
        assert_true(p.mean == 0.0 && fabs(p.variance - 1.0) < 1e-12 && p.ucb >= 0.0);
    }
    bandit_engine_free(fresh);
}

static void predictions_need_a_model_and_a_place(void **state)
{
    (void)state;
    with_each(check_predictions);
}

/* ---- memory ----------------------------------------------------------------------------------------------
 */

/* A limit of a quarter of what the engine has come to hold is refused on the way there; the whole of it is
 * not. */
static void check_limit(subject *s)
{
    bandit_description d;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    enum { BATCHES = 2, PICKS = 3 };
    bandit_pick picks[PICKS];
    bandit_engine_describe(s->engine, &d);
    limits.max_picks = PICKS;
    limits.beyond_bound = true;
    assert_int_equal(choose(s, &limits, picks).n_picks, PICKS);
    size_t held = bandit_engine_memory(s->engine);
    assert_true(held > 0);
    for (int wide = 0; d.has_model && wide < 2; wide++) {
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_selection selection;
        bandit_result results[BATCHES * PICKS];
        size_t n_results = 0;
        bandit_error err = {0};
        assert_int_equal(small_arms(&arms, s->set), BANDIT_OK);
        bandit_status status =
            bandit_engine_new(&engine, arms, &s->options, wide ? 64 << 20 : held / 4, &err);
        for (int batch = 0; batch < BATCHES && status == BANDIT_OK; batch++) {
            status =
                bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, &err);
            if (status == BANDIT_OK)
                status =
                    bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err);
            for (size_t i = 0; status == BANDIT_OK && i < selection.n_picks; i++)
                results[n_results++] = (bandit_result){
                    .arm = picks[i].arm, .repeats = 1, .chosen = true, .variance = picks[i].variance};
        }
        assert_int_equal(status, wide ? BANDIT_OK : BANDIT_MEMORY_LIMIT);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

static void memory_is_limited(void **state)
{
    (void)state;
    with_each(check_limit);
}

/* ---- ends ------------------------------------------------------------------------------------------------
 */

static void check_ends(subject *s)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[2];
    limits.max_picks = 2;
    limits.remaining = 0;
    bandit_selection none = choose(s, &limits, picks);
    assert_int_equal(none.n_picks, 0);
    assert_int_equal(none.stop_rule, BANDIT_STOP_HORIZON);
    if (small_is_open(s->set))
        return;
    static uint32_t all[SMALL_ARMS];
    limits.remaining = UINT64_MAX;
    limits.withheld = all;
    limits.n_withheld = bandit_arms_count(s->arms);
    assert_true(limits.n_withheld <= SMALL_ARMS);
    for (size_t i = 0; i < limits.n_withheld; i++)
        all[i] = (uint32_t)i;
    none = choose(s, &limits, picks);
    assert_int_equal(none.n_picks, 0);
    assert_int_equal(none.stop_rule, BANDIT_STOP_EXHAUSTED);
    /* All but one: that one. */
    memmove(all + 1, all + 2, (limits.n_withheld - 2) * sizeof *all);
    limits.n_withheld--;
    limits.max_picks = 1;
    assert_int_equal(choose(s, &limits, picks).n_picks, 1);
    assert_int_equal(picks[0].arm, 1);
}

static void nothing_is_left_to_choose(void **state)
{
    (void)state;
    with_each(check_ends);
}

/* A box of 3 x 3 whole numbers without noise: no point is picked again while there is another one, whether it
 * has been told or is out; with everything withheld there is none. */
static void points_are_not_picked_again(void **state)
{
    (void)state;
    static const bandit_parameter whole[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = 2, .parent = BANDIT_NO_PARENT}};
    for (size_t a = 0; a <= SMALL_ALGORITHMS; a++) {
        bandit_algorithm algorithm = a < SMALL_ALGORITHMS ? small_algorithms[a] : BANDIT_PI_GP_UCB;
        subject s = {.set = BOX, .options = small_options(algorithm, BOX)};
        bandit_description d;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bool met[9] = {false};
        s.options.noise_std = 0.0;
        assert_int_equal(bandit_arms_new_space(&s.arms, whole, 2, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_new(&s.engine, s.arms, &s.options, 0, NULL), BANDIT_OK);
        bandit_engine_describe(s.engine, &d);
        limits.max_picks = 3;
        limits.beyond_bound = true;
        bandit_pick picks[3];
        bandit_result results[3];
        size_t n_told = 0, n_out = 0;
        for (size_t round = 0; round < 3; round++) { /* of three picks one is told, two stay out */
            assert_int_equal(bandit_engine_begin_batch(s.engine, results, n_told, picks, n_out,
                                                       &bandit_executor_serial, NULL),
                             BANDIT_OK);
            n_told = n_out = 0;
            bandit_pick last[2] = {picks[0], picks[1]};
            assert_int_equal(choose(&s, &limits, picks).n_picks, 3);
            for (size_t i = 0; i < 3; i++) {
                assert_true(picks[i].arm < 9);
                assert_true(!d.has_model || !met[picks[i].arm]);
                met[picks[i].arm] = true;
            }
            for (size_t i = 0; i < (round > 0 ? 2 : 0); i++)
                results[n_told++] =
                    (bandit_result){.arm = last[i].arm, .repeats = 1, .reward = 1.0 / (1.0 + last[i].arm)};
            results[n_told++] =
                (bandit_result){.arm = picks[2].arm, .repeats = 1, .reward = 1.0 / (1.0 + picks[2].arm)};
            n_out = 2;
        }
        if (d.has_model) {
            assert_int_equal(bandit_arms_count(s.arms), 9);
            begin(&s, results, n_told);
            static const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
            limits.withheld = all;
            limits.n_withheld = 9;
            bandit_selection none = choose(&s, &limits, picks);
            assert_int_equal(none.n_picks, 0);
            assert_int_equal(none.stop_rule, BANDIT_STOP_EXHAUSTED);
            limits.n_withheld = 8; /* told before, and the only one */
            limits.max_picks = 1;
            assert_int_equal(choose(&s, &limits, picks).n_picks, 1);
            assert_int_equal(picks[0].arm, 8);
        }
        tear_down(&s);
    }
}

/* Forty candidates that are all one point, under every algorithm and kernel: a posterior of one arm, whose
 * variance shrinks as that of one mean would. Where the scaled features are zeros and the kernel is linear,
 * nothing is uncertain and everything is worth 0. */
static void check_one_point(bandit_algorithm algorithm, bandit_kernel_type type, bandit_scaling scaling)
{
    enum { N = 40, PICKS = 4 };
    const double lambda = 0.5,
                 k = type == BANDIT_KERNEL_LINEAR ? scaling == BANDIT_SCALING_NONE ? 2 * 9.0 : 0.0 : 1.0;
    double rows[N * 2];
    bandit_error err = {0};
    bandit_options o = good_options(algorithm);
    subject s = {0};
    o.kernel.type = type;
    o.lambda = lambda;
    o.inducing = 5;
    o.prior_features = 20;
    o.population = 5;
    o.sample = 2;
    for (size_t i = 0; i < LENGTH(rows); i++)
        rows[i] = 3.0;
    assert_int_equal(bandit_arms_new(&s.arms, N, 2, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(s.arms, 0, N, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(s.arms, scaling, N, &err), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&s.engine, s.arms, &o, 0, &err), BANDIT_OK);
    bandit_result results[PICKS];
    size_t n = 0, told = 0;
    double sum = 0.0;
    for (int batch = 0; batch < 6; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[PICKS];
        bandit_description d;
        bandit_prediction now;
        const uint32_t arm = N / 2;
        begin(&s, results, n);
        bandit_engine_describe(s.engine, &d);
        assert_int_equal(d.observations, told);
        if (d.has_model) { /* of a mean of `told` rewards, with a prior of variance k */
            double t = (double)told;
            assert_int_equal(bandit_engine_predict_arms(s.engine, &arm, 1, &now, &err), BANDIT_OK);
            assert_true(fabs(now.mean - k * sum / (t * k + lambda)) < 1e-9);
            assert_true(fabs(now.variance - k * lambda / (t * k + lambda)) < 1e-9);
        }
        limits.max_picks = PICKS;
        limits.beyond_bound = true;
        n = choose(&s, &limits, picks).n_picks;
        assert_int_equal(n, PICKS);
        for (size_t i = 0; i < n; i++) {
            double reward = 1.0 + 0.25 * (double)((told + i) % 3);
            assert_true(picks[i].arm < N && picks[i].variance >= 0.0);
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = reward,
                                         .chosen = true,
                                         .variance = picks[i].variance};
            sum += reward;
        }
        told += n;
    }
    tear_down(&s);
}

static void all_candidates_are_one_point(void **state)
{
    (void)state;
    for (size_t a = 0; a < BANDIT_ALGORITHMS; a++) {
        for (bandit_scaling scaling = BANDIT_SCALING_STANDARDIZE; scaling <= BANDIT_SCALING_NONE; scaling++) {
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_MATERN, scaling);
            if (a == BANDIT_PI_GP_UCB)
                continue; /* Matérn kernels only */
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_GAUSSIAN, scaling);
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_LINEAR, scaling);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_have_ranges),
        cmocka_unit_test(options_go_together),
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(damaged_sums_are_refused),
        cmocka_unit_test(results_of_no_arm_are_refused),
        cmocka_unit_test(corrections_that_are_none_are_refused),
        cmocka_unit_test(predictions_need_a_model_and_a_place),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(nothing_is_left_to_choose),
        cmocka_unit_test(points_are_not_picked_again),
        cmocka_unit_test(all_candidates_are_one_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
