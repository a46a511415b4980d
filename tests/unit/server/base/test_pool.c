/* The pool: everything runs once, also what is submitted while it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { TASKS = 2000 };

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
        atomic_int *runs = calloc(TASKS, sizeof *runs);
        counted_task *tasks = calloc(TASKS, sizeof *tasks);
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = (counted_task){.task.run = count_run, .runs = &runs[i]};
            pool_submit(p, &tasks[i].task, POOL_SHORT);
        }
        pool_free(p); /* runs what is queued */
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(runs[i], 1);
        free(runs);
        free(tasks);
    }
}

/* Something that is no task submits to the pool, which has been told to end before. */
typedef struct outsider {
    pool *p;
    counted_task task;
} outsider;

static void *submit_late(void *arg)
{
    outsider *o = arg;
    struct timespec a_moment = {.tv_nsec = 30 * 1000 * 1000};
    nanosleep(&a_moment, NULL);
    pool_submit(o->p, &o->task.task, POOL_SHORT);
    pool_release(o->p);
    return NULL;
}

static void a_held_pool_does_not_end(void **state)
{
    (void)state;
    atomic_int runs = 0;
    pthread_t thread;
    outsider o = {.p = pool_new(2), .task = {.task.run = count_run, .runs = &runs}};
    pool_hold(o.p);
    assert_int_equal(pthread_create(&thread, NULL, submit_late, &o), 0);
    pool_free(o.p);
    assert_int_equal(runs, 1);
    pthread_join(thread, NULL);
}

/* A task that submits itself again. */
typedef struct relay {
    pool_task task;
    pool *p;
    int left;
} relay;

static void pass_on(pool_task *task)
{
    relay *r = (relay *)task;
    if (r->left-- > 0)
        pool_submit(r->p, task, POOL_SHORT);
}

static void what_tasks_submit_runs_before_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        pool *p = pool_new(1 + (size_t)i % 3);
        relay relays[4];
        for (int j = 0; j < 4; j++) {
            relays[j] = (relay){.task.run = pass_on, .p = p, .left = 20 + j};
            pool_submit(p, &relays[j].task, POOL_SHORT);
        }
        pool_free(p);
        for (int j = 0; j < 4; j++)
            assert_int_equal(relays[j].left, -1);
    }
}

static void *release(void *arg)
{
    pool_release(arg);
    return NULL;
}

/* The last one to let go of a pool may be a thread that is not the pool's, while the pool is being freed. */
static void a_pool_is_freed_after_its_last_release(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        pthread_t other;
        pool *p = pool_new(2);
        assert_non_null(p);
        pool_hold(p);
        assert_int_equal(pthread_create(&other, NULL, release, p), 0);
        pool_free(p);
        pthread_join(other, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(a_held_pool_does_not_end),
        cmocka_unit_test(what_tasks_submit_runs_before_the_end),
        cmocka_unit_test(a_pool_is_freed_after_its_last_release),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
