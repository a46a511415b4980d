/* Definitions of studies that are refused: each problem with its pointer. */
#include "proto/wire.h"
#include "tests/support/definitions.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void test_common(void **state)
{
    (void)state;
    check_common(attempt_definition);
}

#define BAD_ID "must have 1 to 63 characters a-z, 0-9, '.', '_' and '-', and start with a-z or 0-9"

static void test_refused_members(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {WITH("'horizn':1"), "/horizn",
         "unknown field; allowed here are id, display_name, labels, metadata, aim, metrics, metric, optimum, domain, algorithm, "
         "horizon, history_from, learn_from, seed, feedback, repeats, min_in_flight, lease_seconds, …"},
        {WITH("'a/b~c':1"), "/a~1b~0c", "unknown field"},
        {WITH("'':1"), "/", "unknown field"},
        {"{" DOMAIN "}", "/metric", "is required"},
        {"{" METRIC "}", "/domain", "is required"},
        {WITH("'id':5"), "/id", "must be a string"},
        {WITH("'id':null"), "/id", "must be a string"},
        {WITH("'id':''"), "/id", BAD_ID},
        {WITH("'id':'-a'"), "/id", BAD_ID},
        {WITH("'id':'aB'"), "/id", BAD_ID},
        {WITH("'id':'a\\n'"), "/id", BAD_ID},
        {WITH("'id':'0123456789012345678901234567890123456789012345678901234567890123'"), "/id", BAD_ID},
        {WITH("'display_name':[]"), "/display_name", "must be a string"},
        {WITH("'labels':[]"), "/labels", "must be an object"},
        {WITH("'labels':{'a':1}"), "/labels/a", "must be a string"},
        {WITH("'labels':{'a:b':'c'}"), "/labels/a:b",
         "the name of a label must not be empty or contain a colon"},
        {WITH("'labels':{'':'c'}"), "/labels/", "the name of a label must not be empty or contain a colon"},
        {WITH("'metadata':'x'"), "/metadata", "must be an object"},
        {WITH("'optimum':'x'"), "/optimum", "must be a number"},
        {WITH("'optimum':true"), "/optimum", "must be a number"},
        {WITH("'algorithm':'bbkb'"), "/algorithm", "must be an object"},
        {WITH("'horizon':0"), "/horizon", "must be at least 1"},
        {WITH("'horizon':1.5"), "/horizon", "must be an integer"},
        {WITH("'horizon':true"), "/horizon", "must be an integer"},
        {WITH("'horizon':'1'"), "/horizon", "must be an integer"},
        {WITH("'horizon':9007199254740992"), "/horizon", "must be at most 9007199254740991"},
        {WITH("'horizon':99999999999999999999"), "/horizon", "must be at most 9007199254740991"},
        {WITH("'horizon':-99999999999999999999"), "/horizon", "must be at least 1"},
        {WITH("'seed':-1"), "/seed", "must be at least 0"},
        {WITH("'seed':9007199254740993"), "/seed", "must be at most 9007199254740991"},
        {WITH("'aim':'worst'"), "/aim", "must be \"best\" or \"regret\""},
        {WITH("'repeats':'once'"), "/repeats", "must be \"auto\" or \"never\""},
        {WITH("'repeats':true"), "/repeats", "must be \"auto\" or \"never\""},
        {WITH("'feedback':'sync'"), "/feedback", "must be \"async\" or \"batch\""},
        {WITH("'min_in_flight':0"), "/min_in_flight", "must be at least 1"},
        {WITH("'lease_seconds':0.5"), "/lease_seconds", "must be at least 1"},
        {WITH("'lease_seconds':31536001"), "/lease_seconds", "must be at most 31536000"},
        {WITH("'stop_when':{}"), "/stop_when", "must be a list"},
        {WITH("'stop_when':[{}]"), "/stop_when/0/rule", "is required"},
        {WITH("'stop_when':[{'rule':'luck'}]"), "/stop_when/0/rule",
         "must be \"stagnation\", \"target\", \"cost\" or \"regret\""},
        {WITH("'stop_when':[{'rule':'regret'}]"), "/stop_when/0/epsilon", "is required"},
        {WITH("'stop_when':[{'rule':'regret','epsilon':1,'probability':0.97}]"), "/stop_when/0/probability",
         "must be at most 0.96875"},
        {WITH("'stop_when':[{'rule':'regret','epsilon':1,'then':'finish'}]"), "/stop_when/0/then",
         "must be \"tell\""},
        {WITH("'stop_when':[{'rule':'target','value':1,'epsilon':1}]"), "/stop_when/0/epsilon",
         "applies only to the rule \"regret\""},
        {WITH("'stop_when':[{'rule':'target'}]"), "/stop_when/0/value", "is required"},
        {WITH("'stop_when':[{'rule':'cost'}]"), "/stop_when/0/total", "is required"},
        {WITH("'stop_when':[{'rule':'cost','total':0}]"), "/stop_when/0/total", "must be greater than 0"},
        {WITH("'stop_when':[{'rule':'cost','total':1,'then':'tell'}]"), "/stop_when/0/then",
         "must be \"finish\""},
        {WITH("'stop_when':[{'rule':'cost','total':1,'results':3}]"), "/stop_when/0/results",
         "applies only to the rule \"stagnation\""},
        {WITH("'stop_when':[{'rule':'target','value':1,'gain':1}]"), "/stop_when/0/gain",
         "applies only to the rule \"stagnation\""},
        {WITH("'learn_from':'a'"), "/learn_from", "must be a list"},
        {WITH("'learn_from':[1]"), "/learn_from/0", "must be a string"},
        {WITH("'learn_from':['A']"), "/learn_from/0",
         "must have 1 to 63 characters a-z, 0-9, '.', '_' and '-', and start with a-z or 0-9"},
        {WITH("'learn_from':['a','b','a']"), "/learn_from/2", "is already in the list"},
        {WITH("'learn_from':['a','b','c','d','e','f','g','h','i']"), "/learn_from",
         "must have at most 8 elements"},
        {WITH("'learn_from':[" FROZEN("[]", "[1]", "[[1]]") "]"), "/learn_from/0/lengthscales",
         "must not be empty"},
        {WITH(
             "'learn_from':[{'study':'b','observations':9,'shift':0,'lengthscales':[1],'short_share':1.5,'weights':[1],"
             "'points':[[1]]}]"),
         "/learn_from/0/short_share", "must be at most 1"},
        {WITH("'learn_from':[" FROZEN("[1]", "[null]", "[[1]]") "]"), "/learn_from/0/weights/0",
         "must be a number"},
        {WITH("'learn_from':[" FROZEN("[1]", "[1,2]", "[[1]]") "]"), "/learn_from/0/points",
         "must be as many as there are weights"},
        {WITH("'learn_from':[" FROZEN("[1]", "[1,2]", "[[1],[1,2]]") "]"), "/learn_from/0/points/1",
         "must be as long as the first point"},
        {WITH("'learn_from':[" FROZEN("[1]", "[1]", "[['x']]") "]"), "/learn_from/0/points/0/0",
         "must be a number"},
        {WITH("'max_attempts':0"), "/max_attempts", "must be at least 1"},
        {WITH("'max_attempts':2147483648"), "/max_attempts", "must be at most 2147483647"},
    };
    check_refusals(attempt_definition, cases, LENGTH(cases));
}

