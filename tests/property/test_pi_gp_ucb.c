/* π-GP-UCB against [JBG20] written out plainly, restored engines, and regret beside IGP-UCB's.
 * BANDIT_TEST_FULL=1 runs the paper's horizon. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "core/posterior/partition.h"
#include "tests/support/async_study.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void make_problem(random_problem *p, size_t i)
{
    static const unsigned trouble[] = {0, PROBLEM_DUPLICATES, PROBLEM_GRID, PROBLEM_CONSTANT};
    random_problem_init(p, 70 + i, 40 + (i * 7) % 61, 1 + i % 3, BANDIT_KERNEL_MATERN, i % 2 ? 0.1 : 1.0,
                        trouble[i / 2 % 4]);
    p->options.algorithm = BANDIT_PI_GP_UCB;
    p->options.initial_cells = 1 + i % 3;
    p->options.delta = 0.1;
}

static void restored_engines_are_equal(void **state)
{
    size_t n = in_full() ? 100 : 20;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        random_problem p;
        make_problem(&p, i);
        async_study_check(&p, 70, NULL, NULL);
        random_problem_clear(&p);
    }
}

/* ---- the paper, plainly -------------------------------------------------------------------------------- */

enum { MOST_CELLS = 512, MOST_PULLS = 160, D = 2 };

typedef struct plain_cell {
    double low[D], side;
} plain_cell;

typedef struct plain {
    const random_problem *p;
    double lo[D], hi[D];
    plain_cell cells[MOST_CELLS];
    size_t n_cells;
    uint32_t arm[MOST_PULLS]; /* one row a pull */
    double reward[MOST_PULLS];
    size_t t;
} plain;

static double unit(const plain *m, uint32_t arm, size_t k)
{
    double width = m->hi[k] - m->lo[k];
    return width > 0.0 ? (m->p->rows[arm * D + k] - m->lo[k]) / width : 0.0;
}

static bool contains(const plain *m, const plain_cell *c, uint32_t arm)
{
    for (size_t k = 0; k < D; k++) {
        double u = unit(m, arm, k);
        if (u < c->low[k] - 1e-10 || u > c->low[k] + c->side + 1e-10)
            return false;
    }
    return true;
}

static void plain_init(plain *m, const random_problem *p)
{
    size_t per_side = p->options.initial_cells;
    *m = (plain){.p = p};
    for (size_t k = 0; k < D; k++) {
        m->lo[k] = INFINITY;
        m->hi[k] = -INFINITY;
        for (size_t a = 0; a < p->n; a++) {
            m->lo[k] = fmin(m->lo[k], p->rows[a * D + k]);
            m->hi[k] = fmax(m->hi[k], p->rows[a * D + k]);
        }
    }
    for (size_t i = 0; i < per_side * per_side; i++) {
        double side = 1.0 / (double)per_side;
        m->cells[m->n_cells++] =
            (plain_cell){{(double)(i % per_side) * side, (double)(i / per_side) * side}, side};
    }
}

static double exponent_b(const plain *m)
{
    return (D + 1.0) / (D + 2.0 * m->p->options.kernel.nu);
}

/* One step: the new pull, then one level of splits. */
static void plain_observe(plain *m, uint32_t arm, double reward)
{
    m->arm[m->t] = arm;
    m->reward[m->t++] = reward;
    size_t before = m->n_cells;
    for (size_t i = 0; i < before; i++) {
        plain_cell c = m->cells[i];
        size_t n = 0;
        for (size_t s = 0; s < m->t; s++)
            n += contains(m, &c, m->arm[s]);
        if (!(pow(c.side, -1.0 / exponent_b(m)) < (double)n + 1.0))
            continue;
        double half = c.side / 2.0;
        m->cells[i] = (plain_cell){{c.low[0], c.low[1]}, half};
        assert_true(m->n_cells + 3 < MOST_CELLS);
        for (int corner = 1; corner < 4; corner++)
            m->cells[m->n_cells++] =
                (plain_cell){{c.low[0] + half * (corner & 1), c.low[1] + half * (corner >> 1)}, half};
    }
}

