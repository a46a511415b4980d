/* How much is computed: kernel entries, products with them and evaluated arms are counted where they are
 * made, and compared to what the methods' costs say. No pass does another's part again, a second look costs
 * less than the first, and most arms are left out. */
#include "bandit/space.h"
#include "core/algorithms/algorithm.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/prior_features.h"
#include "core/posterior/surface.h"
#include "core/posterior/svgp.h"
#include "core/selection/local_ratio.h"
#include "core/selection/screening.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"
#include "tests/support/skip.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 34000, PULLED = 70, MEMBERS = 40 };

/* ---- counting ------------------------------------------------------------------------------------------ */

/* In tiles of BANDIT_TILE arms: one kernel entry each, one mean each, one variance each, whole or as far as
 * it is needed. */
static size_t entries, means, norms, norms_in_part;
static const bandit_simd *underneath;

static void count_entries(bandit_profile profile, double short_share, size_t d, const double *tile,
                          const double *points, size_t n, double *out, size_t ld)
{
    entries += n;
    underneath->entries(profile, short_share, d, tile, points, n, out, ld);
}

static void count_means(const double *a, size_t m, const double *k, double *out)
{
    means++;
    underneath->means(a, m, k, out);
}

static void count_norms(const double *packed, const double *a, size_t m, const double *k, double *out,
                        double *means_out)
{
    norms++;
    underneath->norms(packed, a, m, k, out, means_out);
}

static void count_norms_in_part(const double *packed, size_t m, const double *k, const double *need,
                                double *out, bool *whole)
{
    norms_in_part++;
    underneath->norms_until(packed, m, k, need, out, whole);
}

static bandit_simd counted;

/* Counts on this kernel from now on. */
static void count(bandit_covariance *covariance)
{
    underneath = covariance->simd;
    counted = *underneath;
    counted.entries = count_entries;
    counted.means = count_means;
    if (underneath->norms)
        counted.norms = count_norms;
    if (underneath->norms_until)
        counted.norms_until = count_norms_in_part;
    covariance->simd = &counted;
}

static void start_counting(void)
{
    entries = means = norms = norms_in_part = 0;
}

static size_t tiles(size_t n)
{
    return (n + BANDIT_TILE - 1) / BANDIT_TILE;
}

/* ---- passes over all arms ------------------------------------------------------------------------------ */

typedef struct model {
    random_problem problem;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_arm_sum sums[PULLED];
    double mean[ARMS], variance[ARMS];
} model;

static void build(model *x, bandit_posterior *posterior, size_t members, uint64_t more)
{
    uint32_t dictionary[MEMBERS];
    bandit_arm_sum sums[PULLED];
    bandit_error err;
    memcpy(sums, x->sums, sizeof sums);
    for (uint32_t i = 0; i < PULLED; i++)
        sums[i].count += more;
    for (uint32_t i = 0; i < members; i++)
        dictionary[i] = x->sums[i].arm;
    must(bandit_posterior_build(posterior, &x->covariance, x->problem.options.lambda, dictionary, members,
                                sums, PULLED, &err),
         &err);
}

static void open_model(model *x)
{
    bandit_error err;
    memset(x, 0, sizeof *x);
    random_problem_init(&x->problem, 3, ARMS, 2, BANDIT_KERNEL_MATERN, 0.05, 0);
    must(bandit_covariance_init(&x->covariance, &x->problem.options.kernel, x->problem.arms, &err), &err);
    count(&x->covariance);
    for (uint32_t i = 0; i < PULLED; i++)
        x->sums[i] = (bandit_arm_sum){.arm = 37 * i + 2, .count = 2, .sum = 2.0 * cos(i)};
    build(x, &x->posterior, MEMBERS, 0);
}

static void close_model(model *x)
{
    bandit_posterior_clear(&x->posterior);
    bandit_covariance_clear(&x->covariance);
    random_problem_clear(&x->problem);
}

/* Every arm once: its kernel column, and one product with it. */
static void all_arms_are_evaluated_once(void **state)
{
    (void)state;
    model x;
    bandit_error err;
    open_model(&x);
    size_t m = x.posterior.m;
    assert_true(x.posterior.one_factor && m > MEMBERS / 2);
    for (int plain = 0; plain < 2; plain++) {
        start_counting();
        must(bandit_posterior_evaluate_all(&x.posterior, &bandit_executor_serial, x.mean, x.variance, &err),
             &err);
        assert_int_equal(entries, tiles(ARMS) * m);
        assert_int_equal(norms, underneath->norms && !plain ? tiles(ARMS) : 0);
        bandit_posterior_evaluate_plainly(&x.posterior);
    }
    close_model(&x);
}

