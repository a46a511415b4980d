#include "tests/support/problem_study.h"

#include "tests/support/must.h"

bandit_kernel_type varied_kernel(size_t i)
{
    static const bandit_kernel_type types[] = {BANDIT_KERNEL_GAUSSIAN, BANDIT_KERNEL_MATERN,
                                               BANDIT_KERNEL_MATERN, BANDIT_KERNEL_LINEAR};
    return types[i % 4];
}

void varied_problem_init(random_problem *p, size_t i, double lambda)
{
    static const unsigned trouble[] = {0,
                                       PROBLEM_DUPLICATES,
                                       PROBLEM_GRID,
                                       PROBLEM_DUPLICATES | PROBLEM_GRID,
                                       PROBLEM_CONSTANT,
                                       PROBLEM_PRECOMPUTED,
                                       PROBLEM_DUPLICATES | PROBLEM_CONSTANT};
    random_problem_init(p, 100 + i, 20 + (i * 7) % 61, 1 + i % 4, varied_kernel(i), lambda, trouble[i % 7]);
    static const double bounds[] = {1.0, 1.1, 2.0, 5.0, 30.0};
    p->options.ratio_bound = bounds[(i / 3) % 5];
    p->options.confidence = (bandit_confidence)(i % 3);
    p->options.beta = 0.7;
    p->options.resample = (bandit_resample)(i / 2 % 3);
    p->options.max_batch = i % 6 == 0 ? 17 : STUDY_PICKS;
}

void varied_problem_algorithm(random_problem *p, size_t i)
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

bool varied_problem_has_ties(size_t i)
{
    return i % 7 == 1 || i % 7 == 2 || i % 7 == 3 || i % 7 == 6;
}

void problem_study_init(problem_study *s, const random_problem *problem)
{
    bandit_error err;
    *s = (problem_study){.problem = problem};
    must(bandit_engine_new(&s->engine, problem->arms, &problem->options, 0, &err), &err);
}

void problem_study_begin(problem_study *s, const bandit_executor *executor)
{
    bandit_error err;
    must(bandit_engine_begin_batch(s->engine, s->results, s->n_results, NULL, 0, executor, &err), &err);
    s->n_results = 0;
}

bandit_selection problem_study_choose(problem_study *s, size_t max_picks, bandit_pick *picks)
{
    bandit_error err;
    bandit_selection selection;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = max_picks;
    must(bandit_engine_select(s->engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection;
}

void problem_study_tell(problem_study *s, const bandit_pick *picks, size_t n)
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

bandit_engine *problem_study_restored(const random_problem *problem, const bandit_engine *of,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor)
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
