/* What stands still in a batch on a space: the ratio of what is out, against a dense Gaussian process, the
 * best of all pulled points, and the memory that is foreseen; and where pi-GP-UCB looks for its points. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "core/algorithms/space_engine.h"
#include "core/arms/cover.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/repeats.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 100 };

static bandit_arms *box(size_t n_parameters)
{
    bandit_parameter parameters[MOST_PARAMETERS];
    for (size_t i = 0; i < n_parameters; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    return space_study_arms(parameters, n_parameters);
}

static bandit_options options_of(bandit_algorithm algorithm, const double *lengthscale)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    o.kernel.lengthscales = lengthscale;
    o.kernel.n_lengthscales = 1;
    o.lambda = 0.3;
    o.delta = 0.1;
    o.q_bar = 1e9; /* a dictionary of all */
    o.inducing = 16;
    o.prior_features = 32;
    o.ratio_bound = 1e9;
    o.max_batch = 2;
    o.seed = 4;
    return o;
}

static bandit_selection no_more_picks(bandit_engine *engine)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err = {0};
    limits.max_picks = 0;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, NULL, &selection, &err), &err);
    return selection;
}

/* ---- what is out --------------------------------------------------------------------------------------- */

/* Points at random, the first TOLD of which are told, some more than once; of the others, and of one that was
 * told, picks are out, of some more than one. */
enum { TOLD = 5, POINTS = 8, OUT = 6 };
static const uint32_t out[OUT] = {5, 2, 6, 5, 7, 7};

typedef struct problem {
    bandit_arms *arms;
    double *K; /* POINTS squared */
    bandit_result results[TOLD];
    bandit_pick pending[OUT];
} problem;

static problem problem_of(size_t n_parameters, double lengthscale)
{
    uint64_t random = n_parameters;
    problem p = {.arms = box(n_parameters)};
    bandit_error err = {0};
    double *x = dense_alloc(POINTS * n_parameters, sizeof *x);
    for (size_t i = 0; i < POINTS * n_parameters; i++)
        x[i] = dense_uniform(&random);
    must(bandit_arms_append(p.arms, x, POINTS, &err), &err);
    p.K = dense_gaussian(x, POINTS, n_parameters, lengthscale);
    for (uint32_t i = 0; i < TOLD; i++)
        p.results[i] = (bandit_result){
            .arm = i, .repeats = 1 + i % 2, .reward = dense_normal(&random), .chosen = true, .variance = 0.5};
    for (size_t i = 0; i < OUT; i++)
        p.pending[i] = (bandit_pick){.arm = out[i], .variance = 0.5};
    free(x);
    return p;
}

static void clear_problem(problem *p)
{
    bandit_arms_free(p->arms);
    free(p->K);
}

/* 1 + the sum of the variances of what is out, those of the batch's start; or the product of 1 + each, those
 * under what is out before it. */
static double dense_ratio(const problem *p, size_t n_told, double lambda, bool product)
{
    uint64_t counts[POINTS] = {0};
    double ratio = 1.0, variance[POINTS];
    for (size_t i = 0; i < n_told; i++)
        counts[p->results[i].arm] += p->results[i].repeats;
    for (size_t i = 0; i < OUT; i++) {
        dense_exact_variance(p->K, POINTS, lambda, counts, variance, NULL);
        if (product) {
            ratio *= 1.0 + variance[out[i]];
            counts[out[i]]++;
        } else {
            ratio += variance[out[i]];
        }
    }
    return ratio;
}

/* However many features a point has. What is out when a batch begins and what is replayed are the same. */
static void ratios_of_what_is_out(void **state)
{
    static const bandit_algorithm algorithms[] = {
        BANDIT_BBKB, BANDIT_BKB, BANDIT_IGP_UCB, BANDIT_GP_BUCB, BANDIT_GP_TS, BANDIT_S_GP_TS, BANDIT_GP_EI};
    static const size_t sizes[] = {2, 64, 65, MOST_PARAMETERS};
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k += repeats(1, 2)) {
        double lengthscale = 0.4 * sqrt((double)sizes[k]);
        problem p = problem_of(sizes[k], lengthscale);
        for (size_t a = 0; a < 4 * sizeof algorithms / sizeof *algorithms; a++) {
            bandit_options o = options_of(algorithms[a / 4], &lengthscale);
            size_t n_told = a % 4 / 2 ? TOLD : 0, n_pending = a % 2 ? OUT : 0;
            bandit_engine *engine;
            bandit_error err = {0};
            double expected = dense_ratio(&p, n_told, o.lambda, o.algorithm == BANDIT_GP_BUCB && n_told > 0);
            must(bandit_engine_new(&engine, p.arms, &o, 0, &err), &err);
            must(bandit_engine_begin_batch(engine, p.results, n_told, p.pending, n_pending,
                                           &bandit_executor_serial, &err),
                 &err);
            must(
                bandit_engine_replay_picks(engine, p.pending, OUT - n_pending, &bandit_executor_serial, &err),
                &err);
            bandit_selection selection = no_more_picks(engine);
            if (fabs(selection.ratio - expected) > 1e-6 * expected)
                fail_msg("%s, %zu parameters, %zu told: %.12g, not %.12g", bandit_algorithm_name(o.algorithm),
                         sizes[k], n_told, selection.ratio, expected);
            bandit_engine_free(engine);
        }
        clear_problem(&p);
    }
}

