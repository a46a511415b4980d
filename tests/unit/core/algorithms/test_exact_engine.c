/* What limits, failures and damaged states do to engines with an exact posterior. */
#include "bandit/engine.h"
#include "core/algorithms/exact_engine.h"
#include "core/posterior/prior_sampler.h"
#include "tests/support/exact_study.h"
#include "tests/support/near.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void too_little_memory_is_refused_and_leaves_the_engine_as_it_was(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_IGP_UCB);
    bandit_engine *engine;
    bandit_error err = {0};
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 1000, &err), BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "would need 1 MB; the limit is 0 MB"));
    assert_non_null(strstr(err.message, "bbkb"));
    assert_null(engine);

    /* Room for one chunk of columns: 60 rewards at once, one an arm, fit; 60 more, one by one, do not. */
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 80000, &err), BANDIT_OK);
    bandit_result results[EXACT_STUDY_ARMS], more[EXACT_STUDY_ARMS];
    for (uint32_t a = 0; a < EXACT_STUDY_ARMS; a++)
        results[a] = more[a] = (bandit_result){.arm = a, .repeats = 1, .reward = sin(a)};
    exact_study_begin(engine, results, EXACT_STUDY_ARMS);
    uint32_t arm = 7;
    bandit_prediction before, after;
    bandit_checkpoint checkpoint;
    assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &before, NULL), BANDIT_OK);
    bandit_pick pending[64];
    for (uint32_t i = 0; i < 64; i++)
        pending[i] = (bandit_pick){.arm = i % EXACT_STUDY_ARMS};
    assert_int_equal(bandit_engine_begin_batch(engine, more, 1, pending, 64, &bandit_executor_serial, &err),
                     BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "bbkb"));
    assert_true(bandit_engine_memory(engine) <= 80000);
    assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &after, NULL), BANDIT_OK);
    assert_memory_equal(&before, &after, sizeof before);
    bandit_engine_checkpoint(engine, &checkpoint);
    assert_int_equal(checkpoint.batch, 0);
    assert_int_equal(checkpoint.n_sums, EXACT_STUDY_ARMS);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* The smallest limit under which `fits` is true, which it is not under less. */
static size_t smallest_limit(bool (*fits)(size_t limit, void *context), void *context)
{
    size_t low = 1, high = 1 << 24;
    assert_true(fits(high, context) && !fits(low, context));
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (fits(middle, context))
            high = middle;
        else
            low = middle;
    }
    return high;
}

typedef struct limited {
    bandit_arms *arms;
    bandit_options options;
    size_t n_pulled, n_pending; /* 0 pulled: only opened */
} limited;

static bandit_status begin_limited(bandit_engine **engine, const limited *x, size_t limit)
{
    bandit_result results[EXACT_STUDY_ARMS];
    bandit_pick pending[2 * EXACT_STUDY_ARMS];
    bandit_status status = bandit_engine_new(engine, x->arms, &x->options, limit, NULL);
    for (uint32_t i = 0; i < EXACT_STUDY_ARMS; i++)
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = sin(i)};
    for (uint32_t i = 0; i < 2 * EXACT_STUDY_ARMS; i++)
        pending[i] = (bandit_pick){.arm = i % EXACT_STUDY_ARMS, .variance = 0.1};
    if (status == BANDIT_OK && x->n_pulled > 0)
        status = bandit_engine_begin_batch(*engine, results, x->n_pulled, pending, x->n_pending,
                                           &bandit_executor_serial, NULL);
    return status;
}

static bool fits_limited(size_t limit, void *context)
{
    bandit_engine *engine = NULL;
    bandit_status status = begin_limited(&engine, context, limit);
    assert_true(status == BANDIT_OK || status == BANDIT_MEMORY_LIMIT);
    bandit_engine_free(engine);
    return status == BANDIT_OK;
}

static size_t columns_need(const bandit_covariance *covariance, size_t n_solid, size_t n_hallucinated)
{
    return bandit_exact_need(NULL, covariance, n_solid, n_hallucinated, 1);
}

