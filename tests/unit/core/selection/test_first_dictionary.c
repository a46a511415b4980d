/* The start from imported history (BLESS): small where the history is redundant, and accurate. */
#include "bandit/rng.h"
#include "core/selection/bless.h"
#include "tests/support/dense_gp.h"
#include "tests/support/dense_reference.h"
#include "tests/support/random_problem.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 400 };

typedef struct history {
    random_problem problem;
    bandit_covariance covariance;
    bandit_offer offers[N];
    bandit_arm_sum sums[N];
    uint32_t dictionary[N];
    size_t size;
} history;

static void history_init(history *h, uint64_t seed, double lambda, double q_bar)
{
    bandit_error err;
    random_problem_init(&h->problem, seed, N, 2, BANDIT_KERNEL_GAUSSIAN, lambda, 0);
    assert_int_equal(
        bandit_covariance_init(&h->covariance, &h->problem.options.kernel, h->problem.arms, &err), BANDIT_OK);
    for (uint32_t a = 0; a < N; a++) {
        uint64_t count = 1 + (uint64_t)(20.0 * random_problem_uniform(&h->problem, 1, a));
        h->offers[a] = (bandit_offer){a, (double)count};
        h->sums[a] = (bandit_arm_sum){
            .arm = a, .count = count, .sum = (double)count * random_problem_reward(&h->problem, a, a)};
    }
    const bandit_resampling how = {
        .q_bar = q_bar, .seed = seed, .covariance = &h->covariance, .lambda = lambda};
    assert_int_equal(bandit_dictionary_bless(h->dictionary, &h->size, h->offers, N, &how, &err), BANDIT_OK);
}

static void history_clear(history *h)
{
    bandit_covariance_clear(&h->covariance);
    random_problem_clear(&h->problem);
}

/* Lemma 2's band at every arm, and a size of the order of q_bar d_eff: far below the 400 arms of the history.
 */
static void small_and_accurate(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        history h;
        double mean[N], exact[N], effective_dimension = 0.0;
        dense_posterior sparse;
        history_init(&h, seed, 1.0, 4.0);
        dense_exact(&h.problem, h.sums, N, mean, exact);
        for (size_t a = 0; a < N; a++)
            effective_dimension += (double)h.sums[a].count * exact[a];
        for (size_t i = 1; i < h.size; i++)
            assert_true(h.dictionary[i - 1] < h.dictionary[i]);
        assert_true((double)h.size <= 3.0 * 4.0 * effective_dimension);
        assert_true(h.size < N / 2);
        dense_posterior_init(&sparse, &h.problem, h.dictionary, h.size, h.sums, N);
        for (size_t a = 0; a < N; a++)
            assert_true(sparse.variance[a] > exact[a] / 3.0 && sparse.variance[a] < exact[a] * 3.0);
        dense_posterior_clear(&sparse);
        history_clear(&h);
    }
}

static void a_function_of_the_seed(void **state)
{
    history a, b, c;
    (void)state;
    history_init(&a, 5, 0.5, 2.0);
    history_init(&b, 5, 0.5, 2.0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.dictionary, b.dictionary, a.size * sizeof *a.dictionary);
    history_init(&c, 5, 0.5, 1e9); /* every item is kept */
    assert_int_equal(c.size, N);
    history_clear(&a);
    history_clear(&b);
    history_clear(&c);
}

/* Arms of many pulls, nearly all of which would enter: those whose pulls would bring hundreds of items are
 * kept. */
static void many_pulls(void **state)
{
    enum { MANY = 40 };
    const double q_bar = 2000.0, lambda = 1.0;
    history h;
    bandit_offer offers[MANY];
    bandit_arm_sum sums[MANY];
    uint32_t dictionary[MANY];
    double mean[N], exact[N];
    bandit_error err;
    size_t size = 0, sure = 0;
    (void)state;
    history_init(&h, 3, lambda, 2.0);
    for (uint32_t a = 0; a < MANY; a++) {
        offers[a] = (bandit_offer){a, 100000};
        sums[a] = (bandit_arm_sum){.arm = a, .count = 100000, .sum = 0.0};
    }
    const bandit_resampling how = {.q_bar = q_bar, .seed = 4, .covariance = &h.covariance, .lambda = lambda};
    assert_int_equal(bandit_dictionary_bless(dictionary, &size, offers, MANY, &how, &err), BANDIT_OK);
    dense_exact(&h.problem, sums, MANY, mean, exact);
    for (uint32_t a = 0; a < MANY; a++) {
        bool kept = false;
        for (size_t i = 0; i < size; i++)
            kept |= dictionary[i] == a;
        bool must = q_bar * 100000.0 * exact[a] > 200.0;
        sure += must;
        assert_true(kept || !must);
    }
    assert_true(sure > MANY / 4);
    history_clear(&h);
}

