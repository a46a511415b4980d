/* BBKB's picks and where its batches end, against everything recomputed densely at every pick, on random
 * problems with duplicates, near-duplicates, grids and constant features. BANDIT_TEST_FULL=1 runs ten times
 * as many. */
#include "bandit/engine.h"
#include "core/selection/selection.h"
#include "tests/support/dense_reference.h"
#include "tests/support/must.h"
#include "tests/support/problem_study.h"

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

/* ---- lazy picks ---------------------------------------------------------------------------------------- */

typedef struct tally {
    size_t picks, near_ties, batches, ambiguous;
} tally;

static bool equal_points(const random_problem *p, uint32_t a, uint32_t b)
{
    for (size_t j = 0; j < p->d; j++) {
        if (p->rows[a * p->d + j] != p->rows[b * p->d + j])
            return false;
    }
    return true;
}

/* One pick: the arm with the largest value in `reference`, or one that comes within rounding of it. */
static void check_pick(const random_problem *p, const dense_posterior *reference, double alpha, uint32_t pick,
                       double tolerance, tally *counts)
{
    double best = -INFINITY, picked = -INFINITY, allowed = -INFINITY;
    uint32_t best_arm = 0;
    for (uint32_t a = 0; a < p->n; a++) {
        double value = reference->mean[a] + alpha * sqrt(fmax(0.0, reference->variance[a]));
        if (value > best) {
            best = value;
            best_arm = a;
        }
        if (a == pick) { /* the root makes much of a small variance's rounding */
            double variance = fmax(0.0, reference->variance[a]);
            picked = value;
            allowed = reference->mean[a] + alpha * sqrt(variance + tolerance * (1.0 + variance));
        }
        if (a < pick && equal_points(p, a, pick))
            fail_msg("arm %u picked although %u is the same point", pick, a);
    }
    counts->picks++;
    counts->near_ties += best_arm != pick;
    if (best - allowed > tolerance * (1.0 + fabs(best)))
        fail_msg("problem %d: picked %u of value %.15g, best is %u of value %.15g", (int)p->seed - 100, pick,
                 picked, best_arm, best);
}

static void check_batch(problem_study *s, double tolerance, tally *counts)
{
    const random_problem *p = s->problem;
    bandit_pick picks[STUDY_PICKS];
    bandit_checkpoint checkpoint;
    bandit_description description;
    dense_posterior reference;
    bandit_selection selection = problem_study_choose(s, STUDY_PICKS, picks);
    bandit_engine_checkpoint(s->engine, &checkpoint);
    bandit_engine_describe(s->engine, &description);

    if (checkpoint.n_sums == 0) {
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        problem_study_tell(s, picks, selection.n_picks);
        return;
    }
    dense_posterior_init(&reference, p, checkpoint.dictionary, checkpoint.n_dictionary, checkpoint.sums,
                         checkpoint.n_sums);
    if (reference.ambiguous) { /* no reference: what is dropped decides far from the dictionary */
        counts->ambiguous++;
        dense_posterior_clear(&reference);
        problem_study_tell(s, picks, selection.n_picks);
        return;
    }
    counts->batches++;
    double total = 0.0, *start = malloc(p->n * sizeof *start);
    assert_non_null(start);
    memcpy(start, reference.variance, p->n * sizeof *start);
    for (size_t i = 0; i < selection.n_picks; i++) {
        assert_true(1.0 + total <=
                    p->options.ratio_bound * (1.0 + tolerance)); /* the bound held before the pick */
        check_pick(p, &reference, description.beta, picks[i].arm, tolerance, counts);
        double expected = start[picks[i].arm];
        assert_true(picks[i].variance >= 0.0);
        if (fabs(picks[i].variance - expected) > tolerance * (1.0 + expected))
            fail_msg("problem %d: variance %.15g, not %.15g", (int)p->seed, picks[i].variance, expected);
        total += picks[i].variance;
        dense_posterior_hallucinate(&reference, picks[i].arm);
    }
    assert_true(fabs(selection.ratio - 1.0 - total) <= 1e-12 * selection.ratio);
    if (selection.stop_rule == BANDIT_STOP_GLOBAL)
        assert_true(selection.ratio > p->options.ratio_bound);
    else
        assert_true(selection.stop_rule == BANDIT_STOP_MAX_BATCH &&
                    selection.n_picks == p->options.max_batch && selection.ratio <= p->options.ratio_bound);
    free(start);
    dense_posterior_clear(&reference);
    problem_study_tell(s, picks, selection.n_picks);
}

