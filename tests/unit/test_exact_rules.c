/* Each exact algorithm's rule, recomputed from the published formulas: confidence widths, the choice of an
 * arm, where a batch ends, and what limits and errors do. */
#include "bandit/engine.h"

#include "acquisition.h"
#include "algorithms/exact_engine.h"
#include "prior_sampler.h"
#include "tests/support/near.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 60, MAX_PULLS = 200 };

static const double lengthscale = 0.15;

/* One dimension, points i / N in a scattered order; the upper half repeats the lower when `twice`. */
static double point(size_t arm, bool twice)
{
    size_t n = twice ? N / 2 : N;
    return (double)(arm % n * 7 % n) / (double)n;
}

static bandit_arms *make_arms(bool twice)
{
    bandit_arms *arms;
    double x[N];
    for (size_t a = 0; a < N; a++)
        x[a] = point(a, twice);
    assert_int_equal(bandit_arms_new(&arms, N, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    return arms;
}

static double kernel(size_t a, size_t b)
{
    double r = (point(a, false) - point(b, false)) / lengthscale;
    return exp(-0.5 * r * r);
}

static bandit_options options_for(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    o.lambda = 0.04;
    o.noise_std = 0.2;
    o.norm_bound = 1.5;
    o.delta = 0.05;
    o.zeta = 0.01;
    o.seed = 9;
    return o;
}

static bandit_engine *new_engine(bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err = {0};
    if (bandit_engine_new(&engine, arms, o, 0, &err) != BANDIT_OK)
        fail_msg("%s", err.message);
    return engine;
}

static void begin(bandit_engine *engine, const bandit_result *results, size_t n)
{
    assert_int_equal(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
}

static bandit_selection pick(bandit_engine *engine, const bandit_select_limits *limits, bandit_pick *picks)
{
    bandit_selection selection;
    assert_int_equal(bandit_engine_select(engine, limits, &bandit_executor_serial, picks, &selection, NULL),
                     BANDIT_OK);
    return selection;
}

/* Nine pulls of six arms. */
static size_t history(bandit_result *results)
{
    static const uint32_t pulled[] = {3, 17, 17, 40, 52, 8, 3, 3, 29};
    size_t n = sizeof pulled / sizeof *pulled;
    for (size_t i = 0; i < n; i++)
        results[i] = (bandit_result){
            .arm = pulled[i], .repeats = 1, .reward = sin(6.0 * point(pulled[i], false)) + 0.01 * (double)i};
    return n;
}

/* Bayesian variance of every arm after these pulls, by a dense solve. */
static void dense_variances(const uint32_t *pulled, size_t n, double lambda, double out[N])
{
    static double m[MAX_PULLS * MAX_PULLS], x[MAX_PULLS * N];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            m[i * n + j] = kernel(pulled[i], pulled[j]) + (i == j ? lambda : 0.0);
        for (size_t a = 0; a < N; a++)
            x[i * N + a] = kernel(pulled[i], a);
    }
    if (n > 0)
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, N, m, (lapack_int)n, x, N), 0);
    for (size_t a = 0; a < N; a++) {
        out[a] = kernel(a, a);
        for (size_t i = 0; i < n; i++)
            out[a] -= x[i * N + a] * kernel(pulled[i], a);
    }
}

/* ---- widths -------------------------------------------------------------------------------------------- */

static double width_of(const bandit_options *o, const bandit_result *results, size_t n)
{
    bandit_arms *arms = make_arms(false);
    bandit_engine *engine = new_engine(arms, o);
    begin(engine, results, n);
    bandit_description description;
    bandit_prediction prediction;
    bandit_engine_describe(engine, &description);
    double width = description.beta / sqrt(o->lambda); /* before the Bayesian standard deviation */
    uint32_t arm = 21;
    assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &prediction, NULL), BANDIT_OK);
    assert_near(prediction.ucb, prediction.mean + width * sqrt(prediction.variance), 1e-12);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return width;
}

