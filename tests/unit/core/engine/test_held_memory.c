/* What an engine says it holds is what the allocator has given it, but for the engine's own fixed size and
 * what the allocator adds to blocks. */
#include "bandit/engine.h"

#include "core/algorithms/algorithm.h"
#include "core/base/bound_heap.h"
#include "core/posterior/prior_sampler.h"
#include "core/selection/inducing.h"
#include "core/selection/uncertainty.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/repeats.h"
#include "tests/support/small_sets.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ARMS = 400, DIMENSION = 3, BATCHES = 12, PICKS = 4, UNCOUNTED = 4096 };

static bandit_arms *many_arms(bool matrix)
{
    bandit_arms *arms;
    double *rows = calloc(ARMS * ARMS, sizeof *rows);
    size_t width = matrix ? ARMS : DIMENSION;
    assert_non_null(rows);
    for (size_t i = 0; i < ARMS; i++) {
        for (size_t j = 0; j < width; j++)
            rows[i * width + j] = matrix ? exp(-fabs((double)i - (double)j) / 20.0)
                                         : fmod((double)(i + 1) * (0.618 + 0.131 * (double)j), 1.0);
    }
    assert_int_equal(matrix ? bandit_arms_new_precomputed(&arms, ARMS, NULL)
                            : bandit_arms_new(&arms, ARMS, DIMENSION, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    free(rows);
    return arms;
}

static void assert_agree(double held, size_t said, double share, const char *what, small_set set)
{
    if (!((double)said <= held && (double)said >= held - UNCOUNTED - share * held))
        fail_msg("%s, set %d: %.0f bytes held, %zu said", what, (int)set, held, said);
}

/* A study of some batches, its picks told in the batch after the next, looked at after each. Returns the
 * bytes at its end; 0 when a limit was in the way. */
static double study(bandit_algorithm algorithm, small_set set, bool learned, size_t limit, size_t batches)
{
    bandit_arms *arms;
    bandit_options o = small_options(algorithm, set);
    bandit_engine *engine;
    bandit_pick out[2][PICKS];
    size_t n_out[2] = {0};
    double last = 0.0;
    const double lengthscale = set == FEATURES ? 0.3 : 0.5;
    long long before = live_bytes;
    if (set == FEATURES || set == MATRIX)
        arms = many_arms(set == MATRIX);
    else
        assert_int_equal(small_arms(&arms, set), BANDIT_OK);
    if (o.kernel.n_lengthscales > 0) {
        o.kernel.lengthscales = &lengthscale;
        o.kernel.n_lengthscales = 1;
    }
    if (learned) {
        o.learn_lengthscale = set != MATRIX;
        o.learn_noise = o.learn_norm_bound = o.standardize_rewards = o.lambda_from_noise = true;
    }
    assert_agree((double)(live_bytes - before), bandit_arms_memory(arms), 0.0, "arms", set);
    before = live_bytes;
    bandit_status status = bandit_engine_new(&engine, arms, &o, limit, NULL);
    for (size_t batch = 0; batch < batches && status == BANDIT_OK; batch++) {
        bandit_result results[PICKS];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        size_t now = batch % 2, arms_before;
        for (size_t i = 0; i < n_out[now]; i++)
            results[i] = (bandit_result){.arm = out[now][i].arm,
                                         .repeats = 1,
                                         .reward = sin((double)(out[now][i].arm * 7 + batch)),
                                         .chosen = true,
                                         .variance = out[now][i].variance};
        status = bandit_engine_begin_batch(engine, results, n_out[now], out[1 - now], n_out[1 - now],
                                           &bandit_executor_serial, NULL);
        if (status != BANDIT_OK)
            break;
        limits.max_picks = PICKS;
        limits.beyond_bound = true;
        arms_before = bandit_arms_memory(arms);
        status = bandit_engine_select(engine, &limits, &bandit_executor_serial, out[now], &selection, NULL);
        if (status != BANDIT_OK)
            break;
        n_out[now] = selection.n_picks;
        before += (long long)(bandit_arms_memory(arms) - arms_before);
        last = (double)bandit_engine_memory(engine);
        if (limit > 0 && last > (double)limit)
            fail_msg("%s, set %d: %.0f bytes held, %zu allowed", bandit_algorithm_name(algorithm), (int)set,
                     last, limit);
        assert_agree((double)(live_bytes - before), bandit_engine_memory(engine),
                     algorithm == BANDIT_PI_GP_UCB ? 0.05 : 0.0, bandit_algorithm_name(algorithm), set);
    }
    if (limit == 0 || status != BANDIT_MEMORY_LIMIT)
        assert_int_equal(status, BANDIT_OK);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return status == BANDIT_OK ? last : 0.0;
}

/* Sets of arms say what they hold, except what each block is rounded up by: a cache line by bandit_alloc, and
 * as much as glibc's smallest block by the allocator, which does not split off less. */
static void assert_said(const bandit_arms *arms, long long bytes, long long blocks)
{
    enum { ROUNDING = 64 + 32 };
    double held = (double)bytes, said = (double)bandit_arms_memory(arms);
    if (!(said <= held && said >= held - ROUNDING * (double)blocks))
        fail_msg("%.0f bytes held in %lld blocks, %.0f said", held, blocks, said);
}

static void sets_say_what_they_hold(void **state)
{
    enum { MANY = 70 };
    (void)state;
    for (small_set set = FEATURES; set <= SPACE; set++) {
        bandit_arms *arms;
        long long before = live_bytes, blocks = live;
        assert_int_equal(small_arms(&arms, set), BANDIT_OK);
        assert_said(arms, live_bytes - before, live - blocks);
        bandit_arms_free(arms);
    }
    double row[MANY] = {0.0};
    bandit_arms *arms;
    long long before = live_bytes, blocks = live;
    assert_int_equal(bandit_arms_new(&arms, 3, MANY, NULL), BANDIT_OK); /* more features than arms */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(bandit_arms_set_rows(arms, i, 1, row, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 3, NULL), BANDIT_OK);
    assert_said(arms, live_bytes - before, live - blocks);
    bandit_arms_free(arms);
}

/* What draws of the prior are made of, each of the three ways; and what making it takes is foreseen. */
static void samplers_say_what_they_hold(void **state)
{
    enum { MANY = BANDIT_PRIOR_EXACT_ARMS + 1, BLOCKS = 512 };
    static double rows[MANY * DIMENSION];
    static const struct {
        size_t n;
        bandit_kernel_type kernel;
        bandit_prior_way way;
    } cases[] = {{ARMS, BANDIT_KERNEL_MATERN, BANDIT_PRIOR_FACTOR},
                 {MANY, BANDIT_KERNEL_MATERN, BANDIT_PRIOR_RANDOM_FEATURES},
                 {MANY, BANDIT_KERNEL_LINEAR, BANDIT_PRIOR_LINEAR},
                 {ARMS, BANDIT_KERNEL_LINEAR, BANDIT_PRIOR_LINEAR}};
    const double lengthscale = 0.1;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = fmod((double)(i + 1) * 0.618, 1.0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bandit_kernel kernel = {cases[k].kernel, 0.5, &lengthscale,
                                      cases[k].kernel == BANDIT_KERNEL_LINEAR ? 0 : 1, 0.0};
        bandit_arms *arms;
        bandit_covariance covariance;
        bandit_prior_sampler *sampler;
        assert_int_equal(bandit_arms_new(&arms, cases[k].n, DIMENSION, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, cases[k].n, rows, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, cases[k].n, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
        long long before = live_bytes;
        peak_bytes = before;
        assert_int_equal(bandit_prior_sampler_new(&sampler, &covariance, NULL), BANDIT_OK);
        assert_int_equal(bandit_prior_sampler_way(sampler), cases[k].way);
        double held = (double)(live_bytes - before), peak = (double)(peak_bytes - before);
        double said = (double)bandit_prior_sampler_memory(sampler);
        double foreseen = (double)bandit_prior_sampler_need(&covariance);
        assert_true(said <= held && said >= held - BLOCKS);
        assert_true(foreseen >= peak - BLOCKS && foreseen <= 1.1 * peak);
        bandit_prior_sampler_free(sampler);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

static void engines_say_what_they_hold(void **state)
{
    static const small_set sets[] = {FEATURES, MATRIX, BOX, SPACE};
    const size_t batches = repeats(BATCHES, 6);
    size_t large = 0;
    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        for (size_t a = 0; a < SMALL_ALGORITHMS; a++) {
            if (small_algorithms[a] != BANDIT_S_GP_TS || sets[s] != MATRIX) /* it samples features */
                large += study(small_algorithms[a], sets[s], false, 0, batches) > 10.0 * UNCOUNTED ? 1U : 0U;
        }
        study(BANDIT_BBKB, sets[s], true, 0, batches);
        study(BANDIT_GP_TS, sets[s], true, 0, batches);
    }
    study(BANDIT_PI_GP_UCB, FEATURES, false, 0, batches);
    study(BANDIT_PI_GP_UCB, BOX, false, 0, batches);
    assert_true(large >= 20);
}

/* What an engine has for each dimension and each lengthscale counts, whatever its algorithm. */
static void dimensions_count(void **state)
{
    enum { MANY = 3000 };
    static double lengthscales[MANY], row[MANY];
    (void)state;
    for (size_t j = 0; j < MANY; j++)
        lengthscales[j] = 1.0;
    for (size_t a = 0; a < SMALL_ALGORITHMS; a++) {
        bandit_options o = small_options(small_algorithms[a], FEATURES);
        bandit_arms *arms;
        bandit_engine *engine;
        assert_int_equal(bandit_arms_new(&arms, 1, MANY, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, 1, row, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 1, NULL), BANDIT_OK);
        o.kernel.lengthscales = lengthscales;
        o.kernel.n_lengthscales = MANY;
        long long before = live_bytes;
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
        assert_agree((double)(live_bytes - before), bandit_engine_memory(engine), 0.0,
                     bandit_algorithm_name(small_algorithms[a]), FEATURES);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* The same of engines that have been told so much at once that what is held for each arm, each member of a
 * dictionary and each pick outweighs the engine's own size. */
static void large_engines_say_what_they_hold(void **state)
{
    enum { TOLD = 1100, LARGEST = 4096 };
    static const struct {
        bandit_algorithm algorithm;
        small_set set;
        size_t inducing, n_pending;
    } large[] = {{BANDIT_BBKB, BOX, 300, 16},
                 {BANDIT_S_GP_TS, BOX, 300, 2000},
                 {BANDIT_S_GP_TS, FEATURES, 2000, 0},
                 {BANDIT_GP_EI, FEATURES, 300, 300},
                 {BANDIT_BBKB, FEATURES, 300, LARGEST}};
    static bandit_result results[TOLD];
    static bandit_pick pending[LARGEST];
    (void)state;
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        const small_set set = large[k].set;
        const double lengthscale = set == BOX ? 0.01 : 0.3;
        bandit_options o = small_options(large[k].algorithm, set);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_pick pick;
        size_t n = set == BOX ? repeats(TOLD, 150) : ARMS;
        assert_int_equal(small_arms(&arms, BOX), BANDIT_OK);
        for (size_t i = 0; i < n; i++) {
            const double coded[] = {(double)i / TOLD, (double)(1 + i % 64)};
            assert_int_equal(bandit_arms_append(arms, coded, 1, NULL), BANDIT_OK);
            results[i] = (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = sin((double)i)};
        }
        if (set != BOX) {
            bandit_arms_free(arms);
            arms = many_arms(false);
        }
        for (size_t i = 0; i < LARGEST; i++)
            pending[i] = (bandit_pick){.arm = (uint32_t)(i % n), .variance = 0.01};
        o.kernel.lengthscales = &lengthscale;
        o.lambda = 0.01;
        o.inducing = large[k].inducing;
        o.prior_features = 1000;
        long long before = live_bytes;
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_begin_batch(engine, results, n, pending, large[k].n_pending,
                                                   &bandit_executor_serial, NULL),
                         BANDIT_OK);
        assert_agree((double)(live_bytes - before), bandit_engine_memory(engine), 0.0,
                     bandit_algorithm_name(large[k].algorithm), set);
        size_t arms_before = bandit_arms_memory(arms);
        limits.max_picks = 1;
        limits.beyond_bound = true;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, NULL),
            BANDIT_OK);
        before += (long long)(bandit_arms_memory(arms) - arms_before);
        assert_agree((double)(live_bytes - before), bandit_engine_memory(engine), 0.0,
                     bandit_algorithm_name(large[k].algorithm), set);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* A limit is refused that is a sixth of what an engine without one comes to hold, and five times that is
 * enough: what is foreseen is of the size of what comes. No more is ever held than is allowed. */
static void limits_are_of_the_size_of_what_is_held(void **state)
{
    static const small_set sets[] = {FEATURES, BOX};
    const size_t batches = repeats(BATCHES, 6);
    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        for (size_t a = 0; a <= SMALL_ALGORITHMS; a++) {
            bandit_algorithm algorithm = a < SMALL_ALGORITHMS ? small_algorithms[a] : BANDIT_PI_GP_UCB;
            double held = study(algorithm, sets[s], false, 0, batches);
            if (held < 5.0 * UNCOUNTED) /* without a model, or a small one: nothing is foreseen */
                continue;
            assert_true(study(algorithm, sets[s], false, (size_t)(held / 6.0), batches) == 0.0);
            assert_true(study(algorithm, sets[s], false, (size_t)(5.0 * held), batches) == held);
            for (size_t k = 0; k < 17; k += repeats(1, 9)) /* refused, or kept to */
                study(algorithm, sets[s], false, (size_t)(0.05 * pow(1.25, (double)k) * held), batches);
        }
    }
}

/* First picks by their uncertainty hold what two matrices of them take, on their way too; a limit below that
 * is refused before it is passed. */
static void first_picks_keep_to_a_limit(void **state)
{
    enum { MOST = 300 };
    const double lengthscale = 0.02;
    bandit_options o = small_options(BANDIT_BBKB, FEATURES);
    bandit_arms *arms = many_arms(false);
    bandit_covariance covariance;
    uint32_t *all;
    size_t n, refused = 0, kept = 0;
    (void)state;
    o.kernel.lengthscales = &lengthscale;
    assert_int_equal(bandit_covariance_init(&covariance, &o.kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_uncertainty_picks(&all, &n, &covariance, o.lambda, 1e9, MOST, INFINITY, NULL),
                     BANDIT_OK);
    assert_int_equal(n, MOST);
    long before = live;
    for (double limit = 1000.0; kept == 0; limit *= 1.1) {
        uint32_t *picks;
        long long bytes = live_bytes;
        peak_bytes = bytes;
        bandit_status status =
            bandit_uncertainty_picks(&picks, &n, &covariance, o.lambda, 1e9, MOST, limit, NULL);
        double held = (double)(peak_bytes - bytes);
        assert_true(held <= limit + 1024.0);
        if (status == BANDIT_OK) {
            assert_memory_equal(picks, all, MOST * sizeof *all);
            assert_true(held > 2.0 * MOST * MOST * sizeof(double) && held > 0.7 * limit);
            free(picks);
            kept++;
        } else {
            assert_int_equal(status, BANDIT_MEMORY_LIMIT);
            assert_null(picks);
            refused++;
        }
        assert_int_equal(live, before);
    }
    assert_true(refused > 20);
    free(all);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Many picks of few arms: the list of them is what takes memory, and it too is foreseen. */
static void long_lists_of_first_picks_count(void **state)
{
    enum { SOME = 5, MOST = 4000, PICKED = 4 * MOST /* bytes */ };
    const double rows[SOME] = {0.0, 1.0, 2.0, 3.0, 4.0}, lengthscale = 0.5;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 0.5, &lengthscale, 1, 0.0};
    bandit_arms *arms;
    bandit_covariance covariance;
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, SOME, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, SOME, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, SOME, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    for (int enough = 0; enough < 2; enough++) {
        const double limit = enough ? 2.5 * PICKED : PICKED;
        uint32_t *picks;
        size_t n;
        long long before = live_bytes;
        peak_bytes = before;
        bandit_status status = bandit_uncertainty_picks(&picks, &n, &covariance, 1.0, 1e9, MOST, limit, NULL);
        assert_int_equal(status, enough ? BANDIT_OK : BANDIT_MEMORY_LIMIT);
        assert_true((double)(peak_bytes - before) <= limit);
        assert_int_equal(n, enough ? MOST : 0);
        free(picks);
    }
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

static void assert_opens_with(size_t bytes, bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    assert_int_equal(bandit_engine_new(&engine, arms, o, bytes - 1, NULL), BANDIT_MEMORY_LIMIT);
    assert_null(engine);
    assert_int_equal(bandit_engine_new(&engine, arms, o, bytes, NULL), BANDIT_OK);
    bandit_engine_free(engine);
}

/* An engine is refused before it has been told anything when what it is to hold for its arms alone, or for
 * the sizes that its options give it, would take more, to the byte. */
static void arms_alone_may_be_too_many(void **state)
{
    enum { INDUCING = 20, PRIOR_FEATURES = 300, MANY = 40000, BLOCK = 256 };
    (void)state;
    bandit_arms *arms = many_arms(false);
    bandit_options o = small_options(BANDIT_BBKB, FEATURES);
    /* Two batches of mean, variance, place in the heap and number of it, and a variance between them. */
    size_t per_arm = 2 * (2 * sizeof(double) + sizeof(bandit_heap_entry) + sizeof(uint32_t));
    assert_opens_with(ARMS * (per_arm + sizeof(double)), arms, &o);
    o.algorithm = BANDIT_PI_GP_UCB; /* features, mean, two variances and number */
    assert_opens_with(ARMS * ((DIMENSION + 3) * sizeof(double) + sizeof(uint32_t)), arms, &o);
    bandit_arms_free(arms);

    double *points = calloc(MANY, sizeof *points);
    assert_non_null(points);
    assert_int_equal(bandit_arms_new(&arms, MANY, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, MANY, points, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, MANY, NULL), BANDIT_OK);
    o = small_options(BANDIT_S_GP_TS, FEATURES);
    o.inducing = INDUCING;
    o.prior_features = PRIOR_FEATURES;
    /* Two batches of four matrices, a block of columns, and features of a frequency, a phase and a weight; a
     * column an inducing point of the arms that it is drawn from; with dtc a variance an arm. */
    size_t batch = 4 * INDUCING * INDUCING + BLOCK * INDUCING + PRIOR_FEATURES * (1 + 2);
    size_t doubles = 2 * batch + INDUCING * (size_t)BANDIT_INDUCING_GROUND;
    assert_true((int)MANY > (int)BANDIT_INDUCING_GROUND);
    assert_opens_with(doubles * sizeof(double), arms, &o);
    o.posterior = BANDIT_POSTERIOR_DTC;
    assert_opens_with((doubles + MANY) * sizeof(double), arms, &o);
    bandit_arms_free(arms);
    free(points);
}

/* Where what comes can be told beforehand a limit of as much as comes to be held is enough, and no byte less.
 */
static void a_limit_is_used_up(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_PI_GP_UCB};
    (void)state;
    for (size_t a = 0; a < 2; a++) {
        double held = study(algorithms[a], FEATURES, false, 0, BATCHES);
        assert_true(study(algorithms[a], FEATURES, false, (size_t)held, BATCHES) == held);
        assert_true(study(algorithms[a], FEATURES, false, (size_t)held - 1, BATCHES) == 0.0);
    }
}

/* Before the first batch there is nothing but the engine, and what every one has. */
static void engines_begin_with_nothing(void **state)
{
    static const struct {
        bandit_algorithm algorithm;
        small_set set;
    } empty[] = {{BANDIT_BBKB, FEATURES}, {BANDIT_PI_GP_UCB, FEATURES}, {BANDIT_PI_GP_UCB, BOX}};
    (void)state;
    for (size_t k = 0; k < sizeof empty / sizeof *empty; k++) {
        bandit_options o = small_options(empty[k].algorithm, empty[k].set);
        bandit_arms *arms;
        bandit_engine *engine;
        assert_int_equal(small_arms(&arms, empty[k].set), BANDIT_OK);
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_memory(engine), bandit_engine_own_memory(engine));
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    mallopt(M_MMAP_MAX, 0); /* the allocator adds less than a page to a large block */
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_say_what_they_hold),
                                       cmocka_unit_test(samplers_say_what_they_hold),
                                       cmocka_unit_test(engines_say_what_they_hold),
                                       cmocka_unit_test(dimensions_count),
                                       cmocka_unit_test(large_engines_say_what_they_hold),
                                       cmocka_unit_test(limits_are_of_the_size_of_what_is_held),
                                       cmocka_unit_test(arms_alone_may_be_too_many),
                                       cmocka_unit_test(a_limit_is_used_up),
                                       cmocka_unit_test(engines_begin_with_nothing),
                                       cmocka_unit_test(first_picks_keep_to_a_limit),
                                       cmocka_unit_test(long_lists_of_first_picks_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
