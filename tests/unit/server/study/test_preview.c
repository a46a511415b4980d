/* Between the last result and the next batch, `best` knows all results; the next batch is the same as if nobody had asked. */
#include "tests/support/study_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LIST(id, more)                                                                                       \
    "{'id':'" id "','seed':5," more ",'domain':{'type':'candidates','points':[[0],[0.1],[0.2],[0.3],[0.4],"  \
    "[0.5],[0.6],[0.7],[0.8],[0.9],[1],[1.1],[1.2],[1.3],[1.4],[1.5],[1.6],[1.7],[1.8],[1.9]]}}"
#define SPACE(id, more)                                                                                      \
    "{'id':'" id "','seed':5," more ",'domain':{'type':'space','parameters':["                               \
    "{'name':'x','type':'double','min':0,'max':1},{'name':'k','type':'integer','min':1,'max':9}]}}"

#define ONE "'metric':{'name':'y','goal':'minimize'}"
#define TWO                                                                                                  \
    "'metrics':[{'name':'y','goal':'minimize'},{'name':'z','goal':'maximize'},"                              \
    "{'name':'w','role':'constraint','at_most':3}]"

/* Two studies that differ in their names alone, and what is asked of the first one between results. */
static const struct {
    const char *what, *watched, *alone;
    bool several;
} pairs[] = {
    {"a list", LIST("a", ONE), LIST("b", ONE), false},
    {"a list of the paper's algorithm", LIST("a", ONE ",'algorithm':{'name':'bbkb'}"),
     LIST("b", ONE ",'algorithm':{'name':'bbkb'}"), false},
    {"a space", SPACE("a", ONE), SPACE("b", ONE), false},
    {"a list with two objectives and a bound", LIST("a", TWO), LIST("b", TWO), true},
    {"a space with two objectives and a bound", SPACE("a", TWO), SPACE("b", TWO), true},
};

/* Asks both studies for so many trials: they get the same ones. */
static size_t ask_both(study_fixture *f, size_t n)
{
    char body[60];
    snprintf(body, sizeof body, "{'count':%zu,'wait_seconds':60}", n);
    study_answer a = study_fixture_ask(f, "a", body), b = study_fixture_ask(f, "b", body);
    json_t *trials = json_object_get(a.body, "trials"), *others = json_object_get(b.body, "trials");
    size_t got = json_array_size(trials);
    assert_true(got > 0);
    assert_int_equal(got, json_array_size(others));
    for (size_t i = 0; i < got; i++) {
        json_t *t = json_array_get(trials, i), *o = json_array_get(others, i);
        assert_true(json_equal(json_object_get(t, "id"), json_object_get(o, "id")));
        json_t *place = json_object_get(t, "candidate") ? json_object_get(t, "candidate")
                                                        : json_object_get(t, "parameters");
        json_t *other = json_object_get(o, "candidate") ? json_object_get(o, "candidate")
                                                        : json_object_get(o, "parameters");
        assert_true(json_equal(place, other));
    }
    study_answer_clear(&a);
    study_answer_clear(&b);
    return got;
}

static void tell_one(study_fixture *f, const char *id, int64_t trial, bool several)
{
    char body[160];
    double y = cos(3.0 * (double)trial), z = sin(5.0 * (double)trial);
    if (several)
        snprintf(body, sizeof body, "{'results':[{'trial':%lld,'values':{'y':%g,'z':%g,'w':%g}}]}",
                 (long long)trial, y, z, 2 + z);
    else
        snprintf(body, sizeof body, "{'results':[{'trial':%lld,'value':%g}]}", (long long)trial, y);
    study_answer told = study_fixture_tell(f, id, body);
    assert_int_equal(told.kind, REPLY_OK);
    study_answer_clear(&told);
}

static void amend_one(study_fixture *f, const char *id, bool several)
{
    study_answer a =
        study_fixture_amend(f, id, 2, several ? "{'values':{'y':-2,'z':0.5,'w':1}}" : "{'value':-2}");
    assert_int_equal(a.kind, REPLY_OK);
    study_answer_clear(&a);
}

/* What the model makes of results: that of all of them, before the next batch has them. The next batch's model says the
 * same, and its picks are those of a study that nobody looked at. */
static void all_results_count_and_no_pick_changes(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        study_fixture *f = study_fixture_new();
        study_fixture_create(f, pairs[k].watched);
        study_fixture_create(f, pairs[k].alone);
        int64_t told = 0;
        for (int round = 0; round < 4; round++) {
            study_answer before = study_fixture_best(f, "a"), again;
            size_t n = ask_both(f, 5);
            again = study_fixture_best(f, "a"); /* by the model of the batch that has begun */
            if (round > 0 && !json_equal(before.body, again.body))
                fail_msg("%s, round %d", pairs[k].what, round);
            study_answer_clear(&before);
            for (size_t i = 1; i <= n; i++) {
                tell_one(f, "a", told + (int64_t)i, pairs[k].several);
                tell_one(f, "b", told + (int64_t)i, pairs[k].several);
            }
            told += (int64_t)n;
            if (round == 2) {
                amend_one(f, "a", pairs[k].several);
                amend_one(f, "b", pairs[k].several);
            }
            study_answer all = study_fixture_best(f, "a");
            assert_int_equal(all.kind, REPLY_OK);
            assert_false(json_equal(all.body, again.body));
            study_answer_clear(&all);
            study_answer_clear(&again);
        }
        study_fixture_free(f);
    }
}

static void ask_one(study_fixture *f, const char *body)
{
    study_answer a = study_fixture_ask(f, "a", body);
    assert_non_null(json_object_get(a.body, "trials"));
    study_answer_clear(&a);
}

/* The copy and the study's engine would need more than the engine's memory: the answer is that of the batch. That of a
 * copy is kept, so that it is not made again for the next reader. */
static void without_memory_for_a_copy_the_batch_answers(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        study_fixture *f = study_fixture_new();
        size_t enough = f->config.study_memory;
        bool several = pairs[k].several;
        study_fixture_create(f, pairs[k].watched);
        ask_one(f, "{'count':5,'wait_seconds':60}");
        for (int64_t trial = 1; trial <= 5; trial++)
            tell_one(f, "a", trial, several);
        ask_one(f, "{'wait_seconds':60}");
        f->config.study_memory = 1;
        tell_one(f, "a", 6, several);
        amend_one(f, "a", several); /* now the best one */
        study_answer batch = study_fixture_best(f, "a");
        f->config.study_memory = enough;
        study_answer all = study_fixture_best(f, "a");
        f->config.study_memory = 1;
        study_answer kept = study_fixture_best(f, "a");
        if (json_equal(all.body, batch.body))
            fail_msg("%s", pairs[k].what);
        assert_true(json_equal(all.body, kept.body));
        study_answer_clear(&batch);
        study_answer_clear(&all);
        study_answer_clear(&kept);
        study_fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_results_count_and_no_pick_changes),
        cmocka_unit_test(without_memory_for_a_copy_the_batch_answers),
    };
    return cmocka_run_group_tests_name("preview", tests, NULL, NULL);
}
