/* Hypervolumes, the boxes beside a front, and the volume that a point adds: against volumes by slicing, which
 * knows no boxes, and against sampling. */
#include "core/selection/boxes.h"

#include "core/selection/normal.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 12 };

/* The volume above the reference, sliced along the last coordinate. */
static double sliced(const double *points, size_t n, size_t k, const double *reference)
{
    double below[MOST * BANDIT_MOST_OBJECTIVES], volume = 0.0, floor = reference[k - 1];
    if (k == 1) {
        double most = 0.0;
        for (size_t i = 0; i < n; i++)
            most = fmax(most, points[i] - reference[0]);
        return most;
    }
    for (;;) { /* the slice from `floor` to the next height of a point */
        double next = INFINITY;
        size_t above = 0;
        for (size_t i = 0; i < n; i++) {
            if (!(points[i * k + k - 1] > floor))
                continue;
            next = fmin(next, points[i * k + k - 1]);
            memcpy(below + above * (k - 1), points + i * k, (k - 1) * sizeof *below);
            above++;
        }
        if (above == 0)
            return volume;
        volume += (next - floor) * sliced(below, above, k - 1, reference);
        floor = next;
    }
}

/* Random points; with ties on a coarse lattice. */
static size_t draw(double *points, size_t k, bool ties, uint64_t *state)
{
    size_t n = 1 + (size_t)(dense_uniform(state) * (MOST - 2));
    for (size_t i = 0; i < n * k; i++) {
        double x = dense_uniform(state);
        points[i] = ties ? floor(4.0 * x) : x;
    }
    return n;
}

static double hypervolume(const double *points, size_t n, size_t k, const double *reference)
{
    double volume = NAN;
    assert_int_equal(bandit_hypervolume(&volume, points, n, k, reference, NULL), BANDIT_OK);
    return volume;
}

static void is_volume_by_slicing(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    for (int round = 0; round < 4000; round++) {
        size_t k = 1 + (size_t)round % 5;
        double points[MOST * BANDIT_MOST_OBJECTIVES], reference[BANDIT_MOST_OBJECTIVES];
        bool ties = round % 2 == 0;
        size_t n = draw(points, k, ties, &state);
        for (size_t j = 0; j < k; j++)
            reference[j] = ties ? floor(2.0 * dense_uniform(&state)) : 0.4 * dense_uniform(&state);
        double expected = sliced(points, n, k, reference);
        assert_true(fabs(hypervolume(points, n, k, reference) - expected) <= 1e-12 * (1.0 + expected));
    }
}

/* Adding a point adds the difference of two volumes; so the boxes are disjoint and leave nothing out. */
static void adds_difference_of_volumes(void **unused)
{
    (void)unused;
    uint64_t state = 4;
    bandit_boxes boxes = {0};
    for (int round = 0; round < 10000; round++) {
        size_t k = 1 + (size_t)round % 5;
        double points[MOST * BANDIT_MOST_OBJECTIVES], reference[BANDIT_MOST_OBJECTIVES];
        bool ties = round % 4 < 2;
        size_t n = draw(points, k, ties, &state);
        double *u = points + n * k;
        for (size_t j = 0; j < k; j++) {
            reference[j] = ties ? floor(2.0 * dense_uniform(&state)) : 0.4 * dense_uniform(&state);
            u[j] = ties ? floor(5.0 * dense_uniform(&state)) : 1.2 * dense_uniform(&state);
        }
        assert_int_equal(bandit_boxes_cover(&boxes, points, n, k, reference, NULL), BANDIT_OK);
        double expected = sliced(points, n + 1, k, reference) - sliced(points, n, k, reference);
        assert_true(fabs(bandit_boxes_added(&boxes, u, NULL) - expected) <= 1e-12 * 1024.0);
    }
    bandit_boxes_clear(&boxes);
}

static void assert_same_boxes(const bandit_boxes *a, const bandit_boxes *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_front, b->n_front);
    assert_memory_equal(a->front, b->front, a->n_front * sizeof *a->front);
    assert_memory_equal(a->low, b->low, a->n * a->k * sizeof *a->low);
    assert_memory_equal(a->high, b->high, a->n * a->k * sizeof *a->high);
    for (size_t j = 0; j < a->k; j++) {
        assert_int_equal(a->n_cuts[j], b->n_cuts[j]);
        assert_memory_equal(a->cuts[j], b->cuts[j], a->n_cuts[j] * sizeof **a->cuts);
    }
}