/* Reduces the n x (n + k) system to a diagonal one; log det of the left part. */
static double eliminate(size_t n, size_t k, double (*a)[2 * MOST_PULLS])
{
    double log_det = 0.0;
    for (size_t p = 0; p < n; p++) {
        log_det += log(a[p][p]);
        for (size_t i = 0; i < n; i++) {
            double f = i == p ? 0.0 : a[i][p] / a[p][p];
            for (size_t j = p; f != 0.0 && j < n + k; j++)
                a[i][j] -= f * a[p][j];
        }
    }
    return log_det;
}

/* ucb[x] = max over the cells that hold arm x of mu_A + beta_A sigma_A. */
static void plain_bounds(const plain *m, double *ucb)
{
    static double a[MOST_PULLS][2 * MOST_PULLS];
    const bandit_options *o = &m->p->options;
    double t = (double)m->t + 1.0, cells = 4.0 * pow(t + 1.0, exponent_b(m) * D);
    for (size_t x = 0; x < m->p->n; x++)
        ucb[x] = -INFINITY;
    for (size_t c = 0; c < m->n_cells; c++) {
        uint32_t members[MOST_PULLS];
        size_t rows[MOST_PULLS], n = 0, n_members = 0;
        for (size_t s = 0; s < m->t; s++) {
            if (contains(m, &m->cells[c], m->arm[s]))
                rows[n++] = s;
        }
        for (uint32_t x = 0; x < m->p->n; x++) {
            if (contains(m, &m->cells[c], x))
                members[n_members++] = x;
        }
        assert_true(n + 1 + n_members <= 2 * MOST_PULLS);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                a[i][j] = random_problem_kernel(m->p, m->arm[rows[i]], m->arm[rows[j]]) +
                          (i == j ? o->lambda : 0.0);
            a[i][n] = m->reward[rows[i]];
            for (size_t x = 0; x < n_members; x++)
                a[i][n + 1 + x] = random_problem_kernel(m->p, m->arm[rows[i]], members[x]);
        }
        double gamma = 0.5 * (eliminate(n, 1 + n_members, a) - (double)n * log(o->lambda));
        double beta = o->norm_bound + o->noise_std * sqrt(2.0 * (gamma + 1.0 + log(cells / o->delta)));
        for (size_t x = 0; x < n_members; x++) {
            double mean = 0.0, variance = 1.0;
            for (size_t i = 0; i < n; i++) {
                double k = random_problem_kernel(m->p, m->arm[rows[i]], members[x]);
                mean += k * a[i][n] / a[i][i];
                variance -= k * a[i][n + 1 + x] / a[i][i];
            }
            ucb[members[x]] = fmax(ucb[members[x]], mean + beta * sqrt(fmax(0.0, variance)));
        }
    }
}

/* Every step of a study: all bounds, and the pick, are those of the paper's algorithm with a row per pull and
 * covers split one level per step. */
static void every_step_is_the_papers(void **state)
{
    size_t problems = in_full() ? 20 : 5, splits = 0;
    (void)state;
    for (size_t i = 0; i < problems; i++) {
        static plain m;
        random_problem p;
        bandit_engine *engine;
        bandit_error err;
        bandit_result result = {0};
        double ucb[128];
        make_problem(&p, 6 * i + 1); /* d = 2 */
        assert_int_equal(p.d, D);
        plain_init(&m, &p);
        must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
        for (size_t t = 0; t < 100; t++) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection selection;
            bandit_pick pick;
            double best = -INFINITY;
            limits.max_picks = 1;
            must(bandit_engine_begin_batch(engine, &result, t > 0, NULL, 0, &bandit_executor_serial, &err),
                 &err);
            plain_bounds(&m, ucb);
            for (uint32_t x = 0; x < p.n; x++) {
                bandit_prediction out;
                must(bandit_engine_predict_arms(engine, &x, 1, &out, &err), &err);
                assert_true(fabs(out.ucb - ucb[x]) < 1e-7 * (1.0 + fabs(ucb[x])));
                best = fmax(best, ucb[x]);
            }
            must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err),
                 &err);
            assert_int_equal(selection.n_picks, 1);
            assert_true(t == 0 || ucb[pick.arm] > best - 1e-7 * (1.0 + fabs(best)));
            result = (bandit_result){.arm = pick.arm,
                                     .repeats = 1,
                                     .reward = random_problem_reward(&p, pick.arm, t),
                                     .chosen = true,
                                     .variance = pick.variance};
            plain_observe(&m, result.arm, result.reward);
        }
        splits += m.n_cells - p.options.initial_cells * p.options.initial_cells;
        bandit_engine_free(engine);
        random_problem_clear(&p);
    }
    print_message("[          ] %zu problems, %zu cells more than at the start\n", problems, splits);
    assert_true(splits > 6 * problems);
}

