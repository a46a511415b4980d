/* Every allocation of every algorithm fails once, on features, on a kernel matrix, on a list of points and in
 * spaces that grow: in making an engine, a batch, picks, predictions, corrections and restored engines. Each
 * call says so and loses nothing; after it the engine goes on as its twin whose allocations never failed. */
#include "bandit/engine.h"
#include "core/selection/uncertainty.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    BATCHES = 9,
    PICKS = 2,
    MOST_PICKS = 20,
    SURE_PICKS = 15,
    MOST_POINTS = 16 * SMALL_ARMS,
    MOST_FEATURES = 16
};

/* ---- two engines that are to be the same --------------------------------------------------------------- */

/* The points of `from` in another set of its kind. */
static bandit_status copy_arms(bandit_arms **out, small_set set, const bandit_arms *from)
{
    bandit_status status = small_arms(out, set);
    double coded[SMALL_WIDTH];
    for (size_t a = 0; status == BANDIT_OK && small_is_open(set) && a < bandit_arms_count(from); a++) {
        bandit_arms_coded(from, a, coded);
        status = bandit_arms_append(*out, coded, 1, NULL);
    }
    return status;
}

typedef struct trial {
    small_set set;
    double scale; /* of the rewards */
    size_t batches;
    size_t wanted;       /* picks of a batch; more than PICKS: whatever its rule says, and only those beyond
                            SURE_PICKS fail */
    const double *fixed; /* values of the picks, or NULL */
    bandit_options options;
    bandit_arms *arms, *fine_arms;
    bandit_engine *engine, *fine; /* the one whose allocations fail, and its twin */
} trial;

static void assert_out_of_memory(bandit_status status, const bandit_error *err)
{
    assert_int_equal(status, BANDIT_NO_MEMORY);
    assert_int_equal(err->status, BANDIT_NO_MEMORY);
}

/* What the engine says of itself, with copies of what it lends. */
typedef struct account {
    bandit_description d;
    uint32_t dictionary[MOST_POINTS];
    double lengthscales[MOST_FEATURES];
} account;

static account account_of(const bandit_engine *engine)
{
    account a = {0};
    bandit_engine_describe(engine, &a.d);
    assert_true(a.d.n_dictionary <= MOST_POINTS && a.d.n_lengthscales <= MOST_FEATURES);
    for (size_t i = 0; i < a.d.n_dictionary; i++)
        a.dictionary[i] = a.d.dictionary[i];
    for (size_t i = 0; i < a.d.n_lengthscales; i++)
        a.lengthscales[i] = a.d.lengthscales[i];
    return a;
}

static void assert_same(const account *a, const account *b)
{
    const bandit_description *x = &a->d, *y = &b->d;
    assert_true(x->batch == y->batch && x->observations == y->observations && x->beta == y->beta &&
                x->effective_dimension == y->effective_dimension &&
                x->information_gain == y->information_gain && x->lambda == y->lambda &&
                x->noise_std == y->noise_std && x->norm_bound == y->norm_bound &&
                x->signal_std == y->signal_std && x->shift == y->shift && x->unit == y->unit &&
                x->fitted_on == y->fitted_on && x->set_aside == y->set_aside);
    assert_int_equal(x->n_dictionary, y->n_dictionary);
    assert_int_equal(x->n_lengthscales, y->n_lengthscales);
    assert_memory_equal(a->dictionary, b->dictionary, sizeof a->dictionary);
    assert_memory_equal(a->lengthscales, b->lengthscales, sizeof a->lengthscales);
}

static void make(trial *t)
{
    assert_int_equal(small_arms(&t->fine_arms, t->set), BANDIT_OK);
    assert_int_equal(bandit_engine_new(&t->fine, t->fine_arms, &t->options, 0, NULL), BANDIT_OK);
    long before = live;
    for (long n = 0;; n++) {
        until_failure = n;
        bandit_status status = small_arms(&t->arms, t->set);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_int_equal(status, BANDIT_NO_MEMORY);
        bandit_arms_free(t->arms);
        assert_int_equal(live, before);
    }
    before = live;
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        bandit_status status = bandit_engine_new(&t->engine, t->arms, &t->options, 0, &err);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_out_of_memory(status, &err);
        assert_null(t->engine);
        assert_int_equal(live, before);
    }
}