static void lazy_picks_equal_full_recomputation(void **state)
{
    static const double lambdas[] = {1e-4, 1e-2, 1.0, 10.0};
    tally counts = {0};
    (void)state;
    for (size_t i = 0; i < problems(140); i++) {
        random_problem problem;
        problem_study run;
        varied_problem_init(&problem, i, lambdas[i % 4]);
        problem_study_init(&run, &problem);
        for (int batch = 0; batch < 12; batch++) {
            problem_study_begin(&run, &bandit_executor_serial);
            /* Pivoted Cholesky and eigenvalues drop different directions, worth 1e-10 kappa^2 / lambda. */
            check_batch(&run, 1e-7 + 1e-9 / problem.options.lambda, &counts);
        }
        bandit_engine_free(run.engine);
        random_problem_clear(&problem);
    }
    print_message("%zu picks, %zu near-ties\n", counts.picks, counts.near_ties);
    print_message("%zu batches, %zu without a reference\n", counts.batches, counts.ambiguous);
    assert_true(counts.picks > 2000 && counts.near_ties * 100 < counts.picks);
    assert_true(counts.ambiguous * 5 < counts.batches);
}

/* ---- where global-local batches end -------------------------------------------------------------------- */

/* The two sums of Lemma 3 for every arm, one pick after the other, from z and V. */
typedef struct local_sums {
    double *projected, *covariance; /* of every arm */
    double *start;                  /* variances of the batch's start */
    double *inverse;                /* V^{-1} */
    double total;                   /* 1 + the picks' variances */
} local_sums;