/* Points that come one by one, on the front or not, lead to the boxes of all of them at once. */
static void covers_more_points_as_all_at_once(void **unused)
{
    (void)unused;
    uint64_t state = 12;
    bandit_boxes grown = {0}, whole = {0};
    size_t unchanged = 0;
    for (int round = 0; round < 500; round++) {
        size_t k = 1 + (size_t)round % 5;
        double points[MOST * BANDIT_MOST_OBJECTIVES], reference[BANDIT_MOST_OBJECTIVES] = {0};
        size_t n = draw(points, k, round % 2 == 0, &state);
        assert_int_equal(bandit_boxes_cover(&grown, points, 1, k, reference, NULL), BANDIT_OK);
        for (size_t i = 2; i <= n; i++) {
            assert_int_equal(bandit_boxes_cover_more(&grown, points, i, reference, NULL), BANDIT_OK);
            assert_int_equal(bandit_boxes_cover(&whole, points, i, k, reference, NULL), BANDIT_OK);
            assert_same_boxes(&grown, &whole);
            unchanged += grown.front[grown.n_front - 1] != i - 1;
        }
    }
    assert_true(unchanged > 100);
    bandit_boxes_clear(&grown);
    bandit_boxes_clear(&whole);
}

/* A metric that counts as every objective: the front is its best value, and volumes order points as the metric does. */
static void metric_several_times_orders_as_the_metric(void **unused)
{
    (void)unused;
    uint64_t state = 6;
    bandit_boxes boxes = {0};
    for (int round = 0; round < 1000; round++) {
        size_t k = 1 + (size_t)round % 5, n = 1 + (size_t)round % MOST;
        double points[MOST * BANDIT_MOST_OBJECTIVES], reference[BANDIT_MOST_OBJECTIVES] = {0};
        double best = 0.0, u[2][BANDIT_MOST_OBJECTIVES], added[2];
        for (size_t i = 0; i < n; i++) {
            double value = dense_uniform(&state);
            best = fmax(best, value);
            for (size_t j = 0; j < k; j++)
                points[i * k + j] = value;
        }
        assert_int_equal(bandit_boxes_cover(&boxes, points, n, k, reference, NULL), BANDIT_OK);
        for (size_t a = 0; a < 2; a++) {
            double value = 1.5 * dense_uniform(&state);
            for (size_t j = 0; j < k; j++)
                u[a][j] = value;
            added[a] = bandit_boxes_added(&boxes, u[a], NULL);
            assert_true((added[a] > 0.0) == (value > best));
        }
        if (fmin(added[0], added[1]) > 0.0)
            assert_true((added[0] > added[1]) == (u[0][0] > u[1][0]));
    }
    bandit_boxes_clear(&boxes);
}

static void volume_has_same_bits_in_any_order(void **unused)
{
    (void)unused;
    uint64_t state = 5;
    for (int round = 0; round < 500; round++) {
        size_t k = 1 + (size_t)round % 5;
        double points[MOST * BANDIT_MOST_OBJECTIVES], turned[MOST * BANDIT_MOST_OBJECTIVES];
        double reference[BANDIT_MOST_OBJECTIVES] = {0}, factor = 1.0;
        size_t n = draw(points, k, round % 2 == 0, &state);
        for (size_t i = 0; i < n; i++)
            memcpy(turned + i * k, points + (n - 1 - i) * k, k * sizeof *points);
        double volume = hypervolume(points, n, k, reference);
        assert_true(volume == hypervolume(turned, n, k, reference));
        for (size_t j = 0; j < k; j++) { /* units that are powers of two */
            double unit = ldexp(1.0, (int)j * 3 - 5);
            factor *= unit;
            for (size_t i = 0; i < n; i++)
                turned[i * k + j] = unit * points[i * k + j];
        }
        assert_true(hypervolume(turned, n, k, reference) == factor * volume);
    }
}

