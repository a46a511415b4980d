/* The pool: everything runs once, tiles at the same time, short tasks while every thread computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/pool.h"

#include <pthread.h>
#include <semaphore.h>
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
    executor.for_each(executor.context, TILES, tile, s);
}

static void tiles_run_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        pool *p = pool_new(threads);
        spreading *s = calloc(3, sizeof *s);
        for (int i = 0; i < 3; i++) {
            s[i].p = p;
            s[i].task.run = spread;
            pool_submit(p, &s[i].task, POOL_LONG);
        }
        pool_free(p);
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < TILES; k++)
                assert_int_equal(s[i].runs[k], 1);
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

/* Every thread that computes holds a tile until a short task has run. */
typedef struct occupation {
    pool_task task, shorter;
    pool *p;
    pthread_barrier_t all_busy;
    sem_t ran;
    atomic_int in_vain;
} occupation;

static void let_go(pool_task *task)
{
    occupation *o = (occupation *)(void *)((char *)task - offsetof(occupation, shorter));
    for (size_t i = 0; i < pool_threads(o->p); i++)
        sem_post(&o->ran);
}

static void hold(void *arg, size_t index, size_t worker)
{
    occupation *o = arg;
    struct timespec end;
    (void)worker;
    pthread_barrier_wait(&o->all_busy);
    if (index == 0)
        pool_submit(o->p, &o->shorter, POOL_SHORT);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    if (sem_timedwait(&o->ran, &end) != 0)
        atomic_fetch_add(&o->in_vain, 1);
}

static void occupy(pool_task *task)
{
    occupation *o = (occupation *)task;
    bandit_executor executor = pool_executor(o->p);
    executor.for_each(executor.context, pool_threads(o->p), hold, o);
}

static void short_tasks_run_while_every_thread_computes(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        pool *p = pool_new(threads);
        occupation o = {.task.run = occupy, .shorter.run = let_go, .p = p};
        pthread_barrier_init(&o.all_busy, NULL, threads);
        sem_init(&o.ran, 0, 0);
        pool_submit(p, &o.task, POOL_LONG);
        pool_free(p);
        assert_int_equal(o.in_vain, 0);
        sem_destroy(&o.ran);
        pthread_barrier_destroy(&o.all_busy);
    }
}

/* A task that submits itself again, to threads of either kind in turn. */
typedef struct relay {
    pool_task task;
    pool *p;
    int left;
} relay;

static void pass_on(pool_task *task)
{
    relay *r = (relay *)task;
    if (r->left-- > 0)
        pool_submit(r->p, task, r->left % 2 ? POOL_SHORT : POOL_LONG);
}

static void what_tasks_submit_runs_before_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        pool *p = pool_new(1 + (size_t)i % 3);
        relay relays[4];
        for (int j = 0; j < 4; j++) {
            relays[j] = (relay){.task.run = pass_on, .p = p, .left = 20 + j};
            pool_submit(p, &relays[j].task, j % 2 ? POOL_SHORT : POOL_LONG);
        }
        pool_free(p);
        for (int j = 0; j < 4; j++)
            assert_int_equal(relays[j].left, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(tiles_run_once),
        cmocka_unit_test(tiles_run_on_all_threads_at_once),
        cmocka_unit_test(short_tasks_run_while_every_thread_computes),
        cmocka_unit_test(what_tasks_submit_runs_before_the_end),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