static void local_sums_init(local_sums *l, const dense_posterior *p)
{
    int m = (int)p->m;
    l->projected = calloc(3 * p->n, sizeof *l->projected);
    l->inverse = malloc(p->m * p->m * sizeof *l->inverse);
    assert_true(l->projected && l->inverse);
    l->covariance = l->projected + p->n;
    l->start = l->projected + 2 * p->n;
    l->total = 1.0;
    memcpy(l->start, p->variance, p->n * sizeof *l->start);
    memcpy(l->inverse, p->V, p->m * p->m * sizeof *l->inverse);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', m, l->inverse, m), 0);
    assert_int_equal(LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', m, l->inverse, m), 0);
    for (size_t j = 0; j < p->m; j++)
        for (size_t i = 0; i < j; i++)
            l->inverse[j * p->m + i] = l->inverse[i * p->m + j];
}

static void local_sums_pull(local_sums *l, const random_problem *problem, const dense_posterior *p,
                            uint32_t s)
{
    int m = (int)p->m;
    double *v = malloc(p->m * sizeof *v);
    const double *z_s = p->Z + s * p->m;
    assert_non_null(v);
    /* Not dsymv: some kernels of OpenBLAS reach beyond the result (see bandit_symmetric_times_vector). */
    cblas_dgemv(CblasColMajor, CblasNoTrans, m, m, 1.0, l->inverse, m, z_s, 1, 0.0, v, 1);
    for (uint32_t a = 0; a < p->n; a++) {
        double w = cblas_ddot(m, p->Z + a * p->m, 1, v, 1);
        double rest = random_problem_kernel(problem, a, s) - cblas_ddot(m, p->Z + a * p->m, 1, z_s, 1);
        l->projected[a] += w * w;
        l->covariance[a] += (rest / p->lambda + w) * (rest / p->lambda + w);
    }
    l->total += l->start[s];
    free(v);
}

static double local_sums_ratio(const local_sums *l, const dense_posterior *p)
{
    double largest = 0.0;
    for (size_t a = 0; a < p->n; a++) {
        if (l->start[a] > 1e-6)
            largest = fmax(largest, fmax(l->projected[a], l->covariance[a]) / l->start[a]);
    }
    return 1.0 + largest;
}

/* At the pick after which both bounds have failed: not before, not after, in runs of up to thousands. Picks
 * taken one a call end there, too. */
static void global_local_batches_end_at_the_bound(void **state)
{
    enum { CAPACITY = 4096 };
    static bandit_pick picks[CAPACITY], single[CAPACITY];
    static bandit_result results[CAPACITY];
    uint64_t longest = 0, beyond_global = 0, ended = 0;
    (void)state;
    for (size_t i = 0; i < problems(24); i++) {
        random_problem p;
        bandit_engine *engine, *other;
        bandit_error err;
        bandit_checkpoint checkpoint;
        size_t n_results = 0;
        random_problem_init(&p, 900 + i, 30 + i % 30, 1 + i % 3, varied_kernel(i / 2), i % 2 ? 0.05 : 1.0,
                            i % 3 ? 0 : PROBLEM_DUPLICATES);
        p.options.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
        p.options.ratio_bound = i % 4 ? 2.0 : 5.0;
        p.options.confidence = BANDIT_CONFIDENCE_FIXED;
        p.options.beta = 0.3 * sqrt(p.options.lambda);
        p.options.max_batch = CAPACITY;
        must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
        must(bandit_engine_new(&other, p.arms, &p.options, 0, &err), &err);
        for (int batch = 0; batch < 8; batch++) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection selection, last;
            size_t n = 0;
            must(
                bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, &err),
                &err);
            must(bandit_engine_begin_batch(other, results, n_results, NULL, 0, &bandit_executor_serial, &err),
                 &err);
            limits.max_picks = CAPACITY;
            must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err),
                 &err);
            do {
                limits.max_picks = 1 + n % 7;
                must(bandit_engine_select(other, &limits, &bandit_executor_serial, single + n, &last, &err),
                     &err);
                n += last.n_picks;
            } while (last.stop_rule == BANDIT_STOP_NONE);
            assert_int_equal(n, selection.n_picks);
            assert_int_equal(last.stop_rule, selection.stop_rule);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(picks[k].arm, single[k].arm);

            bandit_engine_checkpoint(engine, &checkpoint);
            if (checkpoint.n_sums > 0) {
                dense_posterior reference;
                local_sums sums;
                uint64_t run = 0;
                dense_posterior_init(&reference, &p, checkpoint.dictionary, checkpoint.n_dictionary,
                                     checkpoint.sums, checkpoint.n_sums);
                local_sums_init(&sums, &reference);
                for (size_t k = 0; k < n; k++) {
                    double bound = p.options.ratio_bound;
                    assert_false(sums.total > bound * (1.0 + 1e-6) &&
                                 local_sums_ratio(&sums, &reference) > bound * (1.0 + 1e-6));
                    beyond_global += sums.total > bound;
                    run = k > 0 && picks[k].arm == picks[k - 1].arm ? run + 1 : 1;
                    longest = run > longest ? run : longest;
                    local_sums_pull(&sums, &p, &reference, picks[k].arm);
                }
                if (selection.stop_rule == BANDIT_STOP_GLOBAL_LOCAL) {
                    ended++;
                    assert_true(sums.total > p.options.ratio_bound * (1.0 - 1e-6));
                    assert_true(local_sums_ratio(&sums, &reference) > p.options.ratio_bound * (1.0 - 1e-6));
                }
                free(sums.projected);
                free(sums.inverse);
                dense_posterior_clear(&reference);
            }
            n_results = n;
            for (size_t k = 0; k < n; k++)
                results[k] = (bandit_result){.arm = picks[k].arm,
                                             .repeats = 1,
                                             .reward = random_problem_reward(&p, picks[k].arm, k),
                                             .chosen = true,
                                             .variance = picks[k].variance};
        }
        bandit_engine_free(engine);
        bandit_engine_free(other);
        random_problem_clear(&p);
    }
    print_message("%d batches, %d picks past the global bound, %d of one arm in a row\n", (int)ended,
                  (int)beyond_global, (int)longest);
    assert_true(ended > 60 && beyond_global > 500 && longest > 500);
}

