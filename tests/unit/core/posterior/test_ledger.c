/* The ledger of rewards against a table of all arms; rewards are eighths, so that sums are exact. */
#include "core/posterior/ledger.h"

#include "tests/support/dense_gp.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 37, MOST = 60 };

typedef struct table {
    uint64_t count[ARMS];
    double sum[ARMS], squares;
} table;

static void tell(table *t, uint32_t arm, uint32_t repeats, double reward)
{
    t->count[arm] += repeats;
    t->sum[arm] += repeats * reward;
    t->squares += repeats * reward * reward;
}

static void check(const bandit_ledger *ledger, const table *t)
{
    size_t n = 0;
    uint64_t observations = 0;
    for (uint32_t a = 0; a < ARMS; a++) {
        if (t->count[a] == 0)
            continue;
        assert_true(n < ledger->n);
        assert_int_equal(ledger->sums[n].arm, a);
        assert_int_equal(ledger->sums[n].count, t->count[a]);
        assert_true(ledger->sums[n].sum == t->sum[a]);
        observations += t->count[a];
        n++;
    }
    assert_int_equal(ledger->n, n);
    assert_true(ledger->capacity >= n);
    assert_int_equal(ledger->observations, observations);
    assert_true(ledger->sum_squares == t->squares);
}

static uint32_t below(uint64_t *random, uint32_t n)
{
    return (uint32_t)(n * dense_uniform(random));
}

static double eighths(uint64_t *random)
{
    return (double)below(random, 160) / 8.0 - 10.0;
}

/* Batches of results, arms in any order and more than once; between them, results are corrected or taken
 * back, as far as an arm has any. */
static void as_a_table(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        bandit_ledger ledger = {0}, next = {0};
        table t = {.squares = 0.0};
        uint64_t random = seed;
        bandit_error err;
        for (size_t batch = 0; batch < 12; batch++) {
            bandit_result results[MOST];
            size_t n = below(&random, batch % 3 ? 6 : MOST);
            uint32_t arms = seed % 2 ? ARMS : 1 + (uint32_t)batch;
            for (size_t i = 0; i < n; i++) {
                results[i] = (bandit_result){.arm = below(&random, arms),
                                             .repeats = 1 + below(&random, 4),
                                             .reward = eighths(&random),
                                             .chosen = i % 2,
                                             .variance = i % 2 ? 0.0 : NAN};
                tell(&t, results[i].arm, results[i].repeats, results[i].reward);
            }
            must(bandit_ledger_add(&next, &ledger, arms, results, n, &err), &err);
            bandit_ledger old = ledger;
            ledger = next;
            next = old;
            check(&ledger, &t);

            /* One result of some arms becomes another one, or none; or it is a first one. */
            bandit_amendment amendments[ARMS];
            bandit_arm_sum sums[ARMS];
            size_t n_sums = 0;
            for (uint32_t a = below(&random, 3); a < ARMS; a += 1 + below(&random, 9)) {
                bandit_amendment *x = &amendments[n_sums];
                *x = (bandit_amendment){.arm = a};
                if (t.count[a] > 0) { /* all that there was, as one result, whatever it was made of */
                    x->was.repeats = (uint32_t)t.count[a];
                    x->was.reward = 0.25;
                    t.squares -= (double)x->was.repeats * 0.0625;
                }
                x->now.repeats = below(&random, 3);
                x->now.reward = x->now.repeats ? eighths(&random) : NAN;
                t.count[a] = 0;
                t.sum[a] = 0.0;
                if (x->now.repeats)
                    tell(&t, a, x->now.repeats, x->now.reward);
                sums[n_sums++] = (bandit_arm_sum){.arm = a, .count = t.count[a], .sum = t.sum[a]};
            }
            must(bandit_ledger_amend(&ledger, amendments, n_sums, sums, n_sums, &err), &err);
            t.squares = fmax(0.0, t.squares);
            check(&ledger, &t);

            bandit_ledger loaded = {0};
            must(bandit_ledger_load(&loaded, ARMS, ledger.sums, ledger.n, ledger.sum_squares, &err), &err);
            check(&loaded, &t);
            bandit_checkpoint stored = {.sums = ledger.sums, .n_sums = ledger.n};
            must(bandit_ledger_restore(&loaded, ARMS, &stored, ledger.observations, t.squares, &err), &err);
            check(&loaded, &t);
            assert_int_equal(
                bandit_ledger_restore(&loaded, ARMS, &stored, ledger.observations + 1, t.squares, &err),
                BANDIT_INVALID_STATE);
            bandit_ledger_clear(&loaded);
            assert_null(loaded.sums);
            assert_int_equal(loaded.n + loaded.capacity, 0);
        }
        bandit_ledger_clear(&ledger);
        bandit_ledger_clear(&next);
    }
}

