/* Options: which are refused, alone and together, and by the name of which field; and texts of statuses. */
#include "bandit/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double length = 1.0;

static bandit_options good_options(bandit_algorithm algorithm)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &length;
    o.kernel.n_lengthscales = 1;
    return o;
}

/* The options are refused for this field, and taken when `mended` is what stands there. */
#define REFUSED(algorithm, dimension, name, bad, mended, ...)                                                \
    do {                                                                                                     \
        bandit_options o = good_options(algorithm);                                                          \
        bandit_error err = {0};                                                                              \
        __VA_ARGS__;                                                                                         \
        o.bad;                                                                                               \
        assert_int_equal(bandit_options_check(&o, dimension, &err), BANDIT_INVALID_OPTION);                  \
        assert_string_equal(err.field, name);                                                                \
        o.mended;                                                                                            \
        assert_int_equal(bandit_options_check(&o, dimension, &err), BANDIT_OK);                              \
    } while (0)

static void options_have_ranges(void **state)
{
    (void)state;
    REFUSED(BANDIT_BBKB, 2, "name", algorithm = BANDIT_ALGORITHMS, algorithm = BANDIT_BBKB, (void)0);
    REFUSED(BANDIT_BBKB, 2, "lambda", lambda = 0.0, lambda = 1e-300, (void)0);
    REFUSED(BANDIT_BBKB, 2, "lambda", lambda = (double)INFINITY, lambda = 1e300, (void)0);
    REFUSED(BANDIT_BBKB, 2, "noise_std", noise_std = -1e-300, noise_std = 0.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "noise_std", noise_std = (double)NAN, noise_std = 1.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "norm_bound", norm_bound = -1.0, norm_bound = 0.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "delta", delta = 0.0, delta = 0.5, (void)0);
    REFUSED(BANDIT_BBKB, 2, "delta", delta = 1.0, delta = 0.999, (void)0);
    REFUSED(BANDIT_BBKB, 2, "q_bar", q_bar = 0.0, q_bar_theory = true, (void)0);
    REFUSED(BANDIT_BBKB, 2, "ratio_bound", ratio_bound = 0.999, ratio_bound = 1.0, (void)0);
    REFUSED(BANDIT_BBKB, 2, "confidence/beta", beta = -1.0, beta = 0.0,
            o.confidence = BANDIT_CONFIDENCE_FIXED);
    REFUSED(BANDIT_BBKB, 2, "init/parallelism", parallelism = 0.0, parallelism = 1e-300,
            o.init = BANDIT_INIT_UNCERTAINTY);
    REFUSED(BANDIT_GP_UCB, 2, "gamma", gamma_value = -1.0, gamma_value = 0.0, o.gamma = BANDIT_GAMMA_FIXED);
    REFUSED(BANDIT_GP_UCB, 2, "gamma_scale", gamma_scale = 0.0, gamma_scale = 1e-300,
            o.gamma = BANDIT_GAMMA_BOUND);
    REFUSED(BANDIT_GP_TS, 2, "scale", scale = 0.0, scale = 1e-300, (void)0);
    REFUSED(BANDIT_EPSILON_GREEDY, 2, "epsilon", epsilon = -0.1, epsilon = 0.0, (void)0);
    REFUSED(BANDIT_EPSILON_GREEDY, 2, "epsilon", epsilon = 1.1, epsilon = 1.0, (void)0);
    REFUSED(BANDIT_GP_EI, 2, "zeta", zeta = -0.1, zeta = 0.0, (void)0);
    REFUSED(BANDIT_LOG_EI, 2, "agreeing_repeats", agreeing_repeats = 1.1, agreeing_repeats = 0.0, (void)0);
    REFUSED(BANDIT_LOG_EI, 2, "revision", revision = 0, revision = 1, (void)0);
    REFUSED(BANDIT_LOG_EI, 2, "revision", revision = BANDIT_LATEST_REVISION + 1,
            revision = BANDIT_LATEST_REVISION, (void)0);
    REFUSED(BANDIT_BBKB, 2, "max_batch", max_batch = 0, max_batch = 1, (void)0);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "population", population = 0, population = 1, o.sample = 1);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "sample", sample = 0, sample = 1, (void)0);
    REFUSED(BANDIT_REGULARIZED_EVOLUTION, 2, "sample", sample = 101, sample = 100, (void)0);
    REFUSED(BANDIT_UNIFORM, 2, "init/type", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            (void)0);
    REFUSED(BANDIT_BBKB, 2, "init/type", init = BANDIT_INIT_SPREAD, init = BANDIT_INIT_UNIFORM, (void)0);
}

