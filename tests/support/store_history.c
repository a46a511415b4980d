/* A random history of a study: events of every kind, valid ones only. */
#include "tests/support/store_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_TRIALS = 4096, ARMS = 50, DIMENSION = 3, MOST_CANDIDATES = 4096 };

/* The driver's own idea of the study: enough to make valid events. */
typedef struct history {
    uint64_t random;
    int64_t time, trials, batches;
    trial_state state[MOST_TRIALS];
    int32_t attempt[MOST_TRIALS];
    uint32_t candidate[MOST_TRIALS];
    bool has_value[MOST_TRIALS];
    double best;
    int64_t best_trial; /* from 0 */
    bool has_best;
    uint32_t dictionary[ARMS];
    store_arm_sum sums[ARMS];
    store_pick picks[8];
    store_observation observations[6];
    int64_t imported;
    unsigned char engine[16];
    int64_t candidates;
    double rows[4 * DIMENSION], held[DIMENSION];
    bool retired[MOST_CANDIDATES];
    uint32_t retiring[4];
    const char *keys[4];
} history;

static uint64_t draw(history *h, uint64_t n) /* splitmix64 */
{
    uint64_t z = h->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* All sorts of doubles: of any size, whole, both zeros, subnormal. */
static double draw_real(history *h)
{
    static const double special[] = {
        0.0, -0.0, 1.0, -3.0, 1e300, 5e-324, -2.5e-310, 1e19, 9007199254740993.0};
    uint64_t n = sizeof special / sizeof *special;
    if (draw(h, 4) == 0)
        return special[draw(h, n)];
    double x;
    do {
        uint64_t bits = draw(h, UINT64_MAX);
        memcpy(&x, &bits, sizeof x);
    } while (!isfinite(x));
    return x;
}

static store_points draw_points(history *h)
{
    store_points points = {.n = 1 + draw(h, 4), .dimension = DIMENSION, .rows = h->rows};
    for (size_t i = 0; i < points.n * DIMENSION; i++)
        h->rows[i] = draw(h, 5) ? draw_real(h) : NAN;
    h->candidates += (int64_t)points.n;
    return points;
}

static size_t draw_picks(history *h)
{
    size_t n = draw(h, sizeof h->picks / sizeof *h->picks);
    for (size_t i = 0; i < n; i++) {
        h->picks[i] = (store_pick){(uint32_t)draw(h, ARMS), draw(h, 5) ? fabs(draw_real(h)) : NAN};
        h->state[h->trials + (int64_t)i] = TRIAL_QUEUED;
        h->candidate[h->trials + (int64_t)i] = h->picks[i].candidate;
        h->has_value[h->trials + (int64_t)i] = false;
        h->attempt[h->trials + (int64_t)i] = 0;
    }
    return n;
}

static store_event draw_batch(history *h, int64_t last_seq)
{
    store_event event = {.type = EVENT_BATCH_PLANNED, .time = h->time};
    size_t n_dictionary = draw(h, ARMS), n_sums = draw(h, ARMS), n_state = draw(h, sizeof h->engine);
    for (size_t i = 0; i < n_dictionary; i++)
        h->dictionary[i] = (uint32_t)draw(h, ARMS);
    for (size_t i = 0; i < n_sums; i++)
        h->sums[i] = (store_arm_sum){(uint32_t)draw(h, ARMS), draw(h, 1000), draw_real(h)};
    for (size_t i = 0; i < n_state; i++)
        h->engine[i] = (unsigned char)draw(h, 256);
    event.u.planned.batch = (store_batch){.batch = h->batches++,
                                          .ratio = draw_real(h),
                                          .stop_rule = "global",
                                          .beta = draw_real(h),
                                          .dictionary_size = (int64_t)n_dictionary,
                                          .observations = h->trials,
                                          .update_seconds = 0.25,
                                          .select_seconds = 1e-9,
                                          .started_at = h->time - 5,
                                          .code_path = "avx2",
                                          .advice = draw(h, 3) == 0 ? "no_feasible_point" : ""};
    event.u.planned.through_seq = last_seq;
    event.u.planned.dictionary = h->dictionary;
    event.u.planned.sums = h->sums;
    event.u.planned.n_sums = n_sums;
    event.u.planned.engine_state = h->engine;
    event.u.planned.n_engine_state = n_state;
    event.u.planned.first_trial = h->trials + 1;
    event.u.planned.n_picks = draw_picks(h);
    event.u.planned.picks = h->picks;
    if (draw(h, 4) == 0)
        event.u.planned.points = draw_points(h);
    event.u.planned.batch.size = (int64_t)event.u.planned.n_picks;
    h->trials += (int64_t)event.u.planned.n_picks;
    return event;
}

static store_held draw_held(history *h, size_t n_picks)
{
    for (size_t i = 0; i < DIMENSION; i++)
        h->held[i] = draw(h, 2) ? NAN : draw_real(h);
    return (store_held){.values = h->held, .n_values = DIMENSION, .n_picks = draw(h, n_picks + 1)};
}

static store_event draw_extension(history *h)
{
    store_event event = {.type = EVENT_BATCH_EXTENDED, .time = h->time};
    event.u.extended.batch = h->batches - 1;
    event.u.extended.ratio = draw_real(h);
    event.u.extended.stop_rule = "min_in_flight";
    event.u.extended.first_trial = h->trials + 1;
    event.u.extended.n_picks = draw_picks(h);
    event.u.extended.picks = h->picks;
    if (draw(h, 4) == 0)
        event.u.extended.points = draw_points(h);
    if (draw(h, 3) == 0)
        event.u.extended.held = draw_held(h, event.u.extended.n_picks);
    h->trials += (int64_t)event.u.extended.n_picks;
    return event;
}

/* Half of them 0, and sums that are not exact. */
static double draw_cost(history *h)
{
    return draw(h, 2) ? (double)draw(h, 1000) / 7.0 : 0.0;
}

static store_event draw_observations(history *h)
{
    store_event event = {.type = EVENT_OBSERVATIONS_ADDED, .time = h->time};
    event.u.observed.n = draw(h, sizeof h->observations / sizeof *h->observations);
    for (size_t i = 0; i < event.u.observed.n; i++)
        h->observations[i] =
            (store_observation){(uint32_t)draw(h, ARMS), (int64_t)draw(h, 5) + 1, draw_real(h),
                                draw(h, 3) ? NULL : "{\"size\":2,\"\":{\"x\":0.5}}", draw_cost(h)};
    event.u.observed.list = h->observations;
    h->imported += (int64_t)event.u.observed.n;
    return event;
}

static store_event draw_reobserved(history *h)
{
    store_event event = {.type = EVENT_OBSERVATION_AMENDED, .time = h->time};
    event.u.reobserved.observation = 1 + (int64_t)draw(h, (uint64_t)h->imported);
    event.u.reobserved.has_value = draw(h, 2);
    event.u.reobserved.state = event.u.reobserved.has_value ? TRIAL_COMPLETED : TRIAL_FAILED;
    event.u.reobserved.value = draw_real(h);
    event.u.reobserved.recorded = draw(h, 2) ? "{\"size\":3}" : NULL;
    event.u.reobserved.reason = draw(h, 2) ? "a wrong row" : "";
    return event;
}

static store_event draw_added(history *h)
{
    store_event event = {.type = EVENT_CANDIDATES_ADDED, .time = h->time};
    event.u.added.first = h->candidates;
    event.u.added.points = draw_points(h);
    return event;
}

static store_event draw_retired(history *h)
{
    store_event event = {.type = EVENT_CANDIDATES_RETIRED, .time = h->time};
    for (size_t i = 0; i < sizeof h->retiring / sizeof *h->retiring; i++) {
        uint32_t candidate = (uint32_t)draw(h, (uint64_t)h->candidates);
        if (!h->retired[candidate])
            h->retiring[event.u.retired.n++] = candidate;
        h->retired[candidate] = true;
    }
    event.u.retired.list = h->retiring;
    return event;
}

static store_event draw_keyed(history *h)
{
    static const char *const some[] = {"CCO", "", "sample 7", "\xc3\xa9"};
    store_event event = {.type = EVENT_CANDIDATES_KEYED, .time = h->time};
    size_t n = sizeof some / sizeof *some;
    for (size_t i = 0; i < n; i++)
        h->keys[i] = some[draw(h, n)];
    event.u.keyed.first = draw(h, 4) ? (int64_t)draw(h, (uint64_t)h->candidates) : 0;
    event.u.keyed.keys = h->keys;
    event.u.keyed.n =
        (size_t)(h->candidates - event.u.keyed.first) < n ? (size_t)(h->candidates - event.u.keyed.first) : n;
    return event;
}

static store_event draw_restored(history *h)
{
    store_event event = {.type = EVENT_CANDIDATES_RESTORED, .time = h->time};
    size_t most = sizeof h->retiring / sizeof *h->retiring;
    for (int64_t i = 0; i < h->candidates && event.u.restored.n < most; i++)
        if (h->retired[i] && draw(h, 2)) {
            h->retiring[event.u.restored.n++] = (uint32_t)i;
            h->retired[i] = false;
        }
    event.u.restored.list = h->retiring;
    return event;
}

static store_event draw_told(history *h, int64_t i)
{
    static const trial_state outcomes[] = {TRIAL_COMPLETED, TRIAL_COMPLETED, TRIAL_FAILED, TRIAL_INFEASIBLE,
                                           TRIAL_STOPPED};
    store_event event = {.type = EVENT_TRIAL_TOLD, .time = h->time};
    h->state[i] = outcomes[draw(h, sizeof outcomes / sizeof *outcomes)];
    event.u.told.trial = i + 1;
    /* Sometimes a late result, under an earlier attempt. */
    event.u.told.attempt = h->attempt[i] > 1 && draw(h, 3) == 0 ? h->attempt[i] - 1 : h->attempt[i];
    if (draw(h, 8) == 0) /* or nobody's */
        event.u.told.attempt = 0;
    event.u.told.state = h->state[i];
    event.u.told.has_value = h->state[i] == TRIAL_COMPLETED || (h->state[i] == TRIAL_STOPPED && draw(h, 2));
    if (event.u.told.has_value) {
        event.u.told.value = draw_real(h);
        event.u.told.better = !h->has_best || event.u.told.value > h->best;
        if (event.u.told.better) {
            h->best = event.u.told.value;
            h->best_trial = i;
        }
        h->has_best = true;
        event.u.told.repeats = (int64_t)draw(h, 3);
        event.u.told.recorded = draw(h, 3) ? "" : "{\"latency\":1.25}";
    }
    h->has_value[i] = event.u.told.has_value;
    event.u.told.metadata = draw(h, 4) ? NULL : "{\"host\":\"α\"}";
    event.u.told.cost = draw_cost(h);
    event.u.told.reason = event.u.told.has_value ? "" : "out of memory: \"α\"\n";
    return event;
}

static store_event draw_late(history *h, int64_t i)
{
    store_event event = {.type = EVENT_LATE_RESULT_TOLD, .time = h->time};
    event.u.late.trial = i + 1;
    event.u.late.attempt = h->attempt[i] + 1;
    event.u.late.value = draw_real(h);
    event.u.late.better = !h->has_best || event.u.late.value > h->best;
    event.u.late.repeats = (int64_t)draw(h, 3) + 1;
    event.u.late.metadata = draw(h, 2) ? NULL : "{}";
    event.u.late.cost = draw_cost(h);
    if (event.u.late.better) {
        h->best = event.u.late.value;
        h->best_trial = i;
    }
    h->has_best = true;
    return event;
}

static store_event draw_estimated(history *h, int64_t i)
{
    store_event event = {.type = EVENT_TRIAL_ESTIMATED, .time = h->time};
    event.u.estimated.trial = i + 1;
    event.u.estimated.value = draw_real(h);
    event.u.estimated.recorded = "{\"\":{\"value\":0.125}}";
    return event;
}

/* What the best is, is the caller's affair: here the trial that has a new value. */
static store_event draw_amended(history *h, int64_t i)
{
    static const trial_state outcomes[] = {TRIAL_COMPLETED, TRIAL_FAILED, TRIAL_INFEASIBLE};
    store_event event = {.type = EVENT_TRIAL_AMENDED, .time = h->time};
    event.u.amended.trial = i + 1;
    h->state[i] = event.u.amended.state = outcomes[draw(h, 3)];
    h->has_value[i] = event.u.amended.has_value = h->state[i] == TRIAL_COMPLETED;
    event.u.amended.repeats = draw(h, 2) ? 0 : 1 + (int64_t)draw(h, 5);
    event.u.amended.reason = "the scale was off";
    if (event.u.amended.has_value) {
        event.u.amended.recorded = draw(h, 2) ? "" : "{\"latency\":-3.5e-300}";
        event.u.amended.value = h->best = draw_real(h);
        h->best_trial = i;
        h->has_best = true;
    } else if (h->best_trial == i) {
        h->has_best = false;
    }
    if (h->has_best) {
        event.u.amended.best_trial = h->best_trial + 1;
        event.u.amended.best_candidate = h->candidate[h->best_trial];
        event.u.amended.best_value = h->best;
    }
    return event;
}

static store_event draw_measured(history *h, int64_t i)
{
    store_event event = {.type = EVENT_TRIAL_MEASURED, .time = h->time};
    event.u.measured.trial = i + 1;
    event.u.measured.attempt = h->attempt[i];
    event.u.measured.step = (int64_t)draw(h, 6);
    event.u.measured.value = draw_real(h);
    return event;
}

static store_event draw_proposed(history *h)
{
    store_event event = {.type = EVENT_TRIAL_PROPOSED, .time = h->time};
    h->state[h->trials] = TRIAL_QUEUED;
    h->attempt[h->trials] = 0;
    h->candidate[h->trials] = (uint32_t)draw(h, ARMS);
    h->has_value[h->trials] = false;
    event.u.proposed.pick = (store_pick){h->candidate[h->trials], NAN};
    event.u.proposed.trial = ++h->trials;
    return event;
}

static store_event draw_of_trial(history *h, int64_t i)
{
    static const char *const workers[] = {"", "w1", "wörker 2"};
    store_event event = {.time = h->time};
    switch (h->state[i]) {
    case TRIAL_QUEUED:
        if (h->attempt[i] > 0 && draw(h, 4) == 0)
            return draw_told(h, i); /* a late result, after its lease */
        event.type = EVENT_TRIAL_ISSUED;
        event.u.issued.trial = i + 1;
        event.u.issued.attempt = ++h->attempt[i];
        event.u.issued.worker = workers[draw(h, 3)];
        event.u.issued.lease_expires_at = h->time + 1000;
        h->state[i] = TRIAL_PENDING;
        return event;
    case TRIAL_PENDING:
        if (draw(h, 3) == 0)
            return draw_measured(h, i);
        if (draw(h, 3) == 0) {
            event.type = EVENT_TRIAL_RENEWED;
            event.u.renewed.trial = i + 1;
            event.u.renewed.attempt = h->attempt[i];
            event.u.renewed.worker = draw(h, 2) ? NULL : "w3";
            event.u.renewed.lease_expires_at = h->time + 2000;
            return event;
        }
        if (draw(h, 3) == 0) {
            event.type = EVENT_TRIAL_REQUEUED;
            event.u.requeued.trial = i + 1;
            event.u.requeued.cost = draw_cost(h);
            event.u.requeued.attempt_counts = draw(h, 2);
            event.u.requeued.outcome = event.u.requeued.attempt_counts ? "expired" : "released";
            h->attempt[i] -= !event.u.requeued.attempt_counts;
            h->state[i] = TRIAL_QUEUED;
            return event;
        }
        return draw_told(h, i);
    case TRIAL_COMPLETED:
    case TRIAL_FAILED:
    case TRIAL_INFEASIBLE:
    case TRIAL_STOPPED:
    case TRIAL_STATES:
        break;
    }
    if (h->has_value[i] && draw(h, 3) == 0)
        return draw_late(h, i);
    if (h->state[i] == TRIAL_STOPPED && !h->has_value[i] && draw(h, 3) == 0)
        return draw_estimated(h, i);
    if (draw(h, 3) == 0)
        return draw_amended(h, i);
    event.type = EVENT_STUDY_CHANGED;
    event.u.changed.state = draw(h, 2) ? STUDY_ACTIVE : STUDY_PAUSED;
    event.u.changed.definition = draw(h, 2) ? "{\"lambda\": 1.00}" : NULL;
    event.u.changed.reason = draw(h, 2) ? "asked to" : "";
    event.u.changed.finds_best = draw(h, 2) == 0;
    if (event.u.changed.finds_best && draw(h, 2) == 0)
        h->has_best = false;
    if (event.u.changed.finds_best && h->has_best) {
        event.u.changed.best_trial = h->best_trial + 1;
        event.u.changed.best_candidate = h->candidate[h->best_trial];
        event.u.changed.best_value = h->best;
    }
    return event;
}

static store_event draw_event(history *h, int64_t last_seq)
{
    h->time += (int64_t)draw(h, 20);
    bool room = h->trials + 8 < MOST_TRIALS;
    if (h->batches == 0 || (room && draw(h, 12) == 0))
        return draw_batch(h, last_seq);
    if (h->trials == 0 || (room && draw(h, 20) == 0))
        return draw_extension(h);
    if (room && draw(h, 20) == 0)
        return draw_proposed(h);
    if (draw(h, 25) == 0)
        return draw_observations(h);
    if (h->imported > 0 && draw(h, 25) == 0)
        return draw_reobserved(h);
    if (h->candidates + 4 < MOST_CANDIDATES && draw(h, 25) == 0)
        return draw_added(h);
    if (draw(h, 25) == 0)
        return draw_retired(h);
    if (draw(h, 50) == 0)
        return draw_restored(h);
    if (draw(h, 50) == 0)
        return draw_keyed(h);
    return draw_of_trial(h, (int64_t)draw(h, (uint64_t)h->trials));
}

void store_fixture_history(store *s, const char *id, uint64_t seed, size_t steps)
{
    history *h = calloc(1, sizeof *h);
    store_waiter waiter = STORE_WAITER_INIT;
    store_lane *lane;
    size_t submitted = 0;
    assert_non_null(h);
    h->random = seed;
    h->time = 1700000000000;
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    store_event first[2] = {store_fixture_created(id, h->time),
                            {.type = EVENT_CANDIDATES_SET, .time = h->time}};
    first[1].u.candidates.content = store_fixture_upload(s, ARMS, DIMENSION, 7);
    first[1].u.candidates.count = ARMS;
    first[1].u.candidates.dimension = DIMENSION;
    first[1].u.candidates.digest = "c0ffee";
    store_fixture_submit(lane, first, 2, &waiter);
    h->candidates = ARMS;
    submitted++;
    for (size_t step = 0; step < steps; submitted++) {
        store_write *write;
        assert_int_equal(store_write_new(&write, lane), STORE_OK);
        size_t n = draw(h, 4);
        for (size_t i = 0; i < n && step < steps; i++, step++) {
            store_event event = draw_event(h, store_lane_next_seq(lane) - 1);
            assert_int_equal(store_write_add(write, &event), STORE_OK);
        }
        store_submit(write, store_waiter_done, &waiter);
    }
    store_waiter_wait(&waiter, submitted);
    assert_int_equal(waiter.first_failure, STORE_OK);
    store_lane_close(lane);
    free(h);
}
