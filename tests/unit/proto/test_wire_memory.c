/* Every allocation of every decoder, reader and encoder fails once: each says so, and nothing is lost. */
#include "bandit/algorithm.h"
#include "proto/changes.h"
#include "proto/keys.h"
#include "proto/notify.h"
#include "proto/points.h"
#include "proto/read_observations.h"
#include "proto/study_file.h"
#include "proto/study_form.h"
#include "proto/tokens.h"
#include "proto/wire.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is tried: answers WIRE_NO_MEMORY, or as it does with enough memory. */
typedef wire_status trial(const char *body, size_t size);

/* Fails the first allocation, the second … until all succeed. */
static void fail_each(trial *try, const char *text, wire_status expected)
{
    char *body = with_quotes(text);
    size_t size = strlen(body);
    long before = live;
    assert_int_equal(try(body, size), expected);
    assert_int_equal(live, before);
    bool reached = true;
    long n = 0;
    for (; reached; n++) {
        until_failure = n;
        wire_status status = try(body, size);
        reached = has_failed();
        assert_int_equal(status, reached ? WIRE_NO_MEMORY : expected);
        assert_int_equal(live, before);
    }
    assert_true(n > 1);
    free(body);
}

#define DECODER(name, ...)                                                                                   \
    static wire_status decode_##name(const char *body, size_t size)                                          \
    {                                                                                                        \
        wire_errors errors = {0};                                                                            \
        wire_##name *out;                                                                                    \
        wire_status status = wire_decode_##name(&out, body, size, __VA_ARGS__ & errors);                     \
        assert_true((out != NULL) == (status == WIRE_OK));                                                   \
        wire_##name##_free(out);                                                                             \
        wire_errors_clear(&errors);                                                                          \
        return status;                                                                                       \
    }
DECODER(study, bandit_algorithm_names(), )
DECODER(ask, )
DECODER(tell, )
DECODER(predict, )
DECODER(study_patch, )
DECODER(retire, )
DECODER(proposal, )
DECODER(amendment, )
DECODER(new_token, )
DECODER(notify, )
#undef DECODER

static wire_status decode_keys(const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_keys keys = {0};
    wire_status status = wire_decode_keys(&keys, body, size, &errors);
    wire_keys_clear(&keys);
    wire_errors_clear(&errors);
    return status;
}

static wire_status read_key_lines(const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_keys keys = {0};
    wire_status status = wire_read_key_lines(&keys, body, size, &errors);
    wire_keys_clear(&keys);
    wire_errors_clear(&errors);
    return status;
}

static wire_status take_head(void *arg, const wire_file_head *head, wire_errors *errors)
{
    (void)arg;
    (void)head;
    (void)errors;
    return WIRE_OK;
}

static wire_status take_file_rows(void *arg, size_t n, size_t dimension, const double *rows,
                                  wire_errors *errors)
{
    (void)arg;
    (void)n;
    (void)dimension;
    (void)rows;
    (void)errors;
    return WIRE_OK;
}

static wire_status take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    (void)arg;
    (void)seq;
    (void)time;
    (void)type;
    (void)payload;
    (void)errors;
    return WIRE_OK;
}

static wire_status read_study_file(const char *body, size_t size)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_file_rows, .entry = take_entry};
    wire_errors errors = {0};
    wire_file_reader *reader;
    wire_status status = wire_file_reader_new(&reader, &sink, NULL);
    if (status == WIRE_OK) {
        status = wire_file_reader_feed(reader, body, size, &errors);
        if (status == WIRE_OK)
            status = wire_file_reader_finish(reader, &errors);
        wire_file_reader_free(reader);
    }
    wire_errors_clear(&errors);
    return status;
}

static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    (void)arg;
    return first + n * dimension > 0 && rows[0] >= 0;
}

static wire_status read_points(wire_points_format format, char *const *names, const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_points_reader *reader;
    wire_status status = wire_points_reader_new(&reader, format, names ? 2 : 0, 2, take_rows, NULL);
    assert_true((reader != NULL) == (status == WIRE_OK));
    if (status == WIRE_OK && names)
        status = wire_points_reader_set_names(reader, names, 2);
    if (status == WIRE_OK && names)
        status = wire_points_reader_ignore(reader, "note");
    if (status == WIRE_OK)
        status = wire_points_reader_feed(reader, body, size, &errors);
    if (status == WIRE_OK)
        status = wire_points_reader_finish(reader, &errors);
    wire_points_reader_free(reader);
    wire_errors_clear(&errors);
    return status;
}

static wire_status read_named_csv(const char *body, size_t size)
{
    char a[] = "a", b[] = "b";
    return read_points(WIRE_POINTS_CSV, (char *[]){a, b}, body, size);
}

