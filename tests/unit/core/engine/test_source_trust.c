/* What an engine makes of sources that contradict each other, and of those that do not count. */
#include "core/posterior/prior_mean.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { DIMENSION = 2, POINTS = 9, RESULTS = 24 };

static bandit_options options_of(const bandit_source *sources, size_t n, bandit_source_trust trust)
{
    bandit_options o = space_study_options(BANDIT_LOG_EI, 3, 0.1);
    learner_options(&o, BANDIT_LOG_EI);
    o.warp_rewards = true;
    o.warp_unit = BANDIT_WARP_IN_TURN;
    o.kernel.n_lengthscales = 0;
    o.sources = sources;
    o.n_sources = n;
    o.source_trust = trust;
    return o;
}

/* A source on nine points: about factor times the first coordinate, with `bump` at the last point. */
typedef struct made_source {
    double points[POINTS * DIMENSION], weights[POINTS], lengthscales[DIMENSION];
    bandit_source source;
} made_source;

static void make_source(made_source *m, double factor, double bump)
{
    for (size_t i = 0; i < POINTS; i++) {
        m->points[i * DIMENSION] = 0.1 + 0.4 * (double)(i % 3);
        m->points[i * DIMENSION + 1] = 0.1 + 0.4 * (double)(i / 3);
        m->weights[i] = factor * m->points[i * DIMENSION] + (i == POINTS - 1 ? bump : 0.0);
    }
    m->lengthscales[0] = m->lengthscales[1] = 0.3;
    m->source = (bandit_source){.n = POINTS,
                                .points = m->points,
                                .weights = m->weights,
                                .lengthscales = m->lengthscales,
                                .n_lengthscales = DIMENSION};
}

static bool contradict(const bandit_source *list, size_t n)
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of(NULL, 0, BANDIT_TRUST_AGREEMENT);
    bandit_sources sources;
    bandit_error err;
    must(bandit_sources_init(&sources, &o.kernel, list, n, arms, &err), &err);
    assert_false(sources.guarded || sources.contradict);
    must(bandit_sources_guard(&sources, &err), &err);
    bool found = sources.contradict;
    assert_true(sources.guarded);
    bandit_sources_clear(&sources);
    bandit_arms_free(arms);
    return found;
}

/* Sources in other units are alike; one that is turned around is not, and a constant one says nothing. */
static void which_sources_contradict_each_other(void **unused)
{
    (void)unused;
    made_source rising, steep, falling, flat;
    make_source(&rising, 1.0, 0.2);
    make_source(&steep, 7.0, 0.0);
    make_source(&falling, -1.0, 0.0);
    make_source(&flat, 0.0, 0.0);
    const bandit_source list[] = {rising.source, steep.source, falling.source, flat.source};
    assert_false(contradict(list, 1) || contradict(list + 2, 1) || contradict(list, 2));
    assert_true(contradict(list + 1, 2) && contradict(list, 3) && contradict(list + 2, 2));
}

enum { FIRST = 6 };

/* The first picks of a study in which all values are equal, which no source explains. */
static void first_picks(const bandit_options *o, double points[FIRST][DIMENSION])
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[FIRST];
    size_t told = 0;
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    learner_begin(engine, NULL, 0);
    for (size_t n = 0; n < FIRST;) {
        bandit_pick pick = learner_pick(engine);
        bandit_arms_coded(arms, pick.arm, points[n]);
        results[n++] = learner_result(&pick, 1.0);
        if (n < 3 || o->n_sources == 0)
            continue;
        learner_begin(engine, results + told, n - told);
        told = n;
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* Where sources contradict each other, the picks are those of a study without sources while none of them counts. */
static void first_picks_where_sources_contradict_each_other(void **unused)
{
    (void)unused;
    made_source rising, falling;
    make_source(&rising, 1.0, 0.2);
    make_source(&falling, -1.0, 0.0);
    const bandit_source list[] = {rising.source, falling.source};
    double none[FIRST][DIMENSION], some[FIRST][DIMENSION];
    bandit_options o = options_of(NULL, 0, BANDIT_TRUST_AGREEMENT);
    first_picks(&o, none);
    o = options_of(list, 2, BANDIT_TRUST_AGREEMENT);
    first_picks(&o, some);
    assert_memory_equal(some, none, sizeof none);
    o = options_of(list, 2, BANDIT_TRUST_EVIDENCE);
    first_picks(&o, some);
    assert_memory_not_equal(some[0], none[0], sizeof *none);
    assert_memory_not_equal(some[3], none[3], 3 * sizeof *none);
    o = options_of(list, 1, BANDIT_TRUST_AGREEMENT);
    first_picks(&o, some);
    assert_memory_not_equal(some[0], none[0], sizeof *none);
}

/* The mean at a point after RESULTS values that fall by orders of magnitude. */
static double mean_at(const bandit_options *o, const double *point)
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_engine *engine;
    bandit_prediction p;
    bandit_error err;
    bandit_result results[RESULTS];
    for (size_t i = 0; i < RESULTS; i++) {
        double x[] = {fmod(0.5 + 0.618034 * (double)i, 1.0), fmod(0.5 + 0.414214 * (double)i, 1.0)};
        must(bandit_arms_append(arms, x, 1, &err), &err);
        results[i] =
            (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = -exp(9.0 * x[0] + 3.0 * x[1])};
    }
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    learner_begin(engine, results, RESULTS);
    must(bandit_engine_predict_points(engine, point, 1, &p, &err), &err);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return p.mean;
}

/* Also in the unit of the warp, which may be finer at an even number of results. */
static void a_fit_in_which_no_source_counts_is_one_without_sources(void **unused)
{
    (void)unused;
    const double point[] = {0.05, 0.3};
    made_source flat;
    make_source(&flat, 0.0, 0.0);
    bandit_options o = options_of(NULL, 0, BANDIT_TRUST_AGREEMENT);
    double without = mean_at(&o, point);
    o = options_of(&flat.source, 1, BANDIT_TRUST_AGREEMENT);
    assert_true(mean_at(&o, point) == without);
    o = options_of(&flat.source, 1, BANDIT_TRUST_EVIDENCE);
    assert_true(mean_at(&o, point) != without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_sources_contradict_each_other),
        cmocka_unit_test(first_picks_where_sources_contradict_each_other),
        cmocka_unit_test(a_fit_in_which_no_source_counts_is_one_without_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
