/* Points that are chosen without a model, as written out: the default, a sequence, random points; those that
 * are known, withheld or not of what is fixed are passed over. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "core/algorithms/space_design.h"
#include "core/arms/genome.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 3, HIGH = 4, PARAMETERS = 2, TRIES = 64 };

/* A grid, or one of its sides continuous; with a default or without. */
static bandit_arms *space_of(bool continuous, bool has_default)
{
    const bandit_parameter parameters[PARAMETERS] = {
        {.type = BANDIT_PARAMETER_INTEGER,
         .max = WIDE - 1,
         .parent = BANDIT_NO_PARENT,
         .has_default = has_default,
         .default_value = 2},
        {.type = continuous ? BANDIT_PARAMETER_DOUBLE : BANDIT_PARAMETER_INTEGER,
         .max = HIGH - 1,
         .parent = BANDIT_NO_PARENT}};
    return space_study_arms(parameters, PARAMETERS);
}

typedef struct situation {
    const bandit_arms *arms;
    const bandit_genome *genome;
    const bandit_select_limits *limits;
    uint64_t batch, number;
    bool random, has_default;
} situation;

/* Is there an attempt of at most 2 TRIES that is accepted? Of the sequence only new points are at first,
 * then, as are random points at once, all that are not withheld. Attempts are 2^20 numbers apart. */
static bool written_out(const situation *s, double *coded)
{
    for (uint64_t attempt = 0; attempt < 2 * (uint64_t)TRIES; attempt++) {
        uint64_t index = s->number + (attempt << 20);
        double genes[PARAMETERS];
        bool withheld = false;
        if (s->random)
            bandit_genome_random(s->genome, s->batch, BANDIT_PURPOSE_UNIFORM, index + 1, genes);
        else
            bandit_genome_sweep(s->genome, index, genes);
        bandit_genome_point(s->genome, genes, coded);
        if (s->has_default && !s->random && index == 0 && s->batch == 0) {
            const double *fixed = s->limits->fixed;
            coded[0] = fixed && !isnan(fixed[0]) ? fixed[0] : 2.0;
            coded[1] = fixed && !isnan(fixed[1]) ? fixed[1] : 2.0 /* the upper of the two in the middle */;
        }
        size_t arm = bandit_arms_find(s->arms, coded);
        for (size_t w = 0; w < s->limits->n_withheld; w++)
            withheld |= s->limits->withheld[w] == arm;
        if (arm == SIZE_MAX || ((s->random || attempt >= TRIES) && !withheld))
            return true;
    }
    return false;
}

static void points_are_as_written_out(void **state)
{
    enum { CASES = 480 };
    size_t n_found = 0, n_known = 0, n_defaults = 0;
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        const bool continuous = k % 5 == 0, has_default = k % 2, holds = k % 3 == 0;
        const size_t n_points = (size_t)WIDE * HIGH;
        uint64_t random = k;
        double share = dense_uniform(&random) < 0.4 ? 1.0 : dense_uniform(&random), coded[PARAMETERS];
        double withheld_share = dense_uniform(&random) < 0.3 ? 1.0 : dense_uniform(&random);
        uint32_t withheld[WIDE * HIGH];
        const double fixed[PARAMETERS] = {k % 4 ? (double)NAN : 1.0, k % 4 ? 3.0 : (double)NAN};
        bandit_arms *arms = space_of(continuous, has_default);
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_engine *engine;
        bandit_error err = {0};
        bandit_genome genome = {0};
        o.algorithm = BANDIT_UNIFORM;
        o.seed = 10 + k;
        limits.withheld = withheld;
        limits.fixed = holds ? fixed : NULL;
        for (size_t p = 0; p < n_points; p++) {
            const double point[PARAMETERS] = {(double)(p % WIDE), (double)(p / WIDE)};
            if (dense_uniform(&random) >= share)
                continue;
            if (dense_uniform(&random) < withheld_share)
                withheld[limits.n_withheld++] = (uint32_t)bandit_arms_count(arms);
            must(bandit_arms_append(arms, point, 1, &err), &err);
        }
        must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
        for (uint64_t batch = 0; batch < 2; batch++) {
            must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
            must(bandit_genome_init(&genome, arms->space, limits.fixed, o.seed, &err), &err);
            must(bandit_genome_sequence(&genome, batch, &err), &err);
            for (uint64_t number = 0; number < 6; number++) {
                const situation s = {
                    arms, &genome, &limits, batch, number / 2, number % 2, has_default && !continuous};
                double made[PARAMETERS];
                bool found, expected = written_out(&s, coded);
                if (has_default && continuous && batch == 0 && number == 0)
                    continue; /* its middle is none of the listed points */
                must(number % 2 ? bandit_design_random(engine, number / 2, &limits, made, &found, &err)
                                : bandit_design_next(engine, false, number / 2, &limits, made, &found, &err),
                     &err);
                if (found != expected || (found && memcmp(made, coded, sizeof made) != 0))
                    fail_msg("case %zu, batch %zu, point %zu: %d %g %g, not %d %g %g", k, (size_t)batch,
                             (size_t)number, found, made[0], made[1], expected, coded[0], coded[1]);
                n_found += found;
                n_known += found && bandit_arms_find(arms, made) != SIZE_MAX;
                n_defaults += number == 0 && batch == 0 && has_default && made[0] == 2.0;
            }
            bandit_genome_clear(&genome);
            genome = (bandit_genome){0};
        }
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    print_message("%zu points, %zu of them known before, %zu defaults\n", n_found, n_known, n_defaults);
    assert_true(n_found > CASES && n_known > CASES / 2 && n_defaults > 30 && n_found < 12 * CASES);
}

/* What has no default is in the middle. */
static void the_first_point_is_the_default(void **state)
{
    bandit_arms *arms = space_of(true, true);
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_engine *engine;
    bandit_error err = {0};
    double coded[PARAMETERS];
    bool found;
    (void)state;
    o.algorithm = BANDIT_UNIFORM;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_design_next(engine, false, 0, &limits, coded, &found, &err), &err);
    assert_true(found && coded[0] == 2.0 && coded[1] == 0.5 * (HIGH - 1));
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_are_as_written_out),
                                       cmocka_unit_test(the_first_point_is_the_default)};
    return cmocka_run_group_tests_name("points without a model", tests, NULL, NULL);
}
