/* Where evaluations fail: against the definition, gradients against differences, and what is to come of
 * failures at random and in a region. */
#include "core/selection/feasibility.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 3, MOST = 300 };

typedef struct problem {
    uint64_t random;
    size_t n;
    double points[MOST * D], scale[D];
    bool failed[MOST];
    bandit_feasibility f;
} problem;

typedef bool rule(const double *x, uint64_t *random);

static bool never(const double *x, uint64_t *random)
{
    (void)x;
    (void)random;
    return false;
}

static bool one_in_ten(const double *x, uint64_t *random)
{
    (void)x;
    return dense_uniform(random) < 0.1;
}

static double from_middle(const double *x)
{
    double sum = 0.0;
    for (size_t j = 0; j < D; j++)
        sum += (x[j] - 0.5) * (x[j] - 0.5);
    return sqrt(sum);
}

static bool in_a_ball(const double *x, uint64_t *random)
{
    (void)random;
    return from_middle(x) < 0.3;
}

static void set_up(problem *p, uint64_t seed, size_t n, rule *fails)
{
    bandit_error err = {0};
    *p = (problem){.random = seed, .n = n};
    assert_int_equal(bandit_feasibility_start(&p->f, n, D, &err), BANDIT_OK);
    for (size_t j = 0; j < D; j++)
        p->scale[j] = p->f.scale[j] = 0.5 + 0.2 * (double)j;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++)
            p->points[i * D + j] = dense_uniform(&p->random);
        p->f.failed[i] = p->failed[i] = fails(p->points + i * D, &p->random);
    }
    memcpy(p->f.points, p->points, n * D * sizeof(double));
    bandit_feasibility_learn(&p->f);
}

/* The share that succeeds at x with bandwidth h, without outcome `skipped` (SIZE_MAX: with all); `unknown` where there
 * are no outcomes. */
static double share_at_with(const problem *p, const double *x, double h, size_t skipped, double unknown)
{
    double weights = 0.0, good = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        double r2 = 0.0;
        for (size_t j = 0; j < D; j++)
            r2 += pow((x[j] - p->points[i * D + j]) / p->scale[j], 2.0);
        double w = i == skipped ? 0.0 : exp(-r2 / (2.0 * h * h));
        weights += w;
        good += p->failed[i] ? 0.0 : w;
    }
    return (good + 0.5 * unknown) / (weights + 0.5);
}

static double share_at(const problem *p, const double *x, double h, size_t skipped)
{
    return share_at_with(p, x, h, skipped, 0.9);
}

static double likelihood(const problem *p, double h)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        double share = share_at(p, p->points + i * D, h, i);
        sum += log(p->failed[i] ? 1.0 - share : share);
    }
    return sum;
}

static void by_the_definition(void **state)
{
    static rule *const rules[] = {never, one_in_ten, in_a_ball};
    size_t lowered = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 9; seed++) {
        problem p;
        set_up(&p, seed, 20 + 10 * seed, rules[seed % 3]);
        for (int halvings = 0; halvings <= 5; halvings++)
            assert_true(likelihood(&p, p.f.bandwidth) >= likelihood(&p, ldexp(1.0, -halvings)) - 1e-9);
        for (int k = 0; k < 200; k++) {
            double x[D];
            for (size_t j = 0; j < D; j++)
                x[j] = dense_uniform(&p.random);
            double share = share_at(&p, x, p.f.bandwidth, SIZE_MAX);
            double expected = share < 0.8 ? 1.0 - share / 0.8 : 0.0;
            assert_true(fabs(bandit_feasibility_shortfall(&p.f, x, NULL) - expected) < 1e-12);
            lowered += expected > 0.0;
        }
        bandit_feasibility_clear(&p.f);
    }
    assert_true(lowered > 50);
}

