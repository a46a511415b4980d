/* Picks on a space, against what is to be maximized, written out: the posterior from a dense factor of all
 * pulled points, the width of each pick, what is out, and what a point loses where evaluations fail. A space
 * of 625 points is looked through, so that the pick is the best of all; in a continuous one it is the best of
 * those around it. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "core/algorithms/space_engine.h"
#include "core/selection/acquisition.h"
#include "core/selection/confidence.h"
#include "core/selection/feasibility.h"
#include "tests/support/dense_gp.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 25, POINTS = SIDE * SIDE, MOST = 530, PICKS = 6, ROOM = MOST + 2 * PICKS };

static const double lengthscale = 0.3;

typedef struct study {
    bandit_options o;
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_result results[ROOM]; /* ascending by arm: all pulls of one */
    uint32_t failed[MOST];       /* ascending; withheld as well */
    size_t n_arms, n_results, n_failed;
    double x[ROOM][2]; /* features of the arms */
    bool has_reward[ROOM];
    uint64_t batch;
    uint32_t out[PICKS]; /* picks of this batch */
    size_t n_out;
    double *K, *right; /* n_results + n_out squared, and single */
} study;

static double kernel(const double *a, const double *b)
{
    double r2 = (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
    return exp(-0.5 * r2 / (lengthscale * lengthscale));
}

/* Row i of the system: a pulled point, or one that is out. */
static uint32_t row_arm(const study *s, size_t i)
{
    return i < s->n_results ? s->results[i].arm : s->out[i - s->n_results];
}

static const double *row(const study *s, size_t i)
{
    return s->x[row_arm(s, i)];
}

/* K + lambda / repeats of the first n rows = L L', L below in K. */
static void factorize(study *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = kernel(row(s, i), row(s, j));
            if (i == j)
                sum += s->o.lambda / (i < s->n_results ? s->results[i].repeats : 1.0);
            for (size_t k = 0; k < j; k++)
                sum -= s->K[i * n + k] * s->K[j * n + k];
            s->K[i * n + j] = i == j ? sqrt(sum) : sum / s->K[j * n + j];
        }
    }
}

static double solved_product(study *s, size_t n, const double *x, const double *y)
{
    double product = 0.0;
    for (size_t i = 0; i < n; i++) {
        s->right[i] = kernel(row(s, i), x);
        for (size_t k = 0; k < i; k++)
            s->right[i] -= s->K[i * n + k] * s->right[k];
        s->right[i] /= s->K[i * n + i];
        product += s->right[i] * (y ? y[i] : s->right[i]);
    }
    return product;
}

/* Means (of rewards) and Bayesian variances (with what is out) at n points. */
static void posterior(study *s, const double (*points)[2], size_t n, double *mean, double *variance)
{
    double y[ROOM];
    size_t m = s->n_results;
    factorize(s, m);
    for (size_t i = 0; i < m; i++) {
        y[i] = s->results[i].reward;
        for (size_t k = 0; k < i; k++)
            y[i] -= s->K[i * m + k] * y[k];
        y[i] /= s->K[i * m + i];
    }
    for (size_t p = 0; p < n; p++)
        mean[p] = solved_product(s, m, points[p], y);
    m += s->n_out;
    factorize(s, m);
    for (size_t p = 0; p < n; p++)
        variance[p] = fmax(0.0, 1.0 - solved_product(s, m, points[p], NULL));
}

/* Rewarded arms since the first as good as the best but for a thousandth. */
static uint64_t stagnation(const study *s)
{
    double best = -INFINITY;
    size_t first = 0;
    for (size_t i = 0; i < s->n_results; i++)
        best = fmax(best, s->results[i].reward);
    while (!(s->results[first].reward >= best - 1e-3))
        first++;
    return s->n_results - first;
}

/* f+: the largest posterior mean among the pulled points. */
static double incumbent(study *s)
{
    static double pulled[ROOM][2], mean[ROOM], ignored[ROOM];
    double best = -INFINITY;
    for (size_t i = 0; i < s->n_results; i++)
        memcpy(pulled[i], row(s, i), sizeof pulled[i]);
    posterior(s, (const double(*)[2])pulled, s->n_results, mean, ignored);
    for (size_t i = 0; i < s->n_results; i++)
        best = fmax(best, mean[i]);
    return best;
}

