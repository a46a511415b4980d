/* Candidates with a deviation of their own: figures from dense matrices, and properties. */
#include "bandit/insight.h"
#include "tests/support/dense_gp.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>
#include <string.h>

enum { ARMS = 40, MOST = 4 * ARMS };

static const double lengthscale[] = {0.1};

static bandit_arms *line(void)
{
    bandit_arms *arms;
    bandit_error err;
    double rows[ARMS];
    for (size_t i = 0; i < ARMS; i++)
        rows[i] = (double)i / ARMS;
    must(bandit_arms_new(&arms, ARMS, 1, &err), &err);
    must(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
    return arms;
}

/* The noise and the unit are learned; the kernel is given. */
static bandit_options options_of(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    learner_options(&o, algorithm);
    o.learn_lengthscale = o.warp_rewards = false;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    o.kernel.lengthscales = lengthscale;
    o.kernel.n_lengthscales = 1;
    return o;
}

static bandit_engine *engine_of(bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err;
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    return engine;
}

/* The results of a study: of each arm one, and then more of some. */
typedef struct told {
    bandit_result list[MOST];
    size_t n;
} told;

static void add(told *t, uint32_t arm, double reward, double error)
{
    t->list[t->n++] = (bandit_result){.arm = arm, .repeats = 1, .reward = reward, .error = error};
}

/* A smooth function, which is never so low that it is folded, a deviation of each arm in [−rough, rough], and noise in [−noise, noise] for each pull. */
static double own_of(uint32_t arm, double rough)
{
    uint64_t random = 77 + arm;
    dense_uniform(&random);
    return 0.3 * sin(4.0 * (double)arm / ARMS) + rough * (2.0 * dense_uniform(&random) - 1.0);
}

static void measure(told *t, uint32_t n, uint32_t again, double rough, double noise, double error)
{
    uint64_t random = 5;
    for (uint32_t i = 0; i < n; i++)
        add(t, i, own_of(i, rough) + noise * (2.0 * dense_uniform(&random) - 1.0), error);
    for (uint32_t i = 0; i < again; i++)
        for (int k = 0; k < 3; k++)
            add(t, i, own_of(i, rough) + noise * (2.0 * dense_uniform(&random) - 1.0), error);
}

/* The first results of all arms in one batch, because they teach what is an outlier, and the others in the next. */
static void tell(bandit_engine *engine, const told *t, uint32_t n)
{
    learner_begin(engine, t->list, n);
    learner_begin(engine, t->list + n, t->n - n);
}

static void predict(const bandit_engine *engine, uint32_t n, bandit_prediction *out)
{
    uint32_t arms[ARMS];
    bandit_error err;
    for (uint32_t i = 0; i < n; i++)
        arms[i] = i;
    must(bandit_insight_pulled(engine, arms, n, out, &err), &err);
}

/* ---- the dense way -------------------------------------------------------------------------------------------- */

typedef struct means {
    double count[ARMS], mean[ARMS], squares;
} means;

static means means_of(const told *t)
{
    means m = {0};
    for (size_t i = 0; i < t->n; i++) {
        m.count[t->list[i].arm] += 1.0;
        m.mean[t->list[i].arm] += t->list[i].reward;
    }
    for (size_t i = 0; i < ARMS; i++)
        m.mean[i] /= m.count[i];
    for (size_t i = 0; i < t->n; i++)
        m.squares += pow(t->list[i].reward - m.mean[t->list[i].arm], 2.0);
    return m;
}

/* Solves A x = b by elimination; A (n x n, symmetric, positive definite) and b are overwritten, b by x. */
static void solve(double *a, double *b, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            double by = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= by * a[k * n + j];
            b[i] -= by * b[k];
        }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
}