static wire_status read_csv(const char *body, size_t size)
{
    return read_points(WIRE_POINTS_CSV, NULL, body, size);
}

static wire_status read_ndjson(const char *body, size_t size)
{
    return read_points(WIRE_POINTS_NDJSON, NULL, body, size);
}

static wire_status read_json(const char *body, size_t size)
{
    return read_points(WIRE_POINTS_JSON, NULL, body, size);
}

static bool take_observation(void *arg, size_t index, const char *place, const wire_observation *observation,
                             wire_errors *errors)
{
    (void)arg;
    (void)errors;
    return *place && observation->repeats > 0 && index < 100;
}

static wire_status read_observations(wire_observations_format format, const wire_study *study,
                                     const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_observations_reader *reader;
    wire_status status = wire_observations_reader_new(&reader, format, study, take_observation, NULL);
    assert_true((reader != NULL) == (status == WIRE_OK));
    if (status == WIRE_OK)
        status = wire_observations_reader_feed(reader, body, size, &errors);
    if (status == WIRE_OK)
        status = wire_observations_reader_finish(reader, &errors);
    wire_observations_reader_free(reader);
    wire_errors_clear(&errors);
    return status;
}

/* x, and y while x is "b" */
static const wire_study *two_parameters(void)
{
    static char x[] = "x", y[] = "y", a[] = "a", b[] = "b";
    static char *words[] = {a, b};
    static uint32_t order[] = {0, 1};
    static double only_b[] = {1};
    static wire_parameter parameters[] = {
        {.name = x,
         .type = WIRE_PARAMETER_CATEGORICAL,
         .words = words,
         .order = order,
         .n_values = 2,
         .parent = WIRE_NO_PARENT},
        {.name = y,
         .type = WIRE_PARAMETER_BOOLEAN,
         .parent = 0,
         .parent_values = only_b,
         .n_parent_values = 1},
    };
    static char v[] = "v", w[] = "w";
    static wire_metric metrics[] = {{.name = v}, {.name = w, .constraint = true}};
    static const wire_study study = {.domain_type = WIRE_DOMAIN_SPACE,
                                     .parameters = parameters,
                                     .n_parameters = 2,
                                     .metrics = metrics,
                                     .n_metrics = 2};
    return &study;
}

static wire_status read_observations_csv(const char *body, size_t size)
{
    return read_observations(WIRE_OBSERVATIONS_CSV, two_parameters(), body, size);
}

static wire_status read_keyed_observations(wire_observations_format format, const char *body, size_t size)
{
    char y[] = "y";
    wire_metric metric = {.name = y};
    const wire_study list = {.domain_type = WIRE_DOMAIN_CANDIDATES,
                             .dimension = {.given = true, .value = 1},
                             .metrics = &metric,
                             .n_metrics = 1};
    return read_observations(format, &list, body, size);
}

static wire_status read_keyed_csv(const char *body, size_t size)
{
    return read_keyed_observations(WIRE_OBSERVATIONS_CSV, body, size);
}

static wire_status read_keyed_json(const char *body, size_t size)
{
    return read_keyed_observations(WIRE_OBSERVATIONS_JSON, body, size);
}

static wire_status read_observations_json(const char *body, size_t size)
{
    return read_observations(WIRE_OBSERVATIONS_JSON, two_parameters(), body, size);
}

static wire_status write_definition(const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_study *study;
    wire_status status = wire_decode_study(&study, body, size, bandit_algorithm_names(), &errors);
    if (status == WIRE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_definition(&w, study);
        char *text;
        size_t written;
        if (!wire_writer_finish(&w, &text, &written))
            status = WIRE_NO_MEMORY;
        assert_true((text != NULL) == (status == WIRE_OK));
        free(text);
    }
    wire_study_free(study);
    wire_errors_clear(&errors);
    return status;
}

static wire_status read_form(const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_study_form *form;
    wire_study *made = NULL;
    wire_status status = wire_study_form_new(&form, "multipart/form-data; boundary=b", 10000, 100, &errors);
    if (status == WIRE_OK)
        status = wire_study_form_feed(form, body, size, &errors);
    if (status == WIRE_OK)
        status = wire_study_form_finish(form, &made, bandit_algorithm_names(), &errors);
    wire_study_form_free(form);
    wire_study_free(made);
    wire_errors_clear(&errors);
    return status;
}

