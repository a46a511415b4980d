/* What engines of exact form remember, against a plain list of all results: when the log is merged, what is
 * kept without a model, and what is taken of a stored state. */
#include "core/posterior/pull_log.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 900, MOST = 3000, HEADER = 3, ENTRY = 3 /* words of the stored state */ };

static bandit_result result(size_t i, uint32_t arm)
{
    return (bandit_result){
        .arm = arm, .repeats = 1 + (uint32_t)(i % 3), .reward = sin((double)i), .chosen = true};
}

static void take(bandit_history *h, const bandit_result *results, size_t n)
{
    assert_int_equal(bandit_history_prepare(h, results, n, NULL), BANDIT_OK);
    bandit_history_commit(h, results, n);
}

static bandit_checkpoint checkpoint_of(const bandit_history *h)
{
    return (bandit_checkpoint){
        .sums = h->sums.sums, .n_sums = h->sums.n, .state = h->state, .n_state = h->n_state};
}

/* A history loaded from this one's state has its bytes, and its sums to the bit. */
static void assert_loads_to_the_same(const bandit_history *h)
{
    bandit_history loaded;
    bandit_checkpoint checkpoint = checkpoint_of(h);
    bandit_history_init(&loaded, ARMS, h->keep);
    assert_int_equal(bandit_history_load(&loaded, &checkpoint, NULL), BANDIT_OK);
    assert_int_equal(loaded.n_state, h->n_state);
    assert_memory_equal(loaded.state, h->state, h->n_state);
    assert_int_equal(loaded.sums.n, h->sums.n);
    assert_int_equal(loaded.sums.observations, h->sums.observations);
    assert_int_equal(loaded.base.n, h->base.n);
    assert_int_equal(loaded.n_log, h->n_log);
    bandit_history_clear(&loaded);
}

/* The log is what has come since the last merge, in its order; merged when it would be longer than
 * max(64, u/4), u the arms pulled, with what comes now. */
static void logs_are_merged_when_they_would_be_too_long(void **state)
{
    static const size_t most_arms[] = {3, 255, 256, 257, 264, 700};
    static const size_t at_once[] = {1, 5, 64, 65, 100};
    size_t merged = 0, longest = 0;
    (void)state;
    for (size_t k = 0; k < 30; k++) {
        static bandit_result all[MOST];
        bool pulled[ARMS] = {false};
        size_t of = most_arms[k % 6], n = at_once[k / 6], u = 0, u_base = 0, since = 0;
        bandit_history h;
        bandit_history_init(&h, ARMS, 0);
        for (size_t t = 0; t + n <= MOST; t += n) {
            for (size_t i = 0; i < n; i++) {
                uint32_t arm = (uint32_t)((t + i) * 13 % of);
                all[t + i] = result(t + i, arm);
                u += !pulled[arm];
                pulled[arm] = true;
            }
            take(&h, all + t, n);
            size_t limit = u / 4 > 64 ? u / 4 : 64;
            if (t + n - since > limit) {
                since = t + n;
                u_base = u;
                merged++;
            }
            assert_int_equal(h.base.n, u_base);
            assert_int_equal(h.n_log, t + n - since);
            assert_int_equal(bandit_history_columns(&h), u_base + t + n - since);
            for (size_t i = 0; i < h.n_log; i++) {
                const bandit_result *r = &all[since + i];
                assert_true(h.log[i].arm == r->arm && h.log[i].repeats == r->repeats &&
                            h.log[i].reward == r->reward);
            }
            longest = h.n_log > longest ? h.n_log : longest;
            if (t % (20 * n) == 0)
                assert_loads_to_the_same(&h);
        }
        assert_loads_to_the_same(&h);
        bandit_history_clear(&h);
    }
    assert_true(merged > 100 && longest == 175);
}

/* Without a model the log is the last `keep` results, however they come. */
static void the_last_results_are_kept(void **state)
{
    (void)state;
    for (size_t keep = 1; keep <= 9; keep += 2) {
        bandit_result all[200];
        bandit_history h;
        bandit_history_init(&h, ARMS, keep);
        for (size_t t = 0, n; t < 180; t += n) {
            n = t % 13;
            n = n < 1 ? 1 : n;
            for (size_t i = t; i < t + n; i++)
                all[i] = result(i, (uint32_t)(i % 17));
            take(&h, all + t, n);
            size_t kept = t + n < keep ? t + n : keep;
            assert_int_equal(h.n_log, kept);
            assert_int_equal(h.base.n, 0);
            for (size_t i = 0; i < kept; i++) {
                const bandit_result *r = &all[t + n - kept + i];
                assert_true(h.log[i].arm == r->arm && h.log[i].repeats == r->repeats &&
                            h.log[i].reward == r->reward);
            }
            assert_loads_to_the_same(&h);
        }
        bandit_history_clear(&h);
    }
}

