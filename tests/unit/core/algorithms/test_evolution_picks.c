/* Regularized evolution and uniform picks as written out, on lists and in a space: which random numbers are
 * drawn, who is in the population, which member is the parent, and who its neighbours are. Rewards and
 * distances are few, so that there are ties. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "bandit/space.h"

#include "core/arms/arms_storage.h"
#include "core/arms/genome.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 5, ARMS = SIDE * SIDE, NEIGHBOURS = 10, TOLD = 40, PICKS = 3, MOST = 512 };

typedef struct study {
    bandit_options o;
    bandit_arms *arms;
    double x[ARMS][2];
    bandit_result told[TOLD]; /* all results in their order */
    size_t n_told;
    uint64_t batch, n_pending, n_picked;
    uint32_t withheld[MOST];
    bandit_select_limits limits;
} study;

static uint64_t below(const study *s, bandit_purpose purpose, uint64_t index, uint64_t n)
{
    return bandit_random_below(s->o.seed, s->batch, purpose, index, n);
}

static bool is_withheld(const study *s, uint32_t arm)
{
    bool withheld = false;
    for (size_t i = 0; i < s->limits.n_withheld; i++)
        withheld |= s->withheld[i] == arm;
    return withheld;
}

/* The arm at a random place among those that are left. */
static uint32_t uniform_arm(const study *s, bandit_purpose purpose, uint64_t index)
{
    uint64_t place = below(s, purpose, index, ARMS - s->limits.n_withheld);
    uint32_t arm = 0;
    for (;; arm++) {
        if (!is_withheld(s, arm) && place-- == 0)
            return arm;
    }
}

static double squared_distance(const study *s, uint32_t a, uint32_t b)
{
    double dx = s->x[a][0] - s->x[b][0], dy = s->x[a][1] - s->x[b][1];
    return dx * dx + dy * dy;
}

/* The population: as many results as it has members, the last ones. NULL: it is not full, counting what is
 * out. Else the best of a sample of it, the latest of equals; the pick's numbers begin at 2^32 times its own.
 */
static const bandit_result *parent_of_pick(const study *s)
{
    size_t members = s->n_told < s->o.population ? s->n_told : (size_t)s->o.population;
    const bandit_result *oldest = s->told + s->n_told - members, *parent = NULL;
    if (members == 0 || members + s->n_pending + s->n_picked < s->o.population)
        return NULL;
    for (uint64_t i = 0; i < s->o.sample; i++) {
        const bandit_result *drawn =
            oldest + below(s, BANDIT_PURPOSE_EVOLUTION, (s->n_picked << 32) + i, members);
        if (!parent || drawn->reward > parent->reward || (drawn->reward == parent->reward && drawn > parent))
            parent = drawn;
    }
    return parent;
}

/* Among the nearest arms that are left, the lower of two as near first. */
static uint32_t listed_pick(const study *s)
{
    uint32_t children[ARMS];
    size_t n = 0;
    uint64_t last = (s->n_picked << 32) + s->o.sample;
    if (s->n_told == 0 && s->n_pending + s->n_picked == 0)
        return uniform_arm(s, BANDIT_PURPOSE_INITIAL_ARM, 0);
    if (s->o.algorithm == BANDIT_UNIFORM)
        return uniform_arm(s, BANDIT_PURPOSE_UNIFORM, s->n_picked);
    const bandit_result *parent = parent_of_pick(s);
    if (!parent)
        return uniform_arm(s, BANDIT_PURPOSE_EVOLUTION, last);
    for (uint32_t a = 0; a < ARMS; a++) {
        size_t place = n;
        if (a == parent->arm || is_withheld(s, a))
            continue;
        for (; place > 0 &&
               squared_distance(s, children[place - 1], parent->arm) > squared_distance(s, a, parent->arm);
             place--)
            children[place] = children[place - 1];
        children[place] = a;
        n++;
    }
    if (n == 0)
        return uniform_arm(s, BANDIT_PURPOSE_EVOLUTION, last);
    return children[below(s, BANDIT_PURPOSE_EVOLUTION, last, n < NEIGHBOURS ? n : NEIGHBOURS)];
}

/* In a space: a point at random, or the parent's with one parameter changed, until one is met that is not
 * withheld; 256 times. */
static bool space_pick(const study *s, double *coded)
{
    bandit_genome genome = {0};
    bandit_error err = {0};
    double genes[SMALL_WIDTH];
    must(bandit_genome_init(&genome, s->arms->space, s->limits.fixed, s->o.seed, &err), &err);
    bool found = false;
    for (uint64_t attempt = 0; attempt < 256 && !found; attempt++) {
        const bandit_result *parent = s->o.algorithm == BANDIT_UNIFORM ? NULL : parent_of_pick(s);
        uint64_t index = s->o.algorithm == BANDIT_UNIFORM ? s->n_picked + (attempt << 32)
                                                          : (s->n_picked << 24) + (1 << 20) + attempt;
        bandit_genome_random(&genome, s->batch, BANDIT_PURPOSE_UNIFORM, index, genes);
        if (parent) {
            bandit_arms_coded(s->arms, parent->arm, coded);
            bandit_genome_take(&genome, coded, genes);
            bandit_genome_coded(&genome, genes, coded);
            bandit_genome_mutate(&genome, s->batch, BANDIT_PURPOSE_EVOLUTION,
                                 (s->n_picked << 32) + s->o.sample + 16 * attempt, coded, genes);
        }
        bandit_genome_point(&genome, genes, coded);
        size_t arm = bandit_arms_find(s->arms, coded);
        found = arm == SIZE_MAX || !is_withheld(s, (uint32_t)arm);
    }
    bandit_genome_clear(&genome);
    return found;
}