#define OBJECTIVE(name) "{'name':'" name "','goal':'maximize'}"

static void test_refused_metrics(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"{'metric':'v'," DOMAIN "}", "/metric", "must be an object"},
        {"{'metric':{'goal':'maximize'}," DOMAIN "}", "/metric/name", "is required"},
        {"{'metric':{'name':'','goal':'maximize'}," DOMAIN "}", "/metric/name", "must not be empty"},
        {"{'metric':{'name':'v'}," DOMAIN "}", "/metric/goal", "is required"},
        {"{'metric':{'name':'v','goal':'max'}," DOMAIN "}", "/metric/goal",
         "must be \"maximize\" or \"minimize\""},
        {"{'metric':{'name':'v','goal':'maximize','role':'x'}," DOMAIN "}", "/metric/role",
         "must be \"objective\", \"recorded\" or \"constraint\""},
        {"{'metric':{'name':'v','goal':'maximize','role':'recorded'}," DOMAIN "}", "/metric/role",
         "must be \"objective\" for the only metric"},
        {"{'metric':{'name':'v','goal':'maximize','units':'s'}," DOMAIN "}", "/metric/units",
         "unknown field"},
        {"{" METRIC ",'metrics':[]," DOMAIN "}", "/metric", "cannot be given together with metrics"},
        {METRICS("{}"), "/metrics", "must be a list"},
        {METRICS("[]"), "/metrics", "must not be empty"},
        {METRICS("[{'name':'a','goal':'maximize','role':'recorded'}]"), "/metrics",
         "1 to 5 metrics must have the role \"objective\", not 0"},
        {METRICS("[" OBJECTIVE("a") "," OBJECTIVE("b") "," OBJECTIVE("c") "," OBJECTIVE("d") "," OBJECTIVE(
             "e") "," OBJECTIVE("f") "]"),
         "/metrics", "1 to 5 metrics must have the role \"objective\", not 6"},
        {METRICS("[{'name':'a','goal':'maximize'},{'name':'b','role':'constraint'}]"), "/metrics/1",
         "a constraint requires \"at_least\", \"at_most\" or both"},
        {METRICS(
             "[{'name':'a','goal':'maximize'},{'name':'b','role':'constraint','goal':'maximize','at_most':1}]"),
         "/metrics/1/goal", "does not apply to a constraint: it must hold, and is not optimized"},
        {METRICS(
             "[{'name':'a','goal':'maximize'},{'name':'b','role':'constraint','at_least':1,'at_most':1}]"),
         "/metrics/1/at_most", "must be greater than \"at_least\""},
        {METRICS("[{'name':'a','goal':'maximize'},{'name':'b','role':'recorded','at_most':1}]"),
         "/metrics/1/at_most", "does not apply to a recorded metric"},
        {METRICS(
             "[{'name':'a','goal':'maximize'},{'name':'b','role':'constraint','at_most':1,'threshold':1}]"),
         "/metrics/1/threshold", "applies to objectives only"},
        {METRICS("[{'name':'a','goal':'maximize','threshold':1}]"), "/metrics",
         "a threshold applies to several objectives only"},
        {METRICS("[{'name':'a','goal':'maximize','threshold':1}," OBJECTIVE("b") "]"), "/metrics",
         "either all objectives or none must have a threshold: here 1 of 2 have one"},
        {METRICS("[{'name':'a','goal':'maximize','at_most':'x'}]"), "/metrics/0/at_most", "must be a number"},
        {"{'metric':{'name':'v','goal':'maximize','threshold':1}," DOMAIN "}", "/metric/threshold",
         "applies to several objectives only"},
        {"{'metric':{'name':'v','role':'constraint','at_most':1}," DOMAIN "}", "/metric/role",
         "must be \"objective\" for the only metric"},
        {METRICS("[{'name':'a','goal':'maximize'},{'name':'a','goal':'maximize','role':'recorded'}]"),
         "/metrics/1/name", "is already the name of another metric"},
        {METRICS("[{'name':'a','goal':1}]"), "/metrics/0/goal", "must be \"maximize\" or \"minimize\""},
    };
    check_refusals(attempt_definition, cases, LENGTH(cases));
}