/* A pass for the pulled arms, a sample of tiles, and one over all arms: their means; variances of whole tiles
 * of those that matter. Nobody is evaluated who is left out. */
static void screening_evaluates_what_matters(void **state)
{
    (void)state;
    model x;
    bandit_error err;
    bandit_posterior after = {0};
    bandit_reference reference = {0};
    bool done = false;
    open_model(&x);
    must(bandit_posterior_evaluate_all(&x.posterior, &bandit_executor_serial, x.mean, x.variance, &err),
         &err);
    must(bandit_reference_keep(&reference, &x.posterior, x.variance, &err), &err);
    build(&x, &after, MEMBERS, 1);
    bandit_screen screen = {.reference = &reference,
                            .alpha = 0.2 * sqrt(x.problem.options.lambda),
                            .shrinkage = 1.0,
                            .pulled = x.sums,
                            .n_pulled = PULLED};
    must(bandit_reference_compare(&reference, &after, &screen.ratio, &err), &err);
    assert_true(isfinite(screen.ratio));
    start_counting();
    must(bandit_screening_evaluate(&after, &screen, &bandit_executor_serial, x.mean, x.variance, &done, &err),
         &err);
    assert_true(done);
    assert_true(tiles(ARMS) / 32 > 64); /* so many that only 32 or 33 tiles are looked at before */
    size_t m = after.m, step = tiles(ARMS) / 32, sampled = (tiles(ARMS) + step - 1) / step, evaluated = 0,
           dense = 0, sparse = 0;
    bool pulled[ARMS] = {false};
    for (size_t u = 0; u < PULLED; u++)
        pulled[x.sums[u].arm] = true;
    for (size_t tile = 0; tile < tiles(ARMS); tile++) {
        size_t here = 0;
        for (size_t a = tile * BANDIT_TILE; a < (tile + 1) * BANDIT_TILE && a < ARMS; a++)
            here += x.variance[a] >= 0.0 && !pulled[a];
        dense += 2 * here > BANDIT_TILE;
        sparse += 2 * here > BANDIT_TILE ? 0 : here;
        evaluated += here;
    }
    assert_true(evaluated > 0 && 10 * evaluated < 3 * ARMS);
    assert_int_equal(entries, (tiles(ARMS) + sampled + tiles(PULLED)) * m);
    if (underneath->norms) {
        assert_int_equal(means, tiles(ARMS) + sampled);
        assert_true(norms >= tiles(PULLED) + dense + tiles(sparse));
        /* a part of 1024 arms ends with a tile that may not be full; pulled arms may matter too */
        assert_true(norms <=
                    2 * tiles(PULLED) + dense + tiles(sparse) + tiles(ARMS) * BANDIT_TILE / 1024 + 6);
    }
    bandit_reference_clear(&reference);
    bandit_posterior_clear(&after);
    close_model(&x);
}

/* The global-local rule: for a pick's column one pass with the members and the pick, and the pick alone. */
static void a_column_takes_one_pass(void **state)
{
    (void)state;
    model x;
    bandit_error err;
    bandit_local_ratio ratio = {0};
    open_model(&x);
    size_t m = x.posterior.m;
    must(bandit_posterior_evaluate_all(&x.posterior, &bandit_executor_serial, x.mean, x.variance, &err),
         &err);
    must(bandit_local_ratio_start(&ratio, &x.posterior, x.variance, 2.0, &err), &err);
    must(bandit_local_ratio_prepare(&ratio, 1, &err), &err);
    start_counting();
    bandit_local_ratio_add(&ratio, 11, 1, &bandit_executor_serial);
    assert_int_equal(entries, tiles(ARMS) * (m + 1) + m);
    assert_int_equal(means, 2 * tiles(ARMS));
    bandit_local_ratio_add(&ratio, 11, 5, &bandit_executor_serial);
    assert_int_equal(entries, tiles(ARMS) * (m + 1) + m);
    bandit_local_ratio_clear(&ratio);
    close_model(&x);
}

