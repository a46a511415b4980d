/* Answers, against their text written down by hand. */
#include "proto/encode_events.h"
#include "proto/trials.h"
#include "proto/wire.h"
#include "tests/support/refusals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ends the writer; ' stands for " in `expected`. */
static void assert_written(wire_writer *w, const char *expected)
{
    char *text, *quoted = with_quotes(expected);
    size_t size;
    assert_true(wire_writer_finish(w, &text, &size));
    assert_string_equal(text, quoted);
    free(text);
    free(quoted);
}

static void test_problem(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    wire_problem problem = {.status = 404, .type = "about:blank", .title = "Not Found"};
    wire_encode_problem(&w, &problem);
    assert_written(&w, "{'type':'about:blank','title':'Not Found','status':404}");

    wire_errors errors = {0};
    problem.detail = "no study \xFF";
    problem.errors = &errors;
    wire_encode_problem(&w, &problem);
    assert_written(&w, "{'type':'about:blank','title':'Not Found','status':404,"
                       "'detail':'no study \xEF\xBF\xBD'}");

    wire_errors_add(&errors, "/a~1b", "must be %d", 7);
    wire_errors_add(&errors, "", "bad");
    wire_encode_problem(&w, &problem);
    assert_written(&w, "{'type':'about:blank','title':'Not Found','status':404,"
                       "'detail':'no study \xEF\xBF\xBD','errors':[{'pointer':'/a~1b','detail':'must be 7'},"
                       "{'pointer':'','detail':'bad'}]}");
    while (errors.dropped < 3)
        wire_errors_add(&errors, "", "more");
    assert_int_equal(errors.n, WIRE_ERRORS_MAX);
    wire_encode_problem(&w, &problem);
    char *text;
    size_t size;
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_non_null(strstr(text, "],\"errors_omitted\":3}"));
    free(text);
    wire_errors_clear(&errors);
    assert_int_equal(errors.n + errors.dropped, 0);
}

static void test_trials(void **state)
{
    (void)state;
    static const double point[] = {0.1, 2};
    wire_metric metric = {.name = "gain"};
    const wire_study definition = {.metrics = &metric, .n_metrics = 1};
    const wire_trial pending = {.id = 17,
                                .definition = &definition,
                                .state = "pending",
                                .batch = 3,
                                .attempt = 1,
                                .candidate = 1234,
                                .point = point,
                                .dimension = 2,
                                .worker = "w1",
                                .lease_expires_at = 1767225600000};
    const wire_trial told = {.id = 1,
                             .definition = &definition,
                             .state = "stopped",
                             .batch = -1,
                             .attempt = 2,
                             .worker = "",
                             .issued_at = 4,
                             .has_value = true,
                             .value = 0,
                             .reason = "why",
                             .told_at = 5};
#define PENDING                                                                                              \
    "{'id':17,'state':'pending','batch':3,'attempt':1,'candidate':1234,'point':[0.1,2.0],'worker':'w1',"     \
    "'lease_expires_at':'2026-01-01T00:00:00.000Z'}"
#define TOLD                                                                                                 \
    "{'id':1,'state':'stopped','attempt':2,'candidate':0,"                                                   \
    "'issued_at':'1970-01-01T00:00:00.004Z','value':0.0,'reason':'why',"                                     \
    "'told_at':'1970-01-01T00:00:00.005Z'"
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_trial(&w, &pending);
    assert_written(&w, PENDING);
    wire_encode_trial(&w, &told);
    assert_written(&w, TOLD "}");

    const wire_attempt attempts[] = {
        {.attempt = 1,
         .worker = "w",
         .issued_at = 1,
         .lease_expires_at = 2,
         .ended_at = 3,
         .outcome = "expired"},
        {.attempt = 2, .issued_at = 4, .lease_expires_at = 5, .outcome = ""},
    };
    wire_encode_trial_history(&w, &told, &(wire_history){.attempts = attempts, .n_attempts = 2});
    assert_written(&w, TOLD ",'attempts':[{'attempt':1,'worker':'w','issued_at':'1970-01-01T00:00:00.001Z',"
                            "'lease_expires_at':'1970-01-01T00:00:00.002Z',"
                            "'ended_at':'1970-01-01T00:00:00.003Z','outcome':'expired'},"
                            "{'attempt':2,'issued_at':'1970-01-01T00:00:00.004Z',"
                            "'lease_expires_at':'1970-01-01T00:00:00.005Z'}]}");

    wire_encode_curve(&w, 7, &(const wire_step){.attempt = 1, .step = 3, .value = 0.5, .time = 4}, 1);
    assert_written(&w, "{'trial':7,'measurements':[{'attempt':1,'step':3,'value':0.5,"
                       "'measured_at':'1970-01-01T00:00:00.004Z'}]}");

    wire_encode_ask_answer(&w, (const wire_trial[]){pending, pending}, 2, NULL);
    assert_written(&w, "{'trials':[" PENDING "," PENDING "],'reason':null}");
    wire_encode_ask_answer(&w, NULL, 0, "awaiting_feedback");
    assert_written(&w, "{'trials':[],'reason':'awaiting_feedback'}");
    wire_encode_tell_answer(&w, 2, 1, 3);
    assert_written(&w, "{'accepted':2,'duplicates':1,'late':3}");
}

