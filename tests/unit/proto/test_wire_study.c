/* Definitions of studies that are taken: every member, and back to JSON. */
#include "proto/wire.h"
#include "tests/support/definitions.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <jansson.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- what is taken ------------------------------------------------------------------------------------- */

static const char full[] =
    "{'id':'cadata-1','display_name':'California \xC3\xA9','labels':{'team':'bench','empty':''},"
    "'metadata':{'a':[1,2.5,null,true,'x'],'b':{}},'aim':'best',"
    "'metric':{'name':'value','goal':'minimize','role':'objective'},'optimum':-1.5,"
    "'domain':{'type':'candidates','dimension':3,'scaling':'unit','names':['x','y','z']},"
    "'algorithm':{'name':'s_gp_ts','kernel':{'type':'matern','nu':1.5,'lengthscale':[1.0,2.0,0.1]},"
    "'lambda':0.01,'noise_std':'auto','norm_bound':'auto','delta':0.0001,'q_bar':'theory',"
    "'ratio_bound':2.0,'batch_rule':'global_local','confidence':{'beta':3.0},'resample':'persistent',"
    "'max_batch':100,'max_arm_failures':4,'standardize_rewards':false,"
    "'init':{'type':'uncertainty','parallelism':7.5},'gamma':'bound','gamma_scale':0.5,'scale':2.0,"
    "'epsilon':0.0,'zeta':0.25,'population':50,'sample':50,'posterior':'dtc','features':'eigen',"
    "'inducing':10,'prior_features':20,'dpp_steps':0,'initial_cells':30,'in_flight':'all'},"
    "'horizon':10000,'seed':9007199254740991,'feedback':'batch','repeats':'never','min_in_flight':3,"
    "'lease_seconds':1.5,'max_attempts':5,"
    "'stop_when':[{'rule':'stagnation','results':30,'gain':0.5,'then':'finish'},"
    "{'rule':'target','value':-2.5,'then':'tell'},{'rule':'regret','epsilon':0.5,'probability':0.75,'then':'tell'}]}";

static void test_full(void **state)
{
    (void)state;
    wire_study *s = decode_definition(full);
    const wire_algorithm *a = &s->algorithm;
    assert_string_equal(s->id, "cadata-1");
    assert_string_equal(s->display_name, "California \xC3\xA9");
    assert_string_equal(s->aim, "best");
    assert_string_equal(s->labels, "{\"team\":\"bench\",\"empty\":\"\"}");
    assert_string_equal(s->metadata, "{\"a\":[1,2.5,null,true,\"x\"],\"b\":{}}");
    assert_int_equal(s->n_metrics, 1);
    assert_false(s->metrics_as_list);
    assert_string_equal(s->metrics[0].name, "value");
    assert_true(s->metrics[0].minimize && !s->metrics[0].recorded);
    assert_true(s->optimum.given && s->optimum.value == -1.5);
    assert_int_equal(s->domain_type, WIRE_DOMAIN_CANDIDATES);
    assert_true(s->dimension.given && s->dimension.value == 3 && !s->size.given);
    assert_string_equal(s->scaling, "unit");
    assert_null(s->points);
    assert_int_equal(s->n_feature_names, 3);
    assert_string_equal(s->feature_names[2], "z");
    assert_string_equal(a->name, "s_gp_ts");
    assert_string_equal(a->kernel.type, "matern");
    assert_true(a->kernel.nu.value == 1.5 && !a->kernel.lengthscale.given);
    assert_int_equal(a->kernel.n_lengthscales, 3);
    assert_true(a->kernel.lengthscales[2] == 0.1);
    assert_true(a->lambda.given && !a->lambda.word && a->lambda.value == 0.01);
    assert_true(a->noise_std.given);
    assert_string_equal(a->noise_std.word, "auto");
    assert_string_equal(a->norm_bound.word, "auto");
    assert_true(a->delta.value == 0.0001);
    assert_string_equal(a->q_bar.word, "theory");
    assert_true(a->ratio_bound.value == 2);
    assert_string_equal(a->batch_rule, "global_local");
    assert_string_equal(a->confidence, "fixed");
    assert_true(a->beta.given && a->beta.value == 3);
    assert_string_equal(a->resample, "persistent");
    assert_int_equal(a->max_batch.value, 100);
    assert_int_equal(a->max_arm_failures.value, 4);
    assert_true(a->standardize_rewards_given && !a->standardize_rewards);
    assert_string_equal(a->init, "uncertainty");
    assert_true(a->parallelism.value == 7.5);
    assert_string_equal(a->gamma.word, "bound");
    assert_true(a->gamma_scale.value == 0.5 && a->scale.value == 2 && a->zeta.value == 0.25);
    assert_true(a->epsilon.given && a->epsilon.value == 0);
    assert_true(a->population.value == 50 && a->sample.value == 50);
    assert_string_equal(a->posterior, "dtc");
    assert_string_equal(a->features, "eigen");
    assert_true(a->inducing.value == 10 && a->prior_features.value == 20);
    assert_string_equal(a->in_flight, "all");
    assert_true(a->dpp_steps.given && a->dpp_steps.value == 0 && a->initial_cells.value == 30);
    assert_true(s->horizon.value == 10000 && s->seed.value == WIRE_MAX_INTEGER);
    assert_string_equal(s->feedback, "batch");
    assert_string_equal(s->repeats, "never");
    assert_true(s->min_in_flight.value == 3 && s->lease_seconds.value == 1.5 && s->max_attempts.value == 5);
    assert_int_equal(s->n_stop_when, 3);
    assert_true(s->stop_when[0].rule == WIRE_STOP_STAGNATION && s->stop_when[0].results == 30 &&
                s->stop_when[0].gain == 0.5);
    assert_true(s->stop_when[1].rule == WIRE_STOP_TARGET && s->stop_when[1].value == -2.5);
    assert_true(s->stop_when[2].rule == WIRE_STOP_REGRET && s->stop_when[2].epsilon == 0.5 &&
                s->stop_when[2].probability == 0.75);
    assert_true(!s->stop_when[0].tells && s->stop_when[1].tells && s->stop_when[2].tells);
    wire_study_free(s);
}

