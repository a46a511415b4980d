/* What every engine refuses, whatever its algorithm: stored states that are damaged, results and picks of no
 * arm, predictions that cannot be made; and how it ends where nothing is left to choose. */
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

/* ---- engines that have been told something ------------------------------------------------------------- */

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

/* ---- stored states ------------------------------------------------------------------------------------- */

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

/* ---- results and picks --------------------------------------------------------------------------------- */

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
    const bandit_amendment amendments[] = {
        {.arm = n, .now = {.repeats = 1, .reward = 0.5}},
        {.arm = 0, .was = {.repeats = 1, .reward = nan}},
        {.arm = 0, .was = {.repeats = 2, .reward = -infinite}},
        {.arm = 0, .now = {.repeats = 1, .reward = nan}},
        {.arm = 0, .now = {.repeats = 2, .reward = infinite}},
        {.arm = 0, .now = {.repeats = 1, .reward = 0.5}, .chosen = true, .variance = nan},
        {.arm = 0, .now = {.repeats = 1, .reward = 0.5}, .chosen = true, .variance = infinite},
        {.arm = 0, .now = {.repeats = 1, .reward = 0.5}, .chosen = true, .variance = -1e-300},
        {.arm = last, .now = {.repeats = 1, .reward = 0.5}, .chosen = false, .variance = nan},
        {.arm = last, .now = {.repeats = 1, .reward = 0.5}, .chosen = true, .variance = 0.0}};
    const bandit_arm_sum sums[][3] = {{{0, 0, 1, 0.5}, {last, 0, 1, 0.5}, {n, 0, 1, 0.5}},
                                      {{0, 0, 1, 0.5}, {last, 0, 1, 0.5}, {last, 0, 1, 0.5}},
                                      {{1, 0, 1, 0.5}, {0, 0, 1, 0.5}, {last, 0, 1, 0.5}},
                                      {{0, 0, 1, nan}, {1, 0, 1, 0.5}, {last, 0, 1, 0.5}},
                                      {{0, 0, 1, 0.5}, {1, 0, 1, 0.5}, {last, 0, 1, infinite}},
                                      {{0, 0, 1, 0.5}, {1, 0, 1, 0.5}, {last, 0, 1, 0.5}}};
    const size_t wrong_sum[] = {2, 2, 1, 0, 2};
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(s->engine, &checkpoint);
    for (size_t i = 0; i < LENGTH(amendments) + LENGTH(sums); i++) {
        bool of_sums = i >= LENGTH(amendments);
        size_t k = of_sums ? i - LENGTH(amendments) : i;
        const bandit_amendment both[] = {{.arm = 0, .now = {.repeats = 1, .reward = 0.5}},
                                         of_sums ? amendments[LENGTH(amendments) - 1] : amendments[k]};
        const bandit_arm_sum *now = sums[of_sums ? k : LENGTH(sums) - 1];
        bandit_engine *engine;
        bandit_error err = {0};
        char said[64] = "";
        assert_int_equal(bandit_engine_restore(&engine, s->arms, &s->options, 0, &checkpoint, NULL, 0,
                                               &bandit_executor_serial, NULL),
                         BANDIT_OK);
        bool good = of_sums ? k + 1 == LENGTH(sums) : k + 2 >= LENGTH(amendments);
        assert_int_equal(bandit_engine_amend(engine, both, 2, now, 3, NULL, 0, &err),
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

/* ---- predictions --------------------------------------------------------------------------------------- */

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

/* ---- memory -------------------------------------------------------------------------------------------- */

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

/* ---- ends ---------------------------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(damaged_sums_are_refused),
        cmocka_unit_test(results_of_no_arm_are_refused),
        cmocka_unit_test(corrections_that_are_none_are_refused),
        cmocka_unit_test(predictions_need_a_model_and_a_place),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(nothing_is_left_to_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