/* What the share of evaluations that succeed is learned from: the latest outcomes. A point that failed and
 * has a reward succeeded. */
static void learn_failures(const study *s, bandit_feasibility *f)
{
    bandit_error err;
    size_t all = s->n_results, n = 0;
    for (size_t i = 0; i < s->n_failed; i++)
        all += !s->has_reward[s->failed[i]];
    size_t some = all < BANDIT_FEASIBILITY_MOST ? all : BANDIT_FEASIBILITY_MOST;
    assert_int_equal(bandit_feasibility_start(f, some, 2, &err), BANDIT_OK);
    f->scale[0] = f->scale[1] = lengthscale;
    for (size_t arm = s->n_arms; arm-- > 0 && n < some; n++) {
        f->failed[n] = !s->has_reward[arm];
        memcpy(f->points + 2 * n, s->x[arm], 2 * sizeof(double));
    }
    assert_int_equal(n, some);
    bandit_feasibility_learn(f);
}

/* What one that is sure to fail loses: ten times the range of values, which is the prior's before the first
 * reward; of logarithms, whatever it takes. */
static double penalty_of(const study *s, double width, bool of_logarithms)
{
    double low = INFINITY, high = -INFINITY;
    if (of_logarithms)
        return 1e6;
    for (size_t i = 0; i < s->n_results; i++) {
        low = fmin(low, s->results[i].reward);
        high = fmax(high, s->results[i].reward);
    }
    return s->n_results > 0 ? 10.0 * (high - low + 1.0 + width) : 1.0;
}

/* log_ei: each fourth pick, by an eighth of what has brought nothing better, of one to three deviations. */
static double exploring_width(const study *s)
{
    double width = s->n_results > 0 ? fmin(3.0, (double)stagnation(s) / 8.0) : 0.0;
    return s->o.algorithm == BANDIT_LOG_EI && (s->batch + s->n_out) % 4 == 3 && width >= 1.0 ? width : 0.0;
}

/* What n points are worth to the algorithm, the width of whose batch is given. */
static void worth(study *s, double width, const double (*points)[2], size_t n, double *out)
{
    double mean[POINTS], variance[POINTS], of_pick = width, exploring = exploring_width(s);
    bool seeks_best = s->o.algorithm == BANDIT_LOG_EI && s->n_results > 0;
    bool improves = s->o.algorithm == BANDIT_GP_EI || (seeks_best && exploring == 0.0);
    bool exceeds = s->o.algorithm == BANDIT_GP_PI;
    double penalty = penalty_of(s, width, improves || exceeds);
    bandit_acquisition a = {.kind = improves ? BANDIT_ACQUIRE_IMPROVEMENT : BANDIT_ACQUIRE_PROBABILITY,
                            .parameter = incumbent(s) + (seeks_best ? 0.0 : s->o.zeta),
                            .smallest = 1e-12,
                            .noise = seeks_best ? s->o.lambda : 0.0};
    bandit_feasibility f = {0};
    posterior(s, points, n, mean, variance);
    if (s->o.algorithm == BANDIT_BBKB && s->n_results > 0)
        of_pick = bandit_confidence_calibrated(&s->o, s->batch + s->n_out, stagnation(s));
    if (s->o.algorithm == BANDIT_EPSILON_GREEDY)
        of_pick = 0.0;
    if (seeks_best && !improves)
        of_pick = exploring;
    if (s->n_failed > 0)
        learn_failures(s, &f);
    for (size_t p = 0; p < n; p++) {
        if (improves || exceeds)
            out[p] = bandit_acquisition_value(&a, mean[p], variance[p]);
        else
            out[p] = s->n_results > 0 ? mean[p] + of_pick * sqrt(variance[p]) : variance[p];
        if (s->n_failed > 0)
            out[p] -= penalty * bandit_feasibility_shortfall(&f, points[p], NULL);
    }
    bandit_feasibility_clear(&f);
}