/* Golovin, Zhang 2020, lemma 5: the volume is c_k times the mean over random directions w of the largest
 * (min over j of y_j / w_j)^k. */
static void is_mean_over_directions(void **unused)
{
    (void)unused;
    uint64_t state = 6;
    for (size_t k = 2; k <= 4; k++) {
        enum { DIRECTIONS = 40000, POINTS = 6 };
        double points[POINTS * 4], reference[4] = {0}, sum = 0.0;
        for (size_t i = 0; i < POINTS * k; i++)
            points[i] = dense_uniform(&state);
        for (size_t round = 0; round < DIRECTIONS; round++) {
            double w[4], norm = 0.0, best = 0.0;
            for (size_t j = 0; j < k; j++) {
                double radius = sqrt(-2.0 * log(1.0 - dense_uniform(&state)));
                w[j] = fabs(radius * cos(6.283185307179586 * dense_uniform(&state)));
                norm += w[j] * w[j];
            }
            for (size_t i = 0; i < POINTS; i++) {
                double least = INFINITY;
                for (size_t j = 0; j < k; j++)
                    least = fmin(least, points[i * k + j] / (w[j] / sqrt(norm)));
                best = fmax(best, pow(least, (double)k));
            }
            sum += best;
        }
        double c =
            pow(3.141592653589793, 0.5 * (double)k) / (pow(2.0, (double)k) * tgamma(0.5 * (double)k + 1.0));
        double volume = hypervolume(points, POINTS, k, reference);
        assert_true(fabs(c * sum / DIRECTIONS - volume) < 0.02 * volume);
    }
}

/* ---- expectations -------------------------------------------------------------------------------------- */

typedef struct problem {
    size_t k;
    double mean[BANDIT_MOST_OBJECTIVES], deviation[BANDIT_MOST_OBJECTIVES];
    bandit_boxes boxes;
} problem;

static void setup(problem *p, size_t k, double distance, uint64_t *state)
{
    double points[MOST * BANDIT_MOST_OBJECTIVES], reference[BANDIT_MOST_OBJECTIVES];
    p->k = k;
    size_t n = draw(points, k, false, state);
    for (size_t j = 0; j < k; j++) {
        reference[j] = -0.1;
        p->mean[j] = dense_uniform(state) - distance;
        p->deviation[j] = 0.05 + 0.4 * dense_uniform(state);
    }
    assert_int_equal(bandit_boxes_cover(&p->boxes, points, n, k, reference, NULL), BANDIT_OK);
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2.0 * log(1.0 - dense_uniform(state)));
    return radius * cos(6.283185307179586 * dense_uniform(state));
}

static void expectation_is_that_of_samples(void **unused)
{
    (void)unused;
    enum { SAMPLES = 40000 };
    uint64_t state = 7;
    problem p = {0};
    for (size_t k = 1; k <= 5; k++) {
        setup(&p, k, 0.0, &state);
        double sum = 0.0, squares = 0.0, u[BANDIT_MOST_OBJECTIVES];
        for (size_t i = 0; i < SAMPLES; i++) {
            for (size_t j = 0; j < k; j++)
                u[j] = p.mean[j] + p.deviation[j] * normal(&state);
            double added = bandit_boxes_added(&p.boxes, u, NULL);
            sum += added;
            squares += added * added;
        }
        double mean = sum / SAMPLES, error = sqrt((squares / SAMPLES - mean * mean) / SAMPLES);
        double expected = exp(bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, NULL, NULL));
        assert_true(fabs(expected - mean) < 5.0 * error);
    }
    bandit_boxes_clear(&p.boxes);
}

