/* Without a database: what is sent of the writer's journal (rows of the same statement together, and no row out of its
 * order), and a server that is too old. */
#include "server/store/postgres/postgres.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct journal {
    pg_entry entries[256];
    size_t n;
    pg_bytes bytes;
    pg_merge merge;
} journal;

static void enter(journal *j, int id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    assert_true(j->n < sizeof j->entries / sizeof *j->entries);
    j->entries[j->n++] = (pg_entry){.id = id, .types = types, .at = j->bytes.n};
    assert_true(pg_encode(&j->bytes, types, args));
    va_end(args);
}

static void enter_log(journal *j, int64_t study, int64_t seq, const char *payload)
{
    enter(j, SQL_LOG_INSERT, "iiittn", study, seq, (int64_t)1, "x", payload, NULL, (size_t)0);
}

static void enter_issue(journal *j, int64_t study, int64_t trial, const char *worker)
{
    enter(j, SQL_TRIAL_ISSUE, "iiitii", study, trial, (int64_t)1, worker, (int64_t)2, (int64_t)3);
}

static void enter_told(journal *j, int64_t study, int64_t trial)
{
    enter(j, PG_ATTEMPT_TOLD, "iiiit", study, trial, (int64_t)1, (int64_t)2, "completed");
}

/* The statements that are sent, as a text of names. */
static const char *sent(journal *j)
{
    static const struct {
        int id;
        const char *name;
    } names[] = {
        {SQL_LOG_INSERT, "log "},          {PG_LOG_INSERTS, "logs "},  {SQL_TRIAL_ISSUE, "issue "},
        {PG_TRIAL_ISSUES, "issues "},      {PG_ATTEMPT_TOLD, "told "}, {PG_ATTEMPTS_TOLD, "all_told "},
        {SQL_STUDY_SAVE, "save "},         {PG_STUDY_SAVES, "saves "}, {SQL_ANSWER_PUT, "answer "},
        {SQL_STUDY_DESCRIBE, "describe "}, {SQL_COMMIT, "commit "}};
    static char text[512];
    *text = '\0';
    assert_true(pg_merge_entries(&j->merge, j->entries, j->n, &j->bytes));
    for (size_t i = 0; i < j->merge.n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (names[k].id == j->merge.list[i].entry.id)
                strcat(text, names[k].name);
    return text;
}

static void decode(pg_parameters *out, const pg_sending *sending)
{
    pg_decode(out, sending->bytes, sending->entry.at, sending->entry.types);
}

static void clear(journal *j)
{
    pg_merge_free(&j->merge);
    free(j->bytes.bytes);
}

static void rows_of_many_writes_are_one_statement(void **state)
{
    journal j = {0};
    (void)state;
    for (int64_t study = 1; study <= 30; study++) {
        enter_log(&j, study, 5, "{}");
        enter_issue(&j, study, 7, "w");
    }
    enter(&j, SQL_COMMIT, "");
    assert_string_equal(sent(&j), "logs issues commit ");
    assert_string_equal(sent(&j), "logs issues commit "); /* again, as over another connection */
    clear(&j);
}

static void what_is_alone_stays_as_it_is(void **state)
{
    journal j = {0};
    (void)state;
    enter_log(&j, 1, 5, "{}");
    enter_issue(&j, 1, 7, "w");
    enter(&j, SQL_COMMIT, "");
    assert_string_equal(sent(&j), "log issue commit ");
    clear(&j);
}

static void a_row_that_is_written_twice_keeps_its_order(void **state)
{
    journal j = {0};
    (void)state;
    enter_issue(&j, 1, 7, "w");
    enter_told(&j, 1, 7);
    enter_issue(&j, 1, 8, "w");
    enter_issue(&j, 2, 7, "w"); /* another study's */
    enter_issue(&j, 1, 7, "v");
    enter_told(&j, 1, 7);
    enter_told(&j, 1, 7);
    assert_string_equal(sent(&j), "issues told issue told told ");
    clear(&j);
}

static void other_statements_keep_their_place(void **state)
{
    journal j = {0};
    (void)state;
    enter_log(&j, 1, 1, "{}");
    enter_log(&j, 1, 2, "{}");
    enter(&j, SQL_STUDY_DESCRIBE, "itti", (int64_t)1, "{}", "", (int64_t)0);
    enter_log(&j, 1, 3, "{}");
    enter(&j, SQL_ANSWER_PUT, "t", "its table is read by no other");
    enter_log(&j, 1, 4, "{}");
    assert_string_equal(sent(&j), "logs describe answer logs ");
    clear(&j);
}

/* An array has less than 1 GiB. */
static void large_rows_are_sent_alone(void **state)
{
    journal j = {0};
    char payload[1 << 15];
    (void)state;
    memset(payload, 'x', sizeof payload - 1);
    payload[sizeof payload - 1] = '\0';
    enter_log(&j, 1, 1, "{}");
    enter_log(&j, 1, 2, payload);
    enter_log(&j, 1, 3, "{}");
    assert_string_equal(sent(&j), "log logs ");
    clear(&j);
}

static void of_a_study_the_last_counters_are_saved(void **state)
{
    journal j = {0};
    pg_parameters p;
    uint64_t last_seq;
    (void)state;
    for (int64_t seq = 1; seq <= 3; seq++)
        enter(&j, SQL_STUDY_SAVE, "iiiiiiiiiiiiiiiidiiiii", (int64_t)9, seq, (int64_t)0, (int64_t)0,
              (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0,
              (int64_t)0, (int64_t)0, (int64_t)0, (int64_t)0, 0.0, (int64_t)0, (int64_t)0, (int64_t)0,
              (int64_t)0, (int64_t)0);
    enter(&j, SQL_COMMIT, "");
    assert_string_equal(sent(&j), "save commit ");
    decode(&p, &j.merge.list[0]);
    memcpy(&last_seq, p.values[1], sizeof last_seq);
    assert_int_equal(be64toh(last_seq), 3);
    clear(&j);
}

/* One dimension from 1, then each element with its length; a NULL has −1. */
static void arrays_are_in_binary_form(void **state)
{
    journal j = {0};
    pg_parameters p;
    static const unsigned char workers[] = {0, 0, 0, 1, 0, 0,    0,    1,    0,    0, 0, 25, 0, 0,   0,
                                            2, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0,  2, 'w', '2'};
    (void)state;
    enter_issue(&j, 1, 7, NULL);
    enter_issue(&j, 1, 8, "w2");
    assert_string_equal(sent(&j), "issues ");
    decode(&p, &j.merge.list[0]);
    assert_int_equal(p.n, 6);
    assert_int_equal(p.types[0], 1016);
    assert_int_equal(p.types[3], 1009);
    assert_int_equal(p.lengths[0], 20 + 2 * 12);
    assert_int_equal(p.lengths[3], sizeof workers);
    assert_memory_equal(p.values[3], workers, sizeof workers);
    clear(&j);
}

/* The highest number of a parameter. */
static long parameters_of(int id)
{
    char text[2 * pg_longest_statement];
    long highest = 0;
    pg_statement_text(id, text, sizeof text);
    for (const char *at = text; (at = strchr(at, '$')); at++)
        highest = strtol(at + 1, NULL, 10) > highest ? strtol(at + 1, NULL, 10) : highest;
    return highest;
}

/* Who adds a column to a row's statement adds it to that of the arrays. */
static void both_forms_have_the_same_parameters(void **state)
{
    static const int forms[][2] = {
        {SQL_LOG_INSERT, PG_LOG_INSERTS},         {SQL_TRIAL_ISSUE, PG_TRIAL_ISSUES},
        {SQL_ATTEMPT_INSERT, PG_ATTEMPT_INSERTS}, {SQL_TRIAL_TELL, PG_TRIAL_TELLS},
        {PG_ATTEMPT_TOLD, PG_ATTEMPTS_TOLD},      {SQL_STUDY_SAVE, PG_STUDY_SAVES}};
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_true(parameters_of(forms[i][0]) > 4);
        assert_int_equal(parameters_of(forms[i][0]), parameters_of(forms[i][1]));
    }
}

static int version_12(const PGconn *conn)
{
    (void)conn;
    return 120022;
}

static void an_old_server_is_refused(void **state)
{
    pg_connection c = {0};
    store_error err = {0};
    (void)state;
    assert_int_equal(pq_load(&err), STORE_OK);
    pq.PQserverVersion = version_12;
    assert_int_equal(pg_refuse_unfit(&c, true, &err), STORE_FOREIGN);
    assert_string_equal(err.message, "the server is PostgreSQL 12; banditd needs 13 or newer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_many_writes_are_one_statement),
        cmocka_unit_test(what_is_alone_stays_as_it_is),
        cmocka_unit_test(a_row_that_is_written_twice_keeps_its_order),
        cmocka_unit_test(other_statements_keep_their_place),
        cmocka_unit_test(large_rows_are_sent_alone),
        cmocka_unit_test(of_a_study_the_last_counters_are_saved),
        cmocka_unit_test(arrays_are_in_binary_form),
        cmocka_unit_test(both_forms_have_the_same_parameters),
        cmocka_unit_test(an_old_server_is_refused),
    };
    return cmocka_run_group_tests_name("statements of many writes", tests, NULL, NULL);
}