/* Arms at random: of all, the shares with rewards and with failures; one has both. */
static void open_study(study *s, bandit_algorithm algorithm, uint64_t seed, bandit_parameter_type type,
                       size_t n, double rewarded)
{
    uint64_t random = seed;
    bandit_parameter parameters[2];
    bandit_error err = {0};
    *s = (study){.o = BANDIT_OPTIONS_INIT, .n_arms = n};
    s->o.algorithm = algorithm;
    s->o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
    s->o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    s->o.kernel.lengthscales = &lengthscale;
    s->o.kernel.n_lengthscales = 1;
    s->o.noise_std = 0.1;
    s->o.lambda = 0.02;
    s->o.norm_bound = 1.0;
    s->o.delta = 0.1;
    s->o.epsilon = 0.0;
    s->o.zeta = 0.05;
    s->o.seed = seed;
    s->o.q_bar = 1e9; /* a dictionary of all */
    for (size_t j = 0; j < 2; j++)
        parameters[j] = (bandit_parameter){.type = type,
                                           .max = type == BANDIT_PARAMETER_DOUBLE ? 1.0 : SIDE - 1.0,
                                           .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_arms_new_space(&s->arms, parameters, 2, &err), BANDIT_OK);
    while (bandit_arms_count(s->arms) < n) {
        double coded[2];
        for (size_t j = 0; j < 2; j++) {
            coded[j] = dense_uniform(&random);
            if (type == BANDIT_PARAMETER_INTEGER)
                coded[j] = floor(coded[j] * SIDE);
        }
        if (bandit_arms_find(s->arms, coded) == SIZE_MAX)
            assert_int_equal(bandit_arms_append(s->arms, coded, 1, &err), BANDIT_OK);
    }
    for (uint32_t arm = 0; arm < n; arm++) {
        double coded[2], *x = s->x[arm];
        bandit_arms_coded(s->arms, arm, coded);
        bandit_arms_scale_point(s->arms, coded, x);
        s->has_reward[arm] = arm == 0 || dense_uniform(&random) < rewarded;
        if (s->has_reward[arm])
            s->results[s->n_results++] = (bandit_result){
                .arm = arm,
                .repeats = 1 + (uint32_t)(4.0 * dense_uniform(&random)),
                .reward = -0.1 + 0.8 * sin(5.0 * x[0]) * cos(4.0 * x[1]) - fabs(0.2 * dense_normal(&random)),
                .chosen = true};
        if (!s->has_reward[arm] || (arm == 0 && rewarded < 1.0))
            s->failed[s->n_failed++] = arm;
    }
    s->K = dense_alloc((n + 2 * PICKS) * (n + 2 * PICKS), sizeof *s->K);
    s->right = dense_alloc(n + 2 * PICKS, sizeof *s->right);
}

static void begin_with(study *s, const bandit_result *results, size_t n)
{
    bandit_error err = {0};
    if (bandit_engine_begin_batch(s->engine, results, n, NULL, 0, &bandit_executor_serial, &err) != BANDIT_OK)
        fail_msg("%s", err.message);
    s->n_out = 0;
}

static void begin(study *s)
{
    bandit_error err = {0};
    assert_int_equal(bandit_engine_new(&s->engine, s->arms, &s->o, 0, &err), BANDIT_OK);
    begin_with(s, s->results, s->n_results);
}

/* What is out gets rewards, those of one point a mean over all its pulls; the next batch begins. */
static void tell(study *s)
{
    bandit_result told[PICKS];
    size_t n = s->n_out;
    for (size_t i = 0; i < n; i++) {
        uint32_t arm = s->out[i];
        size_t at = 0;
        told[i] =
            (bandit_result){.arm = arm, .repeats = 1 + (uint32_t)i % 2, .reward = 0.1 * (double)i - 0.3};
        while (at < s->n_results && s->results[at].arm != arm)
            at++;
        if (at == s->n_results)
            s->results[s->n_results++] = (bandit_result){.arm = arm};
        bandit_result *r = &s->results[at];
        double sum = r->repeats * r->reward + told[i].repeats * told[i].reward;
        r->repeats += told[i].repeats;
        r->reward = sum / r->repeats;
        s->has_reward[arm] = true;
    }
    s->n_arms = bandit_arms_count(s->arms);
    s->batch++;
    begin_with(s, told, n);
}

