/* Every fast path of BBKB against the plain one, on random problems: each version of the inner loops, and
 * batches in which most arms are left out. BANDIT_TEST_FULL=1 runs ten times as many.
 *
 * The plain path: kernel entries by the C library's functions, two triangular solves an arm for mean and
 * variance, and, at every pick, the values of all arms under the picks before it. */
#include "bandit/engine.h"
#include "core/algorithms/bbkb.h"
#include "core/selection/selection.h"
#include "tests/support/must.h"
#include "tests/support/problem_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct plain_path {
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_selector selector;
    double *mean, *variance, *value; /* n */
    uint32_t n, best;                /* the arm to pick, ties to the lowest index */
    double width;
} plain_path;

static void plain_path_evaluate(plain_path *p)
{
    p->best = 0;
    for (uint32_t a = 0; a < p->n; a++) {
        p->value[a] = bandit_selector_value(&p->selector, a);
        if (p->value[a] > p->value[p->best])
            p->best = a;
    }
}

/* Of the batch that `engine` has in force, before its first pick. false: it has no model. */
static bool plain_path_init(plain_path *p, const random_problem *problem, const bandit_engine *engine)
{
    bandit_checkpoint checkpoint;
    bandit_description description;
    bandit_error err;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_engine_describe(engine, &description);
    *p = (plain_path){.n = (uint32_t)problem->n, .width = description.beta};
    if (checkpoint.n_sums == 0)
        return false;
    must(bandit_covariance_init(&p->covariance, &problem->options.kernel, problem->arms, &err), &err);
    p->covariance.simd = bandit_simd_named("plain");
    must(bandit_posterior_build(&p->posterior, &p->covariance, problem->options.lambda, checkpoint.dictionary,
                                checkpoint.n_dictionary, checkpoint.sums, checkpoint.n_sums, &err),
         &err);
    p->mean = malloc(3 * problem->n * sizeof *p->mean);
    assert_non_null(p->mean);
    p->variance = p->mean + problem->n;
    p->value = p->mean + 2 * problem->n;
    must(bandit_posterior_evaluate_all(&p->posterior, &bandit_executor_serial, p->mean, p->variance, &err),
         &err);
    must(bandit_selector_start(&p->selector, &p->posterior, p->width, p->mean, p->variance, &err), &err);
    return true;
}

static void plain_path_clear(plain_path *p)
{
    bandit_selector_clear(&p->selector);
    bandit_posterior_clear(&p->posterior);
    bandit_covariance_clear(&p->covariance);
    free(p->mean);
}

/* Two studies that were told the same: `plain`, whose engine computes plainly, and `fast`. */
typedef struct comparison {
    size_t picks, studies;
    size_t near_ties; /* where they part */
    size_t beyond;    /* of these: further than 1e-9 from the best, within the entries' rounding */
} comparison;

enum { NEVER_PARTS, MAY_PART, MAY_PART_BY_ROUNDING };

static const double NEAR = 1e-9;

/* What an arm's value may be off when kernel entries are, by a unit in their last place: what the posterior
 * says of the rounding of its own. Beyond NEAR it is asked for under lambda = 1e-8 only, where the variances'
 * scale is the entries' times 1e8. */
static double rounding_of(const plain_path *p, uint32_t arm)
{
    double deviation = fmax(0.0, (p->value[arm] - p->mean[arm]) / p->width);
    return p->posterior.mean_error +
           p->width * (sqrt(deviation * deviation + p->posterior.variance_error) - deviation);
}

/* They part before pick `at`: did both come to an end there, within rounding, or pick among equals? */
static void check_parting(plain_path *path, const problem_study *plain, bandit_selection of_plain,
                          const bandit_pick *a, bandit_selection of_fast, const bandit_pick *b, size_t at,
                          int parts, comparison *counts)
{
    const random_problem *problem = plain->problem;
    double gap, near, rounding = 0.0;
    plain_path_evaluate(path);
    if (at < of_plain.n_picks && at < of_fast.n_picks) {
        double best = path->value[path->best];
        assert_int_equal(a[at].arm, path->best);
        gap = best - path->value[b[at].arm];
        near = NEAR * (1.0 + fabs(best));
        rounding = rounding_of(path, a[at].arm) + rounding_of(path, b[at].arm);
    } else { /* the sum that ends one batch is as near to its bound */
        const bandit_selection *ended = at == of_plain.n_picks ? &of_plain : &of_fast;
        assert_int_equal(ended->stop_rule, BANDIT_STOP_GLOBAL);
        gap = fabs(1.0 + path->selector.total - problem->options.ratio_bound);
        near = NEAR * (1.0 + problem->options.ratio_bound);
        rounding = (double)path->selector.n_out * path->posterior.variance_error;
    }
    counts->near_ties++;
    counts->beyond += gap > near;
    if (parts == NEVER_PARTS || gap > (parts == MAY_PART ? near : fmax(near, rounding)))
        fail_msg("problem %d: parts from plain at pick %zu, %.3g from the best; %.3g is near, %.3g rounding",
                 (int)problem->seed, at, gap, near, rounding);
}