/* ---- the best of the pulled points --------------------------------------------------------------------- */

/* By posterior means, wherever among many it stands, and though all are below what is believed before the
 * first reward. */
static void the_best_of_many(void **state)
{
    enum { MANY = 520 };
    static const size_t places[] = {255, 256, MANY - 1};
    static const bandit_algorithm algorithms[] = {BANDIT_GP_EI, BANDIT_GP_PI};
    static double x[MANY];
    static bandit_result results[MANY];
    static bandit_prediction predictions[MANY];
    uint32_t arms_of[MANY];
    const double lengthscale = 1.0 / MANY;
    bandit_arms *arms = box(1);
    bandit_error err = {0};
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        x[i] = (double)i / MANY;
        arms_of[i] = i;
    }
    must(bandit_arms_append(arms, x, MANY, &err), &err);
    for (size_t k = 0; k < sizeof places / sizeof *places; k += repeats(1, 2)) {
        bandit_options o = options_of(algorithms[k % 2], &lengthscale);
        bandit_engine *engine;
        double best = -INFINITY;
        size_t place = 0;
        for (uint32_t i = 0; i < MANY; i++)
            results[i] = (bandit_result){
                .arm = i, .repeats = 1, .reward = i == places[k] ? -1.0 : -4.0 - sin(i), .chosen = true};
        must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
        must(bandit_engine_begin_batch(engine, results, MANY, NULL, 0, &bandit_executor_serial, &err), &err);
        must(bandit_engine_predict_arms(engine, arms_of, MANY, predictions, &err), &err);
        for (size_t i = 0; i < MANY; i++) {
            place = predictions[i].mean > best ? i : place;
            best = fmax(best, predictions[i].mean);
        }
        assert_int_equal(place, places[k]);
        assert_true(best < -0.5);
        const bandit_space_engine *e = (const bandit_space_engine *)engine;
        assert_true(fabs(e->batches[e->in_force].incumbent - best) < 1e-6);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* ---- pi-GP-UCB ----------------------------------------------------------------------------------------- */

/* On as many parameters as it takes: a point of the box, whose bound is no less than that of a pulled one. */
static void the_most_parameters_of_a_partition(void **state)
{
    const double lengthscale = 1.0;
    problem p = problem_of(BANDIT_COVER_DIMENSIONS, lengthscale);
    bandit_options o = options_of(BANDIT_PI_GP_UCB, &lengthscale);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_prediction bounds[TOLD + 1];
    uint32_t arms[TOLD + 1] = {0};
    bandit_pick pick;
    bandit_engine *engine;
    bandit_error err = {0};
    double x[BANDIT_COVER_DIMENSIONS];
    (void)state;
    o.kernel.type = BANDIT_KERNEL_MATERN;
    o.kernel.nu = 1.5;
    must(bandit_engine_new(&engine, p.arms, &o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, p.results, TOLD, NULL, 0, &bandit_executor_serial, &err), &err);
    limits.max_picks = 1;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
    assert_int_equal(selection.n_picks, 1);
    bandit_arms_coded(p.arms, pick.arm, x);
    must(bandit_arms_check_point(p.arms, x, &err), &err);
    for (uint32_t i = 0; i < TOLD; i++)
        arms[i] = i;
    arms[TOLD] = pick.arm;
    must(bandit_engine_predict_arms(engine, arms, TOLD + 1, bounds, &err), &err);
    for (size_t i = 0; i < TOLD; i++)
        assert_true(bounds[TOLD].ucb >= bounds[i].ucb - 1e-9);
    bandit_engine_free(engine);
    clear_problem(&p);
}

/* A box has numbers only: one parameter that is none is one too many, wherever it stands. */
static void partitions_are_of_boxes(void **state)
{
    enum { SIZE = 3 };
    (void)state;
    for (size_t odd = 0; odd < SIZE; odd++) {
        const double lengthscale = 1.0;
        bandit_parameter parameters[SIZE];
        bandit_options o = options_of(BANDIT_PI_GP_UCB, &lengthscale);
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_error err = {0};
        for (size_t i = 0; i < SIZE; i++)
            parameters[i] =
                (bandit_parameter){.type = BANDIT_PARAMETER_INTEGER, .max = 9, .parent = BANDIT_NO_PARENT};
        parameters[odd] = (bandit_parameter){.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT};
        must(bandit_arms_new_space(&arms, parameters, SIZE, &err), &err);
        o.kernel.type = BANDIT_KERNEL_MATERN;
        o.kernel.nu = 1.5;
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, "name");
        assert_null(engine);
        bandit_arms_free(arms);
    }
}