/* One more pick of the batch, its features to s->x. `withheld`: the failed arms. */
static const double *pick(study *s)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick made;
    bandit_error err = {0};
    double coded[2];
    limits.max_picks = 1;
    limits.beyond_bound = true;
    limits.failed = limits.withheld = s->failed;
    limits.n_failed = limits.n_withheld = s->n_failed;
    assert_int_equal(
        bandit_engine_select(s->engine, &limits, &bandit_executor_serial, &made, &selection, &err),
        BANDIT_OK);
    assert_int_equal(selection.n_picks, 1);
    assert_true(made.arm < ROOM);
    bandit_arms_coded(s->arms, made.arm, coded);
    bandit_arms_scale_point(s->arms, coded, s->x[made.arm]);
    s->out[s->n_out++] = made.arm;
    return s->x[made.arm];
}

static double width_of(const study *s)
{
    bandit_description d = {0};
    bandit_engine_describe(s->engine, &d);
    return d.beta / sqrt(s->o.lambda);
}

static void close_study(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
    free(s->K);
    free(s->right);
}

/* Six picks: each the best of the 625 points that are not withheld; of those not visited, where repeats tell
 * nothing. */
static void six_picks(study *s, bool no_repeats)
{
    static double points[POINTS][2], value[POINTS + 1];
    double width = width_of(s);
    for (size_t k = 0; k < PICKS; k++) {
        double best = -INFINITY, of_pick = -INFINITY;
        size_t n = 0;
        for (size_t p = 0; p < POINTS; p++) {
            const size_t across = p / SIDE, up = p % SIDE;
            const double coded[2] = {(double)across, (double)up};
            size_t arm = bandit_arms_find(s->arms, coded);
            bool withheld = false;
            for (size_t i = 0; i < s->n_failed; i++)
                withheld |= arm == s->failed[i];
            for (size_t i = 0; no_repeats && i < s->n_results + s->n_out; i++)
                withheld |= arm == row_arm(s, i);
            if (!withheld)
                bandit_arms_scale_point(s->arms, coded, points[n++]);
        }
        worth(s, width, (const double(*)[2])points, n, value);
        const double *x = pick(s);
        for (size_t p = 0; p < n; p++) {
            best = fmax(best, value[p]);
            if (x[0] == points[p][0] && x[1] == points[p][1])
                of_pick = value[p];
        }
        if (!(of_pick >= best - 1e-9 * (1.0 + fabs(best))))
            fail_msg("%s, pick %zu is worth %.12g, another %.12g", bandit_algorithm_name(s->o.algorithm), k,
                     of_pick, best);
    }
}

static const bandit_algorithm algorithms[] = {BANDIT_BBKB,  BANDIT_GP_UCB, BANDIT_GP_EI,
                                              BANDIT_GP_PI, BANDIT_LOG_EI, BANDIT_EPSILON_GREEDY};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static void best_of_all_points(void **state)
{
    static const struct {
        size_t n;
        double rewarded;
    } cases[] = {{30, 1.0}, {30, 0.6}, {40, 0.1}, {60, 0.3}};
    (void)state;
    for (uint64_t seed = 0; seed < repeats(12, 2) * ALGORITHMS; seed++) {
        study s;
        open_study(&s, algorithms[seed % ALGORITHMS], seed, BANDIT_PARAMETER_INTEGER, cases[seed % 4].n,
                   cases[seed % 4].rewarded);
        begin(&s);
        six_picks(&s, false);
        tell(&s); /* with the same failures */
        six_picks(&s, false);
        close_study(&s);
    }
}

/* Without noise no point is picked twice, be it out, told or both. */
static void only_new_points(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < repeats(2, 1) * ALGORITHMS; seed++) {
        study s;
        open_study(&s, algorithms[seed % ALGORITHMS], 700 + seed, BANDIT_PARAMETER_INTEGER, 40,
                   seed % 2 ? 0.8 : 1.0);
        s.o.noise_std = 1e-12;
        begin(&s);
        six_picks(&s, true);
        tell(&s);
        six_picks(&s, true);
        close_study(&s);
    }
}

/* Where a study begins with the most uncertain points: the variance is what is maximized, less what is lost
 * where all has failed so far. */
static void before_any_reward(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        study s;
        open_study(&s, BANDIT_BBKB, 300 + seed, BANDIT_PARAMETER_INTEGER, seed % 2 ? 12 : 1, 0.0);
        s.o.init = BANDIT_INIT_UNCERTAINTY;
        s.n_results = 0;
        s.has_reward[0] = false;
        begin(&s);
        six_picks(&s, false);
        close_study(&s);
    }
}