static void test_refused_domains(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"{" METRIC ",'domain':[]}", "/domain", "must be an object"},
        {"{" METRIC ",'domain':{'dimension':2}}", "/domain/type", "is required"},
        {"{" METRIC ",'domain':{'type':'grid','x':1}}", "/domain/type",
         "must be \"candidates\", \"precomputed\" or \"space\""},
        {CANDIDATES(""), "/domain/dimension", "is required"},
        {CANDIDATES(",'dimension':0"), "/domain/dimension", "must be at least 1"},
        {CANDIDATES(",'dimension':10001"), "/domain/dimension", "must be at most 10000"},
        {CANDIDATES(",'dimension':'2'"), "/domain/dimension", "must be an integer"},
        {CANDIDATES(",'dimension':2,'size':3"), "/domain/size",
         "does not apply to a domain of type \"candidates\""},
        {CANDIDATES(",'dimension':2,'scaling':'log'"), "/domain/scaling",
         "must be \"standardize\", \"unit\" or \"none\""},
        {CANDIDATES(",'dimension':2,'scale':'unit'"), "/domain/scale", "unknown field"},
        {CANDIDATES(",'dimension':2,'names':['a']"), "/domain/names",
         "must have one name for each of the 2 dimensions, not 1"},
        {CANDIDATES(",'dimension':2,'names':['a','a']"), "/domain/names/1",
         "is already the name of another feature"},
        {CANDIDATES(",'dimension':2,'names':['a',2]"), "/domain/names/1", "must be a string"},
        {CANDIDATES(",'dimension':2,'names':'ab'"), "/domain/names", "must be a list"},
        {CANDIDATES(",'dimension':2,'keys':['a']"), "/domain/keys",
         "belong to points: upload them with the candidates"},
        {CANDIDATES(",'points':[[1],[2]],'keys':['a']"), "/domain/keys",
         "must have one key or null for each of the 2 points, not 1"},
        {CANDIDATES(",'points':[[1],[2]],'keys':['a','a']"), "/domain/keys/1",
         "is already the key of element 0"},
        {CANDIDATES(",'points':{}"), "/domain/points", "must be a list"},
        {CANDIDATES(",'points':[]"), "/domain/points", "must not be empty"},
        {CANDIDATES(",'points':[[]]"), "/domain/points/0", "must not be empty"},
        {CANDIDATES(",'points':[1]"), "/domain/points/0", "must be a list"},
        {CANDIDATES(",'points':[[1,2],[3]]"), "/domain/points/1",
         "has 1 number, but the rows before it have 2"},
        {CANDIDATES(",'points':[[1,2],[3,'4']]"), "/domain/points/1/1", "must be a number"},
        {CANDIDATES(",'points':[[1,2],[false,4]]"), "/domain/points/1/0", "must be a number"},
        {CANDIDATES(",'points':[[1,2]],'dimension':3"), "/domain/dimension",
         "must be 2, the number of values in each point"},
        {"{" METRIC ",'domain':{'type':'precomputed'}}", "/domain/size", "is required"},
        {"{" METRIC ",'domain':{'type':'precomputed','size':0}}", "/domain/size", "must be at least 1"},
        {"{" METRIC ",'domain':{'type':'precomputed','size':2,'scaling':'unit'}}", "/domain/scaling",
         "does not apply to a domain of type \"precomputed\""},
    };
    check_refusals(attempt_definition, cases, LENGTH(cases));
}

