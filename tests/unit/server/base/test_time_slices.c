/* What is chosen does not depend on when a computation was put down, on how many threads there are, or on what else is
 * computed: every algorithm, on a list and in a space, with and without learning. And every computation can be given up
 * at any checkpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bandit/engine.h"
#include "server/base/computing_internal.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/repeats.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = 600, DIMENSION = 3, BATCHES = 6, AT_MOST = 6, FIRST = 12 };

/* A study from its start to its last batch. */
typedef struct whole_study {
    computing_job job;
    bandit_algorithm algorithm;
    bool space, learns;
    const bandit_executor *executor;
    bandit_pick picks[SPACE_STUDY_MOST];
    size_t n;
    bandit_status status;
} whole_study;

static bandit_arms *new_arms(bool space)
{
    uint64_t random = 5;
    double rows[LIST * DIMENSION];
    const size_t n = repeats(LIST, 150);
    bandit_error err = {0};
    bandit_arms *arms;
    if (space)
        return space_study_cube(DIMENSION);
    for (size_t i = 0; i < n * DIMENSION; i++)
        rows[i] = 0.5 + 0.2 * dense_normal(&random);
    must(bandit_arms_new(&arms, n, DIMENSION, &err), &err);
    must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
    return arms;
}

static bandit_options options_of(const whole_study *s)
{
    bandit_options o = space_study_options(s->algorithm, 11, 0.1);
    if (s->learns) {
        o.learn_lengthscale = o.learn_noise = o.standardize_rewards = true;
        o.lambda_from_noise = true;
    }
    return o;
}

/* A batch, and its picks as results of the next one. */
static bandit_status run_batch(whole_study *s, bandit_engine *engine, const bandit_arms *arms,
                               bandit_result *results, size_t *n_results, uint64_t *random)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err = {0};
    bandit_pick *picks = s->picks + s->n;
    bandit_status status = bandit_engine_begin_batch(engine, results, *n_results, NULL, 0, s->executor, &err);
    limits.max_picks = s->n == 0 ? FIRST : AT_MOST;
    if (status == BANDIT_OK)
        status = bandit_engine_select(engine, &limits, s->executor, picks, &selection, &err);
    if (status != BANDIT_OK)
        return status;
    *n_results = selection.n_picks;
    s->n += selection.n_picks;
    for (size_t i = 0; i < selection.n_picks; i++)
        results[i] = (bandit_result){.arm = picks[i].arm,
                                     .reward = s->space ? space_study_reward(arms, picks[i].arm, random, 0.1)
                                                        : sin(picks[i].arm) + 0.1 * dense_normal(random),
                                     .repeats = 1,
                                     .chosen = true,
                                     .variance = picks[i].variance};
    return BANDIT_OK;
}

static void run_whole(whole_study *s)
{
    bandit_result results[FIRST];
    size_t n_results = 0;
    uint64_t random = 3;
    bandit_options o = options_of(s);
    bandit_error err = {0};
    bandit_engine *engine = NULL;
    bandit_arms *arms = new_arms(s->space);
    s->n = 0;
    memset(s->picks, 0, sizeof s->picks); /* compared as bytes */
    s->status = bandit_engine_new(&engine, arms, &o, 0, &err);
    for (int i = 0; i < BATCHES && s->status == BANDIT_OK; i++)
        s->status = run_batch(s, engine, arms, results, &n_results, &random);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void run_job(computing_job *job)
{
    run_whole((whole_study *)(void *)job);
}

/* Study number i of 4 an algorithm. */
static whole_study study_of(size_t i, const bandit_executor *executor)
{
    return (whole_study){.job.run = run_job,
                         .algorithm = space_study_algorithms[i / 4],
                         .space = i % 2,
                         .learns = i / 2 % 2 && bandit_algorithm_has_model(space_study_algorithms[i / 4]),
                         .executor = executor};
}

enum { STUDIES = 4 * SPACE_STUDY_ALGORITHMS };

static bool same_picks(const whole_study *a, const whole_study *b)
{
    bool same = a->status == BANDIT_OK && b->status == BANDIT_OK && a->n == b->n && a->n > 0;
    for (size_t i = 0; same && i < a->n; i++)
        same = a->picks[i].arm == b->picks[i].arm &&
               memcmp(&a->picks[i].variance, &b->picks[i].variance, sizeof(double)) == 0;
    return same;
}

/* All at once, as often interrupted as there are checkpoints, or nearly. */
static void slices_change_no_pick(void **state)
{
    (void)state;
    const double slices[] = {0.0, 0.0002, 0.003};
    whole_study *alone = calloc(STUDIES, sizeof *alone), *sliced = calloc(STUDIES, sizeof *sliced);
    for (size_t i = 0; i < STUDIES; i++) {
        alone[i] = study_of(i, &bandit_executor_serial);
        run_whole(&alone[i]);
        assert_int_equal(alone[i].status, BANDIT_OK);
    }
    for (size_t permits = 1; permits <= 3; permits += repeats(1, 2)) {
        struct computing *c = computing_new(permits, NULL);
        bandit_executor executor = computing_executor(c);
        computing_account *accounts[STUDIES];
        c->slices = (computing_slices){.usual = slices[permits - 1]};
        for (size_t i = 0; i < STUDIES; i++) {
            accounts[i] = computing_account_new(c, 1.0);
            sliced[i] = study_of(i, &executor);
            computing_submit(c, &sliced[i].job, accounts[i]);
        }
        for (size_t i = 0; i < STUDIES; i++)
            computing_account_free(c, accounts[i]);
        computing_free(c);
        for (size_t i = 0; i < STUDIES; i++)
            assert_true(same_picks(&alone[i], &sliced[i]));
    }
    free(alone);
    free(sliced);
}

/* At the so manyth checkpoint nobody wants the result any more. */
typedef struct patience {
    size_t left, used;
} patience;

static bool lose_patience(void *arg)
{
    patience *p = arg;
    p->used++;
    if (p->left == 0)
        return true;
    p->left--;
    return false;
}

static void every_checkpoint_can_be_the_last(void **state)
{
    (void)state;
    whole_study *s = calloc(2, sizeof *s);
    for (size_t i = 0; i < STUDIES; i++) {
        patience p = {.left = SIZE_MAX};
        s[0] = study_of(i, &bandit_executor_serial);
        bandit_on_pause(lose_patience, &p);
        run_whole(&s[0]);
        size_t all = p.used;
        assert_int_equal(s[0].status, BANDIT_OK);
        assert_true(all > BATCHES);
        for (size_t last = 0; last < all; last += 1 + all / repeats(12, 4)) {
            p = (patience){.left = last};
            s[1] = s[0];
            run_whole(&s[1]);
            assert_int_equal(s[1].status, BANDIT_CANCELLED);
            /* From then on it does next to nothing. */
            assert_true(p.used - last < 1000);
        }
        bandit_on_pause(NULL, NULL);
        s[1] = s[0];
        run_whole(&s[1]);
        assert_true(same_picks(&s[0], &s[1]));
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_change_no_pick),
        cmocka_unit_test(every_checkpoint_can_be_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