/* A Thompson sample: one kernel column an arm. */
static void a_sample_looks_at_every_arm_once(void **state)
{
    (void)state;
    model x;
    bandit_error err;
    bandit_features features = {0};
    bandit_svgp_sampler sampler = {0};
    uint32_t arm;
    open_model(&x);
    must(bandit_features_init(&features, BANDIT_EXPANSION_FOURIER, &x.covariance, 64, &err), &err);
    must(bandit_svgp_sampler_prepare(&sampler, &x.posterior, &features, &bandit_executor_serial, &err), &err);
    start_counting();
    bandit_svgp_draw(&sampler, 1.0, 5, 1, 0);
    assert_int_equal(entries, 0);
    assert_true(bandit_svgp_argmax(&sampler, &bandit_executor_serial, NULL, 0, &arm));
    assert_int_equal(entries, tiles(ARMS) * x.posterior.m);
    bandit_svgp_sampler_clear(&sampler);
    bandit_features_clear(&features);
    close_model(&x);
}

/* An exact posterior: one kernel column a pull, whether it has a reward or is out; none to forget. */
static void an_exact_column_takes_one_pass(void **state)
{
    (void)state;
    model x;
    bandit_error err;
    bandit_exact *exact;
    bandit_pull pulls[100];
    open_model(&x);
    must(bandit_exact_new(&exact, &x.covariance, 0.1, &err), &err);
    must(bandit_exact_reserve(exact, 100, 20, 1, &err), &err);
    for (uint32_t i = 0; i < 100; i++)
        pulls[i] = (bandit_pull){.arm = 9 * i, .repeats = 1, .reward = sin(i)};
    for (int at_once = 0; at_once < 2; at_once++) {
        bandit_exact_reset(exact);
        start_counting();
        bandit_exact_observe(exact, pulls, 90, at_once, &bandit_executor_serial);
        assert_int_equal(entries, 90 * tiles(ARMS));
        for (uint32_t i = 0; i < 20; i++)
            bandit_exact_hallucinate(exact, 50 * i, &bandit_executor_serial);
        assert_int_equal(entries, 110 * tiles(ARMS));
        bandit_exact_forget(exact);
        assert_int_equal(entries, 110 * tiles(ARMS));
    }
    bandit_exact_free(exact);
    close_model(&x);
}

/* ---- surfaces ------------------------------------------------------------------------------------------ */

/* A grid has its columns once, and one more for each pick that is out, whenever it is brought up to date;
 * means alone take no columns of what is out. */
static void a_grid_has_each_column_once(void **state)
{
    enum { POINTS = 1000, OUT = 7 };
    (void)state;
    model x;
    bandit_error err;
    bandit_surface surface = {0};
    bandit_grid grid = {0};
    static double points[2 * POINTS], values[POINTS];
    open_model(&x);
    size_t m = x.posterior.m;
    for (size_t i = 0; i < 2 * POINTS; i++)
        points[i] = random_problem_uniform(&x.problem, 8, i);
    must(bandit_surface_start(&surface, &x.posterior, OUT, &err), &err);
    start_counting();
    must(bandit_grid_start(&grid, &surface, points, POINTS, &err), &err);
    assert_int_equal(entries, tiles(POINTS) * m);
    must(bandit_grid_update(&grid, &surface, &err), &err);
    assert_int_equal(entries, tiles(POINTS) * m);
    for (size_t i = 0, behind = 0; i < OUT; i++) {
        bandit_surface_hallucinate(&surface, points + 200 * i, surface.posterior->lambda);
        behind++;
        if (i == 2) /* two at once */
            continue;
        start_counting();
        must(bandit_grid_update(&grid, &surface, &err), &err);
        assert_int_equal(entries, tiles(POINTS) * behind);
        must(bandit_grid_update(&grid, &surface, &err), &err);
        assert_int_equal(entries, tiles(POINTS) * behind);
        behind = 0;
    }
    start_counting();
    bandit_surface_values(&surface, points, POINTS, values, NULL);
    assert_int_equal(entries, tiles(POINTS) * m);
    bandit_grid_clear(&grid);
    bandit_surface_clear(&surface);
    close_model(&x);
}

/* ---- engines ------------------------------------------------------------------------------------------- */

static bandit_engine *told(bandit_arms *arms, const bandit_options *o, size_t n)
{
    bandit_engine *engine;
    bandit_result results[PULLED];
    bandit_error err;
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    count(&engine->covariance);
    for (uint32_t i = 0; i < n; i++)
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = sin(3.0 * i)};
    must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
    return engine;
}

