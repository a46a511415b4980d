/* The compute pool: everything runs once, tiles at the same time, short tasks between the tiles of long ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { TASKS = 2000, TILES = 500 };

typedef struct counted_task {
    pool_task task;
    atomic_int *runs;
} counted_task;

static void count_run(pool_task *task)
{
    atomic_fetch_add(((counted_task *)task)->runs, 1);
}

static void every_task_runs_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++) {
        pool *p = pool_new(threads);
        assert_non_null(p);
        assert_int_equal(pool_threads(p), threads);
        atomic_int *runs = calloc(TASKS, sizeof *runs);
        counted_task *tasks = calloc(TASKS, sizeof *tasks);
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = (counted_task){.task.run = count_run, .runs = &runs[i]};
            pool_submit(p, &tasks[i].task, i % 3 ? POOL_SHORT : POOL_LONG);
        }
        pool_free(p); /* runs what is queued */
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(runs[i], 1);
        free(runs);
        free(tasks);
    }
}

/* A long task that spreads tiles; what it leaves behind. */
typedef struct spreading {
    pool_task task;
    pool *p;
    atomic_int runs[TILES];
    atomic_int busy[8]; /* by worker: tiles that run now */
    atomic_bool shared; /* a worker number was used twice at once, or out of range */
    atomic_int short_runs;
    int seen_within; /* short tasks that had run when the tiles were done */
    counted_task shorter;
} spreading;

static void tile(void *arg, size_t index, size_t worker)
{
    spreading *s = arg;
    if (worker >= pool_threads(s->p) || atomic_fetch_add(&s->busy[worker], 1) != 0)
        atomic_store(&s->shared, true);
    atomic_fetch_add(&s->runs[index], 1);
    volatile double x = 1;
    for (int i = 0; i < 2000; i++)
        x = x * 1.0000001 + 1e-9;
    atomic_fetch_sub(&s->busy[worker], 1);
}

static void spread(pool_task *task)
{
    spreading *s = (spreading *)task;
    bandit_executor executor = pool_executor(s->p);
    pool_submit(s->p, &s->shorter.task, POOL_SHORT);
    executor.for_each(executor.context, TILES, tile, s);
    s->seen_within = atomic_load(&s->short_runs);
}

static void tiles_run_once_and_short_tasks_go_before_them(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        pool *p = pool_new(threads);
        spreading *s = calloc(3, sizeof *s);
        for (int i = 0; i < 3; i++) {
            s[i].p = p;
            s[i].task.run = spread;
            s[i].shorter = (counted_task){.task.run = count_run, .runs = &s[i].short_runs};
            pool_submit(p, &s[i].task, POOL_LONG);
        }
        pool_free(p);
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < TILES; k++)
                assert_int_equal(s[i].runs[k], 1);
            assert_int_equal(s[i].seen_within, 1); /* it did not wait for the tiles, nor for the long task */
            assert_false(s[i].shared);
        }
        free(s);
    }
}

/* Blocks all threads until `n` tasks run at once: only true parallelism gets there. */
typedef struct meeting {
    pthread_barrier_t all_here;
} meeting;

static void meet(void *arg, size_t index, size_t worker)
{
    (void)index;
    (void)worker;
    pthread_barrier_wait(&((meeting *)arg)->all_here);
}

typedef struct meeting_task {
    pool_task task;
    pool *p;
    meeting m;
    struct timespec before;
} meeting_task;

static void hold_meeting(pool_task *task)
{
    meeting_task *t = (meeting_task *)task;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t->before, NULL);
    bandit_executor executor = pool_executor(t->p);
    executor.for_each(executor.context, 3, meet, &t->m);
}

static void tiles_run_on_all_threads_at_once(void **state)
{
    (void)state;
    pool *p = pool_new(3);
    meeting_task t = {.task.run = hold_meeting, .p = p, .before.tv_nsec = 50 * 1000 * 1000};
    pthread_barrier_init(&t.m.all_here, NULL, 3);
    pool_submit(p, &t.task, POOL_LONG);
    /* Comes back only if three tiles were there at the same time: threads without work stay for what a
     * running task may still spread, though the pool was told to end before that. */
    pool_free(p);
    pthread_barrier_destroy(&t.m.all_here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(tiles_run_once_and_short_tasks_go_before_them),
        cmocka_unit_test(tiles_run_on_all_threads_at_once),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
