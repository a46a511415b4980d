/* Why an arm was picked: an engine that is restored at the start of the batch, and has replayed the picks before,
 * gives each arm a score. The arm that was picked has the largest one, for every algorithm and every set. */
#include "bandit/reason.h"
#include "tests/support/must.h"
#include "tests/support/near.h"
#include "tests/support/repeats.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <stdlib.h>

enum { BATCHES = 6, PICKS = 2, METRICS = 3, KNOWN = 16 };

typedef struct reasoned {
    small_set set;
    bandit_options options;
    bandit_arms *arms;
    bandit_engine *engine;
    bool *met; /* arms with a result, or in flight */
    bandit_select_limits limits;
    size_t scored;    /* picks that had a score */
    size_t penalized; /* arms that had a penalty */
} reasoned;

static const bandit_metric metrics[METRICS] = {
    {.objective = true, .low = -INFINITY, .high = INFINITY},
    {.objective = true, .low = -INFINITY, .high = INFINITY},
    {.low = -1.0, .high = INFINITY},
};

/* Points all over an open space, to compare the picks with. */
static void make_known(bandit_arms *arms, small_set set)
{
    bandit_options o = small_options(BANDIT_UNIFORM, set);
    bandit_engine *engine;
    bandit_error err = {0};
    bandit_pick picks[KNOWN];
    bandit_selection selection;
    bandit_select_limits limits = {
        .max_picks = KNOWN, .remaining = KNOWN, .beyond_bound = true, .most_repeats = UINT64_MAX};
    o.seed = 99;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    bandit_engine_free(engine);
}

/* The engine as it was when pick number n was made. */
static bandit_engine *engine_at(const reasoned *r, const bandit_pick *picks, size_t n)
{
    bandit_engine *again;
    bandit_checkpoint now;
    bandit_error err = {0};
    bandit_engine_checkpoint(r->engine, &now);
    must(bandit_engine_restore(&again, r->arms, &r->options, 0, &now, NULL, 0, &bandit_executor_serial, &err),
         &err);
    must(bandit_engine_replay_picks(again, picks, n, &bandit_executor_serial, &err), &err);
    return again;
}

/* What promise and ignorance add up to. */
static void check_split(const bandit_reason *y, bool in_model_units)
{
    double sum = y->promise + y->ignorance;
    if (y->rule == BANDIT_REASON_IMPROVEMENT && y->score > -200.0)
        assert_near(log(sum), y->score + y->penalty, 1e-6 * (1.0 + fabs(y->score)));
    else if ((y->rule == BANDIT_REASON_BOUND || y->rule == BANDIT_REASON_SAMPLE ||
              y->rule == BANDIT_REASON_MEAN) &&
             in_model_units)
        assert_near(sum + y->incumbent, y->score + y->penalty, 1e-9 * (1.0 + fabs(y->score)));
    if (y->rule == BANDIT_REASON_BOUND && in_model_units && y->incumbent == y->incumbent)
        assert_near(y->ignorance, y->width * sqrt(y->variance[0]), 1e-6 * (1.0 + y->ignorance));
}

static void check_pick(reasoned *r, const bandit_pick *picks, size_t n)
{
    bandit_engine *again = engine_at(r, picks, n);
    bandit_reason of_pick, of_arm;
    bandit_error err = {0};
    const char *name = bandit_algorithm_name(r->options.algorithm);
    must(bandit_engine_explain(again, picks[n].arm, &r->limits, &bandit_executor_serial, &of_pick, &err),
         &err);
    bool scored = isfinite(of_pick.score);
    r->scored += scored;
    for (uint32_t arm = 0; scored && arm < bandit_arms_count(r->arms); arm++) {
        if (arm == picks[n].arm || (r->met[arm] && r->options.algorithm == BANDIT_LOG_EI))
            continue;
        if (r->met[arm] && r->set >= LISTED)
            continue;
        must(bandit_engine_explain(again, arm, &r->limits, &bandit_executor_serial, &of_arm, &err), &err);
        /* A search among the points of one word does not compare them with others. */
        if (isfinite(of_arm.incumbent) && isfinite(of_pick.incumbent) &&
            of_arm.incumbent != of_pick.incumbent)
            continue;
        assert_int_equal(of_arm.rule, of_pick.rule);
        r->penalized += of_arm.penalty > 0.0 && of_arm.rule != BANDIT_REASON_IMPROVEMENT;
        if (of_arm.n == 1 && of_arm.rule != BANDIT_REASON_IMPROVEMENT)
            check_split(&of_arm, !r->options.standardize_rewards);
        double slack = small_is_open(r->set) ? 1e-6 * (1.0 + fabs(of_arm.score)) : 0.0;
        if (of_arm.score > of_pick.score + slack)
            fail_msg("%s, set %d, pick %zu: arm %u has %.17g, and the picked arm %u %.17g", name, (int)r->set,
                     n, arm, of_arm.score, picks[n].arm, of_pick.score);
    }
    if (of_pick.n == 1)
        check_split(&of_pick, !r->options.standardize_rewards);
    if (of_pick.n > 0)
        assert_true(of_pick.left >= 0.0 && of_pick.left <= 1.0 + 1e-9 && of_pick.variance[0] >= 0.0);
    bandit_engine_free(again);
}

