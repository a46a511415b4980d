#include "tests/support/async_study.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_OUT = 32, MOST_ARMS = 512, CALL = 4 };

static void backwards(void *context, size_t n, bandit_task *task, void *arg)
{
    size_t workers = *(const size_t *)context;
    for (size_t i = n; i-- > 0;)
        task(arg, i, i % workers);
}

bandit_executor async_study_reversed(size_t workers)
{
    static size_t counts[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_true(workers >= 1 && workers <= 8);
    return (bandit_executor){.for_each = backwards, .context = &counts[workers], .workers = workers};
}

typedef struct study {
    const random_problem *problem;
    bandit_engine *engine;
    bandit_pick out[MOST_OUT];
    size_t n_out;
    uint64_t told;
} study;

/* Tells a random part of what is out; what stays keeps its order. */
static size_t tell(study *s, size_t round, bandit_result *results)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < s->n_out; i++) {
        bool in = random_problem_uniform(s->problem, 9000 + round, i) < 0.6 || s->n_out > MOST_OUT - 2 * CALL;
        if (!in) {
            s->out[kept++] = s->out[i];
            continue;
        }
        results[n++] = (bandit_result){.arm = s->out[i].arm,
                                       .repeats = round % 9 == 4 ? 3 : 1,
                                       .reward = random_problem_reward(s->problem, s->out[i].arm, s->told++),
                                       .chosen = true,
                                       .variance = s->out[i].variance};
    }
    s->n_out = kept;
    for (size_t i = 0; i + 1 < n; i += 2) { /* not in the order in which they were handed out */
        bandit_result swap = results[i];
        results[i] = results[i + 1];
        results[i + 1] = swap;
    }
    return n;
}

static size_t pick(bandit_engine *engine, const bandit_executor *executor, size_t most, bool beyond,
                   const uint32_t *withheld, size_t n_withheld, bandit_pick *picks, double *ratio)
{
    bandit_error err;
    bandit_selection selection;
    const bandit_select_limits limits = {.max_picks = most,
                                         .remaining = UINT64_MAX,
                                         .beyond_bound = beyond,
                                         .most_repeats = UINT64_MAX,
                                         .withheld = withheld,
                                         .n_withheld = n_withheld};
    must(bandit_engine_select(engine, &limits, executor, picks, &selection, &err), &err);
    assert_true(selection.n_picks <= most);
    *ratio = selection.ratio;
    return selection.n_picks;
}

static void same_predictions(const random_problem *p, const bandit_engine *a, const bandit_engine *b)
{
    static bandit_prediction of_a[MOST_ARMS], of_b[MOST_ARMS];
    uint32_t arms[MOST_ARMS];
    bandit_error err;
    assert_true(p->n <= MOST_ARMS);
    for (uint32_t i = 0; i < p->n; i++)
        arms[i] = i;
    must(bandit_engine_predict_arms(a, arms, p->n, of_a, &err), &err);
    must(bandit_engine_predict_arms(b, arms, p->n, of_b, &err), &err);
    for (size_t i = 0; i < p->n; i++) {
        assert_true(of_a[i].mean == of_b[i].mean && of_a[i].variance == of_b[i].variance);
        assert_true(of_a[i].ucb == of_b[i].ucb && of_a[i].variance >= 0.0);
    }
    bandit_description d_a, d_b;
    bandit_engine_describe(a, &d_a);
    bandit_engine_describe(b, &d_b);
    assert_true(d_a.batch == d_b.batch && d_a.observations == d_b.observations && d_a.beta == d_b.beta);
    assert_true(d_a.effective_dimension == d_b.effective_dimension);
    assert_true(d_a.information_gain == d_b.information_gain && d_a.n_dictionary == d_b.n_dictionary);
    for (size_t i = 0; i < d_a.n_dictionary; i++)
        assert_true(d_a.dictionary[i] == d_b.dictionary[i]);
}

static void one_round(study *s, size_t round, async_study_look *look, void *context)
{
    const random_problem *p = s->problem;
    const bandit_executor reversed = async_study_reversed(1 + round % 3);
    bandit_result results[MOST_OUT];
    bandit_pick pending[MOST_OUT], first[CALL], second[CALL], again[CALL];
    bandit_checkpoint checkpoint;
    bandit_engine *restored = NULL;
    bandit_error err;
    double ratio, ratio_again;

    size_t n_results = tell(s, round, results), n_pending = s->n_out;
    memcpy(pending, s->out, sizeof pending);
    must(bandit_engine_begin_batch(s->engine, results, n_results, pending, n_pending, &bandit_executor_serial,
                                   &err),
         &err);
    if (look)
        look(context, s->engine);
    bandit_engine_checkpoint(s->engine, &checkpoint);
    must(bandit_engine_restore(&restored, p->arms, &p->options, 0, &checkpoint, pending, n_pending, &reversed,
                               &err),
         &err);

    /* some arms are withheld from time to time, ascending */
    uint32_t withheld[MOST_ARMS];
    size_t n_withheld = 0;
    for (uint32_t a = 0; a < p->n && round % 4 == 3; a++) {
        if (random_problem_uniform(p, 9500 + round, a) < 0.5)
            withheld[n_withheld++] = a;
    }
    size_t n_first = pick(s->engine, &bandit_executor_serial, 1 + round % 2, round % 5 == 2, withheld,
                          n_withheld, first, &ratio);
    must(bandit_engine_replay_picks(restored, first, n_first, &reversed, &err), &err);
    size_t most = 1 + round % 3;
    bool beyond = round % 2 == 0 || n_first == 0;
    size_t n = pick(s->engine, &bandit_executor_serial, most, beyond, withheld, n_withheld, second, &ratio);
    size_t n_again = pick(restored, &reversed, most, beyond, withheld, n_withheld, again, &ratio_again);
    assert_true(n == n_again && ratio == ratio_again && (!beyond || n == most));
    for (size_t i = 0; i < n; i++) {
        assert_true(second[i].arm == again[i].arm && second[i].variance == again[i].variance);
        for (size_t w = 0; w < n_withheld; w++)
            assert_true(second[i].arm != withheld[w]);
    }
    same_predictions(p, s->engine, restored);
    bandit_engine_free(restored);
    memcpy(s->out + s->n_out, first, n_first * sizeof *first);
    memcpy(s->out + s->n_out + n_first, second, n * sizeof *second);
    s->n_out += n_first + n;
}

void async_study_check(const random_problem *problem, size_t rounds, async_study_look *look, void *context)
{
    study s = {.problem = problem};
    bandit_error err;
    must(bandit_engine_new(&s.engine, problem->arms, &problem->options, 0, &err), &err);
    for (size_t round = 0; round < rounds; round++)
        one_round(&s, round, look, context);
    assert_true(s.told > rounds / 2);
    assert_true(bandit_engine_memory(s.engine) > 0);
    bandit_engine_free(s.engine);
}
