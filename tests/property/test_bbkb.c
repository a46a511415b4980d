/* What must hold for BBKB on every problem, checked on random ones with duplicates, near-duplicates, grids
 * and constant features. BANDIT_TEST_FULL=1 runs ten times as many. */
#include "algorithms/bbkb.h"
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "selection.h"
#include "tests/support/dense_reference.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"

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

enum { MAX_PICKS = 64 };

static size_t problems(size_t sample)
{
    const char *full = getenv("BANDIT_TEST_FULL");
    return full && strcmp(full, "1") == 0 ? 10 * sample : sample;
}

static bandit_kernel_type kernel_of(size_t i)
{
    static const bandit_kernel_type types[] = {BANDIT_KERNEL_GAUSSIAN, BANDIT_KERNEL_MATERN,
                                               BANDIT_KERNEL_MATERN, BANDIT_KERNEL_LINEAR};
    return types[i % 4];
}

/* A problem of the given number, varied in every way that matters. */
static void make_problem(random_problem *p, size_t i, double lambda)
{
    static const unsigned trouble[] = {0,
                                       PROBLEM_DUPLICATES,
                                       PROBLEM_GRID,
                                       PROBLEM_DUPLICATES | PROBLEM_GRID,
                                       PROBLEM_CONSTANT,
                                       PROBLEM_PRECOMPUTED,
                                       PROBLEM_DUPLICATES | PROBLEM_CONSTANT};
    random_problem_init(p, 100 + i, 20 + (i * 7) % 61, 1 + i % 4, kernel_of(i), lambda, trouble[i % 7]);
    static const double bounds[] = {1.0, 1.1, 2.0, 5.0, 30.0};
    p->options.ratio_bound = bounds[(i / 3) % 5];
    p->options.confidence = (bandit_confidence)(i % 3);
    p->options.beta = 0.7;
    p->options.resample = (bandit_resample)(i / 2 % 3);
    p->options.max_batch = i % 6 == 0 ? 17 : MAX_PICKS;
}

/* The other algorithm, rule and start. */
static void vary_algorithm(random_problem *p, size_t i)
{
    if (i % 7 == 3)
        p->options.algorithm = BANDIT_BKB;
    if (i % 4 == 1)
        p->options.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
    if (i % 5 == 2) {
        p->options.init = BANDIT_INIT_UNCERTAINTY;
        p->options.parallelism = 0.05 * p->options.lambda;
    }
}

/* Did make_problem put arms on a grid or near each other? */
static bool problem_has_ties(size_t i)
{
    return i % 7 == 1 || i % 7 == 2 || i % 7 == 3 || i % 7 == 6;
}

/* ---- a study driven by the test --------------------------------------------------------------------------
 */

typedef struct study {
    const random_problem *problem;
    bandit_engine *engine;
    bandit_result results[MAX_PICKS];
    size_t n_results;
    uint64_t t;
} study;

static void study_init(study *s, const random_problem *problem)
{
    bandit_error err;
    *s = (study){.problem = problem};
    must(bandit_engine_new(&s->engine, problem->arms, &problem->options, 0, &err), &err);
}

static void begin(study *s, const bandit_executor *executor)
{
    bandit_error err;
    must(bandit_engine_begin_batch(s->engine, s->results, s->n_results, NULL, 0, executor, &err), &err);
    s->n_results = 0;
}