static const char *const study =
    "{'id':'a','display_name':'b','labels':{'c':'d'},'metadata':{'e':[1,2.5,{'f':'g'}]},"
    "'metrics':[{'name':'h','goal':'maximize'},{'name':'i','goal':'minimize','role':'recorded'}],"
    "'domain':{'type':'candidates','points':[[1,2],[3,4]],'scaling':'unit','names':['x','y'],"
    "'keys':['p',null]},"
    "'algorithm':{'name':'bbkb','kernel':{'type':'matern','lengthscale':[1,2]},'confidence':{'beta':3},"
    "'init':{'type':'uniform'},'resample':'fresh','batch_rule':'global','posterior':'dtc','features':'rff','in_flight':'near'},"
    "'learn_from':['q',{'study':'r','observations':1,'shift':0,'lengthscales':[1,2],'weights':[1],'points':[[1,2]]}],"
    "'feedback':'batch','repeats':'auto','stop_when':[{'rule':'stagnation'}]}";

static void test_decoders(void **state)
{
    (void)state;
    fail_each(decode_study, study, WIRE_OK);
    fail_each(decode_study, "{'id':'-','metric':{'goal':1},'domain':{'type':'candidates'},'x~':1}",
              WIRE_INVALID);
    fail_each(decode_study, "{'id':99999999999999999999}", WIRE_INVALID);
    fail_each(decode_study, "{'id':'a\\u00e9", WIRE_MALFORMED);
    fail_each(
        read_form,
        "--b\r\nContent-Disposition: form-data; name=study\r\n\r\n{'metric':{'name':'v','goal':'maximize'},"
        "'domain':{'type':'space','parameters':[{'name':'m','type':'categorical'}]}}\r\n--b\r\n"
        "Content-Disposition: form-data; name=m\r\n\r\nkey,a\nC,1\nCC,2\r\n--b--",
        WIRE_OK);
    fail_each(read_form, "--b\r\nContent-Disposition: form-data; name=m\r\n\r\nkey,a\nC,1\nCC,x\r\n--b--",
              WIRE_INVALID);
    fail_each(read_study_file,
              "{'banditd':'study','version':1,'program':'p','study':'a','entries':1,'candidates':1,"
              "'dimension':1}\n{'candidates':0,'rows':[[1]]}\n"
              "{'seq':1,'time':'2026-01-01T00:00:00.000Z','type':'t','payload':{'a':[1,'x']}}\n{'end':1}\n",
              WIRE_OK);
    fail_each(read_study_file, "{'banditd':'study','version':2,'entries':0}\n", WIRE_INVALID);
    fail_each(decode_ask, "{'count':4,'worker':'w1'}", WIRE_OK);
    fail_each(decode_ask, "", WIRE_OK);
    fail_each(decode_ask, "{'count':0}", WIRE_INVALID);
    fail_each(decode_tell,
              "{'results':[{'trial':1,'value':1,'metadata':{'a':'b'}},{'trial':2,'values':{'a':1,'b':2}},"
              "{'trial':3,'state':'failed','reason':'x'}]}",
              WIRE_OK);
    fail_each(decode_tell, "{'results':[{'trial':1,'values':{'a':1,'b':'c'}}]}", WIRE_INVALID);
    fail_each(decode_predict, "{'candidates':[1,2]}", WIRE_OK);
    fail_each(decode_predict, "{'points':[[1,2],[3,4]]}", WIRE_OK);
    fail_each(decode_predict, "{'points':[[1,2],[3]]}", WIRE_INVALID);
    fail_each(decode_predict, "", WIRE_MALFORMED);
    fail_each(decode_predict, "{'keys':['a','b']}", WIRE_OK);
    fail_each(decode_predict, "{'keys':['a','']}", WIRE_INVALID);
}

static const char *const space =
    "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','parameters':["
    "{'name':'a','type':'categorical','values':['x','y'],'default':'y','features':[[1,2],[3,4]],"
    "'feature_names':['p','q'],'scaling':'unit'},"
    "{'name':'b','type':'discrete','values':[1,2],'active_when':{'parameter':'a','in':['x']}},"
    "{'name':'c','type':'double','min':0,'max':1,'step':0.1,'unit':'mm'}],"
    "'constraints':['if c > 0.5 then c <= min(b, 0.75, 1) and (not b = 2 or count(b, c) <= 1)']}}";