/* Arms far apart, half of them pulled 180 times and half once; of the first each pull is kept with
 * probability 0.99 at the last level, so that the probability that none is would underflow. Of those pulls
 * about one an arm enters: 1 − 1/e of the arms. */
static void nearly_all_pulls_are_looked_at(void **state)
{
    enum { ARMS = 200, PULLED = 180 };
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_error err;
    bandit_offer offers[ARMS];
    uint32_t dictionary[ARMS];
    double rows[ARMS], lengthscale = 1.0;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    (void)state;
    for (uint32_t a = 0; a < ARMS; a++) {
        rows[a] = 100.0 * a;
        offers[a] = (bandit_offer){a, a % 2 ? PULLED : 1};
    }
    assert_int_equal(bandit_arms_new(&arms, ARMS, 1, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, &err), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, &err), BANDIT_OK);
    for (uint64_t seed = 0; seed < 5; seed++) {
        const bandit_resampling how = {.q_bar = 1.0, .seed = seed, .covariance = &covariance, .lambda = 0.01};
        size_t size = 0, often = 0;
        assert_int_equal(bandit_dictionary_bless(dictionary, &size, offers, ARMS, &how, &err), BANDIT_OK);
        for (size_t i = 0; i < size; i++)
            often += dictionary[i] % 2;
        assert_true(often > ARMS / 4);
    }
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* One arm, pulled a million times: never empty, no work for each pull. */
static void one_arm(void **state)
{
    history h;
    bandit_error err;
    uint32_t dictionary[1];
    size_t size = 0;
    const bandit_offer offer = {3, 1000000};
    (void)state;
    history_init(&h, 9, 0.01, 2.0);
    const bandit_resampling how = {.q_bar = 1e-6, .seed = 1, .covariance = &h.covariance, .lambda = 0.01};
    assert_int_equal(bandit_dictionary_bless(dictionary, &size, &offer, 1, &how, &err), BANDIT_OK);
    assert_int_equal(size, 1);
    assert_int_equal(dictionary[0], 3);
    history_clear(&h);
}

/* Variances of all arms that are only known up to an error draw the same dictionary as the exact ones, which
 * is the one that the definition draws: where the error could decide, the arm's own is computed. Where
 * nothing is drawn, the arm of the largest exact variance is in. */
static void rough_variances_draw_the_same(void **state)
{
    enum { MEMBERS = 20 };
    size_t fallbacks = 0, drawn = 0, could_be_wrong = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        history h;
        bandit_posterior posterior = {0};
        bandit_error err = {0};
        uint32_t members[MEMBERS], expected[N], dictionary[N];
        double rough[N], w[MEMBERS];
        size_t size = 0, n = 0;
        history_init(&h, seed, 1.0, 2.0);
        for (uint32_t i = 0; i < MEMBERS; i++)
            members[i] = i * (N / MEMBERS);
        assert_int_equal(
            bandit_posterior_build(&posterior, &h.covariance, 1.0, members, MEMBERS, h.sums, N, &err),
            BANDIT_OK);
        double *scratch = dense_alloc(bandit_posterior_scratch(&posterior), sizeof *scratch), largest = -1.0;
        double error = 0.02 * (double)(1 + seed % 3), q_bar = seed % 2 ? 1e-5 : 0.3;
        uint32_t largest_arm = 0;
        for (uint32_t a = 0; a < N; a++) {
            bandit_embedding own = bandit_posterior_embed(&posterior, a, w, scratch);
            double exact = own.residual + own.norm2;
            double p = fmin(1.0, q_bar * exact), count = (double)h.offers[a].count;
            double within = seed % 4 < 2 ? fmin(1.0, count * p) : 1.0 - pow(1.0 - p, count);
            bool in = bandit_random_uniform(seed, 7, BANDIT_PURPOSE_RESAMPLE, a) < within;
            rough[a] =
                a % 9 == 0
                    ? -1.0
                    : fmax(0.0, exact + error * (2.0 * random_problem_uniform(&h.problem, 8, a) - 1.0));
            p = fmin(1.0, q_bar * rough[a]);
            within = seed % 4 < 2 ? fmin(1.0, count * p) : 1.0 - pow(1.0 - p, count);
            could_be_wrong += in != (bandit_random_uniform(seed, 7, BANDIT_PURPOSE_RESAMPLE, a) < within);
            if (in)
                expected[n++] = a;
            largest_arm = exact > largest ? a : largest_arm;
            largest = fmax(largest, exact);
        }
        if (n == 0) {
            expected[n++] = largest_arm;
            fallbacks++;
        }
        posterior.variance_error = error;
        const bandit_resampling how = {.q_bar = q_bar,
                                       .seed = seed,
                                       .per_pull = seed % 4 >= 2,
                                       .batch = 7,
                                       .covariance = &h.covariance,
                                       .lambda = 1.0,
                                       .posterior = &posterior,
                                       .variance = rough};
        assert_int_equal(bandit_dictionary_resample(dictionary, &size, h.offers, N, &how, &err), BANDIT_OK);
        assert_int_equal(size, n);
        assert_memory_equal(dictionary, expected, n * sizeof *expected);
        drawn += n;
        free(scratch);
        bandit_posterior_clear(&posterior);
        history_clear(&h);
    }
    assert_true(fallbacks > 10 && drawn > 500 && could_be_wrong > 200);
}