static bandit_selection choose(study *s, size_t max_picks, bandit_pick *picks)
{
    bandit_error err;
    bandit_selection selection;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = max_picks;
    must(bandit_engine_select(s->engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection;
}

static void tell(study *s, const bandit_pick *picks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->t++;
        if (s->t % 11 == 0)
            continue; /* a failed trial: its result never joins */
        s->results[s->n_results++] =
            (bandit_result){.arm = picks[i].arm,
                            .repeats = 1 + (s->t % 13 == 0),
                            .reward = random_problem_reward(s->problem, picks[i].arm, s->t),
                            .chosen = true,
                            .variance = picks[i].variance};
    }
}

/* ---- lazy picks against everything recomputed -------------------------------------------------------------
 */

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

static void check_batch(study *s, double tolerance, tally *counts)
{
    const random_problem *p = s->problem;
    bandit_pick picks[MAX_PICKS];
    bandit_checkpoint checkpoint;
    bandit_description description;
    dense_posterior reference;
    bandit_selection selection = choose(s, MAX_PICKS, picks);
    bandit_engine_checkpoint(s->engine, &checkpoint);
    bandit_engine_describe(s->engine, &description);

    if (checkpoint.n_sums == 0) {
        assert_int_equal(selection.n_picks, 1);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        tell(s, picks, selection.n_picks);
        return;
    }
    dense_posterior_init(&reference, p, checkpoint.dictionary, checkpoint.n_dictionary, checkpoint.sums,
                         checkpoint.n_sums);
    if (reference.ambiguous) { /* no reference: what is dropped decides far from the dictionary */
        counts->ambiguous++;
        dense_posterior_clear(&reference);
        tell(s, picks, selection.n_picks);
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
    tell(s, picks, selection.n_picks);
}

static void lazy_picks_equal_full_recomputation(void **state)
{
    static const double lambdas[] = {1e-4, 1e-2, 1.0, 10.0};
    tally counts = {0};
    (void)state;
    for (size_t i = 0; i < problems(140); i++) {
        random_problem problem;
        study run;
        make_problem(&problem, i, lambdas[i % 4]);
        study_init(&run, &problem);
        for (int batch = 0; batch < 12; batch++) {
            begin(&run, &bandit_executor_serial);
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

/* ---- the dictionary ---------------------------------------------------------------------------------------
 */

static void dictionaries_follow_the_drawn_numbers(void **state)
{
    size_t drawn = 0, near = 0;
    (void)state;
    for (size_t i = 0; i < problems(60); i++) {
        random_problem problem;
        study run;
        bandit_pick picks[MAX_PICKS];
        bandit_checkpoint checkpoint;
        make_problem(&problem, i, i % 2 ? 0.05 : 1.0);
        problem.options.q_bar = 0.3 + 0.2 * (double)(i % 9); /* some draws fail */
        study_init(&run, &problem);
        begin(&run, &bandit_executor_serial);
        double *variance = malloc(problem.n * sizeof *variance);
        assert_non_null(variance);
        for (size_t a = 0; a < problem.n; a++)
            variance[a] = random_problem_kernel(&problem, a, a) / problem.options.lambda;
        for (uint64_t batch = 1; batch < 12; batch++) {
            bandit_selection selection = choose(&run, MAX_PICKS, picks);
            tell(&run, picks, selection.n_picks);
            begin(&run, &bandit_executor_serial);
            bandit_engine_checkpoint(run.engine, &checkpoint);
            if (checkpoint.n_sums == 0)
                continue;
            bool any = false;
            for (size_t u = 0, k = 0; u < checkpoint.n_sums; u++) {
                uint32_t arm = checkpoint.sums[u].arm;
                double n = (double)checkpoint.sums[u].count;
                double p = fmin(1.0, problem.options.q_bar * variance[arm]);
                double inclusion = problem.options.resample != BANDIT_RESAMPLE_PER_PULL
                                       ? fmin(1.0, n * p)
                                       : 1.0 - pow(1.0 - p, n);
                uint64_t key = problem.options.resample == BANDIT_RESAMPLE_PERSISTENT ? 0 : batch;
                double number =
                    bandit_random_uniform(problem.options.seed, key, BANDIT_PURPOSE_RESAMPLE, arm);
                bool in = k < checkpoint.n_dictionary && checkpoint.dictionary[k] == arm;
                k += in;
                drawn++;
                any |= number < inclusion;
                if (fabs(number - inclusion) < 1e-8)
                    near++;
                else if (in != (number < inclusion))
                    assert_true(in && checkpoint.n_dictionary == 1);
            }
            if (!any) { /* none drawn: the pulled arm with the largest variance */
                assert_int_equal(checkpoint.n_dictionary, 1);
                for (size_t u = 0; u < checkpoint.n_sums; u++)
                    assert_true(variance[checkpoint.sums[u].arm] <=
                                variance[checkpoint.dictionary[0]] * (1.0 + 1e-9) + 1e-12);
            }
            dense_posterior reference;
            dense_posterior_init(&reference, &problem, checkpoint.dictionary, checkpoint.n_dictionary,
                                 checkpoint.sums, checkpoint.n_sums);
            memcpy(variance, reference.variance, problem.n * sizeof *variance);
            dense_posterior_clear(&reference);
        }
        free(variance);
        bandit_engine_free(run.engine);
        random_problem_clear(&problem);
    }
    assert_true(drawn > 1000 && near * 100 < drawn);
}

/* ---- all pulled arms as dictionary: the exact posterior
 * ---------------------------------------------------- */

static void full_dictionary_is_the_exact_posterior(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(40); i++) {
        random_problem problem;
        bandit_error err;
        make_problem(&problem, i, i % 2 ? 0.01 : 1.0);
        size_t n = problem.n, n_sums = 0;
        bandit_arm_sum *sums = malloc(n * sizeof *sums);
        uint32_t *dictionary = malloc(n * sizeof *dictionary);
        double *mean = malloc(4 * n * sizeof *mean), *variance = mean + n, *exact = mean + 2 * n;
        assert_true(sums && dictionary && mean);
        for (uint32_t a = 0; a < n; a++) {
            uint64_t count = (uint64_t)(4.0 * random_problem_uniform(&problem, 9000, a));
            if (count == 0)
                continue;
            dictionary[n_sums] = a;
            sums[n_sums++] =
                (bandit_arm_sum){a, count, (double)count * random_problem_reward(&problem, a, a)};
        }
        bandit_covariance covariance;
        bandit_posterior posterior = {0};
        must(bandit_covariance_init(&covariance, &problem.options.kernel, problem.arms, &err), &err);
        must(bandit_posterior_build(&posterior, &covariance, problem.options.lambda, dictionary, n_sums, sums,
                                    n_sums, &err),
             &err);
        must(bandit_posterior_evaluate_all(&posterior, &bandit_executor_serial, mean, variance, &err), &err);
        dense_exact(&problem, sums, n_sums, exact, exact + n);
        double effective_dimension = 0.0;
        for (size_t a = 0; a < n; a++) {
            assert_true(variance[a] >= 0.0);
            assert_true(fabs(mean[a] - exact[a]) < 1e-7 * (1.0 + fabs(exact[a])));
            assert_true(fabs(variance[a] - exact[n + a]) < 1e-7 * (1.0 + exact[n + a]));
        }
        for (size_t u = 0; u < n_sums; u++)
            effective_dimension += (double)sums[u].count * exact[n + sums[u].arm];
        double gain = dense_log_det(&problem, sums, n_sums);
        assert_true(fabs(posterior.effective_dimension - effective_dimension) <
                    1e-6 * (1.0 + effective_dimension));
        assert_true(fabs(posterior.log_det_ratio + posterior.residual_sum - gain) < 1e-6 * (1.0 + gain));
        bandit_posterior_clear(&posterior);
        bandit_covariance_clear(&covariance);
        free(sums);
        free(dictionary);
        free(mean);
        random_problem_clear(&problem);
    }
}

/* ---- equal to the bit
 * -------------------------------------------------------------------------------------- */

/* Parts in a scrambled order on changing workers: what any pool of threads might do. */
static void scrambled(void *context, size_t n, bandit_task *task, void *arg)
{
    size_t *state = context, step = 7919;
    while (n % step == 0)
        step += 2;
    for (size_t i = 0; i < n; i++)
        task(arg, (i * step + *state) % n, (i + *state) % 3);
    *state += 1;
}

static bandit_engine *restored(const random_problem *problem, const bandit_engine *of,
                               const bandit_pick *pending, size_t n_pending, const bandit_executor *executor)
{
    bandit_checkpoint checkpoint;
    bandit_engine *engine;
    bandit_error err;
    bandit_engine_checkpoint(of, &checkpoint);
    must(bandit_engine_restore(&engine, problem->arms, &problem->options, 0, &checkpoint, pending, n_pending,
                               executor, &err),
         &err);
    return engine;
}

/* The same study three ways: whole batches; one pick a call; destroyed and restored before every batch and in
 * the middle of each, with another executor. */
static void calls_restores_and_executors_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(60); i++) {
        random_problem problem;
        study whole, single, cut;
        size_t scramble = i;
        const bandit_executor executor = {.for_each = scrambled, .context = &scramble, .workers = 3};
        make_problem(&problem, i, i % 3 ? 0.01 : 1.0);
        vary_algorithm(&problem, i);
        study_init(&whole, &problem);
        study_init(&single, &problem);
        study_init(&cut, &problem);
        for (int batch = 0; batch < 10; batch++) {
            bandit_pick a[MAX_PICKS], b[MAX_PICKS], c[MAX_PICKS];
            bandit_error err;
            begin(&whole, &bandit_executor_serial);
            begin(&single, &bandit_executor_serial);
            begin(&cut, &executor);
            bandit_selection of_whole = choose(&whole, MAX_PICKS, a), of_single, of_cut;
            size_t n = of_whole.n_picks, done = 0;
            do {
                of_single = choose(&single, 1, b + done);
                done += of_single.n_picks;
            } while (of_single.stop_rule == BANDIT_STOP_NONE);
            assert_int_equal(done, n);

            size_t first = choose(&cut, n / 2, c).n_picks;
            bandit_engine *again = restored(&problem, cut.engine, NULL, 0, &executor);
            bandit_engine_free(cut.engine);
            cut.engine = again;
            must(bandit_engine_replay_picks(again, c, first, &executor, &err), &err);
            of_cut = choose(&cut, MAX_PICKS, c + first);
            assert_int_equal(first + of_cut.n_picks, n);
            for (size_t k = 0; k < n; k++) {
                assert_int_equal(a[k].arm, b[k].arm);
                assert_int_equal(a[k].arm, c[k].arm);
                assert_memory_equal(&a[k].variance, &b[k].variance, sizeof(double));
                assert_memory_equal(&a[k].variance, &c[k].variance, sizeof(double));
            }
            assert_memory_equal(&of_whole.ratio, &of_single.ratio, sizeof(double));
            assert_memory_equal(&of_whole.ratio, &of_cut.ratio, sizeof(double));
            assert_int_equal(of_whole.stop_rule, of_single.stop_rule);
            assert_int_equal(of_whole.stop_rule, of_cut.stop_rule);
            tell(&whole, a, n);
            tell(&single, b, n);
            tell(&cut, c, n);
            bandit_checkpoint x, y;
            bandit_engine_checkpoint(whole.engine, &x);
            bandit_engine_checkpoint(cut.engine, &y);
            assert_int_equal(x.n_state, y.n_state);
            assert_memory_equal(x.state, y.state, x.n_state);
        }
        bandit_engine_free(whole.engine);
        bandit_engine_free(single.engine);
        bandit_engine_free(cut.engine);
        random_problem_clear(&problem);
    }
}

/* Asynchronous feedback: of each batch a third is told at once, the rest is pending in the next one. A
 * restored engine, given what is pending, goes on with the same bits; the ratio counts what is pending. */
static void pending_picks_survive_a_restore(void **state)
{
    (void)state;
    for (size_t i = 0; i < problems(40); i++) {
        random_problem problem;
        study run;
        bandit_pick pending[2 * MAX_PICKS], next[MAX_PICKS], again[MAX_PICKS];
        size_t n_pending = 0;
        bandit_error err;
        make_problem(&problem, i, i % 3 ? 0.05 : 1.0);
        vary_algorithm(&problem, i);
        problem.options.ratio_bound = 4.0;
        study_init(&run, &problem);
        for (int batch = 0; batch < 12; batch++) {
            must(bandit_engine_begin_batch(run.engine, run.results, run.n_results, pending, n_pending,
                                           &bandit_executor_serial, &err),
                 &err);
            run.n_results = 0;
            bandit_engine *other =
                restored(&problem, run.engine, pending, n_pending, &bandit_executor_serial);
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection a, b;
            limits.max_picks = MAX_PICKS / 2;
            must(bandit_engine_select(run.engine, &limits, &bandit_executor_serial, next, &a, &err), &err);
            must(bandit_engine_select(other, &limits, &bandit_executor_serial, again, &b, &err), &err);
            assert_int_equal(a.n_picks, b.n_picks);
            assert_int_equal(a.stop_rule, b.stop_rule);
            assert_memory_equal(&a.ratio, &b.ratio, sizeof a.ratio);
            for (size_t k = 0; k < a.n_picks; k++) {
                assert_int_equal(next[k].arm, again[k].arm);
                assert_memory_equal(&next[k].variance, &again[k].variance, sizeof(double));
            }
            double total = 1.0;
            for (size_t k = 0; k < n_pending + a.n_picks; k++) {
                bandit_prediction p;
                uint32_t arm = k < n_pending ? pending[k].arm : next[k - n_pending].arm;
                must(bandit_engine_predict_arms(run.engine, &arm, 1, &p, &err), &err);
                total += p.variance / problem.options.lambda;
            }
            assert_true(fabs(a.ratio - total) <= 1e-10 * total);
            bandit_engine_free(other);

            for (size_t k = 0; k < a.n_picks; k++)
                pending[n_pending++] = next[k];
            size_t told = (n_pending + 2) / 3;
            tell(&run, pending, told);
            n_pending -= told;
            memmove(pending, pending + told, n_pending * sizeof *pending);
        }
        bandit_engine_free(run.engine);
        random_problem_clear(&problem);
    }
}

/* ---- where global-local batches end
 * ------------------------------------------------------------------------
 */

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
}

static void local_sums_pull(local_sums *l, const random_problem *problem, const dense_posterior *p,
                            uint32_t s)
{
    int m = (int)p->m;
    double *v = malloc(p->m * sizeof *v);
    const double *z_s = p->Z + s * p->m;
    assert_non_null(v);
    cblas_dsymv(CblasColMajor, CblasLower, m, 1.0, l->inverse, m, z_s, 1, 0.0, v, 1);
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
        random_problem_init(&p, 900 + i, 30 + i % 30, 1 + i % 3, kernel_of(i / 2), i % 2 ? 0.05 : 1.0,
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

/* ---- every fast path against the plain one ---------------------------------------------------------------
 *
 * The plain path: kernel entries by the C library's functions, two triangular solves an arm for mean and
 * variance, and, at every pick, the values of all arms under the picks before it. */

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
static void check_parting(plain_path *path, const study *plain, bandit_selection of_plain,
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
static bool compare_batches(const study *plain, bandit_selection of_plain, const bandit_pick *a,
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

/* The same study under each version of the inner loops that this processor runs and under the plain form.
 * Where picks part, the studies end. */
static void compare_version(size_t i, bool own, comparison *counts)
{
    static const double lambdas[] = {1e-8, 1e-4, 1e-2, 1.0, 10.0};
    const bandit_simd *version = bandit_simd_named(versions[i % 3]);
    random_problem problem;
    study plain, fast;
    if (!version)
        return;
    bandit_simd simd = with_entries_of(version, own);
    make_problem(&problem, i, lambdas[i % 5]);
    vary_algorithm(&problem, i);
    study_init(&plain, &problem);
    study_init(&fast, &problem);
    plain.engine->covariance.simd = bandit_simd_named("plain");
    fast.engine->covariance.simd = &simd;
    int parts = how_they_part(own, problem.options.lambda, problem_has_ties(i));
    bool equal = true;
    for (int batch = 0; batch < 10 && equal; batch++) {
        bandit_pick a[MAX_PICKS], b[MAX_PICKS];
        begin(&plain, &bandit_executor_serial);
        begin(&fast, &bandit_executor_serial);
        bandit_selection of_plain = choose(&plain, MAX_PICKS, a), of_fast = choose(&fast, MAX_PICKS, b);
        equal = compare_batches(&plain, of_plain, a, of_fast, b, own, parts, counts);
        tell(&plain, a, of_plain.n_picks);
        tell(&fast, b, of_fast.n_picks);
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

static size_t arms_left_out(const study *s)
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
    study plain, fast;
    if (!version)
        return;
    bandit_simd simd = with_entries_of(version, own);
    random_problem_init(&problem, 700 + i, 1500 + 97 * (i % 9), 1 + i % 4, kernel_of(i / 2), lambdas[i % 5],
                        trouble[i / 3 % 4]);
    problem.options.ratio_bound = i % 2 ? 1.2 : 3.0;
    problem.options.max_batch = 1 + i % MAX_PICKS;
    problem.options.confidence = i % 4 ? BANDIT_CONFIDENCE_FIXED : BANDIT_CONFIDENCE_PRACTICAL;
    problem.options.beta = 0.4 * sqrt(problem.options.lambda);
    problem.options.algorithm = i % 6 == 5 ? BANDIT_BKB : BANDIT_BBKB;
    problem.options.resample = (bandit_resample)(i / 2 % 3);
    study_init(&plain, &problem);
    study_init(&fast, &problem);
    plain.engine->covariance.simd = bandit_simd_named("plain");
    fast.engine->covariance.simd = &simd;
    int parts = how_they_part(own, problem.options.lambda, i / 3 % 4 != 0);
    bool equal = true;
    for (int batch = 0; batch < 16 && equal; batch++) {
        bandit_pick a[MAX_PICKS], b[MAX_PICKS], c[MAX_PICKS];
        begin(&plain, &bandit_executor_serial);
        begin(&fast, &bandit_executor_serial);
        *batches += 1;
        size_t left_out = arms_left_out(&fast);
        assert_true(left_out < bandit_arms_count(problem.arms)); /* the best of them is looked at */
        *screened += left_out > 0;
        assert_int_equal(arms_left_out(&plain), 0);
        bandit_selection of_plain = choose(&plain, MAX_PICKS, a), of_fast;
        study other = {.problem = &problem};
        if (own) { /* what is restored has the entries of the version of that name */
            other.engine = restored(&problem, fast.engine, NULL, 0, &bandit_executor_serial);
        }
        of_fast = choose(&fast, MAX_PICKS, b);
        if (own) {
            assert_int_equal(choose(&other, MAX_PICKS, c).n_picks, of_fast.n_picks);
            bandit_engine_free(other.engine);
            for (size_t k = 0; k < of_fast.n_picks; k++) {
                assert_int_equal(b[k].arm, c[k].arm);
                assert_memory_equal(&b[k].variance, &c[k].variance, sizeof(double));
            }
        }
        equal = compare_batches(&plain, of_plain, a, of_fast, b, false, parts, counts);
        tell(&plain, a, of_plain.n_picks);
        tell(&fast, b, of_fast.n_picks);
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
    for (size_t i = 0; i < problems(60); i++) {
        compare_screened(i, true, &own, &batches, &screened);
        compare_screened(i, false, &shared, &batches, &screened);
    }
    report("own kernel entries", &own);
    report("the plain form's", &shared);
    print_message("arms left out in %zu of %zu batches\n", screened, batches);
    assert_true(screened * 4 > batches);
}

/* ---- variances inside a batch
 * ------------------------------------------------------------------------------ */

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
        make_problem(&problem, i, lambdas[i % 4]);
        size_t n = problem.n, m = 1 + i % 9;
        for (uint32_t k = 0; k < m; k++) {
            dictionary[k] = (uint32_t)(k * (n / m));
            sums[k] = (bandit_arm_sum){dictionary[k], 1 + k % 3, 0.5};
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
        cmocka_unit_test(dictionaries_follow_the_drawn_numbers),
        cmocka_unit_test(full_dictionary_is_the_exact_posterior),
        cmocka_unit_test(calls_restores_and_executors_change_nothing),
        cmocka_unit_test(pending_picks_survive_a_restore),
        cmocka_unit_test(global_local_batches_end_at_the_bound),
        cmocka_unit_test(versions_pick_alike),
        cmocka_unit_test(screened_batches_pick_alike),
        cmocka_unit_test(variances_only_shrink),
    };
    return cmocka_run_group_tests_name("bbkb", tests, NULL, NULL);
}