/* The batches that both have chosen. The plain engine's picks are those of the plain path, and so are the
 * fast one's, or else, where `parts` says that they may part, check_parting is right. `all`: every pick of
 * the plain engine is held against the plain path, not only the one where they part. -> whether the batches
 * are equal. */
static bool compare_batches(const problem_study *plain, bandit_selection of_plain, const bandit_pick *a,
                            bandit_selection of_fast, const bandit_pick *b, bool all, int parts,
                            comparison *counts)
{
    size_t n = of_plain.n_picks, m = of_fast.n_picks, same = 0;
    plain_path path;
    while (same < n && same < m && a[same].arm == b[same].arm)
        same++;
    bool equal = same == n && same == m;
    counts->picks += same;
    if ((equal && !all) || !plain_path_init(&path, plain->problem, plain->engine)) {
        assert_true(equal);
        return true;
    }
    for (size_t k = 0; k < same; k++) {
        if (all) {
            plain_path_evaluate(&path);
            assert_int_equal(a[k].arm, path.best);
        }
        bandit_selector_hallucinate(&path.selector, a[k].arm);
    }
    if (!equal)
        check_parting(&path, plain, of_plain, a, of_fast, b, same, parts, counts);
    plain_path_clear(&path);
    return equal;
}

static void report(const char *what, const comparison *counts)
{
    print_message("%s: %zu studies, %zu picks, %zu near-ties, %zu of them by more than 1e-9\n", what,
                  counts->studies, counts->picks, counts->near_ties, counts->beyond);
    assert_true(counts->near_ties * 100 < counts->picks);
}

/* The version with the plain form's kernel entries: then nothing rounds in another way what decides, and no
 * pick differs. With its own, which differ in the last place, studies may part: under small lambda, and where
 * candidates are tied. */
static bandit_simd with_entries_of(const bandit_simd *version, bool own)
{
    bandit_simd out = *version;
    if (!own)
        out.entries = bandit_simd_plain.entries;
    return out;
}

static int how_they_part(bool own, double lambda, bool ties)
{
    if (!own)
        return NEVER_PARTS;
    if (lambda < 1e-4)
        return MAY_PART_BY_ROUNDING;
    return ties ? MAY_PART : NEVER_PARTS;
}

static const char *const versions[] = {"avx512", "avx2", "portable"};

/* The same problem_study under each version of the inner loops that this processor runs and under the plain
 * form. Where picks part, the studies end. */
static void compare_version(size_t i, bool own, comparison *counts)
{
    static const double lambdas[] = {1e-8, 1e-4, 1e-2, 1.0, 10.0};
    const bandit_simd *version = bandit_simd_named(versions[i % 3]);
    random_problem problem;
    problem_study plain, fast;
    if (!version)
        return;
    bandit_simd simd = with_entries_of(version, own);
    varied_problem_init(&problem, i, lambdas[i % 5]);
    varied_problem_algorithm(&problem, i);
    problem_study_init(&plain, &problem);
    problem_study_init(&fast, &problem);
    plain.engine->covariance.simd = bandit_simd_named("plain");
    fast.engine->covariance.simd = &simd;
    int parts = how_they_part(own, problem.options.lambda, varied_problem_has_ties(i));
    bool equal = true;
    for (int batch = 0; batch < 10 && equal; batch++) {
        bandit_pick a[STUDY_PICKS], b[STUDY_PICKS];
        problem_study_begin(&plain, &bandit_executor_serial);
        problem_study_begin(&fast, &bandit_executor_serial);
        bandit_selection of_plain = problem_study_choose(&plain, STUDY_PICKS, a),
                         of_fast = problem_study_choose(&fast, STUDY_PICKS, b);
        equal = compare_batches(&plain, of_plain, a, of_fast, b, own, parts, counts);
        problem_study_tell(&plain, a, of_plain.n_picks);
        problem_study_tell(&fast, b, of_fast.n_picks);
    }
    counts->studies++;
    bandit_engine_free(plain.engine);
    bandit_engine_free(fast.engine);
    random_problem_clear(&problem);
}

static void versions_pick_alike(void **state)
{
    comparison own = {0}, shared = {0};
    (void)state;
    for (size_t i = 0; i < problems(210); i++) {
        compare_version(i, true, &own);
        compare_version(i, false, &shared);
    }
    report("own kernel entries", &own);
    report("the plain form's", &shared);
}

