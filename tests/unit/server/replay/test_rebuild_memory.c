/* An imported log, when the nth allocation fails, for every n: it is out of memory, never the file's fault. */
#include "server/data/definition.h"
#include "server/replay/rebuild.h"

#include "proto/json_writer.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/stored_definition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char definition[] =
    "{\"id\":\"a\",\"metrics\":[{\"name\":\"y\",\"goal\":\"minimize\"},{\"name\":\"z\",\"goal\":\"maximize\",\"role\":\"recorded\"}],"
    "\"domain\":{\"type\":\"space\",\"parameters\":["
    "{\"name\":\"x\",\"type\":\"double\",\"min\":0,\"max\":1},"
    "{\"name\":\"c\",\"type\":\"categorical\",\"values\":[\"red\",\"green\"]}]},\"seed\":1}";

static const struct {
    const char *type, *payload;
} entries[] = {
    {"candidates_added", "{\"first\":0,\"dimension\":2,\"rows\":[[0.5,1],[0.25,0]]}"},
    {"batch_planned",
     "{\"batch\":0,\"size\":1,\"ratio\":1,\"stop_rule\":\"initial\",\"beta\":1,\"observations\":0,"
     "\"update_seconds\":0,\"select_seconds\":0,\"started_at\":1000,\"code_path\":\"c\",\"through_seq\":1,"
     "\"dictionary\":[0,1],\"sums\":[[0,1,0.5]],\"engine_state\":\"00ff\",\"first_trial\":1,"
     "\"picks\":[[0,null]],\"parameters\":2,\"points\":[[0.75,1]]}"},
    {"trial_issued", "{\"trial\":1,\"attempt\":1,\"worker\":\"w\",\"lease_expires_at\":2000}"},
    {"trial_told",
     "{\"trial\":1,\"attempt\":1,\"state\":\"completed\",\"value\":0.5,\"better\":true,\"reason\":\"\","
     "\"repeats\":2,\"recorded\":\"{\\\"z\\\":1}\",\"metadata\":\"{\\\"host\\\":\\\"h\\\"}\"}"},
    {"observations_added", "{\"observations\":[[0,2,0.5]]}"},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

/* The first entry of a log: the definition with all its values. */
static char *first_payload(void)
{
    wire_writer w = WIRE_WRITER_INIT;
    char *text = stored_definition(definition), *payload;
    size_t size;
    wire_object_begin(&w);
    wire_key(&w, "id");
    wire_string(&w, "a");
    wire_key(&w, "definition");
    wire_string(&w, text);
    wire_key(&w, "state");
    wire_string(&w, "active");
    wire_object_end(&w);
    assert_true(wire_writer_finish(&w, &payload, &size));
    free(text);
    return payload;
}

/* WIRE_NO_MEMORY also where only the writing failed. */
static wire_status rebuild_all(rebuild *r, const char *first, wire_errors *errors)
{
    wire_status status = rebuild_entry(r, 1, 1000, "study_created", first, errors);
    for (int i = 0; status == WIRE_OK && i < N_ENTRIES; i++)
        status = rebuild_entry(r, i + 2, 1000, entries[i].type, entries[i].payload, errors);
    if (status == WIRE_OK)
        status = rebuild_finish(r, errors);
    if (status == WIRE_OK && rebuild_status(r) == STORE_NO_MEMORY)
        return WIRE_NO_MEMORY;
    return status;
}

static void it_is_never_the_files_fault(void **state)
{
    (void)state;
    store *s;
    store_error error = {0};
    char *first = first_payload();
    assert_int_equal(store_open_memory(&s, &error), STORE_OK);
    bool done = false;
    for (long n = 0; !done; n++) {
        rebuild *r;
        wire_errors errors = {0};
        assert_int_equal(rebuild_new(&r, s, NULL, true), STORE_OK);
        until_failure = n;
        wire_status status = rebuild_all(r, first, &errors);
        done = !has_failed();
        bool fine = status == WIRE_OK || (status == WIRE_NO_MEMORY && !done);
        if (!fine) /* WIRE_OK after a failure: the allocation was one that could be done without */
            fail_msg("allocation %ld: status %d, %s", n, status, errors.n ? errors.items[0].detail : "");
        wire_errors_clear(&errors);
        rebuild_free(r);
    }
    free(first);
    store_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_never_the_files_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
