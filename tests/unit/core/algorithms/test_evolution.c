/* Regularized evolution: whose neighbours its children are, and by which distance. */
#include "bandit/engine.h"
#include "tests/support/exact_study.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Once the population is full a child is one of the ten nearest neighbours of the best of the sample; with
 * the whole population as the sample many times over, that is the best member's. */
static void evolution_mutates_the_best_of_the_sample(void **state)
{
    (void)state;
    bandit_arms *arms = exact_study_arms(false);
    bandit_options o = exact_study_options(BANDIT_REGULARIZED_EVOLUTION);
    o.population = o.sample = 9;
    bandit_engine *engine = exact_study_engine(arms, &o);
    bandit_result results[64];
    /* The old best, arm 0, has left the population when nine others have come. */
    for (size_t i = 0; i < 10; i++)
        results[i] = (bandit_result){.arm = (uint32_t)(6 * i), .repeats = 1, .reward = i == 0 ? 9.0 : i == 4};
    exact_study_begin(engine, results, 10);
    size_t near_best = 0, seen[EXACT_STUDY_ARMS] = {0};
    for (size_t batch = 0; batch < 400; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick child;
        limits.max_picks = 1;
        assert_int_equal(exact_study_pick(engine, &limits, &child).n_picks, 1);
        double distance = fabs(exact_study_point(child.arm, false) - exact_study_point(24, false));
        near_best += distance < 5.5 / EXACT_STUDY_ARMS;
        assert_true(fabs(exact_study_point(child.arm, false) - exact_study_point(0, false)) >
                    5.5 / EXACT_STUDY_ARMS);
        seen[child.arm]++;
        exact_study_begin(engine, NULL, 0);
    }
    /* The sample misses the best with probability (8/9)^9 = 0.346; 400 draws: deviation 9.5. */
    assert_true((double)near_best > 400 * 0.654 - 48 && (double)near_best < 400 * 0.654 + 48 + 400 * 0.346);
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++) {
        double distance = fabs(exact_study_point(a, false) - exact_study_point(24, false));
        assert_true(a == 24 || distance >= 5.5 / EXACT_STUDY_ARMS || seen[a] > 5); /* each of the ten */
    }
    assert_true(near_best < 400);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* On a set that is known by its matrix the neighbours are the nearest by k(x,x) + k(x',x') - 2 k(x,x'): with
 * a linear kernel, those of the points themselves, which are not of one length. */
static void evolution_measures_distances_by_the_matrix(void **state)
{
    double x[EXACT_STUDY_ARMS][2], matrix[EXACT_STUDY_ARMS * EXACT_STUDY_ARMS];
    size_t seen[EXACT_STUDY_ARMS] = {0};
    const uint32_t parent = 7;
    bandit_arms *arms;
    (void)state;
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++) {
        x[a][0] = 3.0 * cos(1.7 * (double)a) + 0.05 * (double)a;
        x[a][1] = 2.0 * sin(0.9 * (double)a) - 0.03 * (double)a;
    }
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++)
        for (size_t b = 0; b < EXACT_STUDY_ARMS; b++)
            matrix[a * EXACT_STUDY_ARMS + b] = x[a][0] * x[b][0] + x[a][1] * x[b][1];
    assert_int_equal(bandit_arms_new_precomputed(&arms, EXACT_STUDY_ARMS, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, EXACT_STUDY_ARMS, matrix, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, EXACT_STUDY_ARMS, NULL), BANDIT_OK);
    bandit_options o = exact_study_options(BANDIT_REGULARIZED_EVOLUTION);
    o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
    o.population = o.sample = 1;
    bandit_engine *engine = exact_study_engine(arms, &o);
    const bandit_result result = {.arm = parent, .repeats = 1, .reward = 1.0};
    exact_study_begin(engine, &result, 1);
    for (size_t batch = 0; batch < 300; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick child;
        limits.max_picks = 1;
        assert_int_equal(exact_study_pick(engine, &limits, &child).n_picks, 1);
        seen[child.arm]++;
        exact_study_begin(engine, NULL, 0);
    }
    for (size_t a = 0; a < EXACT_STUDY_ARMS; a++) {
        double distance = hypot(x[a][0] - x[parent][0], x[a][1] - x[parent][1]);
        size_t nearer = 0;
        for (size_t b = 0; b < EXACT_STUDY_ARMS; b++)
            nearer += b != parent && hypot(x[b][0] - x[parent][0], x[b][1] - x[parent][1]) < distance;
        assert_true((seen[a] > 0) == (a != parent && nearer < 10));
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evolution_mutates_the_best_of_the_sample),
        cmocka_unit_test(evolution_measures_distances_by_the_matrix),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