static void begin(trial *t, const bandit_result *results, size_t n_results, const bandit_pick *pending,
                  size_t n_pending)
{
    account before = account_of(t->engine), now;
    assert_int_equal(bandit_engine_begin_batch(t->fine, results, n_results, pending, n_pending,
                                               &bandit_executor_serial, NULL),
                     BANDIT_OK);
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        bandit_status status = bandit_engine_begin_batch(t->engine, results, n_results, pending, n_pending,
                                                         &bandit_executor_serial, &err);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_out_of_memory(status, &err);
        now = account_of(t->engine);
        assert_same(&before, &now);
    }
    before = account_of(t->fine);
    now = account_of(t->engine);
    assert_same(&before, &now);
}

/* Two workers, taking turns on one thread. */
static void take_turns(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        task(arg, i, i % 2);
}

static const bandit_executor two_workers = {.for_each = take_turns, .workers = 2};

/* Up to t->wanted picks; returns how many. Those that were made before an allocation failed stand. */
static size_t choose(trial *t, bandit_pick *picks)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick tried[MOST_PICKS];
    size_t made = 0;
    limits.max_picks = t->wanted;
    limits.beyond_bound = t->wanted > PICKS;
    limits.fixed = t->fixed;
    assert_int_equal(bandit_engine_select(t->fine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                     BANDIT_OK);
    size_t n_picks = selection.n_picks;
    double ratio = selection.ratio;
    bandit_stop_rule stop_rule = selection.stop_rule;
    if (t->wanted > PICKS) {
        limits.max_picks = SURE_PICKS;
        assert_int_equal(
            bandit_engine_select(t->engine, &limits, &bandit_executor_serial, tried, &selection, NULL),
            BANDIT_OK);
        made = selection.n_picks;
    }
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        limits.max_picks = t->wanted - made;
        bandit_status status =
            bandit_engine_select(t->engine, &limits, &two_workers, tried + made, &selection, &err);
        bool failed = has_failed();
        if (status != BANDIT_OK) {
            assert_true(failed);
            assert_out_of_memory(status, &err);
            continue;
        }
        made += selection.n_picks;
        if (!failed)
            break;
        assert_true(selection.n_picks > 0);
        n = -1;
    }
    assert_int_equal(made, n_picks);
    for (size_t i = 0; i < n_picks; i++)
        assert_true(tried[i].arm == picks[i].arm && tried[i].variance == picks[i].variance);
    assert_true(selection.ratio == ratio && selection.stop_rule == stop_rule);
    return n_picks;
}

static void predict(trial *t)
{
    static bandit_prediction fine[MOST_POINTS], tried[MOST_POINTS];
    static uint32_t arms[MOST_POINTS];
    static double points[MOST_POINTS * SMALL_WIDTH];
    size_t n_arms = bandit_arms_count(t->fine_arms), width = bandit_arms_point_width(t->fine_arms);
    assert_true(n_arms <= MOST_POINTS && width <= SMALL_WIDTH);
    for (size_t a = 0; a < n_arms; a++) {
        arms[a] = (uint32_t)a;
        if (small_is_space(t->set)) {
            bandit_arms_coded(t->fine_arms, a, points + a * width);
        } else {
            points[a * width] = (double)(a % SMALL_SIDE) + 0.5;
            points[a * width + 1] = (double)(a / SMALL_SIDE) - 0.5;
        }
    }
    if (bandit_engine_predict_arms(t->fine, arms, n_arms, fine, NULL) == BANDIT_UNSUPPORTED)
        return;
    for (int by_points = 0; by_points < (t->set == MATRIX ? 1 : 2); by_points++) {
        if (by_points)
            assert_int_equal(bandit_engine_predict_points(t->fine, points, n_arms, fine, NULL), BANDIT_OK);
        long before = live;
        for (long n = 0;; n++) {
            bandit_error err = {0};
            until_failure = n;
            bandit_status status = by_points
                                       ? bandit_engine_predict_points(t->engine, points, n_arms, tried, &err)
                                       : bandit_engine_predict_arms(t->engine, arms, n_arms, tried, &err);
            bool failed = has_failed();
            assert_int_equal(live, before);
            if (!failed) {
                assert_int_equal(status, BANDIT_OK);
                break;
            }
            assert_out_of_memory(status, &err);
        }
        assert_memory_equal(tried, fine, n_arms * sizeof *fine);
        if (by_points && small_is_space(t->set)) { /* at the arms, the arms' */
            assert_int_equal(bandit_engine_predict_arms(t->fine, arms, n_arms, tried, NULL), BANDIT_OK);
            for (size_t a = 0; a < n_arms; a++)
                assert_true(fabs(tried[a].mean - fine[a].mean) <= 1e-9 &&
                            fabs(tried[a].variance - fine[a].variance) <= 1e-9);
        }
    }
}

