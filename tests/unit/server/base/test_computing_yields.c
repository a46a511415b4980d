/* Computing threads let others have the processor, but do not give it away when yields take long. */
#include "server/base/computing.h"

#include "server/base/clock.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static atomic_int yields;
static long away; /* nanoseconds */

/* In place of the C library's: as if another program had the processor for so long. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
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
    atomic_store(&yields, 0);
    computing_submit(c, &timed.job, NULL);
    computing_free(c);
    return timed.seconds;
}

static void short_yields_come_often(void **state)
{
    (void)state;
    compute(0);
    assert_true(atomic_load(&yields) > 10);
}

/* Of the time, the thread is away for a fifth: after each yield of 5 ms it computes for 20 ms. */
static void after_a_long_yield_comes_a_long_computation(void **state)
{
    const double each = 0.005, then = 4.0 * each;
    (void)state;
    double seconds = compute(5000000);
    int n = atomic_load(&yields);
    assert_true(n >= 1);
    assert_true((n - 1) * (each + then) <= seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_yields_come_often),
        cmocka_unit_test(after_a_long_yield_comes_a_long_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
