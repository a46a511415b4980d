#include "tests/support/insight_study.h"

#include "core/arms/arms_storage.h"
#include "core/arms/feasible.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"

#include <math.h>
#include <stdlib.h>

bandit_options insight_learning(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.learn_lengthscale = o.learn_noise = o.standardize_rewards = o.lambda_from_noise = true;
    o.inducing = 400;
    o.seed = 5;
    return o;
}

bandit_options insight_given(bandit_algorithm algorithm, bandit_kernel_type kernel, double nu, double lambda,
                             const double *lengthscales, size_t n)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel = (bandit_kernel){.type = kernel, .nu = nu, .lengthscales = lengthscales, .n_lengthscales = n};
    o.lambda = lambda;
    o.confidence = BANDIT_CONFIDENCE_FIXED;
    o.inducing = 400;
    o.seed = 5;
    return o;
}

/* Gives the engine a result for each of the first n arms. */
static void teach(insight_study *s, insight_function *f, size_t n)
{
    size_t width = bandit_arms_point_width(s->arms);
    bandit_error err = {0};
    double *point = dense_alloc(width, sizeof *point);
    bandit_result *results = dense_alloc(n, sizeof *results);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t j = 0; j < width; j++)
            point[j] =
                s->arms->space ? s->arms->space->coded[i * width + j] : bandit_arms_feature(s->arms, i, j);
        results[i] = (bandit_result){.arm = i, .repeats = 1 + i % 3, .reward = f(point)};
    }
    must(bandit_engine_begin_batch(s->engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_insight_new(&s->insight, s->engine, &err), &err);
    free(point);
    free(results);
}

void insight_study_space(insight_study *s, const bandit_parameter *parameters, size_t n_parameters,
                         const bandit_options *options, insight_function *f, size_t n)
{
    bandit_error err = {0};
    bandit_genome genome;
    double *genes = dense_alloc(2 * n_parameters, sizeof *genes), *coded = genes + n_parameters;
    *s = (insight_study){0};
    must(bandit_arms_new_space(&s->arms, parameters, n_parameters, &err), &err);
    must(bandit_genome_init(&genome, s->arms->space, NULL, 3, &err), &err);
    must(bandit_genome_sequence(&genome, 0, &err), &err);
    for (uint64_t i = 0; bandit_arms_count(s->arms) < n; i++) {
        bandit_genome_sweep(&genome, i, genes);
        bandit_genome_point(&genome, genes, coded);
        if (bandit_arms_find(s->arms, coded) == SIZE_MAX)
            must(bandit_arms_append(s->arms, coded, 1, &err), &err);
    }
    must(bandit_engine_new(&s->engine, s->arms, options, 0, &err), &err);
    teach(s, f, n);
    bandit_genome_clear(&genome);
    free(genes);
}

void insight_study_rules(insight_study *s, const bandit_parameter *parameters, size_t n_parameters,
                         bandit_rules *rules, const bandit_options *options, insight_function *f, size_t n)
{
    bandit_error err = {0};
    bandit_genome genome;
    double *genes = dense_alloc(2 * n * n_parameters, sizeof *genes),
           *coded = dense_alloc(n_parameters, sizeof *coded);
    size_t found;
    *s = (insight_study){0};
    must(bandit_arms_new_space(&s->arms, parameters, n_parameters, &err), &err);
    bandit_arms_constrain(s->arms, rules);
    must(bandit_genome_init(&genome, s->arms->space, NULL, 3, &err), &err);
    must(bandit_feasible_draw(&genome, 0, 2 * n, genes, &found, NULL, &err), &err);
    for (size_t i = 0; i < found && bandit_arms_count(s->arms) < n; i++) {
        bandit_genome_point(&genome, genes + i * n_parameters, coded);
        if (bandit_arms_find(s->arms, coded) == SIZE_MAX)
            must(bandit_arms_append(s->arms, coded, 1, &err), &err);
    }
    must(bandit_engine_new(&s->engine, s->arms, options, 0, &err), &err);
    teach(s, f, n);
    bandit_genome_clear(&genome);
    free(genes);
    free(coded);
}

void insight_study_list(insight_study *s, const double *rows, size_t n, size_t d,
                        const bandit_options *options, insight_function *f, size_t n_results)
{
    bandit_error err = {0};
    *s = (insight_study){0};
    must(bandit_arms_new(&s->arms, n, d, &err), &err);
    must(bandit_arms_set_rows(s->arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, n, &err), &err);
    must(bandit_engine_new(&s->engine, s->arms, options, 0, &err), &err);
    teach(s, f, n_results);
}

uint32_t insight_study_best(const insight_study *s)
{
    bandit_checkpoint now;
    uint32_t best = 0;
    double most = -INFINITY;
    bandit_engine_checkpoint(s->engine, &now);
    for (size_t i = 0; i < now.n_sums; i++) {
        bandit_prediction p;
        bandit_error err = {0};
        must(bandit_engine_predict_arms(s->engine, &now.sums[i].arm, 1, &p, &err), &err);
        if (p.mean > most) {
            most = p.mean;
            best = now.sums[i].arm;
        }
    }
    return best;
}

void insight_study_clear(insight_study *s)
{
    bandit_insight_free(s->insight);
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}