static void test_least(void **state)
{
    (void)state;
    wire_study *s = decode_definition("{" METRIC "," DOMAIN "}");
    assert_null(s->id);
    assert_null(s->display_name);
    assert_null(s->labels);
    assert_null(s->metadata);
    assert_null(s->aim);
    assert_null(s->scaling);
    assert_null(s->feedback);
    assert_null(s->repeats);
    assert_false(s->algorithm.given || s->algorithm.kernel.given || s->horizon.given || s->seed.given);
    assert_false(s->optimum.given || s->lease_seconds.given || s->max_attempts.given);
    wire_study_free(s);
}

static void test_points(void **state)
{
    (void)state;
    wire_study *s = decode_definition(CANDIDATES(",'points':[[1,2.5],[3,-4],[0,1e20]]"));
    static const double expected[] = {1, 2.5, 3, -4, 0, 1e20};
    assert_int_equal(s->n_points, 3);
    assert_true(s->dimension.given);
    assert_int_equal(s->dimension.value, 2);
    assert_memory_equal(s->points, expected, sizeof expected);
    wire_study_free(s);
}

static void test_metrics(void **state)
{
    (void)state;
    wire_study *s = decode_definition(METRICS("[{'name':'t','goal':'minimize','role':'recorded'},"
                                              "{'name':'v','goal':'maximize'}]"));
    assert_int_equal(s->n_metrics, 2);
    assert_true(s->metrics_as_list);
    assert_true(s->metrics[0].minimize && s->metrics[0].recorded);
    assert_true(!s->metrics[1].minimize && !s->metrics[1].recorded);
    wire_study_free(s);
}