static void test_changes(void **state)
{
    (void)state;
    fail_each(decode_study, space, WIRE_OK);
    fail_each(write_definition, space, WIRE_OK);
    fail_each(decode_ask, "{'fixed':{'a':'x','b':1}}", WIRE_OK);
    fail_each(decode_predict, "{'parameters':[{'a':'x'},{'a':null}]}", WIRE_INVALID);
    fail_each(decode_study_patch,
              "{'display_name':'x','labels':{'a':'b'},'metadata':{},'state':'paused',"
              "'stop_when':[{'rule':'stagnation'}]}",
              WIRE_OK);
    fail_each(decode_retire, "{'candidates':[1,-1]}", WIRE_INVALID);
    fail_each(decode_retire, "{'keys':['a','b']}", WIRE_OK);
    fail_each(decode_proposal, "{'key':'a'}", WIRE_OK);
    fail_each(decode_keys, "{'keys':['a',null,'b']}", WIRE_OK);
    fail_each(decode_keys, "{'keys':['a',null,'a']}", WIRE_INVALID);
    fail_each(read_key_lines, "a\n\nb\n", WIRE_OK);
    fail_each(read_key_lines, "a\n\na\n", WIRE_INVALID);
    fail_each(decode_proposal, "{'parameters':{'a':'x','b':true}}", WIRE_OK);
    fail_each(decode_amendment, "{'values':{'a':1},'reason':'x'}", WIRE_OK);
    fail_each(decode_new_token, "{'role':'worker','study':'a','description':'b','lifetime_seconds':60}",
              WIRE_OK);
    fail_each(decode_new_token, "{'role':'admin','study':'a'}", WIRE_INVALID);
    fail_each(
        decode_notify,
        "{'notify':[{'url':'https://a/','events':['better'],'secret':'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'},"
        "{'url':'http://b'}]}",
        WIRE_OK);
    fail_each(decode_notify, "{'notify':[{'url':'ftp://a/','secret':'s','events':['x']}]}", WIRE_INVALID);
}

static void test_readers(void **state)
{
    (void)state;
    fail_each(read_csv, "a,b\n1,2\n3,4\n5,6\n", WIRE_OK);
    fail_each(read_csv, "1,2\n3,4\n5,6\n", WIRE_OK);
    fail_each(read_named_csv, "b,a\n1,2\n3,4\n5,6\n", WIRE_OK);
    fail_each(read_named_csv, "b,c\n1,2\n", WIRE_INVALID);
    fail_each(read_named_csv, "b,note,a\n1,what,2\n", WIRE_OK);
    fail_each(read_csv, "1,2\n3,x\n", WIRE_INVALID);
    fail_each(read_json, "{'points':[[1,2],[3,4],[5,6]]}", WIRE_OK);
    fail_each(read_csv, "1,2\n3,x", WIRE_INVALID);
    fail_each(read_ndjson, "{'point':[1,2]}\n{'point':[3,4]}\n{'point':[5,6]}", WIRE_OK);
    fail_each(read_ndjson, "{'point':[1,2]}\n{'point':[3]}\n", WIRE_INVALID);
    fail_each(read_csv, "key,a,b\nx,1,2\n,3,4\ny,5,6\n", WIRE_OK);
    fail_each(read_named_csv, "b,a,key\n1,2,x\n3,4,x\n", WIRE_INVALID);
    fail_each(read_ndjson, "{'point':[1,2]}\n{'point':[3,4],'key':'x'}\n{'point':[5,6]}", WIRE_OK);
    fail_each(read_ndjson, "{'point':[1,2],'key':''}\n", WIRE_INVALID);
    fail_each(read_json, "{'keys':['x',null,'y'],'points':[[1,2],[3,4],[5,6]]}", WIRE_OK);
    fail_each(read_json, "{'keys':['x','x'],'points':[[1,2],[3,4]]}", WIRE_INVALID);
    fail_each(read_json, "{'points':[[1,2],[3]]}", WIRE_INVALID);
    fail_each(read_json, "{'points':[[1,2]]", WIRE_MALFORMED);
    fail_each(read_json, "{'point~s':[]}", WIRE_INVALID);
    fail_each(read_json, "{'points\\x':[]}", WIRE_MALFORMED);
}

static void test_observations(void **state)
{
    (void)state;
    fail_each(read_observations_csv, "x,y,value\na,,1\nb,true,2\n", WIRE_OK);
    fail_each(read_observations_csv, "x,y,value\nb,,1\n", WIRE_INVALID);
    fail_each(read_observations_json, "{'observations':[{'parameters':{'x':'a'},'value':1}]}", WIRE_OK);
    fail_each(read_observations_json, "{'observations':[{'parameters':{'x':'b'},'values':{'v':1}}]}",
              WIRE_INVALID);
    fail_each(read_keyed_csv, "key,value\na,1\nb,2\n", WIRE_OK);
    fail_each(read_keyed_json, "{'observations':[{'key':'a','value':1}]}", WIRE_OK);
    fail_each(read_keyed_json, "{'observations':[{'key':'','value':1}]}", WIRE_INVALID);
    fail_each(read_observations_json, "{'observations':[],'x':1}", WIRE_INVALID);
}

static void test_writer(void **state)
{
    (void)state;
    fail_each(write_definition, study, WIRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoders),     cmocka_unit_test(test_changes), cmocka_unit_test(test_readers),
        cmocka_unit_test(test_observations), cmocka_unit_test(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
