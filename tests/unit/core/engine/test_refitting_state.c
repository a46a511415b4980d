/* The stored state of an engine that learns, word by word: what is refused and why, and that what is taken is
 * stored again as it was; and how the rewards of a batch join what an engine in that state has. */
#include "bandit/engine.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 40, MOST_WORDS = 200 };

/* Words of the state, as core/engine/refitting_state.c writes them. */
enum {
    N_LENGTHSCALES = 1,
    N_ASIDE,
    FITTED_ON,
    OBSERVATIONS,
    SUM_SQUARES,
    WITHIN,
    WITHIN_DEGREES,
    OFFSET,
    SCALE,
    LOW,
    HIGH,
    RANGE,
    SIGNAL,
    NOISE,
    MEAN,
    NORM_BOUND,
    LENGTHSCALE, /* one, then what is set aside: arm, count, sum */
    ASIDE,
    INNER = ASIDE + 2 * 3
};

typedef union word {
    double real;
    uint64_t whole;
} word;

typedef struct study {
    bandit_arms *arms;
    bandit_options options;
    bandit_checkpoint checkpoint; /* of `engine`, but for the state */
    bandit_engine *engine;
    word words[MOST_WORDS];
    size_t n;
} study;

/* A smooth function of one feature, two of its rewards out of all proportion. */
static void open_study(study *s)
{
    static const double lengthscale = 0.5;
    double rows[ARMS];
    bandit_result results[ARMS];
    bandit_error err;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < ARMS; i++) {
        rows[i] = (double)i / 8.0;
        results[i] = (bandit_result){.arm = i,
                                     .repeats = 1,
                                     .reward = i == 7    ? 50.0
                                               : i == 31 ? 70.0
                                                         : sin((double)i / 8.0)};
    }
    must(bandit_arms_new(&s->arms, ARMS, 1, &err), &err);
    must(bandit_arms_set_rows(s->arms, 0, ARMS, rows, &err), &err);
    must(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
    s->options = (bandit_options)BANDIT_OPTIONS_INIT;
    s->options.algorithm = BANDIT_BBKB;
    s->options.learn_norm_bound = s->options.standardize_rewards = true;
    s->options.noise_std = 0.05;
    s->options.kernel.lengthscales = &lengthscale;
    s->options.kernel.n_lengthscales = 1;
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
    must(bandit_engine_begin_batch(s->engine, results, ARMS, NULL, 0, &bandit_executor_serial, &err), &err);
    bandit_engine_checkpoint(s->engine, &s->checkpoint);
    s->n = s->checkpoint.n_state / sizeof(word);
    assert_true(s->n * sizeof(word) == s->checkpoint.n_state && s->n <= MOST_WORDS && s->n > INNER);
    memcpy(s->words, s->checkpoint.state, s->checkpoint.n_state);
    assert_int_equal(s->words[N_LENGTHSCALES].whole, 1);
    assert_int_equal(s->words[N_ASIDE].whole, 2);
    assert_int_equal(s->words[OBSERVATIONS].whole, ARMS);
    assert_int_equal(s->words[FITTED_ON].whole, ARMS);
}