static void options_go_together(void **state)
{
    (void)state;
    REFUSED(BANDIT_BBKB, 2, "kernel/lengthscale", kernel.type = BANDIT_KERNEL_LINEAR,
            learn_lengthscale = false, (o.learn_lengthscale = true, o.kernel.n_lengthscales = 0));
    static const bandit_algorithm with_gamma[] = {BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB, BANDIT_GP_TS,
                                                  BANDIT_ASYNC_TS};
    for (size_t i = 0; i < sizeof with_gamma / sizeof *with_gamma; i++) {
        REFUSED(with_gamma[i], 0, "gamma", gamma = BANDIT_GAMMA_BOUND, gamma = BANDIT_GAMMA_EXACT,
                o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
        REFUSED(with_gamma[i], 0, "gamma", gamma = BANDIT_GAMMA_BOUND, algorithm = BANDIT_BBKB,
                o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
    }
    REFUSED(BANDIT_S_GP_TS, 2, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM, (void)0);
    REFUSED(BANDIT_S_GP_TS, 0, "kernel/type", algorithm = BANDIT_S_GP_TS, algorithm = BANDIT_GP_TS,
            o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED});
    REFUSED(BANDIT_S_GP_TS, 4, "features", features = BANDIT_FEATURES_EIGEN, features = BANDIT_FEATURES_RFF,
            (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "posterior", posterior = BANDIT_POSTERIOR_FEATURES,
            features = BANDIT_FEATURES_EIGEN, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 199, prior_features = 200,
            (o.posterior = BANDIT_POSTERIOR_FEATURES, o.features = BANDIT_FEATURES_EIGEN));
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 1, prior_features = 0,
            (o.posterior = BANDIT_POSTERIOR_FEATURES, o.features = BANDIT_FEATURES_EIGEN, o.horizon = 100));
    REFUSED(BANDIT_S_GP_TS, 2, "inducing", inducing = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "inducing", inducing = 2001, inducing = 2000, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_S_GP_TS, 2, "prior_features", prior_features = 20001, prior_features = 20000, (void)0);
    REFUSED(BANDIT_S_GP_TS, 3, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            o.features = BANDIT_FEATURES_EIGEN);
    REFUSED(BANDIT_PI_GP_UCB, 2, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "kernel/type", kernel.type = BANDIT_KERNEL_GAUSSIAN,
            kernel.type = BANDIT_KERNEL_MATERN, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 11, "name", algorithm = BANDIT_PI_GP_UCB, algorithm = BANDIT_BBKB, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "initial_cells", initial_cells = 0, horizon = 100, (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 2, "initial_cells", initial_cells = (1 << 20) + 1, initial_cells = 1 << 20,
            (void)0);
    REFUSED(BANDIT_PI_GP_UCB, 10, "init", init = BANDIT_INIT_UNCERTAINTY, init = BANDIT_INIT_UNIFORM,
            (void)0);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int i = BANDIT_OK; i <= BANDIT_CANCELLED; i++) {
        for (int k = BANDIT_OK; k < i; k++)
            assert_string_not_equal(bandit_status_text((bandit_status)i),
                                    bandit_status_text((bandit_status)k));
    }
    assert_string_equal(bandit_status_text(BANDIT_OK), "ok");
    assert_string_equal(bandit_status_text((bandit_status)(BANDIT_CANCELLED + 1)), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_have_ranges),
        cmocka_unit_test(options_go_together),
        cmocka_unit_test(every_status_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