/* A grid, by its points or by a matrix of their products. */
static void open_list(study *s, bool matrix)
{
    double rows[ARMS * ARMS];
    for (size_t a = 0; a < ARMS; a++) {
        s->x[a][0] = (double)(a * 7 % ARMS % SIDE);
        s->x[a][1] = (double)(a * 7 % ARMS / SIDE);
    }
    for (size_t a = 0; a < ARMS && matrix; a++) {
        for (size_t b = 0; b < ARMS; b++)
            rows[a * ARMS + b] = s->x[a][0] * s->x[b][0] + s->x[a][1] * s->x[b][1];
    }
    assert_int_equal(matrix ? bandit_arms_new_precomputed(&s->arms, ARMS, NULL)
                            : bandit_arms_new(&s->arms, ARMS, 2, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(s->arms, 0, ARMS, matrix ? rows : s->x[0], NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    if (matrix)
        s->o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
}

/* Which arms are withheld: none, some, or all but one, which may be the only parent there is. */
static void withhold(study *s, uint64_t *random)
{
    size_t n = bandit_arms_count(s->arms);
    double kind = dense_uniform(random), share = kind < 0.3 ? 0.0 : kind < 0.6 ? 0.3 : 0.9;
    uint32_t left = s->n_told > 0 ? s->told[s->n_told - 1].arm : 0;
    s->limits.n_withheld = 0;
    for (uint32_t a = 0; a < n; a++) {
        if (kind < 0.9 ? dense_uniform(random) < share : a != left)
            s->withheld[s->limits.n_withheld++] = a;
    }
    if (s->limits.n_withheld == n && n > 0)
        s->limits.n_withheld--;
}

static void run(bandit_algorithm algorithm, small_set set, uint64_t seed)
{
    static const double fixed[SMALL_WIDTH] = {NAN, 1.0, NAN, NAN};
    uint64_t random = seed;
    study s = {.o = BANDIT_OPTIONS_INIT, .limits = BANDIT_SELECT_LIMITS_INIT};
    bandit_engine *engine;
    bandit_error err = {0};
    bandit_pick pending[PICKS];
    bool listed = !small_is_open(set);
    s.o.algorithm = algorithm;
    s.o.seed = seed;
    s.o.population = 1 + seed % 6;
    s.o.sample = 1 + seed % s.o.population;
    if (listed)
        open_list(&s, set == MATRIX);
    else
        must(small_arms(&s.arms, set), &err);
    must(bandit_engine_new(&engine, s.arms, &s.o, 0, &err), &err);
    s.limits.max_picks = 1;
    s.limits.beyond_bound = true;
    s.limits.withheld = s.withheld;
    for (s.batch = 0; s.batch < 8; s.batch++) {
        size_t n = bandit_arms_count(s.arms),
               n_results = s.batch == 0 || n == 0 ? 0 : (size_t)(random >> 40) % 4;
        for (size_t i = 0; i < n_results; i++)
            s.told[s.n_told + i] = (bandit_result){.arm = (uint32_t)(dense_uniform(&random) * (double)n),
                                                   .repeats = 1,
                                                   .reward = floor(3.0 * dense_uniform(&random)),
                                                   .chosen = true};
        s.n_pending = n > 0 ? (random >> 43) % PICKS : 0;
        for (size_t i = 0; i < s.n_pending; i++)
            pending[i] = (bandit_pick){.arm = (uint32_t)i % (uint32_t)n};
        must(bandit_engine_begin_batch(engine, s.told + s.n_told, n_results, pending, s.n_pending,
                                       &bandit_executor_serial, &err),
             &err);
        s.n_told += n_results;
        s.limits.fixed = !listed && seed % 3 == 0 ? fixed : NULL;
        for (s.n_picked = 0; s.n_picked < PICKS; s.n_picked++) {
            bandit_pick made;
            bandit_selection selection;
            double expected[SMALL_WIDTH], coded[SMALL_WIDTH];
            uint32_t arm = 0;
            bool found = true;
            withhold(&s, &random);
            if (listed)
                arm = listed_pick(&s);
            else
                found = space_pick(&s, expected);
            must(bandit_engine_select(engine, &s.limits, &bandit_executor_serial, &made, &selection, &err),
                 &err);
            assert_int_equal(selection.n_picks, found);
            if (!found) {
                assert_int_equal(selection.stop_rule, BANDIT_STOP_EXHAUSTED);
                break;
            }
            if (!listed) {
                bandit_arms_coded(s.arms, made.arm, coded);
                for (size_t i = 0; i < bandit_arms_point_width(s.arms); i++)
                    assert_true(coded[i] == expected[i] || (isnan(coded[i]) && isnan(expected[i])));
            } else if (made.arm != arm) {
                fail_msg("%s, seed %zu, batch %zu, pick %zu: %u, not %u", bandit_algorithm_name(algorithm),
                         (size_t)seed, (size_t)s.batch, (size_t)s.n_picked, made.arm, arm);
            }
        }
    }
    bandit_engine_free(engine);
    bandit_arms_free(s.arms);
}

static void picks_are_as_written_out(void **state)
{
    static const small_set sets[] = {FEATURES, MATRIX, FEW, BOX, SPACE};
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        run(BANDIT_REGULARIZED_EVOLUTION, sets[seed % 5], seed);
        run(BANDIT_UNIFORM, sets[seed % 5], seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(picks_are_as_written_out)};
    return cmocka_run_group_tests_name("evolution", tests, NULL, NULL);
}