static void close_study(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* Restores from the words; a state that is taken is stored again as it was. NULL: taken. */
static const char *refusal(const study *s, const word *words, size_t n_bytes, bandit_error *err)
{
    bandit_engine *engine;
    bandit_checkpoint checkpoint = s->checkpoint, again;
    checkpoint.state = (const unsigned char *)words;
    checkpoint.n_state = n_bytes;
    bandit_status status = bandit_engine_restore(&engine, s->arms, &s->options, 0, &checkpoint, NULL, 0,
                                                 &bandit_executor_serial, err);
    if (status != BANDIT_OK) {
        assert_int_equal(status, BANDIT_INVALID_STATE);
        assert_null(engine);
        return err->message;
    }
    bandit_engine_checkpoint(engine, &again);
    assert_int_equal(again.n_state, n_bytes);
    assert_memory_equal(again.state, words, n_bytes);
    bandit_engine_free(engine);
    return NULL;
}

static void check(const study *s, const word *words, const char *wanted, const char *what, size_t at)
{
    bandit_error err;
    const char *said = refusal(s, words, s->checkpoint.n_state, &err);
    if (said ? !wanted || !strstr(said, wanted) : wanted != NULL)
        fail_msg("%s, word %zu: %s, not %s", what, at, said ? said : "taken", wanted ? wanted : "taken");
}

static void check_real(const study *s, size_t at, double value, const char *wanted)
{
    word words[MOST_WORDS];
    memcpy(words, s->words, sizeof words);
    words[at].real = value;
    check(s, words, wanted, "a number", at);
}

static void check_whole(const study *s, size_t at, uint64_t value, const char *wanted)
{
    word words[MOST_WORDS];
    memcpy(words, s->words, sizeof words);
    words[at].whole = value;
    check(s, words, wanted, "a count", at);
}

static void numbers_have_ranges(void **state)
{
    static const size_t positive[] = {SCALE, RANGE, SIGNAL, NOISE};
    static const size_t finite[] = {OFFSET, MEAN};
    static const size_t at_least_0[] = {SUM_SQUARES, WITHIN, WITHIN_DEGREES, NORM_BOUND};
    const char *invalid = "hyper-parameters are not valid";
    study s;
    bandit_error err;
    (void)state;
    open_study(&s);
    assert_null(refusal(&s, s.words, s.checkpoint.n_state, &err));
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        check_real(&s, positive[i], 0.0, invalid);
        check_real(&s, positive[i], -1.0, invalid);
        check_real(&s, positive[i], INFINITY, invalid);
        check_real(&s, positive[i], NAN, invalid);
        check_real(&s, positive[i], 0.7, NULL);
    }
    for (size_t i = 0; i < sizeof finite / sizeof *finite; i++) {
        check_real(&s, finite[i], INFINITY, invalid);
        check_real(&s, finite[i], NAN, invalid);
        check_real(&s, finite[i], -0.3, NULL);
        check_real(&s, finite[i], 0.0, NULL);
    }
    for (size_t i = 0; i < sizeof at_least_0 / sizeof *at_least_0; i++) {
        check_real(&s, at_least_0[i], -0.1, invalid);
        check_real(&s, at_least_0[i], NAN, invalid);
        check_real(&s, at_least_0[i], INFINITY, invalid);
        check_real(&s, at_least_0[i], 2.5, NULL);
    }
    check_real(&s, WITHIN, 0.0, NULL);
    check_real(&s, WITHIN_DEGREES, 0.0, NULL);
    check_real(&s, LOW, s.words[HIGH].real, invalid);
    check_real(&s, LOW, s.words[HIGH].real + 1.0, invalid);
    check_real(&s, LOW, NAN, invalid);
    check_real(&s, HIGH, NAN, invalid);
    check_real(&s, LOW, -INFINITY, NULL);
    check_real(&s, HIGH, INFINITY, NULL);
    check_real(&s, LENGTHSCALE, 0.0, "lengthscale 0");
    check_real(&s, LENGTHSCALE, -1.0, "lengthscale 0");
    check_real(&s, LENGTHSCALE, NAN, "lengthscale 0");
    check_real(&s, LENGTHSCALE, 2.0, NULL);
    close_study(&s);
}

static void counts_are_those_of_the_study(void **state)
{
    const char *invalid = "hyper-parameters are not valid";
    const uint64_t wraps = (uint64_t)1 << 61; /* so many of 8 bytes, or of 24, take none, modulo 2^64 */
    study s;
    word words[MOST_WORDS];
    bandit_error err;
    (void)state;
    open_study(&s);
    check_whole(&s, 0, s.words[0].whole + 1, "another kind");
    check_whole(&s, N_LENGTHSCALES, 0, invalid);
    check_whole(&s, N_LENGTHSCALES, 2, invalid);
    check_whole(&s, N_LENGTHSCALES, 1 + wraps, invalid);
    check_whole(&s, N_ASIDE, 2 + wraps, invalid);
    check_whole(&s, N_ASIDE, UINT64_MAX, invalid);
    check_whole(&s, N_ASIDE, (s.n - ASIDE) / 3 + 1, invalid);
    check_whole(&s, OBSERVATIONS, ARMS + 1, "count 40 pulls, not 41");
    check_whole(&s, FITTED_ON, ARMS - 3, NULL);
    check_real(&s, SUM_SQUARES, 3.0, NULL);
    for (size_t n = 0; n < s.checkpoint.n_state; n++) /* cut short */
        assert_non_null(refusal(&s, s.words, n, &err));

    /* what is set aside is ascending by arm */
    assert_int_equal((uint32_t)s.words[ASIDE].whole, 7);
    assert_int_equal((uint32_t)s.words[ASIDE + 3].whole, 31);
    memcpy(words, s.words, sizeof words);
    memcpy(words + ASIDE, s.words + ASIDE + 3, 3 * sizeof *words);
    check(&s, words, "outlier 1 is not valid", "twice", ASIDE);
    memcpy(words + ASIDE + 3, s.words + ASIDE, 3 * sizeof *words);
    check(&s, words, "outlier 1 is not valid", "descending", ASIDE);
    close_study(&s);
}