static void test_bounds(void **state)
{
    (void)state;
    wire_metric metrics[] = {{.name = "gain"},
                             {.name = "heat",
                              .constraint = true,
                              .at_least = {.given = true, .value = -1},
                              .at_most = {.given = true, .value = 2}},
                             {.name = "noted", .recorded = true}};
    const wire_study definition = {.metrics = metrics, .n_metrics = 3};
    wire_late_result late[] = {{.attempt = 1, .recorded = "{\"heat\":2.0}"},
                               {.attempt = 2, .recorded = "{\"heat\":2.5}"},
                               {.attempt = 3, .recorded = "{\"noted\":0.0,\"heat\":-1.5}"}};
    for (size_t i = 0; i < 3; i++) {
        late[i].definition = &definition;
        late[i].told_at = 1;
    }
    const wire_trial without_value = {.id = 1, .definition = &definition, .state = "failed", .batch = -1};
    const wire_history history = {.late = late, .n_late = 3};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_trial_history(&w, &without_value, &history);
#define TOLD_AT "'told_at':'1970-01-01T00:00:00.001Z'"
    assert_written(&w,
                   "{'id':1,'state':'failed','attempt':0,'candidate':0,'attempts':[],'late_results':["
                   "{'attempt':1,'value':0.0,'values':{'gain':0.0,'heat':2.0},'feasible':true," TOLD_AT "},"
                   "{'attempt':2,'value':0.0,'values':{'gain':0.0,'heat':2.5},'feasible':false," TOLD_AT "},"
                   "{'attempt':3,'value':0.0,'values':{'gain':0.0,'noted':0.0,'heat':-1.5},"
                   "'feasible':false," TOLD_AT "}]}");
}

static void test_reading(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    wire_list_begin(&w);
    wire_list_end(&w, NULL);
    assert_written(&w, "{'items':[]}");
    wire_list_begin(&w);
    wire_integer_value(&w, 1);
    wire_integer_value(&w, 2);
    wire_list_end(&w, "x");
    assert_written(&w, "{'items':[1,2],'next_page_token':'x'}");
    wire_encode_candidates_answer(&w, 20640, 8);
    assert_written(&w, "{'count':20640,'dimension':8}");

    wire_best best = {0};
    wire_recommended recommended = {0};
    wire_encode_best(&w, &best, &recommended);
    assert_written(&w, "{'observed':null,'recommended':null}");
    best = (wire_best){.given = true, .trial = 3, .candidate = 4, .value = 0.5};
    recommended = (wire_recommended){
        .given = true, .candidate = 5, .mean = 1, .has_std = true, .std = 0.25, .pulls = 2};
    wire_encode_best(&w, &best, &recommended);
    assert_written(&w, "{'observed':{'trial':3,'candidate':4,'value':0.5},"
                       "'recommended':{'candidate':5,'mean':1.0,'std':0.25,'pulls':2}}");
    recommended.has_std = false;
    best.with_belief = true;
    wire_encode_best(&w, &best, &recommended);
    assert_written(&w, "{'observed':{'trial':3,'candidate':4,'value':0.5,'expected':null,'lucky':false},"
                       "'recommended':{'candidate':5,'mean':1.0,'std':null,'pulls':2}}");
    best = (wire_best){.given = true,
                       .observation = 6,
                       .candidate = -1,
                       .value = 0.5,
                       .with_belief = true,
                       .has_expected = true,
                       .expected = 0.25,
                       .lucky = true};
    wire_encode_observed(&w, &best);
    assert_written(&w, "{'observation':6,'value':0.5,'expected':0.25,'lucky':true}");

    static const wire_prediction predictions[] = {{1, 2, 3}, {-0.5, 0, 4}};
    wire_encode_predictions(&w, predictions, 2);
    assert_written(&w, "{'predictions':[{'mean':1.0,'std':2.0,'ucb':3.0},"
                       "{'mean':-0.5,'std':0.0,'ucb':4.0}]}");

    const wire_batch batch = {.batch = 1,
                              .size = 2,
                              .ratio = 2.5,
                              .stop_rule = "global",
                              .dictionary_size = 3,
                              .beta = 0.5,
                              .observations = 4,
                              .update_seconds = 0.125,
                              .select_seconds = 0,
                              .started_at = 6};
    wire_encode_batch(&w, &batch);
    assert_written(&w, "{'batch':1,'size':2,'ratio':2.5,'stop_rule':'global','dictionary_size':3,'beta':0.5,"
                       "'observations':4,'update_seconds':0.125,'select_seconds':0.0,"
                       "'started_at':'1970-01-01T00:00:00.006Z'}");
}