/* ---- variances inside a batch -------------------------------------------------------------------------- */

/* All arms after every pick of a long random sequence, few and many distinct picks (more than the dictionary
 * has members), runs of repeats: never negative, never larger than before, and as solved afresh. */
static void variances_only_shrink(void **state)
{
    static const double lambdas[] = {1e-8, 1e-4, 1e-2, 10.0};
    enum { PICKS = 60 };
    (void)state;
    for (size_t i = 0; i < problems(40); i++) {
        random_problem problem;
        bandit_error err;
        bandit_covariance covariance;
        bandit_posterior posterior = {0};
        bandit_selector selector = {0};
        dense_posterior reference;
        uint32_t dictionary[9];
        bandit_arm_sum sums[9];
        varied_problem_init(&problem, i, lambdas[i % 4]);
        size_t n = problem.n, m = 1 + i % 9;
        for (uint32_t k = 0; k < m; k++) {
            dictionary[k] = (uint32_t)(k * (n / m));
            sums[k] = (bandit_arm_sum){.arm = dictionary[k], .count = 1 + k % 3, .sum = 0.5};
        }
        double *values = malloc(4 * n * sizeof *values), *mean = values + n, *variance = values + 2 * n;
        assert_non_null(values);
        must(bandit_covariance_init(&covariance, &problem.options.kernel, problem.arms, &err), &err);
        must(bandit_posterior_build(&posterior, &covariance, problem.options.lambda, dictionary, m, sums, m,
                                    &err),
             &err);
        must(bandit_posterior_evaluate_all(&posterior, &bandit_executor_serial, mean, variance, &err), &err);
        must(bandit_selector_start(&selector, &posterior, 1.0, mean, variance, &err), &err);
        dense_posterior_init(&reference, &problem, dictionary, m, sums, m);
        for (uint32_t a = 0; a < n; a++)
            values[a] = bandit_selector_value(&selector, a);
        double tolerance = 1e-7 + 1e-9 / problem.options.lambda;
        for (size_t k = 0; k < PICKS; k++) {
            uint32_t arm = (uint32_t)(random_problem_uniform(&problem, 400, i % 2 ? k / 7 : k) * (double)n);
            bandit_selector_hallucinate(&selector, arm);
            dense_posterior_hallucinate(&reference, arm);
            for (uint32_t a = 0; a < n; a++) {
                double value = bandit_selector_value(&selector, a), slack = 1e-12 * (1.0 + fabs(values[a]));
                double expected = fmax(0.0, reference.variance[a]), spread = value - mean[a];
                assert_true(value <= values[a] + slack);
                assert_true(value >= mean[a] - slack);
                /* At lambda = 1e-8 the reference's own eigenvalues are not exact enough to compare with. */
                if (problem.options.lambda > 1e-8 &&
                    fabs(spread * spread - expected) > tolerance * (1.0 + expected))
                    fail_msg("problem %zu, pick %zu: variance %.15g, not %.15g", i, k, spread * spread,
                             expected);
                values[a] = value;
            }
        }
        free(values);
        dense_posterior_clear(&reference);
        bandit_selector_clear(&selector);
        bandit_posterior_clear(&posterior);
        bandit_covariance_clear(&covariance);
        random_problem_clear(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lazy_picks_equal_full_recomputation),
        cmocka_unit_test(global_local_batches_end_at_the_bound),
        cmocka_unit_test(variances_only_shrink),
    };
    return cmocka_run_group_tests_name("bbkb: picks", tests, NULL, NULL);
}