/* By level and corner: no two cells are the same. */
static bool is_before(const bandit_cell *a, const bandit_cell *b, size_t dimension)
{
    if (a->level != b->level)
        return a->level < b->level;
    for (size_t k = 0; k < dimension; k++) {
        if (a->corner[k] != b->corner[k])
            return a->corner[k] < b->corner[k];
    }
    return false;
}

/* Cells without new rewards are not computed again: their regions stay the same objects. All are in order. */
static void only_touched_cells_change(void **state)
{
    random_problem p;
    bandit_partition partition;
    bandit_ledger ledger = {0}, next = {0};
    bandit_error err;
    static bandit_region *before[MOST_CELLS];
    size_t kept = 0, renewed = 0;
    (void)state;
    make_problem(&p, 1);
    bandit_partition_init(&partition, p.arms, &p.options.kernel, 0.1, 3);
    for (uint64_t t = 0; t < 60; t++) {
        uint32_t arm = (uint32_t)bandit_random_below(1, t, BANDIT_PURPOSE_UNIFORM, 0, p.n);
        const bandit_result result = {.arm = arm, .repeats = 1, .reward = random_problem_reward(&p, arm, t)};
        bandit_partition_change change = {0};
        double at[BANDIT_COVER_DIMENSIONS];
        size_t n_before = partition.n;
        assert_true(n_before <= MOST_CELLS);
        if (n_before > 0)
            memcpy(before, partition.regions, n_before * sizeof *before);
        must(bandit_ledger_add(&next, &ledger, p.n, &result, 1, &err), &err);
        bool touched[MOST_CELLS];
        bandit_cover_arm_to_unit(&partition.cover, arm, at);
        for (size_t i = 0; i < n_before; i++)
            touched[i] = bandit_cell_contains(&partition.cover, &before[i]->cell, at);
        must(bandit_partition_prepare(&partition, &change, &next, &result, 1, NULL, 0, INFINITY,
                                      &bandit_executor_serial, &err),
             &err);
        bandit_partition_commit(&partition, &change);
        for (size_t i = 0; i < n_before; i++) {
            bool still = false;
            for (size_t j = 0; j < partition.n; j++)
                still |= partition.regions[j] == before[i];
            assert_true(touched[i] || still);
            kept += !touched[i];
            renewed += touched[i];
        }
        for (size_t i = 1; i < partition.n; i++)
            assert_true(is_before(&partition.regions[i - 1]->cell, &partition.regions[i]->cell,
                                  partition.cover.dimension));
        bandit_ledger swap = ledger;
        ledger = next;
        next = swap;
    }
    assert_true(kept > 5 * renewed && renewed >= 59);
    bandit_partition_clear(&partition);
    assert_true(partition.n == 0 && !partition.regions); /* as before the first change */
    bandit_ledger_clear(&ledger);
    bandit_ledger_clear(&next);
    random_problem_clear(&p);
}

