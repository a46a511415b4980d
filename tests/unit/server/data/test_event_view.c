/* Listeners see each event as recorded. tests/unit/server/data/recorded_views holds what each sample
 * (tests/support/event_samples.c) was shown as by an earlier version; `test_event_view --record` writes the
 * file again, for new samples or when the stream changes on purpose. */
#include "server/data/event_view.h"
#include "tests/support/event_samples.h"
#include "tests/support/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDED "tests/unit/server/data/recorded_views"

static bool writes;

/* On one line. The caller frees it. */
static char *view_of(const store_event *event)
{
    char *text;
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    event_view_encode(&w, 42, event);
    assert_true(wire_writer_finish(&w, &text, &size));
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = '|';
    return text;
}

static void views_are_as_recorded(void **state)
{
    const char *words;
    recording *r = recording_open(RECORDED, writes, "banditd " BANDITD_VERSION ": test_event_view --record");
    (void)state;
    assert_null(recording_setting(r, &words));
    for (size_t i = 0; i < n_event_samples; i++) {
        store_event *copy = event_sample_copy(&event_samples[i]);
        char *view = view_of(copy);
        recording_words(r, event_samples[i].name, view);
        free(view);
        free(copy);
    }
    recording_close(r);
}

static void an_event_of_the_log_is_shown_as_the_written_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_event_samples; i++) {
        store_event *written = event_sample_copy(&event_samples[i]), *read;
        store_error err = {0};
        char *payload = event_sample_payload(&event_samples[i]);
        const char *type = store_event_name(written->type);
        assert_int_equal(store_event_decode(&read, type, written->time, payload, &err), STORE_OK);
        char *view = view_of(written), *again = view_of(read);
        if (!strstr(payload, "\xEF\xBF\xBD")) /* stands for bytes that are not UTF-8 */
            assert_string_equal(view, again);
        free(view);
        free(again);
        free(payload);
        free(written);
        free(read);
    }
}

int main(int argc, char **argv)
{
    writes = argc > 1 && strcmp(argv[1], "--record") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_as_recorded),
        cmocka_unit_test(an_event_of_the_log_is_shown_as_the_written_one),
    };
    return cmocka_run_group_tests_name("events as listeners see them", tests, NULL, NULL);
}