/* ---- Algorithm 1 written out --------------------------------------------------------------------------- */

/* The smallest k with P(k or fewer of n trials of probability p) > u, each mass by its own formula. */
static double quantile(double u, double n, double p)
{
    double below = 0.0;
    for (size_t i = 0; (double)i < n; i++) {
        double k = (double)i;
        below +=
            exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) + (n - k) * log1p(-p));
        if (below > u)
            return k;
    }
    return n;
}

/* How often each way of drawing was the one. */
typedef struct ways {
    size_t successes, failures, normal, alone, nobody;
} ways;

static double draw(const bandit_resampling *how, uint64_t index, double n, double p, ways *used)
{
    double u = bandit_random_uniform(how->seed, how->batch, BANDIT_PURPOSE_BLESS, index);
    if (p >= 1.0 || n == 0.0)
        return n;
    if (n * p > 200.0) {
        double z = bandit_random_normal(how->seed, how->batch, BANDIT_PURPOSE_BLESS, index);
        used->normal++;
        return fmin(n, fmax(0.0, rint(n * p + sqrt(n * p * (1.0 - p)) * z)));
    }
    bool few_fail = n * log1p(-p) < -700.0;
    used->failures += few_fail;
    used->successes += !few_fail;
    return few_fail ? n - quantile(u, n, 1.0 - p) : quantile(u, n, p);
}

enum { LINE = 70 };

typedef struct line_set {
    size_t n, arm[LINE];
    double copies[LINE], p[LINE];
} line_set;

static double on_the_line(const double *x, size_t a, size_t b)
{
    return exp(-0.5 * (x[a] - x[b]) * (x[a] - x[b]));
}