static size_t cost_of_a_pick(bandit_engine *engine, const double *fixed)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick pick;
    bandit_error err;
    limits.max_picks = 1;
    limits.beyond_bound = true;
    limits.fixed = fixed;
    start_counting();
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
    assert_int_equal(selection.n_picks, 1);
    return entries;
}

/* In a space the first pick of a batch pays for the grid, the next ones do not, unless other values are
 * fixed; predictions pay for their own columns alone. */
static void the_grid_is_made_once_a_batch(void **state)
{
    enum { TOLD = 30 };
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_EI, BANDIT_GP_BUCB};
    (void)state;
    for (size_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++) {
        bandit_arms *arms;
        bandit_options o = small_options(algorithms[k], BOX);
        bandit_error err;
        const double fixed[] = {0.25, (double)NAN};
        assert_int_equal(small_arms(&arms, BOX), BANDIT_OK);
        for (size_t i = 0; i < TOLD; i++) {
            const double coded[] = {(double)i / TOLD, (double)(1 + 2 * i)};
            must(bandit_arms_append(arms, coded, 1, &err), &err);
        }
        bandit_engine *engine = told(arms, &o, TOLD);
        size_t first = cost_of_a_pick(engine, NULL), second = cost_of_a_pick(engine, NULL);
        size_t other = cost_of_a_pick(engine, fixed), again = cost_of_a_pick(engine, fixed);
        size_t back = cost_of_a_pick(engine, NULL);
        assert_true(4 * second < 3 * first && 4 * again < 3 * other);
        assert_true(other > second && 2 * back > 3 * second);
        start_counting();
        const uint32_t asked[] = {3, 4, 5};
        bandit_prediction predictions[3];
        must(bandit_engine_predict_arms(engine, asked, 3, predictions, &err), &err);
        assert_true(entries > 0 && entries <= 3 * TOLD);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* Screening by rows that leaves out too few arms is tried again after one batch, then after three, seven,
 * fifteen and fifteen; where it helps it is done in every batch, and what was before is forgotten. */
static void screening_that_does_not_help_is_left(void **state)
{
    enum { CANDIDATES = 800, FIRST = 7, BATCHES = 70, HELPS = 50, HELPS_NOT = 65 };
    static const size_t tried[] = {0, 2, 6, 14, 30, 46, 62, 63, 64, 65, 67};
    random_problem problem;
    bandit_result results[FIRST + BATCHES];
    bandit_error err;
    bandit_engine *engine;
    size_t next = 0, told = 0;
    (void)state;
    random_problem_init(&problem, 3, CANDIDATES, 2, BANDIT_KERNEL_MATERN, 0.05, 0);
    problem.options.confidence = BANDIT_CONFIDENCE_FIXED;
    problem.options.beta = 1.0;
    problem.options.q_bar = 1e9; /* more members than bounds from a reference are for */
    must(bandit_engine_new(&engine, problem.arms, &problem.options, 0, &err), &err);
    if (!engine->covariance.simd->norms_until) {
        bandit_engine_free(engine);
        random_problem_clear(&problem);
        skip_because("variances are not computed by rows on this processor");
    }
    count(&engine->covariance);
    for (uint32_t i = 0; i < FIRST + BATCHES; i++)
        results[i] =
            (bandit_result){.arm = 10 * i + 3, .repeats = 1, .reward = cos((double)i), .chosen = true};
    for (size_t batch = 0; batch < BATCHES; batch++) {
        size_t n = batch == 0 ? FIRST : 1;
        engine->options.beta = batch >= HELPS && batch < HELPS_NOT ? 1e-3 : 1e3;
        start_counting();
        must(bandit_engine_begin_batch(engine, results + told, n, NULL, 0, &bandit_executor_serial, &err),
             &err);
        told += n;
        bool due = next < sizeof tried / sizeof *tried && tried[next] == batch;
        next += due;
        if ((norms_in_part > 0) != due)
            fail_msg("batch %zu: %zu tiles by rows", batch, norms_in_part);
    }
    bandit_engine_free(engine);
    random_problem_clear(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arms_are_evaluated_once),
        cmocka_unit_test(screening_evaluates_what_matters),
        cmocka_unit_test(a_column_takes_one_pass),
        cmocka_unit_test(a_sample_looks_at_every_arm_once),
        cmocka_unit_test(an_exact_column_takes_one_pass),
        cmocka_unit_test(a_grid_has_each_column_once),
        cmocka_unit_test(the_grid_is_made_once_a_batch),
        cmocka_unit_test(screening_that_does_not_help_is_left),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