/* Of three results with one arm, the youngest that equals what was is the one that is corrected. */
static void kept_results_are_corrected(void **state)
{
    bandit_history h;
    const bandit_result told[] = {{.arm = 4, .repeats = 1, .reward = 1.0},
                                  {.arm = 4, .repeats = 1, .reward = 2.0},
                                  {.arm = 7, .repeats = 2, .reward = 1.0},
                                  {.arm = 4, .repeats = 1, .reward = 1.0},
                                  {.arm = 4, .repeats = 2, .reward = 1.0}};
    (void)state;
    bandit_history_init(&h, ARMS, 5);
    take(&h, told, 5);
    bandit_amendment other = {
        .arm = 4, .was = {.repeats = 1, .reward = 1.0}, .now = {.repeats = 1, .reward = 3.0}};
    bandit_arm_sum sums[] = {{.arm = 4, .count = 5, .sum = 8.0}};
    assert_int_equal(bandit_history_amend(&h, &other, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 5 && h.log[0].reward == 1.0 && h.log[3].reward == 3.0 && h.log[3].arm == 4);

    bandit_amendment removed = {
        .arm = 4, .was = {.repeats = 1, .reward = 2.0}, .now = {.repeats = 0, .reward = 0.0}};
    sums[0] = (bandit_arm_sum){.arm = 4, .count = 4, .sum = 6.0};
    assert_int_equal(bandit_history_amend(&h, &removed, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 4 && h.log[0].reward == 1.0 && h.log[1].arm == 7 && h.log[2].reward == 3.0 &&
                h.log[3].repeats == 2);

    bandit_amendment unknown = {.arm = 4,
                                .was = {.repeats = 1, .reward = 9.0},
                                .now = {.repeats = 1, .reward = 9.5}}; /* no longer kept */
    assert_int_equal(bandit_history_amend(&h, &unknown, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 4 && h.log[3].reward == 1.0);

    bandit_amendment joins = {
        .arm = 9, .was = {.repeats = 0, .reward = 0.0}, .now = {.repeats = 3, .reward = 0.5}};
    sums[0] = (bandit_arm_sum){.arm = 9, .count = 3, .sum = 1.5};
    assert_int_equal(bandit_history_amend(&h, &joins, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 5 && h.log[4].arm == 9 && h.log[4].repeats == 3 && h.log[4].reward == 0.5);

    bandit_amendment never = {
        .arm = 9, .was = {.repeats = 0, .reward = 0.0}, .now = {.repeats = 0, .reward = 0.0}};
    assert_int_equal(bandit_history_amend(&h, &never, 1, sums, 1, NULL), BANDIT_OK);
    assert_int_equal(h.n_log, 5);

    bandit_amendment oldest = {
        .arm = 4, .was = {.repeats = 1, .reward = 1.0}, .now = {.repeats = 2, .reward = 4.0}};
    sums[0] = (bandit_arm_sum){.arm = 4, .count = 5, .sum = 13.0};
    assert_int_equal(bandit_history_amend(&h, &oldest, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 5 && h.log[0].arm == 4 && h.log[0].repeats == 2 && h.log[0].reward == 4.0);
    bandit_amendment gone = {
        .arm = 4, .was = {.repeats = 2, .reward = 4.0}, .now = {.repeats = 0, .reward = 0.0}};
    sums[0] = (bandit_arm_sum){.arm = 4, .count = 3, .sum = 5.0};
    assert_int_equal(bandit_history_amend(&h, &gone, 1, sums, 1, NULL), BANDIT_OK);
    assert_true(h.n_log == 4 && h.log[0].arm == 7);
    bandit_history_clear(&h);
}

typedef struct stored {
    uint64_t words[HEADER + 200 * ENTRY];
    size_t n; /* words */
    bandit_arm_sum sums[ARMS];
    size_t n_sums;
} stored;

static stored stored_of(const bandit_history *h)
{
    stored s = {.n = h->n_state / sizeof(uint64_t), .n_sums = h->sums.n};
    assert_true(h->n_state <= sizeof s.words);
    memcpy(s.words, h->state, h->n_state);
    memcpy(s.sums, h->sums.sums, h->sums.n * sizeof *s.sums);
    return s;
}

static bandit_status load(const stored *s, size_t keep, bool with_sums)
{
    bandit_history h;
    bandit_checkpoint c = {.sums = with_sums ? s->sums : NULL,
                           .n_sums = with_sums ? s->n_sums : 0,
                           .state = (const unsigned char *)s->words,
                           .n_state = s->n * sizeof *s->words};
    bandit_history_init(&h, ARMS, keep);
    bandit_status status = bandit_history_load(&h, &c, NULL);
    bandit_history_clear(&h);
    return status;
}

static stored with_word(const stored *s, size_t at, uint64_t word)
{
    stored other = *s;
    other.words[at] = word;
    return other;
}

#define assert_refused(s, keep) assert_int_equal(load(&(s), keep, true), BANDIT_INVALID_STATE)

static void damaged_states_are_refused(void **state)
{
    enum { BASE = 20, LOG = 30 };
    const uint64_t wraps = (uint64_t)1 << 61; /* so many entries take no bytes, modulo 2^64 */
    bandit_history h;
    bandit_result results[100];
    (void)state;
    bandit_history_init(&h, ARMS, 0);
    for (size_t i = 0; i < 100; i++)
        results[i] = result(i, (uint32_t)(ARMS - BASE + i % BASE));
    take(&h, results, 100); /* more than 64: a base of BASE arms, the last of them the last there is */
    take(&h, results, LOG);
    stored s = stored_of(&h), other;
    assert_true(s.words[1] == BASE && s.words[2] == LOG);
    assert_int_equal(load(&s, 0, true), BANDIT_OK);
    assert_int_equal(load(&s, 0, false), BANDIT_OK); /* NULL: not compared */
    assert_refused(s, 50);                           /* a base where there is none */

    for (size_t n = 0; n < s.n; n++) {
        other = s;
        other.n = n;
        assert_refused(other, 0);
    }
    other = s;
    other.n++;
    assert_refused(other, 0);
    other = with_word(&s, 0, s.words[0] + 1); /* another version */
    assert_refused(other, 0);
    for (size_t at = 1; at <= 2; at++) {
        other = with_word(&s, at, s.words[at] + wraps);
        assert_refused(other, 0);
        other = with_word(&s, at, s.words[at] + 1);
        assert_refused(other, 0);
    }
    for (size_t i = 0; i < BASE + LOG; i++) {
        const double nan_value = NAN, infinite = INFINITY;
        size_t at = HEADER + ENTRY * i;
        uint64_t bits;
        other = with_word(&s, at, ARMS);
        assert_refused(other, 0);
        other = with_word(&s, at + 1, 0);
        assert_refused(other, 0);
        memcpy(&bits, &nan_value, sizeof bits);
        other = with_word(&s, at + 2, bits);
        assert_refused(other, 0);
        memcpy(&bits, &infinite, sizeof bits);
        other = with_word(&s, at + 2, bits);
        assert_refused(other, 0);
    }
    size_t last = HEADER + ENTRY * (BASE + LOG - 1);
    other = with_word(&s, last + 1, (uint64_t)UINT32_MAX + 1); /* repeats of one result */
    assert_int_equal(load(&other, 0, false), BANDIT_INVALID_STATE);
    other = with_word(&s, last + 1, UINT32_MAX);
    assert_int_equal(load(&other, 0, false), BANDIT_OK);
    other = with_word(&s, HEADER + 1, (uint64_t)UINT32_MAX + 1); /* of a sum */
    assert_int_equal(load(&other, 0, false), BANDIT_OK);
    other = with_word(&s, HEADER + ENTRY, s.words[HEADER]); /* an arm twice, or before another */
    assert_int_equal(load(&other, 0, false), BANDIT_INVALID_STATE);

    for (size_t i = 0; i < s.n_sums; i++) { /* sums that are not those of the pulls */
        other = s;
        other.sums[i].count++;
        assert_refused(other, 0);
        other = s;
        other.sums[i].sum = nextafter(other.sums[i].sum, 10.0);
        assert_refused(other, 0);
        other = s;
        other.sums[i].arm = i > 0 ? s.sums[i - 1].arm : 0;
        assert_refused(other, 0);
    }
    other = s;
    other.n_sums--;
    assert_refused(other, 0);
    bandit_history_clear(&h);

    bandit_history_init(&h, ARMS, 0);
    for (size_t i = 0; i < 70; i++)
        results[i] = result(i, 3);
    take(&h, results, 70);
    s = stored_of(&h);
    assert_true(s.words[1] == 1 && s.words[2] == 0);
    assert_refused(s, 50); /* nor a base of one */
    assert_refused(s, 1);
    bandit_history_clear(&h);

    bandit_history_init(&h, ARMS, 7);
    take(&h, results, 40);
    s = stored_of(&h);
    assert_int_equal(load(&s, 7, true), BANDIT_OK);
    assert_int_equal(load(&s, 8, true), BANDIT_OK);
    assert_refused(s, 6); /* more than are kept */
    for (size_t i = 0; i < 7; i++) {
        other = with_word(&s, HEADER + ENTRY * i, ARMS);
        assert_refused(other, 7);
    }
    bandit_history_clear(&h);
}

/* What is said to be held is what the allocator has given, to a cache line or two an array; of the log, of
 * the sums and of the state each is most of it once. */
static void what_is_held(void **state)
{
    static bandit_result all[MOST];
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        bandit_history h;
        size_t arms = k % 2 ? ARMS : 3;
        bandit_history_init(&h, ARMS, k / 2 == 0 ? 0 : k / 2 == 1 ? 7 : MOST);
        for (size_t i = 0; i < MOST; i++)
            all[i] = result(i, (uint32_t)(i % arms));
        take(&h, all, MOST);
        take(&h, all, 20);
        const void *const arrays[] = {h.sums.sums, h.base.sums, h.next.sums, h.log, h.state};
        size_t held = 0, said = bandit_history_memory(&h);
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            held += malloc_usable_size((void *)(uintptr_t)arrays[i]);
        assert_true(said <= held && said + 5 * 128 >= held);
        bandit_history_clear(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_are_merged_when_they_would_be_too_long),
        cmocka_unit_test(the_last_results_are_kept),
        cmocka_unit_test(kept_results_are_corrected),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(what_is_held),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