/* The process f + u with the covariance K + w I, seen with the variances v_i / n_i: all in the units of rewards. */
static void compare_with_dense(const bandit_engine *engine, const told *t, double tau, double s, double v)
{
    bandit_description d;
    double points[ARMS];
    bandit_prediction found[ARMS];
    means m = means_of(t);
    bandit_engine_describe(engine, &d);
    for (size_t i = 0; i < ARMS; i++)
        points[i] = (double)i / ARMS;
    double *k = dense_gaussian(points, ARMS, 1, lengthscale[0]);
    double *a = dense_alloc((size_t)ARMS * ARMS, sizeof *a), *b = dense_alloc(ARMS, sizeof *b);
    for (size_t i = 0; i < (size_t)ARMS * ARMS; i++)
        k[i] *= d.signal_std * d.signal_std;
    for (size_t i = 0; i < ARMS; i++)
        k[i * ARMS + i] += tau - s;
    predict(engine, ARMS, found);
    for (size_t i = 0; i < ARMS; i++) {
        double mean = d.shift, variance = k[i * ARMS + i];
        for (int moment = 1; moment <= 2; moment++) {
            memcpy(a, k, (size_t)ARMS * ARMS * sizeof *a);
            for (size_t j = 0; j < ARMS; j++) {
                a[j * ARMS + j] += v / m.count[j];
                b[j] = moment == 1 ? m.mean[j] - d.shift : k[i * ARMS + j];
            }
            solve(a, b, ARMS);
            for (size_t j = 0; j < ARMS; j++) {
                mean += moment == 1 ? k[i * ARMS + j] * b[j] : 0.0;
                variance -= moment == 2 ? k[i * ARMS + j] * b[j] : 0.0;
            }
        }
        assert_near(found[i].mean, mean, 1e-6);
        assert_near(sqrt(found[i].variance), sqrt(variance), 1e-6);
    }
    free(k);
    free(a);
    free(b);
}

static double learned_noise(const bandit_engine *engine)
{
    bandit_description d;
    bandit_engine_describe(engine, &d);
    return d.noise_std * d.noise_std;
}