static void test_modelled_metrics(void **state)
{
    (void)state;
    wire_study *s = decode_definition(METRICS("[{'name':'c','role':'constraint','at_least':-1.5,'at_most':2},"
                                              "{'name':'t','role':'recorded'},"
                                              "{'name':'v','goal':'maximize','threshold':0.5},"
                                              "{'name':'w','goal':'minimize','threshold':9,'at_most':20}]"));
    const wire_metric *modelled[WIRE_MAX_MODELLED];
    assert_int_equal(wire_modelled_metrics(s, modelled), 3);
    assert_string_equal(modelled[0]->name, "v");
    assert_string_equal(modelled[1]->name, "c");
    assert_string_equal(modelled[2]->name, "w");
    assert_ptr_equal(wire_objective(s), modelled[0]);
    assert_int_equal(wire_count_objectives(s), 2);
    assert_true(wire_has_several(s));
    assert_true(s->metrics[0].constraint && s->metrics[0].at_least.value == -1.5 &&
                s->metrics[0].at_most.value == 2 && !s->metrics[0].has_goal);
    assert_true(s->metrics[1].recorded && !s->metrics[1].has_goal);
    assert_true(s->metrics[2].threshold.value == 0.5 && s->metrics[3].at_most.value == 20);
    wire_study_free(s);
    s = decode_definition("{" METRIC "," DOMAIN "}");
    assert_false(wire_has_several(s));
    wire_study_free(s);
    s = decode_definition("{'metric':{'name':'v','goal':'maximize','at_least':1}," DOMAIN "}");
    assert_true(wire_has_several(s) && wire_modelled_metrics(s, NULL) == 1);
    wire_study_free(s);
}

static void test_accepted(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        WITH("'id':'a'"),
        WITH("'id':'0.-_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"),
        WITH("'display_name':''"),
        WITH("'algorithm':{}"),
        WITH("'horizon':1.0"),
        WITH("'optimum':123456789012345678901234567890"),
        KERNEL("'type':'linear'"),
        KERNEL("'type':'precomputed'"),
        KERNEL("'type':'gaussian','lengthscale':'auto'"),
        KERNEL("'nu':2.5,'lengthscale':[1,2]"),
        ALGORITHM("'confidence':'theory'"),
        ALGORITHM("'init':{'type':'uniform'}"),
        ALGORITHM("'init':{'type':'uncertainty'}"),
        ALGORITHM("'gamma':2.5,'noise_std':0,'norm_bound':0,'epsilon':1"),
        ALGORITHM("'lambda':'auto','confidence':'calibrated'"),
        "{" METRIC ",'domain':{'type':'precomputed','size':5}}",
        "{" METRIC ",'history_from':'old-1'," DOMAIN "}",
        WITH("'learn_from':[]"),
        WITH("'learn_from':['a','b-1']"),
        WITH("'learn_from':['a'," FROZEN("[1,2]", "[0.5]", "[[1,null]]") "]"),
        WITH(
            "'learn_from':[{'study':'b','observations':9,'shift':0.0,'lengthscales':[1],'short_share':0.3,'weights':[0.5],"
            "'points':[[1]]}]"),
    };
    check_accepted(attempt_definition, bodies, LENGTH(bodies));
}

/* ---- back to JSON -------------------------------------------------------------------------------------- */

static char *encode(const wire_study *study)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, study);
    char *text;
    size_t size;
    assert_true(wire_writer_finish(&w, &text, &size));
    return text;
}

/* A definition that gives everything is written as it was read; and each other one comes back the same after
 * it has been read and written once. */
static void test_round_trip(void **state)
{
    (void)state;
    wire_study *study = decode_definition(full);
    char *text = encode(study);
    char *expected = with_quotes(full);
    json_t *first = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *second = json_loads(expected, 0, NULL);
    assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);
    free(expected);
    free(text);
    wire_study_free(study);

    static const char *const others[] = {
        "{" METRIC "," DOMAIN "}",
        METRICS("[{'name':'t','goal':'minimize','role':'recorded'},{'name':'v','goal':'maximize','role':'"
                "objective'}]"),
        KERNEL("'type':'gaussian','lengthscale':12.5"),
        KERNEL("'lengthscale':'auto'"),
        ALGORITHM("'confidence':'practical','init':{'type':'uniform'},'gamma':0.1,'q_bar':2"),
        "{" METRIC ",'domain':{'type':'precomputed','size':5}}",
    };
    for (size_t i = 0; i < LENGTH(others); i++) {
        wire_study *s = decode_definition(others[i]);
        char *once = encode(s);
        wire_study *again = decode_definition(once);
        char *twice = encode(again);
        assert_string_equal(once, twice);
        /* Nothing that was given is lost: roles are the one thing that is added. */
        char *given = with_quotes(others[i]);
        json_t *before = json_loads(given, JSON_DECODE_INT_AS_REAL, NULL);
        json_t *after = json_loads(once, JSON_DECODE_INT_AS_REAL, NULL);
        json_t *merged = json_deep_copy(after);
        json_object_update_recursive(merged, before);
        assert_true(json_equal(merged, after));
        json_decref(merged);
        json_decref(before);
        json_decref(after);
        free(given);
        free(once);
        free(twice);
        wire_study_free(s);
        wire_study_free(again);
    }
}