static void test_refused_algorithms(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {ALGORITHM("'name':5"), "/algorithm/name",
         "must be \"bbkb\", \"bkb\", \"gp_ucb\", \"igp_ucb\", \"gp_bucb\", \"gp_ts\", \"async_ts\", "
         "\"s_gp_ts\", \"pi_gp_ucb\", \"gp_ei\", \"gp_pi\", \"log_ei\", \"epsilon_greedy\", \"uniform\" or "
         "\"regularized_evolution\""},
        {ALGORITHM("'labmda':1"), "/algorithm/labmda", "unknown field"},
        {ALGORITHM("'beta':1"), "/algorithm/beta", "unknown field"},
        {ALGORITHM("'lambda':0"), "/algorithm/lambda", "must be greater than 0"},
        {ALGORITHM("'lambda':'noise'"), "/algorithm/lambda", "must be a number or \"auto\""},
        {ALGORITHM("'noise_std':-1e-9"), "/algorithm/noise_std", "must be at least 0"},
        {ALGORITHM("'noise_std':true"), "/algorithm/noise_std", "must be a number or \"auto\""},
        {ALGORITHM("'norm_bound':'big'"), "/algorithm/norm_bound", "must be a number or \"auto\""},
        {ALGORITHM("'delta':0"), "/algorithm/delta", "must be greater than 0"},
        {ALGORITHM("'delta':1"), "/algorithm/delta", "must be less than 1"},
        {ALGORITHM("'q_bar':0"), "/algorithm/q_bar", "must be greater than 0"},
        {ALGORITHM("'q_bar':'auto'"), "/algorithm/q_bar", "must be a number or \"theory\""},
        {ALGORITHM("'ratio_bound':0.99"), "/algorithm/ratio_bound", "must be at least 1"},
        {ALGORITHM("'batch_rule':'local'"), "/algorithm/batch_rule",
         "must be \"global\" or \"global_local\""},
        {ALGORITHM("'confidence':2"), "/algorithm/confidence",
         "must be \"practical\", \"theory\" or \"calibrated\""},
        {ALGORITHM("'confidence':'fixed'"), "/algorithm/confidence",
         "must be \"practical\", \"theory\" or \"calibrated\""},
        {ALGORITHM("'confidence':{}"), "/algorithm/confidence/beta", "is required"},
        {ALGORITHM("'confidence':{'beta':-1}"), "/algorithm/confidence/beta", "must be at least 0"},
        {ALGORITHM("'confidence':{'beta':1,'b':1}"), "/algorithm/confidence/b", "unknown field"},
        {ALGORITHM("'resample':''"), "/algorithm/resample",
         "must be \"fresh\", \"persistent\" or \"per_pull\""},
        {ALGORITHM("'max_batch':0"), "/algorithm/max_batch", "must be at least 1"},
        {ALGORITHM("'max_batch':1000001"), "/algorithm/max_batch", "must be at most 1000000"},
        {ALGORITHM("'max_arm_failures':0"), "/algorithm/max_arm_failures", "must be at least 1"},
        {ALGORITHM("'standardize_rewards':1"), "/algorithm/standardize_rewards", "must be true or false"},
        {ALGORITHM("'init':'uniform'"), "/algorithm/init", "must be an object"},
        {ALGORITHM("'init':{}"), "/algorithm/init/type", "is required"},
        {ALGORITHM("'init':{'type':'x','parallelism':2}"), "/algorithm/init/type",
         "must be \"uniform\", \"uncertainty\" or \"spread\""},
        {ALGORITHM("'init':{'type':'uniform','parallelism':2}"), "/algorithm/init/parallelism",
         "applies to the type \"uncertainty\" only"},
        {ALGORITHM("'init':{'type':'uncertainty','parallelism':0}"), "/algorithm/init/parallelism",
         "must be greater than 0"},
        {ALGORITHM("'gamma':'x'"), "/algorithm/gamma", "must be a number, \"exact\" or \"bound\""},
        {ALGORITHM("'gamma':-1"), "/algorithm/gamma", "must be at least 0"},
        {ALGORITHM("'gamma_scale':0"), "/algorithm/gamma_scale", "must be greater than 0"},
        {ALGORITHM("'scale':0"), "/algorithm/scale", "must be greater than 0"},
        {ALGORITHM("'epsilon':1.01"), "/algorithm/epsilon", "must be at most 1"},
        {ALGORITHM("'zeta':-1"), "/algorithm/zeta", "must be at least 0"},
        {ALGORITHM("'warp_unit':'x'"), "/algorithm/warp_unit",
         "must be \"quartiles\", \"better_half\" or \"in_turn\""},
        {ALGORITHM("'reference':'x'"), "/algorithm/reference", "must be \"quartile\" or \"second_worst\""},
        {ALGORITHM("'agreeing_repeats':2"), "/algorithm/agreeing_repeats", "must be at most 1"},
        {ALGORITHM("'revision':0"), "/algorithm/revision", "must be at least 1"},
        {ALGORITHM("'revision':12"), "/algorithm/revision", "must be at most 11"},
        {ALGORITHM("'revision':1.5"), "/algorithm/revision", "must be an integer"},
        {ALGORITHM("'population':0"), "/algorithm/population", "must be at least 1"},
        {ALGORITHM("'sample':0"), "/algorithm/sample", "must be at least 1"},
        {ALGORITHM("'population':3,'sample':4"), "/algorithm/sample", "must be at most the population"},
        {ALGORITHM("'posterior':'x'"), "/algorithm/posterior", "must be \"svgp\", \"dtc\" or \"features\""},
        {ALGORITHM("'features':'x'"), "/algorithm/features", "must be \"rff\" or \"eigen\""},
        {ALGORITHM("'inducing':-1"), "/algorithm/inducing", "must be at least 0"},
        {ALGORITHM("'prior_features':-1"), "/algorithm/prior_features", "must be at least 0"},
        {ALGORITHM("'dpp_steps':-1"), "/algorithm/dpp_steps", "must be at least 0"},
        {ALGORITHM("'in_flight':'some'"), "/algorithm/in_flight",
         "must be \"all\", \"near\", \"once\" or \"surpass\""},
        {ALGORITHM("'initial_cells':-1"), "/algorithm/initial_cells", "must be at least 0"},
        {ALGORITHM("'kernel':'matern'"), "/algorithm/kernel", "must be an object"},
        {KERNEL("'type':'rbf'"), "/algorithm/kernel/type",
         "must be \"gaussian\", \"matern\", \"linear\" or \"precomputed\""},
        {KERNEL("'ell':1"), "/algorithm/kernel/ell", "unknown field"},
        {KERNEL("'nu':2"), "/algorithm/kernel/nu", "must be 0.5, 1.5 or 2.5"},
        {KERNEL("'type':'gaussian','nu':2.5"), "/algorithm/kernel/nu",
         "applies only to the kernel type \"matern\""},
        {KERNEL("'type':'linear','lengthscale':1"), "/algorithm/kernel/lengthscale",
         "applies only to the kernel types \"gaussian\" and \"matern\""},
        {KERNEL("'lengthscale':0"), "/algorithm/kernel/lengthscale", "must be greater than 0"},
        {KERNEL("'lengthscale':{}"), "/algorithm/kernel/lengthscale", "must be a number or \"auto\""},
        {KERNEL("'lengthscale':[]"), "/algorithm/kernel/lengthscale", "must not be empty"},
        {KERNEL("'lengthscale':[1,0]"), "/algorithm/kernel/lengthscale/1", "must be greater than 0"},
        {KERNEL("'lengthscale':[1]"), "/algorithm/kernel/lengthscale",
         "must have one element for each of the 2 dimensions, not 1"},
    };
    check_refusals(attempt_definition, cases, LENGTH(cases));
}