/* More outcomes than are looked at: the latest count. */
static void the_latest_outcomes(void **state)
{
    (void)state;
    study s;
    assert_true(MOST > BANDIT_FEASIBILITY_MOST);
    open_study(&s, BANDIT_BBKB, 5, BANDIT_PARAMETER_INTEGER, MOST, 0.3);
    begin(&s);
    six_picks(&s, false);
    close_study(&s);
}

/* The width of calibrated bounds follows how long ago the best was met: by means of repeats, and a point that
 * is a thousandth worse, to the bit, is as good. */
static void widths_follow_the_best(void **state)
{
    enum { N = 30 };
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        study s;
        open_study(&s, BANDIT_BBKB, 900 + seed, BANDIT_PARAMETER_INTEGER, N, 1.0);
        for (size_t i = 0; i < N; i++) {
            s.results[i].reward -= 1.0;
            s.results[i].repeats = 1;
        }
        size_t early = seed % 5, late = N - 1 - seed % 3;
        if (seed % 2) { /* 0.001 − 0.001 is 0 */
            s.results[early].reward = 0.0;
            s.results[late].reward = 0.001;
        } else { /* the sum of the later one is larger, and its product with their number more so */
            s.results[early].reward = 0.5;
            s.results[late].reward = 0.25;
            s.results[late].repeats = 4;
        }
        begin(&s);
        assert_int_equal(stagnation(&s), N - early);
        six_picks(&s, false);
        close_study(&s);
    }
}

/* In a continuous space: nothing around a pick is better. Where the loss ends there is a kink, on which an
 * ascent need not end; such picks are left out. */
static void best_of_its_surroundings(void **state)
{
    enum { AROUND = 16 };
    static const double steps[] = {1e-4, 1e-3};
    size_t looked_at = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 8 * ALGORITHMS; seed++) {
        study s;
        open_study(&s, algorithms[seed % ALGORITHMS], 50 + seed, BANDIT_PARAMETER_DOUBLE, 30,
                   seed % 2 ? 0.05 : 1.0);
        begin(&s);
        double width = width_of(&s), value[AROUND + 1];
        for (size_t k = 0; k < 3; k++) {
            double points[AROUND + 1][2], at[2];
            const double *x = pick(&s);
            memcpy(at, x, sizeof at);
            memcpy(points[0], x, sizeof points[0]);
            for (size_t p = 1; p <= AROUND; p++) {
                double angle = 0.785398163397448 * (double)p, step = steps[p % 2];
                points[p][0] = fmin(1.0, fmax(0.0, at[0] + step * cos(angle)));
                points[p][1] = fmin(1.0, fmax(0.0, at[1] + step * sin(angle)));
            }
            s.n_out--; /* as it was when it was chosen */
            worth(&s, width, (const double(*)[2])points, AROUND + 1, value);
            s.n_out++;
            for (size_t p = 1; p <= AROUND; p++) {
                if (value[p] > value[0] + 1e-9 * (1.0 + fabs(value[0])))
                    fail_msg("seed %zu, %s, pick %zu at %g, %g: %.12g, beside it %.12g", (size_t)seed,
                             bandit_algorithm_name(s.o.algorithm), k, at[0], at[1], value[0], value[p]);
            }
            looked_at++;
        }
        close_study(&s);
    }
    assert_true(looked_at > 50);
}

/* The function that the last pick was the maximum of: the sampler's weights of the members' kernels, and its
 * draw from the prior, one point at a time. */
static double sampled(study *s, const double *x)
{
    bandit_space_engine *e = (bandit_space_engine *)s->engine;
    const bandit_space_batch *b = &e->batches[e->in_force];
    double slope[2],
        sum = e->sampler.alpha * bandit_features_slopes(&e->features, &e->sampler.draw, x, slope);
    for (size_t i = 0; i < b->posterior.m; i++)
        sum += e->sampler.weight[i] * kernel(s->x[b->posterior.points.arms[i]], x);
    return sum;
}

/* Picks by samples: the best of all points of a small space, and the best of its surroundings in a continuous
 * one. Each pick of a batch has a sample of its own. */