static size_t arms_left_out(const problem_study *s)
{
    const bandit_bbkb_batch *batch = bandit_bbkb_in_force(s->engine);
    return batch->has_model ? bandit_bbkb_left_out(batch, bandit_arms_count(s->problem->arms)) : 0;
}

/* Enough arms that most are left out at a batch's start (screening.h): the picks of the plain form, which
 * leaves out none. A restored engine, which begins without a reference, goes on with the same bits. */
static void compare_screened(size_t i, bool own, comparison *counts, size_t *batches, size_t *screened)
{
    static const double lambdas[] = {1e-8, 1e-4, 1e-2, 1.0, 10.0};
    static const unsigned trouble[] = {0, PROBLEM_DUPLICATES, PROBLEM_GRID, PROBLEM_CONSTANT};
    const bandit_simd *version = bandit_simd_named(versions[i % 3]);
    random_problem problem;
    problem_study plain, fast;
    if (!version)
        return;
    bandit_simd simd = with_entries_of(version, own);
    random_problem_init(&problem, 700 + i, 1500 + 97 * (i % 9), 1 + i % 4, varied_kernel(i / 2),
                        lambdas[i % 5], trouble[i / 3 % 4]);
    problem.options.ratio_bound = i % 2 ? 1.2 : 3.0;
    problem.options.max_batch = 1 + i % STUDY_PICKS;
    problem.options.confidence = i % 4 ? BANDIT_CONFIDENCE_FIXED : BANDIT_CONFIDENCE_PRACTICAL;
    problem.options.beta = 0.4 * sqrt(problem.options.lambda);
    problem.options.algorithm = i % 6 == 5 ? BANDIT_BKB : BANDIT_BBKB;
    problem.options.resample = (bandit_resample)(i / 2 % 3);
    problem_study_init(&plain, &problem);
    problem_study_init(&fast, &problem);
    plain.engine->covariance.simd = bandit_simd_named("plain");
    fast.engine->covariance.simd = &simd;
    int parts = how_they_part(own, problem.options.lambda, i / 3 % 4 != 0);
    bool equal = true;
    for (int batch = 0; batch < 16 && equal; batch++) {
        bandit_pick a[STUDY_PICKS], b[STUDY_PICKS], c[STUDY_PICKS];
        problem_study_begin(&plain, &bandit_executor_serial);
        problem_study_begin(&fast, &bandit_executor_serial);
        *batches += 1;
        size_t left_out = arms_left_out(&fast);
        assert_true(left_out < bandit_arms_count(problem.arms)); /* the best of them is looked at */
        *screened += left_out > 0;
        assert_int_equal(arms_left_out(&plain), 0);
        bandit_selection of_plain = problem_study_choose(&plain, STUDY_PICKS, a), of_fast;
        problem_study other = {.problem = &problem};
        if (own) { /* what is restored has the entries of the version of that name */
            other.engine = problem_study_restored(&problem, fast.engine, NULL, 0, &bandit_executor_serial);
        }
        of_fast = problem_study_choose(&fast, STUDY_PICKS, b);
        if (own) {
            assert_int_equal(problem_study_choose(&other, STUDY_PICKS, c).n_picks, of_fast.n_picks);
            bandit_engine_free(other.engine);
            for (size_t k = 0; k < of_fast.n_picks; k++) {
                assert_int_equal(b[k].arm, c[k].arm);
                assert_memory_equal(&b[k].variance, &c[k].variance, sizeof(double));
            }
        }
        equal = compare_batches(&plain, of_plain, a, of_fast, b, false, parts, counts);
        problem_study_tell(&plain, a, of_plain.n_picks);
        problem_study_tell(&fast, b, of_fast.n_picks);
    }
    counts->studies++;
    bandit_engine_free(plain.engine);
    bandit_engine_free(fast.engine);
    random_problem_clear(&problem);
}

static void screened_batches_pick_alike(void **state)
{
    size_t batches = 0, screened = 0;
    comparison own = {0}, shared = {0};
    (void)state;
    for (size_t i = 0; i < problems(repeats(60, 12)); i++) {
        compare_screened(i, true, &own, &batches, &screened);
        compare_screened(i, false, &shared, &batches, &screened);
    }
    report("own kernel entries", &own);
    report("the plain form's", &shared);
    print_message("arms left out in %zu of %zu batches\n", screened, batches);
    assert_true(screened * 4 > batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_pick_alike),
        cmocka_unit_test(screened_batches_pick_alike),
    };
    return cmocka_run_group_tests_name("bbkb: paths", tests, NULL, NULL);
}