static void begin(reasoned *r, const bandit_pick *picks, size_t n)
{
    bandit_result results[PICKS];
    double others[PICKS][METRICS - 1];
    bandit_error err = {0};
    for (size_t i = 0; i < n; i++) {
        double worth = small_worth(r->arms, r->set, picks[i].arm);
        others[i][0] = -worth * worth;
        others[i][1] = 1.0 - worth;
        results[i] = (bandit_result){.arm = picks[i].arm,
                                     .repeats = 1,
                                     .reward = worth,
                                     .chosen = true,
                                     .variance = picks[i].variance,
                                     .others = r->options.n_metrics > 0 ? others[i] : NULL};
    }
    must(bandit_engine_begin_batch(r->engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
}

static size_t penalties; /* of all studies */

static size_t study(small_set set, const bandit_options *o)
{
    reasoned r = {.set = set, .options = *o, .limits = BANDIT_SELECT_LIMITS_INIT};
    bandit_error err = {0};
    bandit_pick picks[PICKS];
    const uint32_t failed[] = {1};
    assert_int_equal(small_arms(&r.arms, set), BANDIT_OK);
    if (small_is_open(set))
        make_known(r.arms, set);
    must(bandit_engine_new(&r.engine, r.arms, o, 0, &err), &err);
    r.met = calloc(bandit_arms_count(r.arms) + (size_t)BATCHES * PICKS, sizeof *r.met);
    r.limits.failed = failed;
    r.limits.beyond_bound = true;
    for (size_t b = 0; b < BATCHES; b++) {
        begin(&r, picks, b > 0 ? PICKS : 0);
        r.limits.n_failed = b > 2 ? 1 : 0;
        for (size_t n = 0; n < PICKS; n++) {
            bandit_selection selection;
            r.limits.max_picks = 1;
            must(bandit_engine_select(r.engine, &r.limits, &bandit_executor_serial, picks + n, &selection,
                                      &err),
                 &err);
            assert_int_equal(selection.n_picks, 1);
            check_pick(&r, picks, n);
            r.met[picks[n].arm] = true;
        }
    }
    free(r.met);
    bandit_engine_free(r.engine);
    bandit_arms_free(r.arms);
    penalties += r.penalized;
    return r.scored;
}

static void the_picked_arm_has_the_largest_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < SMALL_ALGORITHMS; i += repeats(1, 2)) {
        bandit_algorithm algorithm = small_algorithms[i];
        bool models = bandit_algorithm_has_model(algorithm);
        for (small_set set = FEATURES; set <= SPACE; set++) {
            bandit_options o = small_options(algorithm, set);
            if (set == MATRIX && algorithm == BANDIT_S_GP_TS)
                continue;
            o.epsilon = 0.3;
            size_t scored = study(set, &o);
            if (models ? scored < PICKS * (BATCHES - 1) / 2 : scored > 0)
                fail_msg("%s, set %d: %zu scores", bandit_algorithm_name(algorithm), (int)set, scored);
            if (!models)
                continue;
            o.learn_noise = o.standardize_rewards = o.lambda_from_noise = true;
            study(set, &o);
            o = small_options(algorithm, set);
            o.init = BANDIT_INIT_UNCERTAINTY;
            if (algorithm != BANDIT_S_GP_TS)
                study(set, &o);
        }
    }
    assert_true(penalties > 0); /* else the split has not been checked where evaluations fail */
}

static void also_with_several_metrics(void **state)
{
    (void)state;
    for (small_set set = FEATURES; set <= SPACE; set++) {
        bandit_options o = small_options(BANDIT_LOG_EI, set);
        o.metrics = metrics;
        o.n_metrics = METRICS;
        assert_true(study(set, &o) >= PICKS * (BATCHES - 1) / 2);
        o.learn_noise = o.standardize_rewards = o.lambda_from_noise = true;
        study(set, &o);
    }
}

/* Distances in lengthscales where there are any, and otherwise the kernel's own. */
static void distances(void **state)
{
    (void)state;
    const uint32_t others[] = {0, 1, 5};
    for (small_set set = FEATURES; set <= MATRIX; set++) {
        bandit_options o = small_options(BANDIT_BBKB, set);
        reasoned r = {.set = set, .options = o};
        bandit_error err = {0};
        double out[3];
        assert_int_equal(small_arms(&r.arms, set), BANDIT_OK);
        must(bandit_engine_new(&r.engine, r.arms, &o, 0, &err), &err);
        must(bandit_engine_distances(r.engine, 0, others, 3, out, &err), &err);
        const double step = 1.0 / (SMALL_SIDE - 1) / 0.5; /* of the grid, scaled to [0, 1] */
        assert_near(out[0], 0.0, 1e-12);
        assert_near(out[1], set == FEATURES ? step : sqrt(2.0 - 2.0 * exp(-0.25)), 1e-12);
        assert_near(out[2], set == FEATURES ? step * sqrt(2.0) : sqrt(2.0 - 2.0 * exp(-0.5)), 1e-12);
        bandit_engine_free(r.engine);
        bandit_arms_free(r.arms);
    }
}

static void every_rule_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < BANDIT_REASON_RULES; i++)
        assert_true(bandit_reason_rule_name((bandit_reason_rule)i)[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_picked_arm_has_the_largest_score),
        cmocka_unit_test(also_with_several_metrics),
        cmocka_unit_test(distances),
        cmocka_unit_test(every_rule_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