/* Inline points are not part of what is stored; their dimension is. */
static void test_points_are_left_out(void **state)
{
    (void)state;
    wire_study *s = decode_definition(CANDIDATES(",'points':[[1,2],[3,4]]"));
    char *text = encode(s);
    char *expected = with_quotes("{'metric':{'name':'value','goal':'maximize','role':'objective'},"
                                 "'domain':{'type':'candidates','dimension':2}}");
    assert_string_equal(text, expected);
    free(expected);
    free(text);
    wire_study_free(s);
}

static void test_view(void **state)
{
    (void)state;
    wire_study *s = decode_definition("{" METRIC "," DOMAIN ",'id':'a'}");
    wire_study_view view = {.definition = s,
                            .state = "error",
                            .state_reason = "why",
                            .advice = "no_feasible_point",
                            .created_at = 1,
                            .updated_at = 2,
                            .queued = 3,
                            .pending = 4,
                            .completed = 5,
                            .failed = 6,
                            .infeasible = 7,
                            .stopped = 8,
                            .observations = 9,
                            .cost = 9.5,
                            .batch = 10,
                            .candidates = 11,
                            .best = {.given = true, .trial = 12, .candidate = 13, .value = 0.5}};
    static const char head[] = "{'id':'a','metric':{'name':'value','goal':'maximize','role':'objective'},"
                               "'domain':{'type':'candidates','dimension':2},";
    static const char *const tails[] = {
        "'state':'error','state_reason':'why','advice':'no_feasible_point','created_at':'1970-01-01T00:00:00.001Z',"
        "'updated_at':'1970-01-01T00:00:00.002Z','candidates':11,'trials_queued':3,'trials_pending':4,"
        "'trials_completed':5,'trials_failed':6,'trials_infeasible':7,'trials_stopped':8,'observations':9,'cost':9.5,"
        "'batch':10,'best':{'trial':12,'candidate':13,'value':0.5}}",
        "'state':'active','created_at':'1970-01-01T00:00:00.001Z',"
        "'updated_at':'1970-01-01T00:00:00.002Z','candidates':11,'trials_queued':3,'trials_pending':4,"
        "'trials_completed':5,'trials_failed':6,'trials_infeasible':7,'trials_stopped':8,'observations':9,'cost':9.5,"
        "'batch':10,'best':null}",
        "'state':'active','advice':{'stop':true,'rule':'target','since_batch':7},"
        "'created_at':'1970-01-01T00:00:00.001Z',"
        "'updated_at':'1970-01-01T00:00:00.002Z','candidates':11,'trials_queued':3,'trials_pending':4,"
        "'trials_completed':5,'trials_failed':6,'trials_infeasible':7,'trials_stopped':8,'observations':9,'cost':9.5,"
        "'batch':10,'best':null}"};
    for (int i = 0; i < 3; i++) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_study(&w, &view);
        char *text;
        size_t size;
        assert_true(wire_writer_finish(&w, &text, &size));
        char joined[1000];
        snprintf(joined, sizeof joined, "%s%s", head, tails[i]);
        char *expected = with_quotes(joined);
        assert_string_equal(text, expected);
        free(expected);
        free(text);
        view.state = "active";
        view.state_reason = view.advice = "";
        view.best.given = false;
        view.advising_rule = i == 1 ? "target" : NULL;
        view.advised_since = 7;
    }
    wire_study_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_modelled_metrics),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_points_are_left_out),
        cmocka_unit_test(test_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