/* Many rewards at once: split until no cell qualifies, as if they had come one at a time. */
static void imports_split_until_none_qualifies(void **state)
{
    enum { MANY = 200 };
    random_problem p;
    bandit_engine *at_once, *one_by_one;
    bandit_error err;
    static bandit_result results[MANY];
    static bandit_prediction a[512], b[512];
    uint32_t arms[512];
    (void)state;
    make_problem(&p, 7);
    for (size_t i = 0; i < MANY; i++) {
        uint32_t arm = (uint32_t)bandit_random_below(3, i, BANDIT_PURPOSE_UNIFORM, 0, p.n);
        results[i] = (bandit_result){.arm = arm, .repeats = 1, .reward = random_problem_reward(&p, arm, i)};
    }
    for (uint32_t x = 0; x < p.n; x++)
        arms[x] = x;
    must(bandit_engine_new(&at_once, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_new(&one_by_one, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(at_once, results, MANY, NULL, 0, &bandit_executor_serial, &err), &err);
    for (size_t i = 0; i < MANY; i++)
        must(bandit_engine_begin_batch(one_by_one, results + i, 1, NULL, 0, &bandit_executor_serial, &err),
             &err);
    must(bandit_engine_predict_arms(at_once, arms, p.n, a, &err), &err);
    must(bandit_engine_predict_arms(one_by_one, arms, p.n, b, &err), &err);
    for (size_t x = 0; x < p.n; x++)
        assert_true(a[x].mean == b[x].mean && a[x].variance == b[x].variance && a[x].ucb == b[x].ucb);
    bandit_engine_free(at_once);
    bandit_engine_free(one_by_one);
    random_problem_clear(&p);
}

static void a_failed_batch_changes_nothing(void **state)
{
    random_problem p;
    bandit_engine *engine;
    bandit_error err;
    bandit_prediction before, after;
    const uint32_t arm = 3;
    (void)state;
    make_problem(&p, 1);
    const bandit_result good = {.arm = 5, .repeats = 2, .reward = 0.4}, bad = {.arm = 1, .repeats = 0};
    must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, &good, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_predict_arms(engine, &arm, 1, &before, &err), &err);
    assert_int_equal(bandit_engine_begin_batch(engine, &bad, 1, NULL, 0, &bandit_executor_serial, &err),
                     BANDIT_INVALID_STATE);
    size_t held = bandit_engine_memory(engine);
    bandit_engine_free(engine);

    /* a memory limit that the first cells fit, but not their posteriors */
    must(bandit_engine_new(&engine, p.arms, &p.options, held / 2, &err), &err);
    must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_predict_arms(engine, &arm, 1, &before, &err), &err);
    assert_int_equal(bandit_engine_begin_batch(engine, &good, 1, NULL, 0, &bandit_executor_serial, &err),
                     BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "than the 0 MB that remain"));
    must(bandit_engine_predict_arms(engine, &arm, 1, &after, &err), &err);
    assert_memory_equal(&before, &after, sizeof before);
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

/* ---- regret, [JBG20] section 5 ------------------------------------------------------------------------- */

enum { SIDE = 30, CENTRES = 60 };

typedef struct task {
    double rows[SIDE * SIDE * 2], f[SIDE * SIDE], norm, best, mean;
} task;

static double matern32(double x, double y, double u, double v)
{
    double r = sqrt(3.0 * ((x - u) * (x - u) + (y - v) * (y - v))) / 0.2;
    return (1.0 + r) * exp(-r);
}

/* f = sum_j a_j k(c_j, .), a uniform on [−1, 1], centres uniform, on a 30 x 30 grid; its exact norm. */
static void make_task(task *t, uint64_t seed)
{
    double a[CENTRES], u[CENTRES], v[CENTRES];
    *t = (task){.best = -INFINITY};
    for (uint64_t j = 0; j < CENTRES; j++) {
        u[j] = bandit_random_uniform(seed, 1, BANDIT_PURPOSE_UNIFORM, 3 * j);
        v[j] = bandit_random_uniform(seed, 1, BANDIT_PURPOSE_UNIFORM, 3 * j + 1);
        a[j] = 2.0 * bandit_random_uniform(seed, 1, BANDIT_PURPOSE_UNIFORM, 3 * j + 2) - 1.0;
    }
    for (size_t i = 0; i < CENTRES; i++)
        for (size_t j = 0; j < CENTRES; j++)
            t->norm += a[i] * a[j] * matern32(u[i], v[i], u[j], v[j]);
    t->norm = sqrt(t->norm);
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        double *x = t->rows + 2 * i;
        x[0] = (double)(i % SIDE) / (SIDE - 1);
        x[1] = (double)(i / SIDE) / (SIDE - 1);
        for (size_t j = 0; j < CENTRES; j++)
            t->f[i] += a[j] * matern32(x[0], x[1], u[j], v[j]);
        t->best = fmax(t->best, t->f[i]);
        t->mean += t->f[i] / (SIDE * SIDE);
    }
}