static void test_model(void **state)
{
    (void)state;
    char name[] = "bbkb", type[] = "gaussian";
    const wire_study definition = {
        .algorithm = {
            .given = true,
            .name = name,
            .kernel = {.given = true, .type = type, .lengthscale = {.given = true, .value = 12.5}}}};
    static const uint32_t dictionary[] = {3, 4294967295u};
    static const double lengthscales[] = {0.25, 4};
    const wire_model model = {.definition = &definition,
                              .batch = 2,
                              .beta = 0.5,
                              .dictionary = dictionary,
                              .n_dictionary = 2,
                              .effective_dimension = 1.5,
                              .information_gain = 2.5,
                              .lambda = 0.01,
                              .noise_std = 0.1,
                              .norm_bound = 1,
                              .signal_std = 3,
                              .offset = -2,
                              .scale = 3.5,
                              .lengthscales = lengthscales,
                              .n_lengthscales = 2,
                              .observations = 7,
                              .fitted_on = 6,
                              .set_aside = 1};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_model(&w, &model);
    assert_written(&w, "{'algorithm':'bbkb','kernel':{'type':'gaussian','lengthscale':12.5},'lambda':0.01,"
                       "'noise_std':0.1,'norm_bound':1.0,'signal_std':3.0,'lengthscales':[0.25,4.0],"
                       "'offset':-2.0,'scale':3.5,'fitted_on':6,'set_aside':1,"
                       "'batch':2,'observations':7,'beta':0.5,"
                       "'dictionary':{'size':2,'candidates':[3,4294967295]},'effective_dimension':1.5,"
                       "'information_gain':2.5}");
}

/* What a batch has no number for, is null. */
static void test_batch_event(void **state)
{
    (void)state;
    const wire_batch batch = {.batch = 3,
                              .size = 2,
                              .ratio = (double)INFINITY,
                              .stop_rule = "horizon",
                              .dictionary_size = 4,
                              .beta = (double)NAN,
                              .observations = 5,
                              .update_seconds = 0.25,
                              .select_seconds = 1,
                              .started_at = 1709164800000};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_batch_event(&w, 12, 1767225599999, &batch, false, 7, 2);
    assert_written(
        &w, "id: 12\nevent: batch\ndata: {'batch':3,'ratio':null,'stop_rule':'horizon','first_trial':7,"
            "'trials':2,'dictionary_size':4,'beta':null,'observations':5,'update_seconds':0.25,"
            "'select_seconds':1.0,'started_at':'2024-02-29T00:00:00.000Z',"
            "'time':'2025-12-31T23:59:59.999Z'}\n\n");
    wire_encode_batch_event(&w, 13, 1767225599999, &batch, true, 9, 1);
    assert_written(
        &w, "id: 13\nevent: batch\ndata: {'batch':3,'ratio':null,'stop_rule':'horizon','first_trial':9,"
            "'trials':1,'time':'2025-12-31T23:59:59.999Z'}\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problem), cmocka_unit_test(test_trials), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_reading), cmocka_unit_test(test_model),  cmocka_unit_test(test_batch_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
