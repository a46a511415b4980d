/* The log's queue: nobody waits for a log that is not read; what has no room is dropped and counted; what is read is
 * whole and in order. */
#include "server/base/log_queue.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 40000, LINE_SIZE = 64 };

static char *dropped_line(uint64_t dropped, size_t *size)
{
    char *text = malloc(LINE_SIZE);
    assert_non_null(text);
    *size = (size_t)snprintf(text, LINE_SIZE, "dropped %" PRIu64 "\n", dropped);
    return text;
}

static void add(int number)
{
    char *text = malloc(LINE_SIZE);
    assert_non_null(text);
    int n =
        snprintf(text, LINE_SIZE, "line %d %.*s\n", number, 40, "........................................");
    log_queue_add(text, (size_t)n);
}

/* A line of what the pipe has; "" at its end. */
static const char *next_line(FILE *in)
{
    static char text[LINE_SIZE];
    return fgets(text, sizeof text, in) ? text : "";
}

static void a_log_that_is_not_read_stops_nobody(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(log_queue_start(ends[1], dropped_line));
    for (int i = 0; i < LINES; i++)
        add(i); /* far more than the pipe and the queue have room for */
    uint64_t dropped = log_queue_dropped();
    assert_in_range(dropped, 1, LINES - LOG_QUEUE_BYTES / LINE_SIZE);

    FILE *in = fdopen(ends[0], "r");
    assert_non_null(in);
    int last = -1, number, seen = 0;
    uint64_t said = 0, more;
    while (said < dropped) { /* it says so as soon as a line has gone out after them */
        const char *text = next_line(in);
        if (sscanf(text, "dropped %" SCNu64, &more) == 1) {
            said += more;
            continue;
        }
        assert_int_equal(sscanf(text, "line %d ", &number), 1);
        assert_true(number > last);
        last = number;
        seen++;
    }
    assert_int_equal(said, dropped);
    while (seen < LINES - (int)dropped) {
        assert_int_equal(sscanf(next_line(in), "line %d ", &number), 1);
        assert_true(number > last);
        last = number;
        seen++;
    }
    add(LINES);
    assert_int_equal(sscanf(next_line(in), "line %d ", &number), 1);
    assert_int_equal(number, LINES);
    assert_int_equal(log_queue_dropped(), dropped);
    log_queue_stop();
    close(ends[1]);
    assert_string_equal(next_line(in), "");
    fclose(in);
}

static void its_end_does_not_wait_for_ever(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(log_queue_start(ends[1], dropped_line));
    for (int i = 0; i < LINES; i++)
        add(i);
    log_queue_stop(); /* nobody reads: it returns all the same */
    uint64_t dropped = log_queue_dropped();
    add(0); /* the thread is still stuck in a write: this must not be */
    assert_int_equal(log_queue_dropped(), dropped + 1);
    close(ends[0]); /* lets the thread go */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_is_not_read_stops_nobody),
        cmocka_unit_test(its_end_does_not_wait_for_ever),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
