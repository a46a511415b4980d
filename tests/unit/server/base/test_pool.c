/* The pool: everything runs once, also what is submitted while it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/nice.h"
#include "server/base/pool.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { TASKS = 2000 };

static int thread_nice;

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
            pool_submit(p, &tasks[i].task, i % 2 ? POOL_SHORT : POOL_READING);
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

/* A task that holds its thread until it is let go. */
typedef struct held_task {
    pool_task task;
    sem_t *begun, *go_on;
} held_task;

static void hold_thread(pool_task *task)
{
    held_task *h = (held_task *)task;
    sem_post(h->begun);
    sem_wait(h->go_on);
}

/* Of several threads, readers leave one processor to the others. */
static void one_processor_is_left_by_readers(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        sem_t begun, go_on;
        struct timespec a_moment = {.tv_nsec = 20 * 1000 * 1000};
        held_task tasks[4];
        size_t readers = threads > 1 ? threads - 1 : 1;
        int more;
        sem_init(&begun, 0, 0);
        sem_init(&go_on, 0, 0);
        pool *p = pool_new(threads);
        for (size_t i = 0; i < 4; i++) {
            tasks[i] = (held_task){.task.run = hold_thread, .begun = &begun, .go_on = &go_on};
            pool_submit(p, &tasks[i].task, POOL_READING);
        }
        for (size_t i = 0; i < readers; i++)
            sem_wait(&begun);
        nanosleep(&a_moment, NULL); /* in which another would begin */
        sem_getvalue(&begun, &more);
        assert_int_equal(more, 0);
        assert_int_equal(pool_queued(p), 4 - readers);
        for (size_t i = 0; i < 4; i++)
            sem_post(&go_on);
        pool_free(p);
        sem_destroy(&begun);
        sem_destroy(&go_on);
    }
}

static void note_nice(pool_task *task)
{
    (void)task;
    thread_nice = getpriority(PRIO_PROCESS, 0);
}

/* A pool that a nicer thread makes has threads of the same nice value as any other. */
static void *make_pool(void *arg)
{
    (void)arg;
    nice_raise(NICER_COMPUTING);
    pool *p = pool_new(1);
    pool_task task = {.run = note_nice};
    pool_submit(p, &task, POOL_READING);
    pool_free(p);
    return NULL;
}

static void nice_values_do_not_add_up(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, make_pool, NULL), 0);
    pthread_join(thread, NULL);
    int expected = getpriority(PRIO_PROCESS, 0) + NICER_READING;
    assert_int_equal(thread_nice, expected < 19 ? expected : 19);
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
        cmocka_unit_test(one_processor_is_left_by_readers),
        cmocka_unit_test(nice_values_do_not_add_up),
        cmocka_unit_test(a_pool_is_freed_after_its_last_release),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