static void samples_are_maximized(void **state)
{
    static const bandit_algorithm sampling[] = {BANDIT_GP_TS, BANDIT_S_GP_TS};
    (void)state;
    for (uint64_t seed = 0; seed < repeats(8, 4); seed++) {
        study s;
        bool listed = seed % 2;
        open_study(&s, sampling[seed / 2 % 2], 40 + seed,
                   listed ? BANDIT_PARAMETER_INTEGER : BANDIT_PARAMETER_DOUBLE, 30, 1.0);
        s.o.inducing = 12;
        s.o.prior_features = 64;
        s.o.dpp_steps = 20;
        begin(&s);
        double weight = NAN;
        for (size_t k = 0; k < PICKS; k++) {
            double at[2], best = -INFINITY;
            memcpy(at, pick(&s), sizeof at);
            for (size_t p = 0; p < POINTS; p++) {
                const size_t across = p / SIDE, up = p % SIDE;
                double x[] = {(double)across, (double)up};
                if (listed)
                    bandit_arms_scale_point(s.arms, x, x);
                for (size_t j = 0; j < 2 && !listed; j++)
                    x[j] = fmin(1.0, fmax(0.0, at[j] + 1e-4 * (x[j] - SIDE / 2.0)));
                best = fmax(best, sampled(&s, x));
            }
            if (!(sampled(&s, at) >= best - 1e-9 * (1.0 + fabs(best))))
                fail_msg("seed %zu, pick %zu is worth %.12g, another %.12g", (size_t)seed, k, sampled(&s, at),
                         best);
            double own = ((bandit_space_engine *)s.engine)->sampler.weight[0];
            assert_true(own != weight);
            weight = own;
        }
        close_study(&s);
    }
}

/* pi-GP-UCB, whole numbers: of a cell the members are looked at, of more than sixteen these many spread over
 * the list. All are next to each other, at far larger rewards than the prior allows elsewhere, and no other
 * point of a cell is likely to be among them. */
static void members_of_a_cell_are_tried(void **state)
{
    enum { TRIED = 16, RANGE = 10000000, MEMBERS = 40 };
    static const size_t sizes[] = {1, 5, TRIED - 1, TRIED, TRIED + 1, 33, MEMBERS};
    const bandit_parameter parameter = {
        .type = BANDIT_PARAMETER_INTEGER, .max = RANGE, .parent = BANDIT_NO_PARENT};
    const double close = 3.0 / RANGE;
    (void)state;
    for (uint64_t seed = 0; seed < 4 * sizeof sizes / sizeof *sizes; seed++) {
        size_t n = sizes[seed / 4], spread = n < TRIED ? n : TRIED;
        uint64_t random = seed;
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_result results[MEMBERS];
        bandit_prediction predictions[MEMBERS];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_pick made;
        bandit_error err = {0};
        double best = -INFINITY, coded[MEMBERS];
        uint32_t expected = 0;
        o.algorithm = BANDIT_PI_GP_UCB;
        o.kernel.lengthscales = &close;
        o.kernel.n_lengthscales = 1;
        o.seed = seed;
        assert_int_equal(bandit_arms_new_space(&arms, &parameter, 1, &err), BANDIT_OK);
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, &err), BANDIT_OK);
        for (uint32_t a = 0; a < n; a++) {
            coded[a] = 3000007.0 + a;
            results[a] = (bandit_result){
                .arm = a, .repeats = 1, .reward = 1000.0 + 500.0 * dense_uniform(&random), .chosen = true};
        }
        assert_int_equal(bandit_arms_append(arms, coded, n, &err), BANDIT_OK);
        assert_int_equal(
            bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), BANDIT_OK);
        assert_int_equal(bandit_engine_predict_points(engine, coded, n, predictions, &err), BANDIT_OK);
        for (size_t k = 0; k < spread; k++) {
            uint32_t arm = (uint32_t)(k * n / spread);
            expected = predictions[arm].ucb > best ? arm : expected;
            best = fmax(best, predictions[arm].ucb);
        }
        limits.max_picks = 1;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, &made, &selection, &err),
            BANDIT_OK);
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(made.arm, expected);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_of_all_points),     cmocka_unit_test(only_new_points),
        cmocka_unit_test(before_any_reward),      cmocka_unit_test(the_latest_outcomes),
        cmocka_unit_test(widths_follow_the_best), cmocka_unit_test(best_of_its_surroundings),
        cmocka_unit_test(samples_are_maximized),  cmocka_unit_test(members_of_a_cell_are_tried),
    };
    return cmocka_run_group_tests_name("picks on a space", tests, NULL, NULL);
}