/* Far from the front too, where the expectation itself underflows. */
static void slopes_are_those_of_differences(void **unused)
{
    (void)unused;
    uint64_t state = 8;
    problem p = {0};
    const double distances[] = {0.0, 3.0, 30.0};
    for (int round = 0; round < 60; round++) {
        double by_mean[BANDIT_MOST_OBJECTIVES], by_deviation[BANDIT_MOST_OBJECTIVES];
        setup(&p, 1 + (size_t)round % 5, distances[round % 3], &state);
        double value = bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, by_mean, by_deviation);
        double plain = bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, NULL, NULL);
        assert_true(isfinite(value) && fabs(value - plain) <= 1e-9 * (1.0 + fabs(value)));
        for (size_t j = 0; j < 2 * p.k; j++) {
            double *x = j < p.k ? &p.mean[j] : &p.deviation[j - p.k], at = *x, step = 1e-6;
            double slope = j < p.k ? by_mean[j] : by_deviation[j - p.k];
            *x = at + step;
            double above = bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, NULL, NULL);
            *x = at - step;
            double below = bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, NULL, NULL);
            *x = at;
            assert_true(fabs((above - below) / (2.0 * step) - slope) <= 2e-5 * (1.0 + fabs(slope)));
            assert_true(slope >= 0.0);
        }
    }
    bandit_boxes_clear(&p.boxes);
}

static void gradient_of_added_volume_is_that_of_differences(void **unused)
{
    (void)unused;
    uint64_t state = 9;
    problem p = {0};
    for (int round = 0; round < 50; round++) {
        double gradient[BANDIT_MOST_OBJECTIVES];
        setup(&p, 1 + (size_t)round % 5, -0.3, &state);
        bandit_boxes_added(&p.boxes, p.mean, gradient);
        for (size_t j = 0; j < p.k; j++) {
            double at = p.mean[j];
            p.mean[j] = at + 1e-7;
            double above = bandit_boxes_added(&p.boxes, p.mean, NULL);
            p.mean[j] = at - 1e-7;
            double below = bandit_boxes_added(&p.boxes, p.mean, NULL);
            p.mean[j] = at;
            assert_true(fabs((above - below) / 2e-7 - gradient[j]) <= 1e-6);
        }
    }
    bandit_boxes_clear(&p.boxes);
}

static void bound_is_above(void **unused)
{
    (void)unused;
    uint64_t state = 10;
    problem p = {0};
    const double distances[] = {0.0, 3.0, 30.0, -1.0};
    size_t n_near = 0;
    for (int round = 0; round < 400; round++) {
        setup(&p, 1 + (size_t)round % 5, distances[round % 4], &state);
        double value = bandit_boxes_log_expected(&p.boxes, p.mean, p.deviation, NULL, NULL);
        double bound = bandit_boxes_log_bound(&p.boxes, p.mean, p.deviation);
        assert_true(bound >= value - 1e-9 * (1.0 + fabs(value)));
        double near = bandit_boxes_log_near_bound(&p.boxes, p.mean, p.deviation);
        n_near += isnan(near) ? 0 : 1;
        assert_true(isnan(near) || (near >= value - 1e-11 && near <= value + 0.1));
    }
    assert_true(n_near > 200);
    bandit_boxes_clear(&p.boxes);
}

/* With one objective it is the logarithm of the expected improvement. */
static void one_objective_is_expected_improvement(void **unused)
{
    (void)unused;
    bandit_boxes boxes = {0};
    const double points[] = {0.3, 0.7, 0.1}, reference[] = {0.0}, mean[] = {0.5}, deviation[] = {0.2};
    assert_int_equal(bandit_boxes_cover(&boxes, points, 3, 1, reference, NULL), BANDIT_OK);
    double expected = log(0.2 * (0.24197072451914337 - 1.0 * 0.15865525393145707)); /* z = −1 */
    assert_true(fabs(bandit_boxes_log_expected(&boxes, mean, deviation, NULL, NULL) - expected) < 1e-12);
    bandit_boxes_clear(&boxes);
}

/* ---- probabilities ------------------------------------------------------------------------------------- */