static void gradients_are_slopes(void **state)
{
    size_t compared = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        problem p;
        set_up(&p, seed, 80, in_a_ball);
        for (int k = 0; k < 100; k++) {
            double x[D], gradient[D];
            for (size_t j = 0; j < D; j++)
                x[j] = 0.2 + 0.6 * dense_uniform(&p.random);
            double here = bandit_feasibility_shortfall(&p.f, x, gradient);
            for (size_t j = 0; j < D && here > 0.01; j++) {
                const double step = 1e-6;
                double at = x[j];
                x[j] = at + step;
                double above = bandit_feasibility_shortfall(&p.f, x, NULL);
                x[j] = at - step;
                double below = bandit_feasibility_shortfall(&p.f, x, NULL);
                x[j] = at;
                assert_true(fabs((above - below) / (2.0 * step) - gradient[j]) < 1e-5);
                compared++;
            }
        }
        bandit_feasibility_clear(&p.f);
    }
    assert_true(compared > 100);
}

/* A ball that always fails is told from the rest: nearly all of its inside is avoided, and nearly nothing far
 * from it. Failures at random take little away. */
static void what_is_avoided(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        problem ball, chance, none;
        size_t inside = 0, avoided = 0, outside = 0, lost = 0, by_chance = 0;
        set_up(&ball, seed, MOST, in_a_ball);
        set_up(&chance, seed, MOST, one_in_ten);
        set_up(&none, seed, MOST, never);
        for (int k = 0; k < 2000; k++) {
            double x[D];
            for (size_t j = 0; j < D; j++)
                x[j] = dense_uniform(&ball.random);
            double distance = from_middle(x), shortfall = bandit_feasibility_shortfall(&ball.f, x, NULL);
            inside += distance < 0.2;
            avoided += distance < 0.2 && shortfall > 0.3;
            outside += distance > 0.45;
            lost += distance > 0.45 && shortfall > 0.0;
            by_chance += bandit_feasibility_shortfall(&chance.f, x, NULL) > 0.3;
            assert_true(bandit_feasibility_shortfall(&none.f, x, NULL) == 0.0);
        }
        assert_true(inside > 20 && avoided * 10 >= inside * 9);
        assert_true(lost * 20 <= outside);
        assert_true(by_chance <= 100);
        bandit_feasibility_clear(&ball.f);
        bandit_feasibility_clear(&chance.f);
        bandit_feasibility_clear(&none.f);
    }
}

/* ---- place or chance ------------------------------------------------------------------------------------------- */

static bool half(const double *x, uint64_t *random)
{
    (void)x;
    return dense_uniform(random) < 0.5;
}

static bool mostly(const double *x, uint64_t *random)
{
    (void)x;
    return dense_uniform(random) < 0.8;
}

static bool in_a_ball_and_by_chance(const double *x, uint64_t *random)
{
    return in_a_ball(x, random) || one_in_ten(x, random);
}

/* The log likelihood of all outcomes, each given the share of successes among the others, at least `least`. */
static double likelihood_of_shares(const problem *p, double least)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        double good = 0.5 * 0.9;
        for (size_t k = 0; k < p->n; k++)
            good += k != i && !p->failed[k];
        double share = fmax(least, good / ((double)p->n - 1.0 + 0.5));
        sum += log(p->failed[i] ? 1.0 - share : share);
    }
    return sum;
}

static double likelihood_by_chance(const problem *p)
{
    double plain = likelihood_of_shares(p, 0.0), high = likelihood_of_shares(p, 0.6);
    return high > plain ? plain : fmax(high, plain - 1.5);
}

/* The largest one by place, with shares of 0.1 to 0.9 where nothing is known. */
static double likelihood_by_place(const problem *p)
{
    double most = -INFINITY;
    for (int halvings = 0; halvings <= 5; halvings++) {
        for (int tenths = 1; tenths <= 9; tenths++) {
            double sum = 0.0, h = ldexp(1.0, -halvings);
            for (size_t i = 0; i < p->n; i++) {
                double share = share_at_with(p, p->points + i * D, h, i, tenths / 10.0);
                sum += log(p->failed[i] ? 1.0 - share : share);
            }
            most = fmax(most, sum);
        }
    }
    return most;
}

static void evidence_by_the_definition(void **state)
{
    static rule *const rules[] = {one_in_ten, half, in_a_ball, mostly};
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        problem p;
        set_up(&p, seed, 8 * seed, rules[seed % 4]);
        double expected = likelihood_by_place(&p) - likelihood_by_chance(&p);
        assert_true(fabs(bandit_feasibility_evidence(&p.f) - expected) < 1e-9);
        bandit_feasibility_clear(&p.f);
    }
}