/* Without noise points that are known, but were never pulled, are picked as new ones are: each once, before
 * the pulled one, which is far better than all others are expected to be. */
static void known_points_are_picked_once(void **state)
{
    enum { WIDE = 5, HIGH = 3, GRID = WIDE * HIGH, PULLED = 7 };
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .max = WIDE - 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .max = HIGH - 1, .parent = BANDIT_NO_PARENT}};
    const double lengthscale = 0.3;
    const bandit_result told = {.arm = PULLED, .repeats = 1, .reward = 10.0, .chosen = true};
    bandit_options o = options_of(BANDIT_PI_GP_UCB, &lengthscale);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick picks[GRID];
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_error err = {0};
    bool seen[GRID] = {[PULLED] = true};
    (void)state;
    o.kernel.type = BANDIT_KERNEL_MATERN;
    o.kernel.nu = 1.5;
    o.noise_std = 1e-12;
    o.lambda = 1e-6;
    must(bandit_arms_new_space(&arms, parameters, 2, &err), &err);
    for (size_t i = 0; i < GRID; i++) {
        const double point[] = {(double)(i % WIDE), (double)(i / WIDE)};
        must(bandit_arms_append(arms, point, 1, &err), &err);
    }
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, &told, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    limits.max_picks = GRID;
    limits.beyond_bound = true;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    assert_int_equal(selection.n_picks, GRID);
    for (size_t i = 0; i + 1 < GRID; i++) {
        assert_true(picks[i].arm < GRID);
        assert_false(seen[picks[i].arm]);
        seen[picks[i].arm] = true;
    }
    assert_int_equal(picks[GRID - 1].arm, PULLED);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* A study told of n points in two batches, and one pick more. Returns the bytes at its end; 0: refused when
 * the first began. */
static size_t held_with(bandit_arms *arms, const bandit_options *o, const bandit_result *results, size_t n,
                        size_t limit)
{
    bandit_engine *engine;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick pick;
    bandit_error err = {0};
    size_t held = 0;
    must(bandit_engine_new(&engine, arms, o, limit, &err), &err);
    bandit_status status =
        bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err);
    if (status != BANDIT_MEMORY_LIMIT) {
        must(status, &err);
        must(bandit_engine_begin_batch(engine, results, 1, NULL, 0, &bandit_executor_serial, &err), &err);
        limits.max_picks = 1;
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
        held = bandit_engine_memory(engine);
    }
    bandit_engine_free(engine);
    return held;
}

/* What two batches on hundreds of points and the grid of a pick come to hold is foreseen when the first
 * begins, within a tenth. */
static void memory_is_foreseen(void **state)
{
    enum { MANY = 400 };
    static double x[MANY];
    static bandit_result results[MANY];
    const double lengthscale = 1.0 / MANY;
    bandit_options o = options_of(BANDIT_BBKB, &lengthscale);
    bandit_arms *arms = box(1);
    bandit_error err = {0};
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        x[i] = (double)i / MANY;
        results[i] =
            (bandit_result){.arm = i, .repeats = 1, .reward = sin(i), .chosen = true, .variance = 0.5};
    }
    must(bandit_arms_append(arms, x, MANY, &err), &err);
    size_t held = held_with(arms, &o, results, MANY, 0);
    assert_int_equal(held_with(arms, &o, results, MANY, held), 0);
    assert_true(held_with(arms, &o, results, MANY, held + held / 10) > 0);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ratios_of_what_is_out),
                                       cmocka_unit_test(the_best_of_many),
                                       cmocka_unit_test(the_most_parameters_of_a_partition),
                                       cmocka_unit_test(partitions_are_of_boxes),
                                       cmocka_unit_test(known_points_are_picked_once),
                                       cmocka_unit_test(memory_is_foreseen)};
    return cmocka_run_group_tests_name("batches on a space", tests, NULL, NULL);
}
