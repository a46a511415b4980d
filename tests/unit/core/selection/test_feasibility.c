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

/* The share that succeeds at x with bandwidth h, without outcome `skipped` (SIZE_MAX: with all). */
static double share_at(const problem *p, const double *x, double h, size_t skipped)
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
    return (good + 0.5 * 0.9) / (weights + 0.5);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_definition),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(what_is_avoided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