static void what_is_no_result_is_refused(void **state)
{
    static const struct {
        bandit_result result;
        bool fine;
    } cases[] = {
        {{.arm = ARMS - 1, .repeats = 1, .reward = 1.0}, true},
        {{.arm = ARMS, .repeats = 1, .reward = 1.0}, false},
        {{.arm = 0, .repeats = 0, .reward = 1.0}, false},
        {{.arm = 0, .repeats = 1, .reward = NAN}, false},
        {{.arm = 0, .repeats = 1, .reward = -INFINITY}, false},
        {{.arm = 0, .repeats = 1, .reward = 1e160}, false}, /* its square */
        {{.arm = 0, .repeats = 1, .reward = 1.0, .chosen = true, .variance = 0.0}, true},
        {{.arm = 0, .repeats = 1, .reward = 1.0, .chosen = true, .variance = -1e-300}, false},
        {{.arm = 0, .repeats = 1, .reward = 1.0, .chosen = true, .variance = INFINITY}, false},
        {{.arm = 0, .repeats = 1, .reward = 1.0, .chosen = true, .variance = NAN}, false},
        {{.arm = 0, .repeats = 1, .reward = 1.0, .variance = -1.0}, true}, /* nobody's pick has none */
    };
    const bandit_ledger none = {0};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (size_t at = 0; at < 2; at++) {
            bandit_result results[2] = {{.repeats = 1}, {.repeats = 1}};
            bandit_ledger ledger = {0};
            bandit_error err = {0};
            results[at] = cases[k].result;
            assert_int_equal(bandit_ledger_add(&ledger, &none, ARMS, results, 2, &err),
                             cases[k].fine ? BANDIT_OK : BANDIT_INVALID_STATE);
            bandit_ledger_clear(&ledger);
        }
    }
}

static void damaged_sums_are_refused(void **state)
{
    static const bandit_arm_sum cases[][2] = {
        {{3, 0, 1, 1.0}, {3, 0, 1, 1.0}},       {{4, 0, 1, 1.0}, {3, 0, 1, 1.0}},
        {{3, 0, 0, 0.0}, {5, 0, 1, 1.0}},       {{3, 0, 1, 1.0}, {5, 0, 0, 0.0}},
        {{3, 0, 1, NAN}, {5, 0, 1, 1.0}},       {{3, 0, 1, 1.0}, {ARMS, 0, 1, 1.0}},
        {{3, 0, 1, 1.0}, {5, 0, 1, -INFINITY}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bandit_ledger ledger = {0};
        bandit_error err = {0};
        assert_int_equal(bandit_ledger_load(&ledger, ARMS, cases[k], 2, 1.0, &err), BANDIT_INVALID_STATE);
        assert_int_equal(ledger.n, 0);
        bandit_ledger_clear(&ledger);
    }
}

/* A correction whose square overflows changes nothing; one that takes away more than there is leaves none. */
static void corrections_keep_the_squares_finite(void **state)
{
    const bandit_result result = {.arm = 2, .repeats = 2, .reward = 3.0};
    bandit_amendment change = {
        .arm = 2, .was = {.repeats = 2, .reward = 3.0}, .now = {.repeats = 1, .reward = 1e200}};
    bandit_arm_sum sum = {.arm = 2, .count = 1, .sum = 1e200};
    const bandit_ledger none = {0};
    bandit_ledger ledger = {0};
    bandit_error err = {0};
    (void)state;
    must(bandit_ledger_add(&ledger, &none, ARMS, &result, 1, &err), &err);
    assert_int_equal(bandit_ledger_amend(&ledger, &change, 1, &sum, 1, &err), BANDIT_INVALID_STATE);
    table t = {.squares = 0.0};
    tell(&t, 2, 2, 3.0);
    check(&ledger, &t);
    change.was.reward = 4.0;
    change.now.reward = 1.0;
    sum.sum = 1.0;
    must(bandit_ledger_amend(&ledger, &change, 1, &sum, 1, &err), &err);
    assert_true(ledger.sum_squares == 0.0 && ledger.n == 1 && ledger.sums[0].sum == 1.0);
    bandit_ledger_clear(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_table),
        cmocka_unit_test(what_is_no_result_is_refused),
        cmocka_unit_test(damaged_sums_are_refused),
        cmocka_unit_test(corrections_keep_the_squares_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