/* An engine like the twin, from its checkpoint and the picks made since. */
static bandit_status restore(bandit_engine **out, const trial *t, bandit_arms *arms,
                             const bandit_pick *pending, size_t n_pending, const bandit_pick *picks,
                             size_t n_picks, bandit_error *err)
{
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(t->fine, &checkpoint);
    bandit_status status = bandit_engine_restore(out, arms, &t->options, 0, &checkpoint, pending, n_pending,
                                                 &bandit_executor_serial, err);
    if (status == BANDIT_OK)
        status = bandit_engine_replay_picks(*out, picks, n_picks, &bandit_executor_serial, err);
    return status;
}

/* The engine in the place of the tried one is a restored one from here on. */
static void restore_again(trial *t, const bandit_pick *pending, size_t n_pending, const bandit_pick *picks,
                          size_t n_picks)
{
    bandit_arms *arms;
    bandit_engine_free(t->engine);
    bandit_arms_free(t->arms);
    long before = live;
    for (long n = 0;; n++) {
        until_failure = n;
        bandit_status status = copy_arms(&arms, t->set, t->fine_arms);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_int_equal(status, BANDIT_NO_MEMORY);
        bandit_arms_free(arms);
        assert_int_equal(live, before);
    }
    before = live;
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        bandit_status status = restore(&t->engine, t, arms, pending, n_pending, picks, n_picks, &err);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_out_of_memory(status, &err);
        bandit_engine_free(t->engine);
        assert_int_equal(live, before);
    }
    t->arms = arms;
}

/* Corrects a result, takes it back, and adds one of an arm that had none. A failed correction ends an engine.
 */
static void amend(trial *t, const bandit_result *was, const bandit_pick *pending, size_t n_pending,
                  const bandit_pick *picks, size_t n_picks)
{
    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(t->fine, &checkpoint);
    bandit_arm_sum before = {.arm = was->arm};
    uint32_t unpulled = 0;
    for (size_t i = 0; i < checkpoint.n_sums; i++) {
        if (checkpoint.sums[i].arm == was->arm)
            before = checkpoint.sums[i];
        unpulled += checkpoint.sums[i].arm == unpulled;
    }
    assert_true(before.count >= was->repeats && unpulled < bandit_arms_count(t->arms));
    bandit_amendment amendments[3] = {
        {.arm = was->arm,
         .was = {.repeats = was->repeats, .reward = was->reward},
         .now = {.repeats = was->repeats + 1, .reward = was->reward + 0.25}},
        {.arm = was->arm, .was = {.repeats = was->repeats + 1, .reward = was->reward + 0.25}},
        {.arm = unpulled, .now = {.repeats = 1, .reward = 0.5}},
    };
    amendments[0].chosen = amendments[1].chosen = was->chosen;
    amendments[0].variance = amendments[1].variance = was->variance;
    for (size_t k = 0; k < 3; k++) {
        const bandit_amendment *a = &amendments[k];
        bandit_arm_sum sum = a->arm == was->arm ? before : (bandit_arm_sum){.arm = a->arm};
        if (a->arm == was->arm) {
            sum.count -= was->repeats;
            sum.sum -= was->repeats * was->reward;
        }
        sum.count += a->now.repeats;
        sum.sum += a->now.repeats * a->now.reward;
        for (long n = 0;; n++) {
            bandit_error err = {0};
            bandit_engine *copy;
            assert_int_equal(restore(&copy, t, t->arms, pending, n_pending, picks, n_picks, NULL), BANDIT_OK);
            until_failure = n;
            bandit_status status = bandit_engine_amend(copy, a, 1, &sum, 1, NULL, 0, &err);
            bool failed = has_failed();
            bandit_engine_free(copy);
            if (!failed) {
                assert_int_equal(status, BANDIT_OK);
                break;
            }
            assert_out_of_memory(status, &err);
        }
    }
    for (size_t k = 0; k < 3; k += 2) { /* of both the first and the last stand */
        const bandit_amendment *a = &amendments[k];
        bandit_arm_sum sum = a->arm == was->arm ? before : (bandit_arm_sum){.arm = a->arm};
        sum.count += a->now.repeats - a->was.repeats;
        sum.sum += a->now.repeats * a->now.reward - a->was.repeats * a->was.reward;
        assert_int_equal(bandit_engine_amend(t->fine, a, 1, &sum, 1, NULL, 0, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_amend(t->engine, a, 1, &sum, 1, NULL, 0, NULL), BANDIT_OK);
    }
}

/* Of a batch's picks the first is told before the next batch, the others one batch later. */
static void run(trial *t)
{
    long before = live;
    bandit_pick late[MOST_PICKS];
    bandit_result results[2 * MOST_PICKS], told = {0};
    size_t n_results = 0, n_late = 0;
    make(t);
    for (size_t batch = 0; batch < t->batches; batch++) {
        bandit_pick picks[MOST_PICKS];
        begin(t, results, n_results, late, n_late);
        size_t n_picks = choose(t, picks);
        predict(t);
        if (batch == 2)
            restore_again(t, late, n_late, picks, n_picks);
        if (batch == 3)
            amend(t, &told, late, n_late, picks, n_picks);
        n_results = 0;
        for (size_t i = 0; i < n_late + (n_picks > 0); i++) {
            const bandit_pick *p = i < n_late ? &late[i] : &picks[0];
            results[n_results++] =
                (bandit_result){.arm = p->arm,
                                .repeats = 1,
                                .reward = t->scale * small_worth(t->fine_arms, t->set, p->arm),
                                .chosen = i != 1, /* or a user's own */
                                .variance = p->variance};
        }
        if (n_results > 0)
            told = results[0];
        n_late = n_picks > 1 ? n_picks - 1 : 0;
        memcpy(late, picks + 1, n_late * sizeof *late);
    }
    account end = account_of(t->engine);
    assert_true(t->scale == 1.0 || end.d.norm_bound > t->options.norm_bound);
    bandit_engine_free(t->fine);
    bandit_engine_free(t->engine);
    bandit_arms_free(t->fine_arms);
    bandit_arms_free(t->arms);
    assert_int_equal(live, before);
}

/* ---- the algorithms ------------------------------------------------------------------------------------ */

static void run_options(const bandit_options *options, small_set set)
{
    trial t = {.set = set, .scale = 1.0, .batches = BATCHES, .wanted = PICKS, .options = *options};
    run(&t);
}

static void run_all(small_set set, const bandit_algorithm *algorithms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bandit_options o = small_options(algorithms[i], set);
        run_options(&o, set);
    }
}