/* Eight arms have three more results, so that there are 24 degrees of freedom. */
static void repeats_show_the_noise(void **state)
{
    static const bandit_algorithm exact[] = {BANDIT_GP_UCB, BANDIT_GP_EI};
    (void)state;
    bandit_arms *arms = line();
    told t = {0};
    measure(&t, ARMS, 8, 1.0, 0.3, 0.0);
    for (size_t i = 0; i < 2; i++) {
        bandit_options o = options_of(exact[i]);
        bandit_engine *engine = engine_of(arms, &o);
        tell(engine, &t, ARMS);
        double tau = learned_noise(engine), s = (3.0 * tau + means_of(&t).squares) / (3.0 + 24.0);
        assert_true(s < 0.6 * tau);
        compare_with_dense(engine, &t, tau, s, s);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* With reported errors, all else is the arm's own, unless repeats differ by more than their errors. */
static void errors_are_the_noise(void **state)
{
    const double error = 0.1;
    (void)state;
    bandit_arms *arms = line();
    for (uint32_t again = 0; again <= 8; again += 8) {
        told t = {0};
        measure(&t, ARMS, again, 1.0, 0.3, error);
        bandit_options o = options_of(BANDIT_GP_UCB);
        bandit_engine *engine = engine_of(arms, &o);
        tell(engine, &t, ARMS);
        double tau = learned_noise(engine), degrees = 3.0 * again;
        double s = fmax(0.0, (means_of(&t).squares - degrees * error * error) / (3.0 + degrees));
        assert_true((s > 0.0) == (again > 0) && s < tau);
        compare_with_dense(engine, &t, tau, s, s + error * error);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* ---- properties ------------------------------------------------------------------------------------------------ */

static void assert_old_rule(const bandit_engine *engine, uint32_t n)
{
    bandit_prediction found[ARMS];
    predict(engine, n, found);
    for (uint32_t arm = 0; arm < n; arm++) {
        bandit_prediction p;
        bandit_error err;
        must(bandit_engine_predict_arms(engine, &arm, 1, &p, &err), &err);
        assert_true(p.mean == found[arm].mean && p.variance == found[arm].variance);
    }
}

/* No result is repeated; the noise is given; the repeats show all the noise that there is. */
static void without_evidence_nothing_is_own(void **state)
{
    (void)state;
    bandit_arms *arms = line();
    for (int way = 0; way < 3; way++) {
        told t = {0};
        bandit_options o = options_of(BANDIT_LOG_EI);
        o.learn_noise = way != 1;
        o.noise_std = 0.1;
        measure(&t, ARMS, way == 0 ? 0 : 8, way < 2 ? 0.5 : 0.0, way == 2 ? 1.0 : 0.1, 0.0);
        for (uint32_t i = ARMS; way == 2 && i < t.n; i++)
            t.list[i].reward += i % 2 ? 1.0 : -1.0;
        bandit_engine *engine = engine_of(arms, &o);
        tell(engine, &t, ARMS);
        assert_old_rule(engine, ARMS);
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

/* Where repeats agree to all digits, a measurement is the truth. */
static void agreeing_repeats_are_the_value(void **state)
{
    (void)state;
    bandit_arms *arms = line();
    told t = {0};
    bandit_options o = options_of(BANDIT_LOG_EI);
    bandit_prediction found[ARMS];
    bandit_engine *engine = engine_of(arms, &o);
    measure(&t, ARMS, 4, 1.0, 0.0, 0.0);
    tell(engine, &t, ARMS);
    predict(engine, ARMS, found);
    for (uint32_t i = 0; i < ARMS; i++) {
        assert_near(found[i].mean, own_of(i, 1.0), 1e-6);
        assert_near(found[i].variance, 0.0, 1e-6);
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static uint32_t largest(const double *values, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

/* Features say nothing: the candidates lie at random. All have four results, so that the shrunk means have the order
 * of the means, but the model's function is the same for all. */
static void useless_features(void **state)
{
    const double far = 2.0;
    uint32_t by_model = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        bandit_arms *arms;
        bandit_error err;
        uint64_t random = seed;
        double rows[3 * ARMS], average[ARMS], own[ARMS], function[ARMS];
        bandit_prediction found[ARMS];
        bandit_options o = options_of(BANDIT_LOG_EI);
        told t = {0};
        o.kernel.lengthscales = &far;
        for (size_t i = 0; i < 3 * (size_t)ARMS; i++)
            rows[i] = dense_uniform(&random);
        must(bandit_arms_new(&arms, ARMS, 3, &err), &err);
        must(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), &err);
        must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
        for (uint32_t k = 0; k < 4; k++)
            for (uint32_t i = 0; i < ARMS; i++)
                add(&t, i, own_of(i + 100 * (uint32_t)seed, 1.0) + 0.5 * dense_normal(&random), 0.0);
        bandit_engine *engine = engine_of(arms, &o);
        tell(engine, &t, ARMS);
        predict(engine, ARMS, found);
        for (uint32_t i = 0; i < ARMS; i++) {
            bandit_prediction p;
            must(bandit_engine_predict_arms(engine, &i, 1, &p, &err), &err);
            own[i] = found[i].mean;
            function[i] = p.mean;
            average[i] = (t.list[i].reward + t.list[ARMS + i].reward + t.list[2 * ARMS + i].reward +
                          t.list[3 * ARMS + i].reward) /
                         4.0;
        }
        assert_int_equal(largest(own, ARMS), largest(average, ARMS));
        by_model += largest(function, ARMS) == largest(average, ARMS);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    assert_true(by_model < 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_show_the_noise),
        cmocka_unit_test(errors_are_the_noise),
        cmocka_unit_test(without_evidence_nothing_is_own),
        cmocka_unit_test(agreeing_repeats_are_the_value),
        cmocka_unit_test(useless_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