/* (1 − k_J' (K_J + rho diag(p_J / copies))^{-1} k_J) / rho, by elimination from K_J bordered with k_J. */
static double score_under(const line_set *J, const double *x, size_t arm, double rho)
{
    static double a[LINE + 1][LINE + 1];
    size_t m = J->n;
    for (size_t i = 0; i <= m; i++) {
        size_t row = i < m ? J->arm[i] : arm;
        for (size_t j = 0; j <= m; j++)
            a[i][j] = on_the_line(x, row, j < m ? J->arm[j] : arm);
        if (i < m)
            a[i][i] += rho * J->p[i] / J->copies[i];
    }
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k + 1; i <= m; i++) {
            double factor = a[i][k] / a[k][k];
            for (size_t j = k; j <= m; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    return fmax(0.0, a[m][m]) / rho;
}

static void add(line_set *set, size_t arm, double copies, double p)
{
    set->arm[set->n] = arm;
    set->copies[set->n] = copies;
    set->p[set->n++] = p;
}

static line_set bless_written_out(const bandit_offer *offers, const double *x, const bandit_resampling *how,
                                  ways *used)
{
    line_set J = {0};
    double t = 0.0;
    for (size_t i = 0; i < LINE; i++)
        t += (double)offers[i].count;
    double top = fmax(how->lambda, t), levels = fmax(1.0, ceil(log(t)));
    for (size_t level = 0; level <= (size_t)levels; level++) {
        double rho = top * pow(how->lambda / top, (double)level / levels);
        double u = fmin(1.0, how->q_bar / (1.0 + rho)), best = -1.0, best_p = u;
        size_t best_arm = 0, looked_at = 0;
        line_set next = {0};
        for (size_t i = 0; i < LINE; i++) {
            double p = u, c = draw(how, (2 * level) << 32 | i, (double)offers[i].count, u, used);
            if (c == 0.0)
                continue;
            looked_at++;
            if (level > 0) {
                double score = score_under(&J, x, i, rho);
                p = fmin(u, how->q_bar * score);
                best_arm = score > best ? i : best_arm;
                best_p = score > best ? p : best_p;
                best = fmax(best, score);
                c = draw(how, (2 * level + 1) << 32 | i, c, p / u, used);
            }
            if (c > 0.0)
                add(&next, i, c, p);
        }
        used->nobody += looked_at == 0;
        used->alone += looked_at > 0 && next.n == 0;
        if (level > 0 && looked_at == 0)
            continue;
        if (next.n == 0)
            add(&next, best_arm, 1.0, best_p);
        J = next;
    }
    return J;
}

/* Points of a line with a pull or hundreds, with few items wanted or nearly all: the set is the one that the
 * algorithm draws with the same random numbers, masses and scores being computed otherwise. */
static void as_written_out(void **state)
{
    static const struct {
        double q_bar, lambda, apart, least, most; /* most: of pulls */
    } cases[] = {{1e-4, 0.1, 0.7, 1.0, 200.0}, {0.3, 1.0, 0.02, 1.0, 20.0},   {0.5, 0.01, 0.05, 1.0, 3.0},
                 {0.02, 1.0, 8.0, 1.0, 900.0}, {3.0, 1.0, 0.7, 100.0, 900.0}, {1.0, 0.03, 8.0, 199.0, 209.0}};
    enum { CASES = sizeof cases / sizeof *cases };
    const size_t rounds = repeats(20, 4);
    const double lengthscale = 1.0;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    ways used = {0};
    (void)state;
    for (uint64_t seed = 0; seed < rounds * CASES; seed++) {
        bandit_arms *arms;
        bandit_covariance covariance;
        bandit_error err = {0};
        bandit_offer offers[LINE];
        uint32_t dictionary[LINE];
        double x[LINE];
        size_t size, k = seed % CASES;
        uint64_t random = seed;
        for (uint32_t a = 0; a < LINE; a++) {
            double least = cases[k].least, most = cases[k].most;
            x[a] = cases[k].apart * (a + 0.5 * dense_uniform(&random));
            offers[a] = (bandit_offer){a, floor(least + (most - least) * dense_uniform(&random))};
        }
        assert_int_equal(bandit_arms_new(&arms, LINE, 1, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, LINE, x, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, LINE, &err), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, &err), BANDIT_OK);
        const bandit_resampling how = {.q_bar = cases[k].q_bar,
                                       .seed = seed,
                                       .batch = seed / 3,
                                       .covariance = &covariance,
                                       .lambda = cases[k].lambda};
        assert_int_equal(bandit_dictionary_bless(dictionary, &size, offers, LINE, &how, &err), BANDIT_OK);
        line_set J = bless_written_out(offers, x, &how, &used);
        assert_int_equal(size, J.n);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(dictionary[i], J.arm[i]);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
    print_message("[          ] draws: %zu by successes, %zu by failures, %zu normal; %zu and %zu of none\n",
                  used.successes, used.failures, used.normal, used.alone, used.nobody);
    assert_true(used.failures > 35 * rounds && used.normal > 10 * rounds);
    assert_true(used.alone > rounds / 2 && used.nobody > rounds / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_accurate),
        cmocka_unit_test(as_written_out),
        cmocka_unit_test(a_function_of_the_seed),
        cmocka_unit_test(nearly_all_pulls_are_looked_at),
        cmocka_unit_test(one_arm),
        cmocka_unit_test(many_pulls),
        cmocka_unit_test(rough_variances_draw_the_same),
    };
    return cmocka_run_group_tests_name("first dictionary", tests, NULL, NULL);
}
