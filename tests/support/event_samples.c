#include "tests/support/event_samples.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIVE(text) text text text text text
#define LONG       FIVE(FIVE(FIVE("a longer text, ")))
#define ESCAPES    "\"quoted\" \\ / \b\f\n\r\t\x01\x1f\x7f é 漢 \xF0\x9D\x84\x9E"
#define MALFORMED  "\xFF then \xC3"
#define LARGEST    ((int64_t)1 << 53)

static const uint32_t indices[] = {0, 7, 3, UINT32_MAX};
static const store_arm_sum sums[] = {
    {0, 1, 0.1}, {1, 0, -0.0}, {5, 12345678901, -1e300}, {UINT32_MAX, 3, 5e-324}, {9, 2, NAN}};
static const store_pick picks[] = {{3, 0.25}, {0, NAN}, {UINT32_MAX, -0.0}, {7, 1.0 / 3}, {8, INFINITY}};
static const double rows[] = {0.5, -0.0, NAN, 1e-300, -INFINITY, 9007199254740993.0, 1, -2, 0.1};
static const double held[] = {NAN, 0.75, -0.0, 1e19};
static const unsigned char state[] = {0, 1, 0x7f, 0x80, 0xff, 0xa5, 0};
static const store_observation observations[] = {{0, 1, -0.0, NULL, 0},
                                                 {UINT32_MAX, LARGEST, DBL_MAX, "", 0},
                                                 {4, 0, 2.5, NULL, 0},
                                                 {4, -3, -DBL_MIN, NULL, 0}};
#define METRICS "{\"size\":2,\"\":{\"yield\":0.25,\"size\":0.5}}"
static const store_observation measured_observations[] = {
    {4, 2, 2.5, METRICS, 0}, {5, 1, 1, NULL, 0}, {6, 1, 1, ESCAPES, 0}};

static const store_observation costly_observations[] = {
    {4, 2, 2.5, METRICS, 0.5}, {5, 1, 1, NULL, 1.0 / 3}, {6, 1, 1, NULL, -0.0}};

static const char *const texts[] = {"CCO", "", ESCAPES, LONG};

enum { N_TEXTS = sizeof texts / sizeof *texts };
enum { N_INDICES = sizeof indices / sizeof *indices, N_SUMS = sizeof sums / sizeof *sums };
enum { N_PICKS = sizeof picks / sizeof *picks, N_STATE = sizeof state };
enum { N_HELD = sizeof held / sizeof *held };
enum { N_MEASURED_OBSERVATIONS = sizeof measured_observations / sizeof *measured_observations };
enum { N_COSTLY_OBSERVATIONS = sizeof costly_observations / sizeof *costly_observations };
enum { N_OBSERVATIONS = sizeof observations / sizeof *observations };

#define SAMPLE(sample, of, member, ...)                                                                      \
    {                                                                                                        \
        .name = (sample), .event = {.type = (of), .time = 1753000000123, .u.member = {__VA_ARGS__} }         \
    }