/* ---- rewards that join --------------------------------------------------------------------------------- */

enum { MOST_RESULTS = 12 };

/* An arm's rewards as the model counts them, each with the pulls it stands for. */
typedef struct arm_rewards {
    double reward[MOST_RESULTS + 1], pulls[MOST_RESULTS + 1];
    size_t n;
} arm_rewards;

static double mean_of(const arm_rewards *x)
{
    double sum = 0.0, pulls = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        sum += x->pulls[i] * x->reward[i];
        pulls += x->pulls[i];
    }
    return sum / pulls;
}

/* Tells an engine in the state of `words` the results and looks at what it has of them then: each reward of
 * an arm with a mean joined from within `reach` of it, and the squares about the arms' means are counted,
 * unless `counts` is false. Returns after how many rewards there was a fit. */
static uint64_t check_joining(const study *s, const word *words, const bandit_result *results, size_t n,
                              bool counts, double reach)
{
    bandit_engine *engine;
    bandit_error err;
    bandit_checkpoint checkpoint = s->checkpoint;
    arm_rewards rewards[ARMS] = {{{0}, {0}, 0}};
    double total[ARMS] = {0}, within = words[WITHIN].real, degrees = words[WITHIN_DEGREES].real;
    word after[MOST_WORDS];
    checkpoint.state = (const unsigned char *)words;
    for (size_t i = 0; i < checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &checkpoint.sums[i];
        bool aside = false;
        total[sum->arm] = sum->sum;
        for (size_t k = 0; k < words[N_ASIDE].whole; k++)
            aside |= (uint32_t)words[ASIDE + 3 * k].whole == sum->arm;
        if (!aside)
            rewards[sum->arm] = (arm_rewards){{sum->sum / (double)sum->count}, {(double)sum->count}, 1};
    }
    for (size_t i = 0; i < n; i++) {
        arm_rewards *x = &rewards[results[i].arm];
        double reward = results[i].reward, mean = x->n > 0 ? mean_of(x) : reward;
        if (counts) {
            reward = fmin(fmax(reward, mean - reach), mean + reach);
            degrees += x->n > 0 ? 1.0 : 0.0;
        }
        x->reward[x->n] = reward;
        x->pulls[x->n++] = results[i].repeats;
        total[results[i].arm] += results[i].repeats * reward;
    }
    for (size_t a = 0; a < ARMS && counts; a++) {
        for (size_t i = 0; i < rewards[a].n; i++)
            within += rewards[a].pulls[i] * pow(rewards[a].reward[i] - mean_of(&rewards[a]), 2.0);
    }
    must(bandit_engine_restore(&engine, s->arms, &s->options, 0, &checkpoint, NULL, 0,
                               &bandit_executor_serial, &err),
         &err);
    must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
    bandit_engine_checkpoint(engine, &checkpoint);
    memcpy(after, checkpoint.state, LENGTHSCALE * sizeof *after);
    for (size_t i = 0; i < checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &checkpoint.sums[i];
        assert_true(fabs(sum->sum - total[sum->arm]) <= 1e-12 * (1.0 + fabs(total[sum->arm])));
    }
    assert_true(fabs(after[WITHIN].real - within) <= 1e-12 * (1.0 + within));
    assert_true(after[WITHIN_DEGREES].real == degrees);
    uint64_t fitted_on = after[FITTED_ON].whole;
    bandit_engine_free(engine);
    return fitted_on;
}

static void rewards_join_from_within_reach(void **state)
{
    const bandit_result results[] = {
        {.arm = 20, .repeats = 1, .reward = 1e3}, {.arm = 3, .repeats = 1, .reward = 0.5},
        {.arm = 7, .repeats = 1, .reward = 1.2},  {.arm = 3, .repeats = 1, .reward = -1e3},
        {.arm = 7, .repeats = 1, .reward = 30.0},
    };
    const size_t n = sizeof results / sizeof *results;
    study s;
    (void)state;
    open_study(&s);
    for (int noisy = 0; noisy < 2; noisy++) {
        word words[MOST_WORDS];
        memcpy(words, s.words, sizeof words);
        words[WITHIN].real = 0.25;
        words[WITHIN_DEGREES].real = 3.0;
        words[NOISE].real = noisy ? 1.44 : 0.16; /* six deviations are 7.2 scales, or 2.4: then it is 3 */
        double reach = (noisy ? 7.2 : 3.0) * words[SCALE].real;
        assert_true(reach < 25.0);
        assert_int_equal(check_joining(&s, words, results, n, true, reach), ARMS);
    }
    close_study(&s);
}

