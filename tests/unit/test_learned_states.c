/* The stored state of an engine that learns, word by word: what is refused and why, and that what is taken is
 * stored again as it was. */
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

/* Words of the state, as core/learned_state.c writes them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(counts_are_those_of_the_study),
    };
    return cmocka_run_group_tests_name("learned states", tests, NULL, NULL);
}