static void widths_are_the_papers(void **state)
{
    (void)state;
    bandit_result results[16];
    size_t n = history(results);
    const double b = 1.5, r = 0.2, delta = 0.05, c = 2.0, t = (double)n + 1.0;
    uint32_t pulled[16];
    double gamma = 0.0, variances[N];
    for (size_t i = 0; i < n; i++) { /* 1/2 log det by its chain rule */
        dense_variances(pulled, i, 0.04, variances);
        gamma += 0.5 * log(1.0 + variances[results[i].arm] / 0.04);
        pulled[i] = results[i].arm;
    }
    for (int source = 0; source < 3; source++) {
        bandit_options o = options_for(BANDIT_GP_UCB);
        double g = gamma;
        o.gamma = source == 0 ? BANDIT_GAMMA_EXACT : source == 1 ? BANDIT_GAMMA_FIXED : BANDIT_GAMMA_BOUND;
        if (source == 1)
            o.gamma_value = g = 0.7;
        if (source == 2) {
            o.gamma_scale = 0.3;
            g = 0.3 * pow(log(t), 2.0);
        }
        double improved = b + r * sqrt(2.0 * (g + 1.0 + log(1.0 / delta)));
        double thompson = b + r * sqrt(2.0 * (g + 1.0 + log(2.0 / delta)));
        assert_near(width_of(&o, results, n), sqrt(2.0 * b * b + 300.0 * g * pow(log(t / delta), 3.0)), 1e-6);
        o.algorithm = BANDIT_IGP_UCB;
        assert_near(width_of(&o, results, n), improved, 1e-9);
        o.algorithm = BANDIT_GP_BUCB;
        assert_near(width_of(&o, results, n), c * improved, 1e-9);
        o.algorithm = BANDIT_GP_TS;
        assert_near(width_of(&o, results, n), thompson, 1e-9);
        o.algorithm = BANDIT_ASYNC_TS;
        o.scale = 10.0;
        assert_near(width_of(&o, results, n), thompson / 10.0, 1e-9);
    }
    /* The Matérn bound, in one dimension: t^{2 / (2 nu + 2)} ln t. */
    bandit_options o = options_for(BANDIT_IGP_UCB);
    o.gamma = BANDIT_GAMMA_BOUND;
    o.kernel.type = BANDIT_KERNEL_MATERN;
    o.kernel.nu = 1.5;
    double g = pow(t, 0.4) * log(t);
    assert_near(width_of(&o, results, n), b + r * sqrt(2.0 * (g + 1.0 + log(1.0 / delta))), 1e-9);
    /* The linear one: d ln t. */
    bandit_options linear = options_for(BANDIT_IGP_UCB);
    linear.gamma = BANDIT_GAMMA_BOUND;
    linear.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
    assert_near(width_of(&linear, results, n), b + r * sqrt(2.0 * (log(t) + 1.0 + log(1.0 / delta))), 1e-9);
    o.algorithm = BANDIT_GP_EI;
    assert_near(width_of(&o, results, n), 0.0, 0.0);
}

static void a_precomputed_kernel_has_no_bound(void **state)
{
    (void)state;
    bandit_arms *arms;
    double identity[4] = {1, 0, 0, 1};
    assert_int_equal(bandit_arms_new_precomputed(&arms, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, 2, identity, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 2, NULL), BANDIT_OK);
    bandit_options o = options_for(BANDIT_IGP_UCB);
    o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
    o.gamma = BANDIT_GAMMA_BOUND;
    bandit_engine *engine;
    bandit_error err = {0};
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "gamma");
    assert_null(engine);
    bandit_arms_free(arms);
}

/* ---- choices ------------------------------------------------------------------------------------------- */

static double normal_pdf(double z)
{
    return exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0));
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* The textbook's score of an arm; of one whose value is known, that it is better, and by how much. */
static double score(bandit_algorithm algorithm, const bandit_prediction *p, double best, double zeta)
{
    double sigma = sqrt(p->variance), gain = p->mean - best - zeta, z = gain / sigma;
    if (sigma == 0.0 && algorithm == BANDIT_GP_EI)
        return fmax(0.0, gain);
    if (sigma == 0.0 && algorithm == BANDIT_GP_PI)
        return gain > 0.0;
    if (algorithm == BANDIT_GP_EI)
        return gain * normal_cdf(z) + sigma * normal_pdf(z);
    if (algorithm == BANDIT_GP_PI)
        return normal_cdf(z);
    if (algorithm == BANDIT_EPSILON_GREEDY)
        return p->mean;
    return p->ucb;
}