/* Regret of T steps as a fraction of uniform picks'; noise uniform on [−1, 1]. */
static double regret_ratio(bandit_algorithm algorithm, const task *t, uint64_t seed, size_t T)
{
    static const double l = 0.2;
    bandit_arms *arms = NULL;
    bandit_engine *engine;
    bandit_error err;
    bandit_result result = {0};
    double regret = 0.0;
    bandit_options options = BANDIT_OPTIONS_INIT;
    options.algorithm = algorithm;
    options.kernel = (bandit_kernel){BANDIT_KERNEL_MATERN, 1.5, &l, 1, 0.0};
    options.lambda = 1.0;
    options.noise_std = 1.0;
    options.norm_bound = t->norm;
    options.delta = 0.1;
    options.horizon = T;
    options.initial_cells = 0;
    options.seed = seed;
    must(bandit_arms_new(&arms, SIDE * SIDE, 2, &err), &err);
    must(bandit_arms_set_rows(arms, 0, SIDE * SIDE, t->rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, SIDE * SIDE, &err), &err);
    must(bandit_engine_new(&engine, arms, &options, 0, &err), &err);
    for (size_t s = 0; s < T; s++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_pick pick;
        limits.max_picks = 1;
        must(bandit_engine_begin_batch(engine, &result, s > 0, NULL, 0, &bandit_executor_serial, &err), &err);
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
        assert_int_equal(selection.n_picks, 1);
        double noise = 2.0 * bandit_random_uniform(seed, 2, BANDIT_PURPOSE_UNIFORM, s) - 1.0;
        result = (bandit_result){.arm = pick.arm,
                                 .repeats = 1,
                                 .reward = t->f[pick.arm] + noise,
                                 .chosen = true,
                                 .variance = pick.variance};
        regret += t->best - t->f[pick.arm];
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return regret / ((t->best - t->mean) * (double)T);
}

static void regret_is_below_igp_ucbs(void **state)
{
    static task t;
    size_t T = in_full() ? 10000 : 1500, runs = in_full() ? 4 : 1;
    double pi = 0.0, igp = 0.0, pi_seconds = 0.0, igp_seconds = 0.0;
    (void)state;
    for (uint64_t run = 0; run < runs; run++) {
        make_task(&t, 100 + run);
        clock_t start = clock();
        pi += regret_ratio(BANDIT_PI_GP_UCB, &t, run, T) / (double)runs;
        pi_seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
        start = clock();
        igp += regret_ratio(BANDIT_IGP_UCB, &t, run, T) / (double)runs;
        igp_seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    print_message("[          ] d = 2, T = %zu, %zu runs, fractions of uniform's regret: pi-GP-UCB %.3f "
                  "(%.1f s), IGP-UCB %.3f (%.1f s)\n",
                  T, runs, pi, pi_seconds, igp, igp_seconds);
    assert_true(pi < igp);
}

static void refusals_name_the_field(void **state)
{
    const double l[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    bandit_options good = BANDIT_OPTIONS_INIT;
    bandit_error err;
    (void)state;
    good.algorithm = BANDIT_PI_GP_UCB;
    good.kernel = (bandit_kernel){BANDIT_KERNEL_MATERN, 1.5, l, 1, 0.0};
    assert_int_equal(bandit_options_check(&good, 4, &err), BANDIT_OK);
    assert_int_equal(bandit_options_check(&good, 11, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "name");
    bandit_options o = good;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "kernel/type");
    o = good;
    o.initial_cells = 0;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "initial_cells");
    o.horizon = 100;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_OK);
    o.initial_cells = (size_t)BANDIT_COVER_INITIAL + 1;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "initial_cells");
    o = good;
    o.init = BANDIT_INIT_UNCERTAINTY;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "init");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restored_engines_are_equal),
        cmocka_unit_test(every_step_is_the_papers),
        cmocka_unit_test(only_touched_cells_change),
        cmocka_unit_test(imports_split_until_none_qualifies),
        cmocka_unit_test(a_failed_batch_changes_nothing),
        cmocka_unit_test(regret_is_below_igp_ucbs),
        cmocka_unit_test(refusals_name_the_field),
    };
    return cmocka_run_group_tests_name("pi_gp_ucb", tests, NULL, NULL);
}
