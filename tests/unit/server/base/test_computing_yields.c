/* Computing threads let others have the processor, but do not give it away when yields take long. */
#include "server/base/computing.h"

#include "server/base/clock.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static int yields;
static long away;                 /* nanoseconds */
static _Thread_local bool is_job; /* the threads of OpenBLAS yield, too */

/* In place of the C library's: as if another program had the processor for so long. */
int sched_yield(void)
{
    if (!is_job)
        return 0;
    yields++;
    if (away > 0)
        nanosleep(&(struct timespec){.tv_nsec = away}, NULL);
    return 0;
}

typedef struct timed_job {
    computing_job job;
    double seconds;
} timed_job;

/* 60 ms, with a checkpoint every 0.1 ms. */
static void run_timed(computing_job *job)
{
    double begun = clock_steady();
    is_job = true;
    for (int i = 0; i < 600; i++) {
        double end = clock_steady() + 0.0001;
        while (clock_steady() < end)
            continue;
        bandit_pause();
    }
    ((timed_job *)(void *)job)->seconds = clock_steady() - begun;
}

/* -> the seconds that the job took */
static double compute(long away_for)
{
    timed_job timed = {.job.run = run_timed};
    struct computing *c = computing_new(1, NULL);
    away = away_for;
    yields = 0;
    computing_submit(c, &timed.job, NULL);
    computing_free(c);
    return timed.seconds;
}

static void short_yields_come_often(void **state)
{
    (void)state;
    compute(0);
    assert_true(yields > 10);
}

/* The thread is away for at most half of the time: after each yield of 5 ms it computes for 5 ms. */
static void after_a_long_yield_comes_a_long_computation(void **state)
{
    const double each = 0.005;
    (void)state;
    double seconds = compute(5000000);
    assert_true(yields >= 1);
    assert_true((yields - 1) * 2.0 * each <= seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_yields_come_often),
        cmocka_unit_test(after_a_long_yield_comes_a_long_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