static void on_features(void **state)
{
    (void)state;
    const bandit_algorithm partitioned = BANDIT_PI_GP_UCB;
    run_all(FEATURES, small_algorithms, SMALL_ALGORITHMS);
    run_all(FEATURES, &partitioned, 1);

    bandit_options o = small_options(BANDIT_BBKB, FEATURES);
    o.batch_rule = BANDIT_BATCH_GLOBAL_LOCAL;
    o.init = BANDIT_INIT_UNCERTAINTY;
    run_options(&o, FEATURES);
    o.init_cholesky = true;
    run_options(&o, FEATURES);
    o = small_options(BANDIT_LOG_EI, FEATURES);
    o.init = BANDIT_INIT_UNCERTAINTY;
    o.init_cholesky = true;
    run_options(&o, FEATURES);
    o = small_options(BANDIT_S_GP_TS, FEATURES);
    o.posterior = BANDIT_POSTERIOR_DTC;
    o.features = BANDIT_FEATURES_EIGEN;
    run_options(&o, FEATURES);
    o.posterior = BANDIT_POSTERIOR_FEATURES;
    run_options(&o, FEATURES);
    o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
    run_options(&o, FEATURES);
    /* The first candidate has no variance under this kernel. */
    static const bandit_algorithm linear[] = {BANDIT_BBKB, BANDIT_GP_TS, BANDIT_GP_EI, BANDIT_GP_PI};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) {
        o = small_options(linear[i], FEATURES);
        o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
        run_options(&o, FEATURES);
    }
}

static void on_a_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < SMALL_ALGORITHMS; i++) {
        if (small_algorithms[i] != BANDIT_S_GP_TS) /* samples features of the kernel */
            run_all(MATRIX, &small_algorithms[i], 1);
    }
}

static void on_a_list(void **state)
{
    (void)state;
    run_all(LISTED, small_algorithms, SMALL_ALGORITHMS);
}

static void in_a_space(void **state)
{
    (void)state;
    run_all(SPACE, small_algorithms, SMALL_ALGORITHMS);
    bandit_options o = small_options(BANDIT_BBKB, SPACE);
    o.init = BANDIT_INIT_UNCERTAINTY;
    run_options(&o, SPACE);

    const bandit_algorithm few[] = {BANDIT_GP_EI, BANDIT_GP_TS};
    run_all(FEW, few, 2);

    /* What is fixed is a parameter with a condition: it must hold. */
    static const double fixed[] = {NAN, NAN, 5, NAN};
    static const bandit_algorithm kinds[] = {BANDIT_GP_EI, BANDIT_UNIFORM, BANDIT_REGULARIZED_EVOLUTION};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = {.set = SPACE,
                   .scale = 1.0,
                   .batches = 3,
                   .wanted = PICKS,
                   .fixed = fixed,
                   .options = small_options(kinds[i], SPACE)};
        run(&t);
    }
}