/* Every problem is listed, in the order of the document's parts. */
static void test_many_problems(void **state)
{
    (void)state;
    char *body =
        with_quotes("{'id':'X','metric':{'goal':1},'domain':{'type':'candidates'},'horizon':0,'x':1}");
    static const char *const pointers[] = {
        "/id", "/metric/name", "/metric/goal", "/domain/dimension", "/horizon", "/x"};
    wire_errors errors = {0};
    assert_int_equal(attempt_definition(body, strlen(body), &errors), WIRE_INVALID);
    assert_int_equal(errors.n, LENGTH(pointers));
    for (size_t i = 0; i < errors.n; i++)
        assert_string_equal(errors.items[i].pointer, pointers[i]);
    wire_errors_clear(&errors);
    free(body);
}

/* No more than so many are kept; the others are counted. */
static void test_too_many_problems(void **state)
{
    (void)state;
    char body[2000];
    int n = sprintf(body, "{\"domain\":{\"type\":\"candidates\",\"dimension\":1},"
                          "\"metric\":{\"name\":\"a\",\"goal\":\"maximize\"}");
    for (int i = 0; i < 40; i++)
        n += sprintf(body + n, ",\"x%d\":0", i);
    sprintf(body + n, "}");
    wire_errors errors = {0};
    assert_int_equal(attempt_definition(body, strlen(body), &errors), WIRE_INVALID);
    assert_int_equal(errors.n, WIRE_ERRORS_MAX);
    assert_int_equal(errors.dropped, 40 - WIRE_ERRORS_MAX);
    assert_string_equal(errors.items[31].pointer, "/x31");
    wire_errors_clear(&errors);
}