/* What a limit is held against: a posterior with a column for each pull, each pick that is out, and one more
 * pick; to the byte. Under a limit picks are made until the memory for their columns ends, and stand. */
static void limits_hold_for_one_pick_more(void **state)
{
    (void)state;
    enum { PULLED = 20, CHUNK = 64 /* columns that are held at once */, MORE = 30 };
    limited x = {.arms = exact_study_arms(false)};
    bandit_covariance covariance;
    x.options = exact_study_options(BANDIT_GP_BUCB);
    x.options.ratio_bound = 1e9;
    assert_int_equal(bandit_covariance_init(&covariance, &x.options.kernel, x.arms, NULL), BANDIT_OK);
    bandit_engine *engine;
    assert_int_equal(begin_limited(&engine, &x, 0), BANDIT_OK);
    size_t opened = bandit_engine_memory(engine) + columns_need(&covariance, 1, 1) -
                    columns_need(&covariance, 0, 0) + sizeof(uint32_t) /* the arm that was pulled */;
    bandit_engine_free(engine);
    assert_int_equal(smallest_limit(fits_limited, &x), opened);
    x.options.algorithm = BANDIT_GP_TS;
    assert_int_equal(smallest_limit(fits_limited, &x),
                     opened + bandit_prior_sampler_need(&covariance) + sizeof(double) /* its noise */);
    x.options.algorithm = BANDIT_GP_BUCB;
    x.n_pulled = PULLED;
    size_t with_none = smallest_limit(fits_limited, &x);
    for (size_t n = 1; n < EXACT_STUDY_ARMS; n += n < CHUNK - PULLED - 3 ? 20 : 1) {
        x.n_pending = n;
        assert_int_equal(smallest_limit(fits_limited, &x) - with_none,
                         columns_need(&covariance, PULLED, n + 1) - columns_need(&covariance, PULLED, 1));
    }

    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick picks[2 * CHUNK];
    x.n_pending = 0;
    size_t limit = with_none + columns_need(&covariance, PULLED, MORE) - columns_need(&covariance, PULLED, 1);
    assert_int_equal(begin_limited(&engine, &x, limit), BANDIT_OK);
    limits.max_picks = 2 * CHUNK;
    size_t made = exact_study_pick(engine, &limits, picks).n_picks;
    assert_in_range(made, MORE / 2, MORE);
    assert_in_range(bandit_engine_memory(engine), 1, limit);
    assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                     BANDIT_MEMORY_LIMIT);
    bandit_engine_free(engine);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(x.arms);
}

/* A batch that fails to begin when the columns were about to be merged leaves nothing behind: the engine goes
 * on as one that was never asked. */
static void a_failed_merge_leaves_the_engine_as_it_was(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_GP_EI);
    bandit_result few[3], many[70];
    bandit_pick pending[80];
    bandit_engine *tried, *spared;
    assert_int_equal(bandit_engine_new(&tried, arms, &o, 100000, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&spared, arms, &o, 100000, NULL), BANDIT_OK);
    for (uint32_t i = 0; i < 70; i++)
        many[i] = (bandit_result){.arm = i % 30, .repeats = 1, .reward = cos(i)};
    for (uint32_t i = 0; i < 80; i++)
        pending[i] = (bandit_pick){.arm = i % EXACT_STUDY_ARMS};
    for (size_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 3; i++)
            few[i] = (bandit_result){.arm = (i * 7 + (uint32_t)round) % 20, .repeats = 1, .reward = sin(i)};
        const bandit_result *results = round == 0 ? many : few; /* many are merged at once: a base to lose */
        size_t n = round == 0 ? 70 : 3;
        exact_study_begin(tried, results, n);
        exact_study_begin(spared, results, n);
        bandit_result all[70];
        for (uint32_t i = 0; i < 70; i++)
            all[i] = (bandit_result){.arm = i % EXACT_STUDY_ARMS, .repeats = 1, .reward = 7.0};
        assert_int_equal(
            bandit_engine_begin_batch(tried, all, 70, pending, 80, &bandit_executor_serial, NULL),
            BANDIT_MEMORY_LIMIT);
        bandit_checkpoint a, b;
        bandit_engine_checkpoint(tried, &a);
        bandit_engine_checkpoint(spared, &b);
        assert_int_equal(a.batch, b.batch);
        assert_int_equal(a.n_state, b.n_state);
        assert_memory_equal(a.state, b.state, a.n_state);
        bandit_engine *restored;
        assert_int_equal(
            bandit_engine_restore(&restored, arms, &o, 0, &a, NULL, 0, &bandit_executor_serial, NULL),
            BANDIT_OK);
        for (uint32_t arm = 0; arm < EXACT_STUDY_ARMS; arm++) {
            bandit_prediction p, q, r;
            assert_int_equal(bandit_engine_predict_arms(tried, &arm, 1, &p, NULL), BANDIT_OK);
            assert_int_equal(bandit_engine_predict_arms(spared, &arm, 1, &q, NULL), BANDIT_OK);
            assert_int_equal(bandit_engine_predict_arms(restored, &arm, 1, &r, NULL), BANDIT_OK);
            assert_memory_equal(&p, &q, sizeof p);
            assert_memory_equal(&p, &r, sizeof p);
        }
        bandit_engine_free(restored);
    }
    bandit_engine_free(tried);
    bandit_engine_free(spared);
    bandit_arms_free(arms);
}