static void in_a_box(void **state)
{
    (void)state;
    const bandit_algorithm partitioned = BANDIT_PI_GP_UCB;
    run_all(BOX, &partitioned, 1);
}

/* With the hyper-parameters learned on the way. */
static void while_learning(void **state)
{
    (void)state;
    static const struct {
        bandit_algorithm algorithm;
        small_set set;
    } kinds[] = {
        {BANDIT_GP_EI, SPACE}, {BANDIT_PI_GP_UCB, BOX}, {BANDIT_IGP_UCB, SPACE}, {BANDIT_BBKB, MATRIX}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bandit_options o = small_options(kinds[i].algorithm, kinds[i].set);
        o.learn_lengthscale = kinds[i].set != MATRIX;
        o.learn_noise = o.learn_norm_bound = o.standardize_rewards = o.lambda_from_noise = true;
        run_options(&o, kinds[i].set);
    }
}

/* A function far larger than its norm bound says: the bound is doubled, and not when the batch then fails. */
static void while_the_norm_bound_grows(void **state)
{
    (void)state;
    static const struct {
        bandit_algorithm algorithm;
        small_set set;
    } kinds[] = {{BANDIT_BBKB, MATRIX},      {BANDIT_IGP_UCB, FEATURES}, {BANDIT_PI_GP_UCB, FEATURES},
                 {BANDIT_S_GP_TS, FEATURES}, {BANDIT_IGP_UCB, SPACE},    {BANDIT_PI_GP_UCB, BOX}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = {.set = kinds[i].set,
                   .scale = 1e4,
                   .batches = BATCHES,
                   .wanted = PICKS,
                   .options = small_options(kinds[i].algorithm, kinds[i].set)};
        t.options.learn_norm_bound = true;
        run(&t);
    }
}

/* More picks that are out than room is made for at first. */
static void with_many_picks(void **state)
{
    (void)state;
    static const struct {
        bandit_algorithm algorithm;
        small_set set;
    } kinds[] = {{BANDIT_BBKB, SPACE},         {BANDIT_GP_BUCB, SPACE},   {BANDIT_GP_TS, SPACE},
                 {BANDIT_PI_GP_UCB, BOX},      {BANDIT_BBKB, FEATURES},   {BANDIT_GP_BUCB, FEATURES},
                 {BANDIT_PI_GP_UCB, FEATURES}, {BANDIT_S_GP_TS, FEATURES}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = {.set = kinds[i].set,
                   .scale = 1.0,
                   .batches = 3,
                   .wanted = MOST_PICKS,
                   .options = small_options(kinds[i].algorithm, kinds[i].set)};
        run(&t);
    }
}

/* First picks by their uncertainty, more of them and of more different candidates than there is room for at
 * first. */
static void uncertain_first_picks(void **state)
{
    (void)state;
    enum { LINE = 100, MOST = 80 };
    double x[LINE];
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_options o = small_options(BANDIT_BBKB, FEATURES);
    uint32_t *picks, *fine;
    size_t n_picks, n_fine;
    const double near = 0.02;
    o.kernel.lengthscales = &near;
    for (size_t i = 0; i < LINE; i++)
        x[i] = (double)i / LINE;
    assert_int_equal(bandit_arms_new(&arms, LINE, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, LINE, x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, LINE, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &o.kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(
        bandit_uncertainty_picks(&fine, &n_fine, &covariance, o.lambda, 1e9, MOST, INFINITY, NULL),
        BANDIT_OK);
    assert_int_equal(n_fine, MOST);
    long before = live;
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        bandit_status status =
            bandit_uncertainty_picks(&picks, &n_picks, &covariance, o.lambda, 1e9, MOST, INFINITY, &err);
        if (!has_failed()) {
            assert_int_equal(status, BANDIT_OK);
            break;
        }
        assert_out_of_memory(status, &err);
        assert_null(picks);
        assert_int_equal(live, before);
    }
    assert_int_equal(n_picks, MOST);
    assert_memory_equal(picks, fine, MOST * sizeof *fine);
    free(picks);
    free(fine);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_features),
        cmocka_unit_test(on_a_matrix),
        cmocka_unit_test(on_a_list),
        cmocka_unit_test(in_a_space),
        cmocka_unit_test(in_a_box),
        cmocka_unit_test(while_learning),
        cmocka_unit_test(while_the_norm_bound_grows),
        cmocka_unit_test(with_many_picks),
        cmocka_unit_test(uncertain_first_picks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