static void probability_between_has_closed_form(void **unused)
{
    (void)unused;
    const double means[] = {-40.0, -3.0, 0.0, 0.4, 5.0, 60.0};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        const double bounds[][2] = {{-INFINITY, 0.5}, {0.5, INFINITY}, {-0.2, 0.5}};
        for (size_t b = 0; b < 3; b++) {
            double low = bounds[b][0], high = bounds[b][1], mean = means[i], by_mean, by_deviation;
            double value = bandit_log_between(low, high, mean, 0.8, &by_mean, &by_deviation);
            double p = 0.5 * (erfc((low - mean) / 0.8 * sqrt(0.5)) - erfc((high - mean) / 0.8 * sqrt(0.5)));
            if (p > 1e-12 && p < 1.0 - 1e-12)
                assert_true(fabs(value - log(p)) < 1e-9 * (1.0 - log(p)) + 1e-12);
            double step = 1e-5;
            double slope = (bandit_log_between(low, high, mean + step, 0.8, NULL, NULL) -
                            bandit_log_between(low, high, mean - step, 0.8, NULL, NULL)) /
                           (2.0 * step);
            assert_true(fabs(slope - by_mean) < 1e-5 * (1.0 + fabs(slope)));
            slope = (bandit_log_between(low, high, mean, 0.8 + step, NULL, NULL) -
                     bandit_log_between(low, high, mean, 0.8 - step, NULL, NULL)) /
                    (2.0 * step);
            assert_true(fabs(slope - by_deviation) < 1e-5 * (1.0 + fabs(slope)));
        }
    }
}

/* ---- fronts -------------------------------------------------------------------------------------------- */

static void front_has_points_that_none_dominates(void **unused)
{
    (void)unused;
    uint64_t state = 11;
    for (int round = 0; round < 500; round++) {
        size_t k = 1 + (size_t)round % 5, front[MOST], f = 0;
        double points[MOST * BANDIT_MOST_OBJECTIVES];
        size_t n = draw(points, k, true, &state), size = bandit_front_find(points, n, k, front);
        for (size_t i = 0; i < n; i++) {
            bool kept = true;
            for (size_t other = 0; other < n; other++) {
                bool same = memcmp(points + i * k, points + other * k, k * sizeof *points) == 0;
                kept &= !bandit_dominates(points + other * k, points + i * k, k) && !(same && other < i);
            }
            assert_int_equal(kept, f < size && front[f] == i);
            f += kept;
        }
        assert_int_equal(f, size);
    }
}

/* The volume of two objectives has a sum of its own: to the bit that of the points one by one, in order. Here many points
 * are on the front, and some are beyond the reference. */
static void area_is_volume_of_points_in_order(void **unused)
{
    enum { POINTS = 3000 };
    static double points[2 * POINTS], in_order[2 * POINTS];
    const double reference[] = {-0.9, -0.8};
    uint64_t state = 5;
    bandit_volume *volume;
    (void)unused;
    for (size_t i = 0; i < POINTS; i++) {
        double x = ((double)i + dense_uniform(&state)) / POINTS;
        in_order[2 * i] = -x; /* the largest first */
        in_order[2 * i + 1] = -sqrt(1.0 - x * x) - (i % 5 == 4 ? 0.01 : 0.0);
    }
    for (size_t i = 0; i < POINTS; i++)
        memcpy(points + 2 * i, in_order + 2 * (i * 7 % POINTS), 2 * sizeof *points);
    assert_int_equal(bandit_volume_new(&volume, reference, 2, NULL), BANDIT_OK);
    for (size_t i = 0; i < POINTS; i++)
        assert_int_equal(bandit_volume_add(volume, in_order + 2 * i, NULL, NULL), BANDIT_OK);
    double expected = bandit_volume_value(volume);
    assert_true(expected > 0.0 && hypervolume(points, POINTS, 2, reference) == expected);
    bandit_volume_free(volume);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_volume_by_slicing),
        cmocka_unit_test(adds_difference_of_volumes),
        cmocka_unit_test(covers_more_points_as_all_at_once),
        cmocka_unit_test(metric_several_times_orders_as_the_metric),
        cmocka_unit_test(volume_has_same_bits_in_any_order),
        cmocka_unit_test(is_mean_over_directions),
        cmocka_unit_test(expectation_is_that_of_samples),
        cmocka_unit_test(slopes_are_those_of_differences),
        cmocka_unit_test(gradient_of_added_volume_is_that_of_differences),
        cmocka_unit_test(bound_is_above),
        cmocka_unit_test(one_objective_is_expected_improvement),
        cmocka_unit_test(probability_between_has_closed_form),
        cmocka_unit_test(front_has_points_that_none_dominates),
        cmocka_unit_test(area_is_volume_of_points_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