static void refused_results_change_nothing(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_GP_EI);
    bandit_engine *engine = exact_study_engine(arms, &o);
    bandit_result good[16], bad = {.arm = 3, .repeats = 1, .reward = NAN};
    exact_study_begin(engine, good, exact_study_history(good));
    bandit_description before, after;
    bandit_engine_describe(engine, &before);
    assert_int_equal(bandit_engine_begin_batch(engine, &bad, 1, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_INVALID_STATE);
    bandit_engine_describe(engine, &after);
    assert_int_equal(after.batch, before.batch);
    assert_int_equal(after.observations, before.observations);
    assert_near(after.information_gain, before.information_gain, 0.0);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void damaged_states_are_refused(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    for (int evolution = 0; evolution < 2; evolution++) {
        bandit_options o = exact_study_options(evolution ? BANDIT_REGULARIZED_EVOLUTION : BANDIT_GP_TS);
        bandit_engine *engine = exact_study_engine(arms, &o), *restored;
        bandit_result results[16];
        exact_study_begin(engine, results, exact_study_history(results));
        bandit_checkpoint good, bad;
        bandit_engine_checkpoint(engine, &good);
        unsigned char bytes[4096];
        bandit_arm_sum sums[16];
        assert_true(good.n_state <= sizeof bytes && good.n_sums <= 16);

        for (size_t i = 0; i < good.n_state; i++) { /* cut at every length */
            bad = good;
            bad.n_state = i;
            assert_int_equal(
                bandit_engine_restore(&restored, arms, &o, 0, &bad, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_INVALID_STATE);
            assert_null(restored);
        }
        for (size_t i = 0; i < good.n_state; i += 8) { /* every word set to all ones */
            memcpy(bytes, good.state, good.n_state);
            memset(bytes + i, 0xff, 8);
            bad = good;
            bad.state = bytes;
            assert_int_equal(
                bandit_engine_restore(&restored, arms, &o, 0, &bad, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_INVALID_STATE);
        }
        if (!evolution) { /* sums that are not those of the pulls */
            memcpy(sums, good.sums, good.n_sums * sizeof *sums);
            sums[1].sum += 1e-9;
            bad = good;
            bad.sums = sums;
            assert_int_equal(
                bandit_engine_restore(&restored, arms, &o, 0, &bad, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_INVALID_STATE);
        }
        assert_int_equal(
            bandit_engine_restore(&restored, arms, &o, 0, &good, NULL, 0, &bandit_executor_serial, NULL),
            BANDIT_OK);
        bandit_engine_free(restored);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_memory_is_refused_and_leaves_the_engine_as_it_was),
        cmocka_unit_test(limits_hold_for_one_pick_more),
        cmocka_unit_test(a_failed_merge_leaves_the_engine_as_it_was),
        cmocka_unit_test(refused_results_change_nothing),
        cmocka_unit_test(damaged_states_are_refused),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