static void picks_maximize_the_textbook_score(void **state)
{
    (void)state;
    static const bandit_algorithm algorithms[] = {BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB,
                                                  BANDIT_GP_EI,  BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY};
    bandit_arms *arms = make_arms(false);
    for (size_t k = 0; k < 2 * (sizeof algorithms / sizeof *algorithms); k++) {
        size_t i = k / 2;
        bandit_options o = options_for(algorithms[i]);
        o.epsilon = 0.0;
        bandit_engine *engine = new_engine(arms, &o);
        bandit_result results[16];
        size_t n = history(results);
        double lower = k % 2 ? 3.0 : 0.0; /* every reward is below what is believed before the first */
        for (size_t r = 0; r < n; r++)
            results[r].reward -= lower;
        begin(engine, results, n);
        for (size_t round = 0; round < 12; round++) {
            bandit_prediction predictions[N];
            uint32_t all[N], expected = 0;
            double best = -INFINITY;
            for (uint32_t a = 0; a < N; a++)
                all[a] = a;
            assert_int_equal(bandit_engine_predict_arms(engine, all, N, predictions, NULL), BANDIT_OK);
            bandit_description description;
            bandit_engine_describe(engine, &description);
            for (size_t u = 0; u < description.n_dictionary; u++)
                best = fmax(best, predictions[description.dictionary[u]].mean);
            for (uint32_t a = 1; a < N; a++) {
                if (score(algorithms[i], &predictions[a], best, o.zeta) >
                    score(algorithms[i], &predictions[expected], best, o.zeta))
                    expected = a;
            }
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick chosen;
            limits.max_picks = 1;
            bandit_selection selection = pick(engine, &limits, &chosen);
            assert_int_equal(selection.n_picks, 1);
            assert_int_equal(chosen.arm, expected);
            assert_near(chosen.variance, predictions[expected].variance / o.lambda, 0.0);
            bandit_result told = {.arm = expected,
                                  .repeats = 1,
                                  .reward = sin(6.0 * point(expected, false)) - lower,
                                  .chosen = true,
                                  .variance = chosen.variance};
            begin(engine, &told, 1);
        }
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* A linear kernel knows the value at 0, which is 0, before any pull: its variance is none. It is the best
 * where all rewards are below, and nothing is hoped for where it has been met and is the best that was. */
static void values_that_are_known(void **state)
{
    enum { ARMS = 5, CASES = 64 };
    static const double points[ARMS] = {0.0, 0.5, 1.0, 2.0, -0.5};
    size_t picked = 0, other = 0;
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        const bool improves = k & 1, pulled = k & 2, last = k & 4, falls = k & 8, without = k & 16,
                   ahead = k & 32;
        bandit_arms *arms;
        double x[ARMS], best = -INFINITY;
        bandit_prediction predictions[ARMS];
        uint32_t all[ARMS], zero = last ? ARMS - 1 : 0, expected, opposite = last ? ARMS - 2 : ARMS - 1;
        for (size_t i = 0; i < ARMS; i++) {
            x[last ? (i + ARMS - 1) % ARMS : i] = points[i];
            all[i] = (uint32_t)i;
        }
        bandit_result results[] = {{.repeats = 2}, {.repeats = 3}, {.arm = zero, .repeats = 1}};
        for (uint32_t i = 0; i < ARMS; i++) {
            if (x[i] == 1.0)
                results[0].arm = i;
            if (x[i] == 2.0)
                results[1].arm = i;
        }
        for (size_t i = 0; i < 2; i++)
            results[i].reward = (falls ? -1.0 : 1.0) * x[results[i].arm];
        assert_int_equal(bandit_arms_new(&arms, ARMS, 1, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, x, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
        bandit_options o = options_for(improves ? BANDIT_GP_EI : BANDIT_GP_PI);
        o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
        o.lambda = 4.0; /* so that no probability is 1 but for rounding */
        o.zeta = ahead ? 0.3 : 0.0;
        bandit_engine *engine = new_engine(arms, &o);
        begin(engine, results, pulled ? 3 : 2);
        assert_int_equal(bandit_engine_predict_arms(engine, all, ARMS, predictions, NULL), BANDIT_OK);
        assert_true(predictions[zero].variance == 0.0 && predictions[zero].mean == 0.0);
        for (size_t i = 0; i < (pulled ? 3U : 2U); i++)
            best = fmax(best, predictions[results[i].arm].mean);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick chosen;
        limits.max_picks = 1;
        limits.withheld = &opposite;
        limits.n_withheld = without;
        expected = 0;
        for (uint32_t a = expected + 1; a < ARMS; a++) {
            if ((!without || a != opposite) && score(o.algorithm, &predictions[a], best, o.zeta) >
                                                   score(o.algorithm, &predictions[expected], best, o.zeta))
                expected = a;
        }
        assert_int_equal(pick(engine, &limits, &chosen).n_picks, 1);
        if (chosen.arm != expected)
            fail_msg("case %zu: %u, not %u", k, chosen.arm, expected);
        picked += chosen.arm == zero;
        other += chosen.arm != zero && falls;
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    assert_true(picked > 0 && other > 0);
}

/* h(z) = phi(z) + z Phi(z) = phi(z) * integral over u > 0 of u exp(u z − u^2/2): Simpson's rule. */
static void the_logarithm_of_the_improvement_is_accurate(void **state)
{
    (void)state;
    for (double z = -60.0; z <= 6.0; z += 0.37) {
        enum { STEPS = 20000 };
        double top = z > -1.0 ? 14.0 + fmax(z, 0.0) : 45.0 / -z, sum = 0.0, h = top / STEPS;
        top = fmin(top, 20.0);
        h = top / STEPS;
        for (int i = 0; i <= STEPS; i++) {
            double u = i * h, weight = i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0;
            sum += weight * u * exp(u * z - 0.5 * u * u);
        }
        double expected = log(sum * h / 3.0) - 0.5 * z * z - 0.5 * log(2.0 * acos(-1.0));
        assert_near(bandit_log_improvement(z), expected, 1e-8);
    }
    assert_true(isfinite(bandit_log_improvement(-1e6)));
}

static void ties_go_to_the_lowest_index(void **state)
{
    (void)state;
    static const bandit_algorithm algorithms[] = {BANDIT_GP_UCB,        BANDIT_IGP_UCB, BANDIT_GP_BUCB,
                                                  BANDIT_GP_TS,         BANDIT_GP_EI,   BANDIT_GP_PI,
                                                  BANDIT_EPSILON_GREEDY};
    bandit_arms *arms = make_arms(true); /* arm a + N/2 is arm a again */
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = options_for(algorithms[i]);
        o.epsilon = 0.0;
        bandit_engine *engine = new_engine(arms, &o);
        bandit_result result = {.arm = N - 1, .repeats = 1, .reward = 0.4};
        for (size_t round = 0; round < 90; round++) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick picks[4];
            begin(engine, &result, 1);
            limits.max_picks = 4;
            limits.beyond_bound = true;
            assert_int_equal(pick(engine, &limits, picks).n_picks, 4);
            for (size_t j = 0; j < 4; j++)
                assert_true(picks[j].arm < N / 2);
            /* told of the twin: what is equal stays equal */
            result.arm = picks[0].arm + (round % 2 ? N / 2 : 0);
            result.reward = cos((double)round);
        }
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

static void withheld_arms_are_never_chosen(void **state)
{
    (void)state;
    bandit_arms *arms = make_arms(false);
    static const bandit_algorithm algorithms[] = {
        BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB,        BANDIT_GP_TS,   BANDIT_ASYNC_TS,
        BANDIT_GP_EI,  BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY, BANDIT_UNIFORM, BANDIT_REGULARIZED_EVOLUTION};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = options_for(algorithms[i]);
        o.epsilon = 0.5;
        o.population = 3;
        o.sample = 2;
        bandit_engine *engine = new_engine(arms, &o);
        bandit_result results[16];
        size_t n = history(results);
        uint32_t withheld[N];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[20];
        limits.max_picks = 20;
        limits.beyond_bound = true;
        limits.withheld = withheld;
        for (size_t round = 0; round < 6; round++) {
            begin(engine, round ? results : NULL, round ? n : 0);
            limits.n_withheld = 0;
            for (uint32_t a = 0; a < N; a++) {
                if (a % 7 != 3) /* nine arms are left */
                    withheld[limits.n_withheld++] = a;
            }
            assert_int_equal(pick(engine, &limits, picks).n_picks, 20);
            for (size_t j = 0; j < 20; j++)
                assert_int_equal(picks[j].arm % 7, 3);
        }
        for (uint32_t a = 0; a < N; a++)
            withheld[a] = a;
        limits.n_withheld = N;
        bandit_selection selection = pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_EXHAUSTED);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

/* prod (1 + sigma^2_{s−1}(x_s) / lambda) first exceeds C at the last pick, and is what is reported; with a
 * pull still out it starts from that. */
static void gp_bucb_ends_its_batches_by_the_product(void **state)
{
    (void)state;
    static const double bounds[] = {1.0, 1.5, 4.0, 30.0};
    bandit_arms *arms = make_arms(false);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        for (size_t n_pending = 0; n_pending < 2; n_pending++) {
            bandit_options o = options_for(BANDIT_GP_BUCB);
            o.ratio_bound = bounds[i];
            bandit_engine *engine = new_engine(arms, &o);
            bandit_result results[16];
            uint32_t pulled[MAX_PULLS];
            size_t n = history(results);
            for (size_t j = 0; j < n; j++)
                pulled[j] = results[j].arm;
            bandit_pick pending = {.arm = 17}, picks[100];
            assert_int_equal(bandit_engine_begin_batch(engine, results, n, &pending, n_pending,
                                                       &bandit_executor_serial, NULL),
                             BANDIT_OK);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            limits.max_picks = 100;
            bandit_selection selection = pick(engine, &limits, picks);
            assert_int_equal(selection.stop_rule, BANDIT_STOP_GLOBAL);

            double product = 1.0, variances[N];
            for (size_t s = 0; s < n_pending + selection.n_picks; s++) {
                assert_true(s < n_pending || product <= o.ratio_bound);
                uint32_t arm = s < n_pending ? pending.arm : picks[s - n_pending].arm;
                dense_variances(pulled, n, o.lambda, variances);
                product *= 1.0 + variances[arm] / o.lambda;
                pulled[n++] = arm;
            }
            assert_true(product > o.ratio_bound);
            assert_near(selection.ratio, product, 1e-9 * product);
            if (bounds[i] == 1.0 && n_pending == 0)
                assert_int_equal(selection.n_picks, 1);
            bandit_engine_free(engine);
        }
    }
    bandit_arms_free(arms);
}

static void sequential_algorithms_make_one_pick_a_batch(void **state)
{
    (void)state;
    static const bandit_algorithm algorithms[] = {
        BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_TS,          BANDIT_ASYNC_TS,
        BANDIT_GP_EI,  BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY, BANDIT_REGULARIZED_EVOLUTION};
    bandit_arms *arms = make_arms(false);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = options_for(algorithms[i]);
        bandit_engine *engine = new_engine(arms, &o);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[8], pending = {.arm = 30};
        bandit_result result = {.arm = 4, .repeats = 2, .reward = 0.5};
        limits.max_picks = 8;
        begin(engine, NULL, 0);
        bandit_selection selection = pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        assert_int_equal(
            bandit_engine_begin_batch(engine, &result, 1, &pending, 1, &bandit_executor_serial, NULL),
            BANDIT_OK);
        selection = pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 1); /* in spite of what is out */
        assert_int_equal(selection.stop_rule, BANDIT_STOP_SEQUENTIAL);
        selection = pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_SEQUENTIAL);
        limits.beyond_bound = true; /* a worker that would be idle */
        limits.max_picks = 5;
        assert_int_equal(pick(engine, &limits, picks).n_picks, 5);
        limits.remaining = 0;
        selection = pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_HORIZON);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

static void uniform_batches_end_at_max_batch_and_the_horizon(void **state)
{
    (void)state;
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_UNIFORM);
    o.max_batch = 40;
    bandit_engine *engine = new_engine(arms, &o);
    bandit_result result = {.arm = 4, .repeats = 1, .reward = 0.5};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[100];
    limits.max_picks = 100;
    begin(engine, &result, 1);
    bandit_selection selection = pick(engine, &limits, picks);
    assert_int_equal(selection.n_picks, 40);
    assert_int_equal(selection.stop_rule, BANDIT_STOP_MAX_BATCH);
    begin(engine, &result, 1);
    limits.remaining = 7;
    selection = pick(engine, &limits, picks);
    assert_int_equal(selection.n_picks, 7);
    assert_int_equal(selection.stop_rule, BANDIT_STOP_HORIZON);
    bandit_prediction prediction;
    assert_int_equal(bandit_engine_predict_arms(engine, &result.arm, 1, &prediction, NULL),
                     BANDIT_UNSUPPORTED);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* Before the first reward a draw of the prior decides: its argmax is another one for almost every pick. */
static void every_thompson_pick_is_its_own_draw(void **state)
{
    (void)state;
    static const bandit_algorithm algorithms[] = {BANDIT_GP_TS, BANDIT_ASYNC_TS};
    bandit_arms *arms = make_arms(false);
    for (size_t i = 0; i < 2; i++) {
        bandit_options o = options_for(algorithms[i]);
        bandit_engine *engine = new_engine(arms, &o);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick first[20], second[20];
        size_t different = 0, again = 0, seen[N] = {0};
        limits.max_picks = 20;
        limits.beyond_bound = true;
        begin(engine, NULL, 0);
        assert_int_equal(pick(engine, &limits, first).n_picks, 20);
        begin(engine, NULL, 0);
        assert_int_equal(pick(engine, &limits, second).n_picks, 20);
        for (size_t j = 0; j < 20; j++) {
            different += seen[first[j].arm]++ == 0;
            again += first[j].arm == second[j].arm;
        }
        assert_true(different >= 8);
        assert_true(again < 12); /* nor do batches repeat */
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* [BBKB] Alg. 3 with exact variances: always the most uncertain arm, until none is above 1/P. */
static void uncertainty_sampling_starts_a_study(void **state)
{
    (void)state;
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_GP_TS);
    o.init = BANDIT_INIT_UNCERTAINTY;
    o.parallelism = 2.0;
    bandit_engine *engine = new_engine(arms, &o);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[MAX_PULLS];
    uint32_t pulled[MAX_PULLS];
    double variances[N];
    limits.max_picks = MAX_PULLS;
    begin(engine, NULL, 0);
    bandit_selection selection = pick(engine, &limits, picks);
    assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
    assert_true(selection.n_picks > 5);
    for (size_t s = 0; s <= selection.n_picks; s++) {
        double largest = 0.0;
        dense_variances(pulled, s, o.lambda, variances);
        for (size_t a = 0; a < N; a++)
            largest = fmax(largest, variances[a] / o.lambda);
        assert_true(s < selection.n_picks ? largest >= 0.5 - 1e-9 : largest < 0.5);
        if (s < selection.n_picks) {
            assert_near(variances[picks[s].arm] / o.lambda, largest, 1e-8);
            assert_near(picks[s].variance, 1.0 / o.lambda, 1e-12); /* the batch's start: the prior */
            pulled[s] = picks[s].arm;
        }
    }
    bandit_engine_free(engine);

    o.algorithm = BANDIT_UNIFORM;
    bandit_error err = {0};
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "init/type");
    bandit_arms_free(arms);
}

/* Once the population is full a child is one of the ten nearest neighbours of the best of the sample; with
 * the whole population as the sample many times over, that is the best member's. */
static void evolution_mutates_the_best_of_the_sample(void **state)
{
    (void)state;
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_REGULARIZED_EVOLUTION);
    o.population = o.sample = 9;
    bandit_engine *engine = new_engine(arms, &o);
    bandit_result results[64];
    /* The old best, arm 0, has left the population when nine others have come. */
    for (size_t i = 0; i < 10; i++)
        results[i] = (bandit_result){.arm = (uint32_t)(6 * i), .repeats = 1, .reward = i == 0 ? 9.0 : i == 4};
    begin(engine, results, 10);
    size_t near_best = 0, seen[N] = {0};
    for (size_t batch = 0; batch < 400; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick child;
        limits.max_picks = 1;
        assert_int_equal(pick(engine, &limits, &child).n_picks, 1);
        double distance = fabs(point(child.arm, false) - point(24, false));
        near_best += distance < 5.5 / N;
        assert_true(fabs(point(child.arm, false) - point(0, false)) > 5.5 / N);
        seen[child.arm]++;
        begin(engine, NULL, 0);
    }
    /* The sample misses the best with probability (8/9)^9 = 0.346; 400 draws: deviation 9.5. */
    assert_true((double)near_best > 400 * 0.654 - 48 && (double)near_best < 400 * 0.654 + 48 + 400 * 0.346);
    for (size_t a = 0; a < N; a++) {
        double distance = fabs(point(a, false) - point(24, false));
        assert_true(a == 24 || distance >= 5.5 / N || seen[a] > 5); /* each of the ten */
    }
    assert_true(near_best < 400);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* On a set that is known by its matrix the neighbours are the nearest by k(x,x) + k(x',x') - 2 k(x,x'): with
 * a linear kernel, those of the points themselves, which are not of one length. */
static void evolution_measures_distances_by_the_matrix(void **state)
{
    double x[N][2], matrix[N * N];
    size_t seen[N] = {0};
    const uint32_t parent = 7;
    bandit_arms *arms;
    (void)state;
    for (size_t a = 0; a < N; a++) {
        x[a][0] = 3.0 * cos(1.7 * (double)a) + 0.05 * (double)a;
        x[a][1] = 2.0 * sin(0.9 * (double)a) - 0.03 * (double)a;
    }
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++)
            matrix[a * N + b] = x[a][0] * x[b][0] + x[a][1] * x[b][1];
    assert_int_equal(bandit_arms_new_precomputed(&arms, N, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, matrix, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    bandit_options o = options_for(BANDIT_REGULARIZED_EVOLUTION);
    o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
    o.population = o.sample = 1;
    bandit_engine *engine = new_engine(arms, &o);
    const bandit_result result = {.arm = parent, .repeats = 1, .reward = 1.0};
    begin(engine, &result, 1);
    for (size_t batch = 0; batch < 300; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick child;
        limits.max_picks = 1;
        assert_int_equal(pick(engine, &limits, &child).n_picks, 1);
        seen[child.arm]++;
        begin(engine, NULL, 0);
    }
    for (size_t a = 0; a < N; a++) {
        double distance = hypot(x[a][0] - x[parent][0], x[a][1] - x[parent][1]);
        size_t nearer = 0;
        for (size_t b = 0; b < N; b++)
            nearer += b != parent && hypot(x[b][0] - x[parent][0], x[b][1] - x[parent][1]) < distance;
        assert_true((seen[a] > 0) == (a != parent && nearer < 10));
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* ---- limits and errors --------------------------------------------------------------------------------- */

static void too_little_memory_is_refused_and_leaves_the_engine_as_it_was(void **state)
{
    (void)state;
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_IGP_UCB);
    bandit_engine *engine;
    bandit_error err = {0};
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 1000, &err), BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "bbkb"));
    assert_null(engine);

    /* Room for one chunk of columns: 60 rewards at once, one an arm, fit; 60 more, one by one, do not. */
    assert_int_equal(bandit_engine_new(&engine, arms, &o, 80000, &err), BANDIT_OK);
    bandit_result results[N], more[N];
    for (uint32_t a = 0; a < N; a++)
        results[a] = more[a] = (bandit_result){.arm = a, .repeats = 1, .reward = sin(a)};
    begin(engine, results, N);
    uint32_t arm = 7;
    bandit_prediction before, after;
    bandit_checkpoint checkpoint;
    assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &before, NULL), BANDIT_OK);
    bandit_pick pending[64];
    for (uint32_t i = 0; i < 64; i++)
        pending[i] = (bandit_pick){.arm = i % N};
    assert_int_equal(bandit_engine_begin_batch(engine, more, 1, pending, 64, &bandit_executor_serial, &err),
                     BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "bbkb"));
    assert_true(bandit_engine_memory(engine) <= 80000);
    assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &after, NULL), BANDIT_OK);
    assert_memory_equal(&before, &after, sizeof before);
    bandit_engine_checkpoint(engine, &checkpoint);
    assert_int_equal(checkpoint.batch, 0);
    assert_int_equal(checkpoint.n_sums, N);
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
    bandit_result results[N];
    bandit_pick pending[2 * N];
    bandit_status status = bandit_engine_new(engine, x->arms, &x->options, limit, NULL);
    for (uint32_t i = 0; i < N; i++)
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = sin(i)};
    for (uint32_t i = 0; i < 2 * N; i++)
        pending[i] = (bandit_pick){.arm = i % N, .variance = 0.1};
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
    limited x = {.arms = make_arms(false)};
    bandit_covariance covariance;
    x.options = options_for(BANDIT_GP_BUCB);
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
    for (size_t n = 1; n < N; n += n < CHUNK - PULLED - 3 ? 20 : 1) {
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
    size_t made = pick(engine, &limits, picks).n_picks;
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
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_GP_EI);
    bandit_result few[3], many[70];
    bandit_pick pending[80];
    bandit_engine *tried, *spared;
    assert_int_equal(bandit_engine_new(&tried, arms, &o, 100000, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&spared, arms, &o, 100000, NULL), BANDIT_OK);
    for (uint32_t i = 0; i < 70; i++)
        many[i] = (bandit_result){.arm = i % 30, .repeats = 1, .reward = cos(i)};
    for (uint32_t i = 0; i < 80; i++)
        pending[i] = (bandit_pick){.arm = i % N};
    for (size_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 3; i++)
            few[i] = (bandit_result){.arm = (i * 7 + (uint32_t)round) % 20, .repeats = 1, .reward = sin(i)};
        const bandit_result *results = round == 0 ? many : few; /* many are merged at once: a base to lose */
        size_t n = round == 0 ? 70 : 3;
        begin(tried, results, n);
        begin(spared, results, n);
        bandit_result all[70];
        for (uint32_t i = 0; i < 70; i++)
            all[i] = (bandit_result){.arm = i % N, .repeats = 1, .reward = 7.0};
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
        for (uint32_t arm = 0; arm < N; arm++) {
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
    bandit_arms *arms = make_arms(false);
    bandit_options o = options_for(BANDIT_GP_EI);
    bandit_engine *engine = new_engine(arms, &o);
    bandit_result good[16], bad = {.arm = 3, .repeats = 1, .reward = NAN};
    begin(engine, good, history(good));
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
    bandit_arms *arms = make_arms(false);
    for (int evolution = 0; evolution < 2; evolution++) {
        bandit_options o = options_for(evolution ? BANDIT_REGULARIZED_EVOLUTION : BANDIT_GP_TS);
        bandit_engine *engine = new_engine(arms, &o), *restored;
        bandit_result results[16];
        begin(engine, results, history(results));
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
        cmocka_unit_test(widths_are_the_papers),
        cmocka_unit_test(a_precomputed_kernel_has_no_bound),
        cmocka_unit_test(picks_maximize_the_textbook_score),
        cmocka_unit_test(values_that_are_known),
        cmocka_unit_test(the_logarithm_of_the_improvement_is_accurate),
        cmocka_unit_test(ties_go_to_the_lowest_index),
        cmocka_unit_test(withheld_arms_are_never_chosen),
        cmocka_unit_test(gp_bucb_ends_its_batches_by_the_product),
        cmocka_unit_test(sequential_algorithms_make_one_pick_a_batch),
        cmocka_unit_test(uniform_batches_end_at_max_batch_and_the_horizon),
        cmocka_unit_test(every_thompson_pick_is_its_own_draw),
        cmocka_unit_test(uncertainty_sampling_starts_a_study),
        cmocka_unit_test(evolution_mutates_the_best_of_the_sample),
        cmocka_unit_test(evolution_measures_distances_by_the_matrix),
        cmocka_unit_test(too_little_memory_is_refused_and_leaves_the_engine_as_it_was),
        cmocka_unit_test(limits_hold_for_one_pick_more),
        cmocka_unit_test(a_failed_merge_leaves_the_engine_as_it_was),
        cmocka_unit_test(refused_results_change_nothing),
        cmocka_unit_test(damaged_states_are_refused),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
