/* Each exact algorithm's rule, recomputed from the published formulas: confidence widths, the choice of an
 * arm, and where a batch ends. */
#include "bandit/engine.h"
#include "tests/support/exact_study.h"
#include "tests/support/near.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- widths -------------------------------------------------------------------------------------------- */

static double width_of(const bandit_options *o, const bandit_result *results, size_t n)
{
    bandit_arms *arms = exact_study_arms(false);
    bandit_engine *engine = exact_study_engine(arms, o);
    exact_study_begin(engine, results, n);
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
    size_t n = exact_study_history(results);
    const double b = 1.5, r = 0.2, delta = 0.05, c = 2.0, t = (double)n + 1.0;
    uint32_t pulled[16];
    double gamma = 0.0, variances[EXACT_STUDY_ARMS];
    for (size_t i = 0; i < n; i++) { /* 1/2 log det by its chain rule */
        exact_study_variances(pulled, i, 0.04, variances);
        gamma += 0.5 * log(1.0 + variances[results[i].arm] / 0.04);
        pulled[i] = results[i].arm;
    }
    for (int source = 0; source < 3; source++) {
        bandit_options o = exact_study_options(BANDIT_GP_UCB);
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
    bandit_options o = exact_study_options(BANDIT_IGP_UCB);
    o.gamma = BANDIT_GAMMA_BOUND;
    o.kernel.type = BANDIT_KERNEL_MATERN;
    o.kernel.nu = 1.5;
    double g = pow(t, 0.4) * log(t);
    assert_near(width_of(&o, results, n), b + r * sqrt(2.0 * (g + 1.0 + log(1.0 / delta))), 1e-9);
    /* The linear one: d ln t. */
    bandit_options linear = exact_study_options(BANDIT_IGP_UCB);
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
    bandit_options o = exact_study_options(BANDIT_IGP_UCB);
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
    bandit_arms *arms = exact_study_arms(false);
    for (size_t k = 0; k < 2 * (sizeof algorithms / sizeof *algorithms); k++) {
        size_t i = k / 2;
        bandit_options o = exact_study_options(algorithms[i]);
        o.epsilon = 0.0;
        bandit_engine *engine = exact_study_engine(arms, &o);
        bandit_result results[16];
        size_t n = exact_study_history(results);
        double lower = k % 2 ? 3.0 : 0.0; /* every reward is below what is believed before the first */
        for (size_t r = 0; r < n; r++)
            results[r].reward -= lower;
        exact_study_begin(engine, results, n);
        for (size_t round = 0; round < 12; round++) {
            bandit_prediction predictions[EXACT_STUDY_ARMS];
            uint32_t all[EXACT_STUDY_ARMS], expected = 0;
            double best = -INFINITY;
            for (uint32_t a = 0; a < EXACT_STUDY_ARMS; a++)
                all[a] = a;
            assert_int_equal(bandit_engine_predict_arms(engine, all, EXACT_STUDY_ARMS, predictions, NULL),
                             BANDIT_OK);
            bandit_description description;
            bandit_engine_describe(engine, &description);
            for (size_t u = 0; u < description.n_dictionary; u++)
                best = fmax(best, predictions[description.dictionary[u]].mean);
            for (uint32_t a = 1; a < EXACT_STUDY_ARMS; a++) {
                if (score(algorithms[i], &predictions[a], best, o.zeta) >
                    score(algorithms[i], &predictions[expected], best, o.zeta))
                    expected = a;
            }
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick chosen;
            limits.max_picks = 1;
            bandit_selection selection = exact_study_pick(engine, &limits, &chosen);
            assert_int_equal(selection.n_picks, 1);
            assert_int_equal(chosen.arm, expected);
            assert_near(chosen.variance, predictions[expected].variance / o.lambda, 0.0);
            bandit_result told = {.arm = expected,
                                  .repeats = 1,
                                  .reward = sin(6.0 * exact_study_point(expected, false)) - lower,
                                  .chosen = true,
                                  .variance = chosen.variance};
            exact_study_begin(engine, &told, 1);
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
        bandit_options o = exact_study_options(improves ? BANDIT_GP_EI : BANDIT_GP_PI);
        o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
        o.lambda = 4.0; /* so that no probability is 1 but for rounding */
        o.zeta = ahead ? 0.3 : 0.0;
        bandit_engine *engine = exact_study_engine(arms, &o);
        exact_study_begin(engine, results, pulled ? 3 : 2);
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
        assert_int_equal(exact_study_pick(engine, &limits, &chosen).n_picks, 1);
        if (chosen.arm != expected)
            fail_msg("case %zu: %u, not %u", k, chosen.arm, expected);
        picked += chosen.arm == zero;
        other += chosen.arm != zero && falls;
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    assert_true(picked > 0 && other > 0);
}

static void ties_go_to_the_lowest_index(void **state)
{
    (void)state;
    static const bandit_algorithm algorithms[] = {BANDIT_GP_UCB,        BANDIT_IGP_UCB, BANDIT_GP_BUCB,
                                                  BANDIT_GP_TS,         BANDIT_GP_EI,   BANDIT_GP_PI,
                                                  BANDIT_EPSILON_GREEDY};
    bandit_arms *arms = exact_study_arms(true); /* arm a + EXACT_STUDY_ARMS/2 is arm a again */
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = exact_study_options(algorithms[i]);
        o.epsilon = 0.0;
        bandit_engine *engine = exact_study_engine(arms, &o);
        bandit_result result = {.arm = EXACT_STUDY_ARMS - 1, .repeats = 1, .reward = 0.4};
        for (size_t round = 0; round < 90; round++) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_pick picks[4];
            exact_study_begin(engine, &result, 1);
            limits.max_picks = 4;
            limits.beyond_bound = true;
            assert_int_equal(exact_study_pick(engine, &limits, picks).n_picks, 4);
            for (size_t j = 0; j < 4; j++)
                assert_true(picks[j].arm < EXACT_STUDY_ARMS / 2);
            /* told of the twin: what is equal stays equal */
            result.arm = picks[0].arm + (round % 2 ? EXACT_STUDY_ARMS / 2 : 0);
            result.reward = cos((double)round);
        }
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

static void withheld_arms_are_never_chosen(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    static const bandit_algorithm algorithms[] = {
        BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB,        BANDIT_GP_TS,   BANDIT_ASYNC_TS,
        BANDIT_GP_EI,  BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY, BANDIT_UNIFORM, BANDIT_REGULARIZED_EVOLUTION};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = exact_study_options(algorithms[i]);
        o.epsilon = 0.5;
        o.population = 3;
        o.sample = 2;
        bandit_engine *engine = exact_study_engine(arms, &o);
        bandit_result results[16];
        size_t n = exact_study_history(results);
        uint32_t withheld[EXACT_STUDY_ARMS];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[20];
        limits.max_picks = 20;
        limits.beyond_bound = true;
        limits.withheld = withheld;
        for (size_t round = 0; round < 6; round++) {
            exact_study_begin(engine, round ? results : NULL, round ? n : 0);
            limits.n_withheld = 0;
            for (uint32_t a = 0; a < EXACT_STUDY_ARMS; a++) {
                if (a % 7 != 3) /* nine arms are left */
                    withheld[limits.n_withheld++] = a;
            }
            assert_int_equal(exact_study_pick(engine, &limits, picks).n_picks, 20);
            for (size_t j = 0; j < 20; j++)
                assert_int_equal(picks[j].arm % 7, 3);
        }
        for (uint32_t a = 0; a < EXACT_STUDY_ARMS; a++)
            withheld[a] = a;
        limits.n_withheld = EXACT_STUDY_ARMS;
        bandit_selection selection = exact_study_pick(engine, &limits, picks);
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
    bandit_arms *arms = exact_study_arms(false);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        for (size_t n_pending = 0; n_pending < 2; n_pending++) {
            bandit_options o = exact_study_options(BANDIT_GP_BUCB);
            o.ratio_bound = bounds[i];
            bandit_engine *engine = exact_study_engine(arms, &o);
            bandit_result results[16];
            uint32_t pulled[EXACT_STUDY_PULLS];
            size_t n = exact_study_history(results);
            for (size_t j = 0; j < n; j++)
                pulled[j] = results[j].arm;
            bandit_pick pending = {.arm = 17}, picks[100];
            assert_int_equal(bandit_engine_begin_batch(engine, results, n, &pending, n_pending,
                                                       &bandit_executor_serial, NULL),
                             BANDIT_OK);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            limits.max_picks = 100;
            bandit_selection selection = exact_study_pick(engine, &limits, picks);
            assert_int_equal(selection.stop_rule, BANDIT_STOP_GLOBAL);

            double product = 1.0, variances[EXACT_STUDY_ARMS];
            for (size_t s = 0; s < n_pending + selection.n_picks; s++) {
                assert_true(s < n_pending || product <= o.ratio_bound);
                uint32_t arm = s < n_pending ? pending.arm : picks[s - n_pending].arm;
                exact_study_variances(pulled, n, o.lambda, variances);
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
    bandit_arms *arms = exact_study_arms(false);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        bandit_options o = exact_study_options(algorithms[i]);
        bandit_engine *engine = exact_study_engine(arms, &o);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[8], pending = {.arm = 30};
        bandit_result result = {.arm = 4, .repeats = 2, .reward = 0.5};
        limits.max_picks = 8;
        exact_study_begin(engine, NULL, 0);
        bandit_selection selection = exact_study_pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        assert_int_equal(
            bandit_engine_begin_batch(engine, &result, 1, &pending, 1, &bandit_executor_serial, NULL),
            BANDIT_OK);
        selection = exact_study_pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 1); /* in spite of what is out */
        assert_int_equal(selection.stop_rule, BANDIT_STOP_SEQUENTIAL);
        selection = exact_study_pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_SEQUENTIAL);
        limits.beyond_bound = true; /* a worker that would be idle */
        limits.max_picks = 5;
        assert_int_equal(exact_study_pick(engine, &limits, picks).n_picks, 5);
        limits.remaining = 0;
        selection = exact_study_pick(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 0);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_HORIZON);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

static void uniform_batches_end_at_max_batch_and_the_horizon(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_UNIFORM);
    o.max_batch = 40;
    bandit_engine *engine = exact_study_engine(arms, &o);
    bandit_result result = {.arm = 4, .repeats = 1, .reward = 0.5};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[100];
    limits.max_picks = 100;
    exact_study_begin(engine, &result, 1);
    bandit_selection selection = exact_study_pick(engine, &limits, picks);
    assert_int_equal(selection.n_picks, 40);
    assert_int_equal(selection.stop_rule, BANDIT_STOP_MAX_BATCH);
    exact_study_begin(engine, &result, 1);
    limits.remaining = 7;
    selection = exact_study_pick(engine, &limits, picks);
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
    bandit_arms *arms = exact_study_arms(false);
    for (size_t i = 0; i < 2; i++) {
        bandit_options o = exact_study_options(algorithms[i]);
        bandit_engine *engine = exact_study_engine(arms, &o);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick first[20], second[20];
        size_t different = 0, again = 0, seen[EXACT_STUDY_ARMS] = {0};
        limits.max_picks = 20;
        limits.beyond_bound = true;
        exact_study_begin(engine, NULL, 0);
        assert_int_equal(exact_study_pick(engine, &limits, first).n_picks, 20);
        exact_study_begin(engine, NULL, 0);
        assert_int_equal(exact_study_pick(engine, &limits, second).n_picks, 20);
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
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_GP_TS);
    o.init = BANDIT_INIT_UNCERTAINTY;
    o.parallelism = 2.0;
    bandit_engine *engine = exact_study_engine(arms, &o);
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_pick picks[EXACT_STUDY_PULLS];
    uint32_t pulled[EXACT_STUDY_PULLS];
    double variances[EXACT_STUDY_ARMS];
    limits.max_picks = EXACT_STUDY_PULLS;
    exact_study_begin(engine, NULL, 0);
    bandit_selection selection = exact_study_pick(engine, &limits, picks);
    assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
    assert_true(selection.n_picks > 5);
    for (size_t s = 0; s <= selection.n_picks; s++) {
        double largest = 0.0;
        exact_study_variances(pulled, s, o.lambda, variances);
        for (size_t a = 0; a < EXACT_STUDY_ARMS; a++)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_the_papers),
        cmocka_unit_test(a_precomputed_kernel_has_no_bound),
        cmocka_unit_test(picks_maximize_the_textbook_score),
        cmocka_unit_test(values_that_are_known),
        cmocka_unit_test(ties_go_to_the_lowest_index),
        cmocka_unit_test(withheld_arms_are_never_chosen),
        cmocka_unit_test(gp_bucb_ends_its_batches_by_the_product),
        cmocka_unit_test(sequential_algorithms_make_one_pick_a_batch),
        cmocka_unit_test(uniform_batches_end_at_max_batch_and_the_horizon),
        cmocka_unit_test(every_thompson_pick_is_its_own_draw),
        cmocka_unit_test(uncertainty_sampling_starts_a_study),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