/* clang-format off */
const event_sample event_samples[] = {
    SAMPLE("study_created", EVENT_STUDY_CREATED, created,
           .id = "a-study", .definition = "{\"name\":\"x\",\"seed\":1}", .state = STUDY_ACTIVE),
    SAMPLE("study_created.texts", EVENT_STUDY_CREATED, created,
           .id = ESCAPES, .definition = LONG, .state = STUDY_AWAITING_CANDIDATES),
    SAMPLE("study_created.empty", EVENT_STUDY_CREATED, created,
           .id = "", .definition = "", .state = STUDY_ERROR),

    SAMPLE("study_changed", EVENT_STUDY_CHANGED, changed,
           .definition = "{\"seed\":2}", .state = STUDY_PAUSED, .reason = "a user asked"),
    SAMPLE("study_changed.absent", EVENT_STUDY_CHANGED, changed, .state = STUDY_FINISHED),
    SAMPLE("study_changed.empty", EVENT_STUDY_CHANGED, changed,
           .definition = "", .state = STUDY_ERROR, .reason = ""),
    SAMPLE("study_changed.texts", EVENT_STUDY_CHANGED, changed,
           .definition = MALFORMED, .state = STUDY_ERROR, .reason = ESCAPES),
    SAMPLE("study_changed.best", EVENT_STUDY_CHANGED, changed,
           .definition = "{\"seed\":2}", .state = STUDY_ACTIVE,
           .finds_best = true, .best_trial = 7, .best_candidate = 3, .best_value = -1.5),
    SAMPLE("study_changed.no_best", EVENT_STUDY_CHANGED, changed,
           .definition = "{\"seed\":2}", .state = STUDY_ACTIVE, .finds_best = true),

    SAMPLE("candidates_set", EVENT_CANDIDATES_SET, candidates,
           .content = 12, .count = 1000000, .dimension = 20, .digest = "0123456789abcdef"),
    SAMPLE("candidates_set.absent", EVENT_CANDIDATES_SET, candidates, .content = 0),
    SAMPLE("candidates_set.largest", EVENT_CANDIDATES_SET, candidates,
           .content = LARGEST, .count = -LARGEST, .dimension = LARGEST, .digest = ""),

    SAMPLE("candidates_added", EVENT_CANDIDATES_ADDED, added,
           .first = 40, .points = {.n = 3, .dimension = 3, .rows = rows}),
    SAMPLE("candidates_added.one", EVENT_CANDIDATES_ADDED, added,
           .first = 0, .points = {.n = 1, .dimension = 1, .rows = rows}),

    SAMPLE("candidates_retired", EVENT_CANDIDATES_RETIRED, retired, .list = indices, .n = N_INDICES),
    SAMPLE("candidates_retired.empty", EVENT_CANDIDATES_RETIRED, retired, .list = NULL, .n = 0),

    SAMPLE("batch_planned", EVENT_BATCH_PLANNED, planned,
           .batch = {.batch = 3, .size = N_PICKS, .ratio = 1.25, .stop_rule = "global", .beta = 2.0 / 3,
                     .dictionary_size = N_INDICES, .observations = 17, .update_seconds = 1e-9,
                     .select_seconds = 123.5, .started_at = 1752999999999, .code_path = "avx2",
                     .through_seq = 99, .advice = "no_feasible_point"},
           .through_seq = 41, .dictionary = indices, .sums = sums, .n_sums = N_SUMS,
           .engine_state = state, .n_engine_state = N_STATE, .first_trial = 60,
           .picks = picks, .n_picks = N_PICKS, .held = {.values = held, .n_values = N_HELD, .n_picks = 2},
           .points = {.n = 2, .dimension = 4, .rows = rows}),
    SAMPLE("batch_planned.empty", EVENT_BATCH_PLANNED, planned,
           .batch = {.ratio = -0.0, .stop_rule = NULL, .beta = DBL_MAX, .code_path = NULL}),
    SAMPLE("batch_planned.held", EVENT_BATCH_PLANNED, planned,
           .batch = {.stop_rule = ESCAPES, .code_path = LONG, .update_seconds = -DBL_MAX},
           .picks = picks, .n_picks = 1, .held = {.values = held, .n_values = 1, .n_picks = 0}),
    SAMPLE("batch_planned.points", EVENT_BATCH_PLANNED, planned,
           .batch = {.stop_rule = "", .code_path = ""}, .points = {.n = 9, .dimension = 1, .rows = rows}),

    SAMPLE("batch_extended", EVENT_BATCH_EXTENDED, extended,
           .batch = 3, .through_seq = 77, .ratio = 1.5, .stop_rule = "local", .first_trial = 65,
           .picks = picks, .n_picks = N_PICKS, .held = {.values = held, .n_values = 3, .n_picks = N_PICKS},
           .points = {.n = 4, .dimension = 2, .rows = rows}),
    SAMPLE("batch_extended.empty", EVENT_BATCH_EXTENDED, extended, .batch = 0, .first_trial = 1),

    SAMPLE("trial_issued", EVENT_TRIAL_ISSUED, issued,
           .trial = 5, .attempt = 2, .worker = "gpu-7", .lease_expires_at = 1753000060123),
    SAMPLE("trial_issued.absent", EVENT_TRIAL_ISSUED, issued, .trial = LARGEST, .attempt = 1 << 30),
    SAMPLE("trial_issued.texts", EVENT_TRIAL_ISSUED, issued,
           .trial = 1, .attempt = 1, .worker = ESCAPES MALFORMED),

    SAMPLE("trial_renewed", EVENT_TRIAL_RENEWED, renewed,
           .trial = 5, .attempt = 2, .worker = "gpu-7", .lease_expires_at = 1753000060123),
    SAMPLE("trial_renewed.absent", EVENT_TRIAL_RENEWED, renewed,
           .trial = 5, .attempt = 2, .worker = NULL, .lease_expires_at = 0),
    SAMPLE("trial_renewed.empty", EVENT_TRIAL_RENEWED, renewed,
           .trial = 5, .attempt = 2, .worker = "", .lease_expires_at = 1),

    SAMPLE("trial_requeued", EVENT_TRIAL_REQUEUED, requeued,
           .trial = 5, .outcome = "expired", .attempt_counts = true),
    SAMPLE("trial_requeued.cost", EVENT_TRIAL_REQUEUED, requeued,
           .trial = 5, .outcome = "failed", .attempt_counts = true, .cost = 2.5),
    SAMPLE("trial_requeued.absent", EVENT_TRIAL_REQUEUED, requeued, .trial = 6),

    SAMPLE("trial_told", EVENT_TRIAL_TOLD, told,
           .trial = 5, .attempt = 2, .state = TRIAL_COMPLETED, .has_value = true, .value = -1.0 / 3,
           .better = true, .reason = "", .repeats = 4, .recorded = "{\"seconds\":1.5}",
           .metadata = "{\"host\":\"a\"}"),
    SAMPLE("trial_told.absent", EVENT_TRIAL_TOLD, told, .trial = 5, .state = TRIAL_FAILED),
    SAMPLE("trial_told.reason", EVENT_TRIAL_TOLD, told,
           .trial = 6, .attempt = 1, .state = TRIAL_INFEASIBLE, .value = 3.5, .reason = ESCAPES LONG,
           .repeats = 1, .recorded = "", .metadata = ""),
    SAMPLE("trial_told.zero", EVENT_TRIAL_TOLD, told,
           .trial = 7, .attempt = 1, .state = TRIAL_STOPPED, .has_value = true, .value = -0.0,
           .repeats = LARGEST, .recorded = "{}"),
    SAMPLE("trial_told.smallest", EVENT_TRIAL_TOLD, told,
           .trial = 7, .attempt = 1, .state = TRIAL_COMPLETED, .has_value = true, .value = 5e-324,
           .metadata = ESCAPES),

    SAMPLE("trial_proposed", EVENT_TRIAL_PROPOSED, proposed, .trial = 61, .pick = {12, 0.5}),
    SAMPLE("trial_proposed.absent", EVENT_TRIAL_PROPOSED, proposed, .trial = 1, .pick = {UINT32_MAX, NAN}),
    SAMPLE("trial_proposed.zero", EVENT_TRIAL_PROPOSED, proposed, .trial = 2, .pick = {0, -0.0}),

    SAMPLE("late_result_told", EVENT_LATE_RESULT_TOLD, late,
           .trial = 5, .attempt = 1, .value = 1e300, .better = true, .repeats = 2,
           .recorded = "{\"seconds\":2}", .metadata = "{\"host\":\"b\"}"),
    SAMPLE("late_result_told.absent", EVENT_LATE_RESULT_TOLD, late, .trial = 5, .attempt = 3, .value = -0.0),

    SAMPLE("trial_amended", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.3,
           .recorded = "{\"seconds\":3}", .reason = "a wrong unit", .best_trial = 5,
           .best_candidate = 7, .best_value = 0.3),
    SAMPLE("trial_amended.absent", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_FAILED, .best_value = NAN),
    SAMPLE("trial_amended.no-best", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_INFEASIBLE, .value = 4, .recorded = "", .reason = LONG,
           .best_value = 12.5),
    SAMPLE("trial_amended.other-best", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_STOPPED, .has_value = true, .value = -0.0, .reason = ESCAPES,
           .best_trial = 2, .best_candidate = 0, .best_value = -0.0),

    SAMPLE("trial_amended.repeats", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_FAILED, .repeats = 7, .reason = "spilt"),

    SAMPLE("trial_measured", EVENT_TRIAL_MEASURED, measured,
           .trial = 5, .attempt = 2, .step = 100, .value = 0.7),
    SAMPLE("trial_measured.zero", EVENT_TRIAL_MEASURED, measured,
           .trial = 5, .attempt = 1, .step = -LARGEST, .value = -0.0),

    SAMPLE("observations_added", EVENT_OBSERVATIONS_ADDED, observed,
           .list = observations, .n = N_OBSERVATIONS),
    SAMPLE("observations_added.empty", EVENT_OBSERVATIONS_ADDED, observed, .list = NULL, .n = 0),

    SAMPLE("candidates_restored", EVENT_CANDIDATES_RESTORED, restored, .list = indices, .n = N_INDICES),
    SAMPLE("candidates_restored.empty", EVENT_CANDIDATES_RESTORED, restored, .list = NULL, .n = 0),

    SAMPLE("candidates_keyed", EVENT_CANDIDATES_KEYED, keyed, .first = 3, .keys = texts, .n = N_TEXTS),
    SAMPLE("candidates_keyed.empty", EVENT_CANDIDATES_KEYED, keyed, .first = 0, .keys = NULL, .n = 0),

    SAMPLE("observation_amended", EVENT_OBSERVATION_AMENDED, reobserved,
           .observation = 3, .state = TRIAL_COMPLETED, .has_value = true, .value = -0.0, .reason = ESCAPES),
    SAMPLE("observation_amended.absent", EVENT_OBSERVATION_AMENDED, reobserved,
           .observation = LARGEST, .state = TRIAL_FAILED, .value = 4),
    SAMPLE("observation_amended.metrics", EVENT_OBSERVATION_AMENDED, reobserved,
           .observation = 3, .state = TRIAL_COMPLETED, .has_value = true, .value = 2, .recorded = METRICS,
           .reason = ""),
    SAMPLE("observations_added.metrics", EVENT_OBSERVATIONS_ADDED, observed,
           .list = measured_observations, .n = N_MEASURED_OBSERVATIONS),
    SAMPLE("trial_told.std_errors", EVENT_TRIAL_TOLD, told,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.5, .reason = "", .repeats = 1,
           .recorded = METRICS, .metadata = ""),
    SAMPLE("trial_told.cost", EVENT_TRIAL_TOLD, told,
           .trial = 5, .state = TRIAL_FAILED, .reason = "", .cost = 0.1),
    SAMPLE("late_result_told.cost", EVENT_LATE_RESULT_TOLD, late,
           .trial = 5, .attempt = 1, .value = 1, .repeats = 1, .cost = 1e15),
    SAMPLE("trial_told.front", EVENT_TRIAL_TOLD, told,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.5, .front = true, .reason = "",
           .recorded = METRICS),
    SAMPLE("late_result_told.front", EVENT_LATE_RESULT_TOLD, late,
           .trial = 5, .attempt = 1, .value = 1, .front = true, .recorded = METRICS),
    SAMPLE("trial_amended.front", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.3, .recorded = METRICS,
           .reason = "", .front = true),
    SAMPLE("trial_estimated", EVENT_TRIAL_ESTIMATED, estimated,
           .trial = 5, .value = 0.5, .recorded = "{\"\":{\"value\":0.25}}"),
    SAMPLE("trial_estimated.zero", EVENT_TRIAL_ESTIMATED, estimated,
           .trial = LARGEST, .value = -0.0, .recorded = METRICS),
    SAMPLE("trial_told.outdone", EVENT_TRIAL_TOLD, told,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.5, .better = true, .outdone = true,
           .repeats = 1),
    SAMPLE("late_result_told.outdone", EVENT_LATE_RESULT_TOLD, late,
           .trial = 5, .attempt = 1, .value = 1, .better = true, .outdone = true, .repeats = 1),
    SAMPLE("trial_amended.outdone", EVENT_TRIAL_AMENDED, amended,
           .trial = 5, .state = TRIAL_COMPLETED, .has_value = true, .value = 0.3, .best_trial = 5,
           .best_candidate = 7, .best_value = 0.3, .outdone = true),
    SAMPLE("observations_added.costs", EVENT_OBSERVATIONS_ADDED, observed,
           .list = costly_observations, .n = N_COSTLY_OBSERVATIONS),
};
/* clang-format on */
const size_t n_event_samples = sizeof event_samples / sizeof *event_samples;

store_event *event_sample_copy(const event_sample *sample)
{
    store_event *copy;
    assert_int_equal(store_event_copy(&copy, &sample->event), STORE_OK);
    return copy;
}

char *event_sample_payload(const event_sample *sample)
{
    char *payload;
    store_event *copy = event_sample_copy(sample);
    assert_int_equal(store_event_encode(&payload, copy), STORE_OK);
    free(copy);
    return payload;
}