/* The body: {METRIC, DOMAIN, "<name>": <before><filler x n><after>} */
static void check_size(const char *name, const char *before, const char *filler, size_t n, const char *after,
                       const char *pointer, const char *detail)
{
    size_t capacity = 1000 + n * strlen(filler);
    char *body = malloc(capacity);
    assert_non_null(body);
    size_t at = (size_t)sprintf(body, "{%s,%s,'%s':%s", METRIC, DOMAIN, name, before);
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(body + at, "%s", filler);
    sprintf(body + at, "%s}", after);
    if (detail)
        check_refusals(attempt_definition, &(refusal){body, pointer, detail}, 1);
    else
        check_accepted(attempt_definition, (const char *const[]){body}, 1);
    free(body);
}

/* Characters are counted, not bytes. */
static void test_sizes(void **state)
{
    (void)state;
    check_size("display_name", "'", "\xE2\x82\xAC", 200, "'", NULL, NULL);
    check_size("display_name", "'", "\xE2\x82\xAC", 201, "'", "/display_name",
               "must have at most 200 characters");
    check_size("metadata", "{'a':'", "x", 65536 - 8, "'}", NULL, NULL);
    check_size("metadata", "{'a':'", "x", 65537 - 8, "'}", "/metadata",
               "must have at most 65536 bytes as JSON, not 65537");
    char labels[2000] = "{", *p = labels + 1;
    for (int i = 0; i < 65; i++)
        p += sprintf(p, "%s'n%d':''", i ? "," : "", i);
    check_size("labels", labels, "", 0, "}", "/labels", "must have at most 64 labels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common),
        cmocka_unit_test(test_refused_members),
        cmocka_unit_test(test_refused_metrics),
        cmocka_unit_test(test_refused_domains),
        cmocka_unit_test(test_refused_algorithms),
        cmocka_unit_test(test_many_problems),
        cmocka_unit_test(test_too_many_problems),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
