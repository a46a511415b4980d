/* Payloads in the log stay as they are to the byte, and read back as the same event.
 *
 * tests/store/recorded_payloads holds the payload of each sample (tests/support/event_samples.c) as an
 * earlier version wrote it. `test_event_payloads --record` writes the file again; that is right for new
 * samples only, since databases hold payloads of the recorded form. */
#include "tests/support/event_samples.h"
#include "tests/support/recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDED "tests/store/recorded_payloads"

static bool writes;

static void every_type_has_two_samples(void **state)
{
    size_t n[STORE_EVENT_TYPES] = {0};
    (void)state;
    for (size_t i = 0; i < n_event_samples; i++)
        n[event_samples[i].event.type]++;
    for (size_t type = 0; type < STORE_EVENT_TYPES; type++)
        if (n[type] < 2)
            fail_msg("%s has %zu samples", store_event_name((store_event_type)type), n[type]);
}

static void payloads_are_as_recorded(void **state)
{
    const char *words;
    recording *r =
        recording_open(RECORDED, writes, "banditd " BANDITD_VERSION ": test_event_payloads --record");
    (void)state;
    assert_null(recording_setting(r, &words));
    for (size_t i = 0; i < n_event_samples; i++) {
        char *payload = event_sample_payload(&event_samples[i]);
        recording_words(r, event_samples[i].name, payload);
        free(payload);
    }
    recording_close(r);
}

static store_event *decoded(const char *type, const char *payload)
{
    store_event *event;
    store_error err = {0};
    if (store_event_decode(&event, type, 7, payload, &err) != STORE_OK)
        fail_msg("%s", err.message);
    return event;
}

static void expect_same_payload(const store_event *event, const char *payload)
{
    char *again;
    assert_int_equal(store_event_encode(&again, event), STORE_OK);
    assert_string_equal(again, payload);
    free(again);
}

static void payloads_read_back_as_the_same_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_event_samples; i++) {
        char *payload = event_sample_payload(&event_samples[i]);
        store_event *event = decoded(store_event_name(event_samples[i].event.type), payload);
        assert_int_equal(event->type, event_samples[i].event.type);
        assert_int_equal(event->time, 7);
        expect_same_payload(event, payload);
        free(event);
        free(payload);
    }
}

/* ---- damaged payloads ---------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *random, uint64_t n) /* splitmix64 */
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* Some bytes of the text are replaced, by others of it or by what JSON consists of. */
static void damage(char *text, uint64_t *random)
{
    static const char parts[] = "0123456789-+.eE\"\\[]{}:, nulltruefalse";
    size_t n = strlen(text);
    for (uint64_t times = 1 + draw(random, 4); times > 0; times--) {
        char part = draw(random, 2) ? text[draw(random, n)] : parts[draw(random, sizeof parts - 1)];
        text[draw(random, n)] = part;
    }
}

/* A damaged payload is refused with a message, or is that of another event, which is written and read. */
static void damaged_payloads_are_refused_or_read(void **state)
{
    uint64_t random = 1;
    size_t refused = 0, read = 0;
    (void)state;
    for (size_t round = 0; round < 40; round++) {
        for (size_t i = 0; i < n_event_samples; i++) {
            const char *type = store_event_name(event_samples[i].event.type);
            char *payload = event_sample_payload(&event_samples[i]);
            store_event *event, *same;
            store_error err = {0};
            damage(payload, &random);
            store_status status = store_event_decode(&event, type, 7, payload, &err);
            free(payload);
            refused += status != STORE_OK;
            read += status == STORE_OK;
            if (status) {
                assert_int_equal(status, STORE_CORRUPT);
                assert_null(event);
                assert_true(strlen(err.message) > strlen(type));
                continue;
            }
            assert_int_equal(store_event_encode(&payload, event), STORE_OK);
            same = decoded(type, payload);
            expect_same_payload(same, payload);
            free(same);
            free(event);
            free(payload);
        }
    }
    assert_true(refused > 100 && read > 100);
}

int main(int argc, char **argv)
{
    writes = argc > 1 && strcmp(argv[1], "--record") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_two_samples),
        cmocka_unit_test(payloads_are_as_recorded),
        cmocka_unit_test(payloads_read_back_as_the_same_event),
        cmocka_unit_test(damaged_payloads_are_refused_or_read),
    };
    return cmocka_run_group_tests_name("payloads of the log", tests, NULL, NULL);
}