/* Replaces the study's engine by one that has been told these. */
static void tell_anew(study *s, const bandit_result *results, size_t n)
{
    bandit_error err;
    bandit_engine_free(s->engine);
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
    must(bandit_engine_begin_batch(s->engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
    bandit_engine_checkpoint(s->engine, &s->checkpoint);
    assert_true(s->checkpoint.n_state <= sizeof s->words);
    memcpy(s->words, s->checkpoint.state, s->checkpoint.n_state);
    assert_int_equal(s->words[N_ASIDE].whole, 0);
}

/* Of all arms, or of one alone. */
static void rewards_of_an_arm_differ_by_what_is_counted(void **state)
{
    const bandit_result more[] = {{.arm = 5, .repeats = 1, .reward = 0.1},
                                  {.arm = 5, .repeats = 2, .reward = 0.9}};
    (void)state;
    for (uint32_t arms = 1; arms <= 2; arms++) {
        study s;
        bandit_result first[10];
        open_study(&s);
        for (uint32_t i = 0; i < 10; i++)
            first[i] = (bandit_result){.arm = 5 + i % arms, .repeats = 1, .reward = 0.1 * i};
        tell_anew(&s, first, 10);
        double reach = fmax(6.0 * sqrt(s.words[NOISE].real), 3.0) * s.words[SCALE].real;
        check_joining(&s, s.words, more, 2, true, reach);
        close_study(&s);
    }
}

/* While there are fewer than eight rewards, others join as they are: nothing is known that could tell a
 * stray. */
static void the_first_few_join_as_they_are(void **state)
{
    const bandit_result results[] = {{.arm = 5, .repeats = 3, .reward = 1e3},
                                     {.arm = 5, .repeats = 1, .reward = -30.0},
                                     {.arm = 2, .repeats = 2, .reward = 0.5}};
    (void)state;
    for (size_t told = 6; told <= 9; told++) {
        study s;
        open_study(&s);
        bandit_result first[ARMS];
        for (uint32_t i = 0; i < told; i++)
            first[i] = (bandit_result){.arm = i, .repeats = 1, .reward = sin((double)i / 8.0)};
        tell_anew(&s, first, told);
        assert_true(6.0 * sqrt(s.words[NOISE].real) * s.words[SCALE].real > 0.29); /* of 0.05, as given */
        double reach = fmax(0.3, 3.0 * s.words[SCALE].real);
        check_joining(&s, s.words, results, 3, told >= 8, reach);
        close_study(&s);
    }
}

/* A first reward above all that was thought possible brings a fit, but not within a twentieth of the rewards,
 * and one more, after another fit. */
static void a_peak_brings_a_fit(void **state)
{
    study s;
    (void)state;
    open_study(&s);
    const double high = s.words[HIGH].real;
    const double peaks[] = {1.0, high, nextafter(high, INFINITY), 1e3};
    assert_true(isfinite(high));
    for (size_t k = 0; k < sizeof peaks / sizeof *peaks; k++) {
        for (size_t n = 1; n <= 7; n++) { /* arm 7 has no reward that counts */
            bandit_result results[7] = {{.arm = 7, .repeats = 1, .reward = peaks[k]}};
            for (uint32_t i = 1; i < n; i++)
                results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = sin((double)i / 8.0)};
            bool fits = n >= (k < 2 ? 6 : 3);
            double reach = 3.0 * s.words[SCALE].real;
            assert_int_equal(check_joining(&s, s.words, results, n, true, reach), fits ? ARMS + n : ARMS);
        }
    }
    close_study(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(counts_are_those_of_the_study),
        cmocka_unit_test(rewards_join_from_within_reach),
        cmocka_unit_test(rewards_of_an_arm_differ_by_what_is_counted),
        cmocka_unit_test(the_first_few_join_as_they_are),
        cmocka_unit_test(a_peak_brings_a_fit),
    };
    return cmocka_run_group_tests_name("learned states", tests, NULL, NULL);
}