/* A ball that always fails is seen, also if others fail by chance; chance is taken for a region in 14 of 40. */
static void chance_is_told_from_place(void **state)
{
    static rule *const regions[] = {in_a_ball, in_a_ball_and_by_chance}, *const chances[] = {one_in_ten,
                                                                                             half};
    size_t mistaken = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (size_t k = 0; k < 2; k++) {
            problem region, chance;
            set_up(&region, seed, MOST, regions[k]);
            set_up(&chance, seed, 100, chances[k]);
            assert_true(bandit_feasibility_evidence(&region.f) > 2.0);
            mistaken += bandit_feasibility_evidence(&chance.f) > 2.0;
            bandit_feasibility_clear(&region.f);
            bandit_feasibility_clear(&chance.f);
        }
    }
    assert_true(mistaken <= 16);
}

/* What is learned of the outcomes of candidates. */
static void learn(bandit_feasibility *f, rule *fails, bool spread, size_t revision, uint64_t random)
{
    enum { N = 120 };
    static const double lengthscale[] = {1.0};
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = lengthscale, .n_lengthscales = 1};
    bandit_error err = {0};
    bandit_arms *arms;
    bandit_arm_sum sums[N];
    uint32_t failed[N];
    double rows[N * D];
    size_t n_sums = 0, n_failed = 0;
    for (size_t i = 0; i < N * (size_t)D; i++)
        rows[i] = dense_uniform(&random);
    assert_int_equal(bandit_arms_new(&arms, N, D, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, &err), BANDIT_OK);
    for (uint32_t i = 0; i < N; i++) {
        if (fails(rows + (size_t)i * D, &random))
            failed[n_failed++] = i;
        else
            sums[n_sums++] = (bandit_arm_sum){.arm = i, .count = 1};
    }
    assert_true(n_failed > 5);
    assert_int_equal(bandit_feasibility_learn_arms(f, arms, &kernel, sums, n_sums, failed, n_failed, spread,
                                                   revision, &err),
                     BANDIT_OK);
    bandit_arms_free(arms);
}

static size_t counting(rule *fails, bool spread, size_t revision)
{
    bandit_feasibility f = {0};
    learn(&f, fails, spread, revision, 3);
    size_t n = f.n;
    bandit_feasibility_clear(&f);
    return n;
}

static void outcomes_by_chance_do_not_count(void **state)
{
    (void)state;
    for (int spread = 0; spread < 2; spread++) {
        assert_int_equal(counting(one_in_ten, spread, 2), 120);
        for (size_t revision = 3; revision <= 5; revision++) {
            assert_int_equal(counting(in_a_ball, spread, revision), 120);
            assert_int_equal(counting(one_in_ten, spread, revision), 0);
        }
    }
}

/* Stripes across one of the coordinates. */
static bool in_a_stripe(const double *x, uint64_t *random)
{
    (void)random;
    return sin(20.0 * x[1]) > 0.5;
}

/* Of many points, how many are avoided although they do not fail, or the other way round. */
static size_t misjudged(rule *fails, size_t revision)
{
    size_t n = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        bandit_feasibility f = {0};
        uint64_t random = 100 + seed;
        learn(&f, fails, false, revision, seed);
        for (size_t i = 0; i < 200; i++) {
            double x[D];
            for (size_t j = 0; j < D; j++)
                x[j] = dense_uniform(&random);
            n += fails(x, &random) != (bandit_feasibility_shortfall(&f, x, NULL) > 0.0);
        }
        bandit_feasibility_clear(&f);
    }
    return n;
}

static void the_coordinates_that_matter_are_found(void **state)
{
    (void)state;
    assert_true(misjudged(in_a_stripe, 4) > 250);
    assert_true(misjudged(in_a_stripe, 5) < 130);
    assert_true(misjudged(in_a_ball, 5) <= misjudged(in_a_ball, 4) + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_definition),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(what_is_avoided),
        cmocka_unit_test(evidence_by_the_definition),
        cmocka_unit_test(chance_is_told_from_place),
        cmocka_unit_test(outcomes_by_chance_do_not_count),
        cmocka_unit_test(the_coordinates_that_matter_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
