/* The outlook: on functions drawn from the prior that the model has, what it says must come true on average. */
#include "core/insight/view.h"
#include "tests/support/dense_gp.h"
#include "tests/support/insight_study.h"
#include "tests/support/must.h"
#include "tests/support/near.h"
#include "tests/support/repeats.h"

#include <stdlib.h>
#include <string.h>

enum { N = 100, D = 2, FUNCTIONS = 80 };

static const double lengthscale[] = {0.3};
static double rows[N * D], factor[N * N], values[N];

/* factor * factor' = the kernel matrix of the rows, and a little on the diagonal. */
static void prepare(void)
{
    uint64_t random = 12;
    for (size_t i = 0; i < (size_t)N * D; i++)
        rows[i] = dense_uniform(&random);
    double *k = dense_gaussian(rows, N, D, lengthscale[0]);
    memset(factor, 0, sizeof factor);
    for (size_t j = 0; j < N; j++) {
        for (size_t i = j; i < N; i++) {
            double sum = k[j * N + i] + (i == j ? 1e-8 : 0.0);
            for (size_t r = 0; r < j; r++)
                sum -= factor[r * N + i] * factor[r * N + j];
            factor[j * N + i] = i == j ? sqrt(sum) : sum / factor[j * N + j];
        }
    }
    free(k);
}

static void draw(uint64_t *random)
{
    double z[N];
    for (size_t i = 0; i < N; i++)
        z[i] = dense_normal(random);
    for (size_t i = 0; i < N; i++) {
        values[i] = 0.0;
        for (size_t j = 0; j <= i; j++)
            values[i] += factor[j * N + i] * z[j];
    }
}

static double drawn(const double *x)
{
    for (size_t i = 0; i < N; i++)
        if (memcmp(rows + i * D, x, D * sizeof *x) == 0)
            return values[i];
    fail_msg("not one of the rows");
    return 0.0;
}

static bandit_outlook look(const bandit_options *o, size_t n, double epsilon)
{
    insight_study s;
    bandit_outlook out;
    bandit_error err = {0};
    insight_study_list(&s, rows, N, D, o, drawn, n);
    must(bandit_insight_outlook(s.insight, insight_study_best(&s), epsilon, &out, &err), &err);
    insight_study_clear(&s);
    return out;
}

static void what_it_says_comes_true_on_average(void **state)
{
    (void)state;
    const double epsilon = 0.2;
    double said = 0.0, possible = 0.0, frequency = 0.0, actual = 0.0;
    uint64_t random = 3;
    bandit_options o = insight_given(BANDIT_GP_UCB, BANDIT_KERNEL_GAUSSIAN, 0.0, 1e-6, lengthscale, 1);
    prepare();
    const size_t functions = repeats(FUNCTIONS, 20);
    for (size_t f = 0; f < functions; f++) {
        draw(&random);
        o.seed = f;
        bandit_outlook found = look(&o, 14, epsilon);
        double most = values[0];
        for (size_t i = 0; i < N; i++)
            most = fmax(most, values[i]);
        double gain = most - values[found.arm];
        assert_true(found.arm < 14 && fabs(found.mean - values[found.arm]) < 0.01);
        said += found.probability / (double)functions;
        possible += found.possible / (double)functions;
        frequency += (gain > epsilon) / (double)functions;
        actual += gain / (double)functions;
        assert_true(found.gains[0] >= 0.0 && found.gains[0] <= found.gains[1] + 1e-12);
        assert_true(found.gains[1] <= found.gains[2] + 1e-12 && found.gains[2] <= found.possible);
    }
    assert_true(frequency > 0.2 && frequency < 0.95);
    assert_near(said, frequency, 0.12 * sqrt(FUNCTIONS / (double)functions));
    assert_near(possible, actual, 0.2 * sqrt(FUNCTIONS / (double)functions) * actual);
}

static void little_is_left_when_all_is_known(void **state)
{
    (void)state;
    uint64_t random = 5;
    bandit_options o = insight_given(BANDIT_BBKB, BANDIT_KERNEL_GAUSSIAN, 0.0, 1e-6, lengthscale, 1);
    prepare();
    draw(&random);
    bandit_outlook found = look(&o, N, 0.1);
    assert_true(found.probability < 0.05 && found.possible < 0.05 && found.gains[2] < 0.05);
}

static double bowl(const double *x)
{
    return -(x[0] - 0.3) * (x[0] - 0.3) - (x[1] - 0.6) * (x[1] - 0.6);
}

/* In a space that is well known, only a little is left, and it is found near the recommended point. */
static void a_space(void **state)
{
    (void)state;
    bandit_parameter parameters[2];
    for (size_t i = 0; i < 2; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    bandit_options o = insight_learning(BANDIT_LOG_EI);
    bandit_outlook found[2];
    for (size_t k = 0; k < 2; k++) {
        insight_study s;
        bandit_error err = {0};
        insight_study_space(&s, parameters, 2, &o, bowl, k ? 60 : 8);
        must(bandit_insight_outlook(s.insight, insight_study_best(&s), 0.0, &found[k], &err), &err);
        double point[2];
        bandit_arms_coded(s.arms, found[k].arm, point);
        double left = -bowl(point);
        if (k)
            assert_near(found[k].possible, left, 0.5 * left + 1e-3);
        insight_study_clear(&s);
    }
    assert_true(found[1].possible < found[0].possible);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_says_comes_true_on_average),
        cmocka_unit_test(little_is_left_when_all_is_known),
        cmocka_unit_test(a_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
