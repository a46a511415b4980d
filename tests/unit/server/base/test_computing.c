/* Long jobs side by side: everything runs once, a short job does not wait for long ones, shares are equal, worker
 * numbers are unique among the tiles of a job, and jobs are given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/computing_internal.h"

#include "server/base/clock.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { JOBS = 500, TILES = 300 };

static void work(double seconds)
{
    double end = clock_steady() + seconds;
    while (clock_steady() < end)
        continue;
}

/* ---- every job, every tile ----------------------------------------------------------------------------- */

typedef struct counted_job {
    computing_job job;
    atomic_int *runs;
} counted_job;

static void count_run(computing_job *job)
{
    atomic_fetch_add(((counted_job *)(void *)job)->runs, 1);
}

static void every_job_runs_once(void **state)
{
    (void)state;
    for (size_t permits = 1; permits <= 4; permits++) {
        struct computing *c = computing_new(permits, NULL);
        assert_non_null(c);
        atomic_int runs[JOBS] = {0};
        counted_job *jobs = calloc(JOBS, sizeof *jobs);
        computing_account *account = computing_account_new(c, 1.0);
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = (counted_job){.job.run = count_run, .runs = &runs[i]};
            computing_submit(c, &jobs[i].job, i % 3 ? account : NULL);
        }
        computing_account_free(c, account); /* its jobs still count */
        computing_free(c);
        for (int i = 0; i < JOBS; i++)
            assert_int_equal(runs[i], 1);
        free(jobs);
    }
}

/* A job of tiles, some of which spread tiles themselves, and are interrupted. */
typedef struct spreading {
    computing_job job;
    struct computing *c;
    size_t permits;
    atomic_int runs[TILES], inner_runs[TILES];
    atomic_int busy[8]; /* by worker: tiles that run now, but for those that have spread others */
    atomic_bool shared; /* a worker number was used twice at once, or out of range */
} spreading;

static void enter(spreading *s, size_t worker)
{
    if (worker >= s->permits || atomic_fetch_add(&s->busy[worker], 1) != 0)
        atomic_store(&s->shared, true);
}

static void inner_tile(void *arg, size_t index, size_t worker)
{
    spreading *s = arg;
    enter(s, worker);
    atomic_fetch_add(&s->inner_runs[index], 1);
    work(1e-6 * (double)(index % 50));
    bandit_pause();
    atomic_fetch_sub(&s->busy[worker], 1);
}

static void tile(void *arg, size_t index, size_t worker)
{
    spreading *s = arg;
    bandit_executor executor = computing_executor(s->c);
    enter(s, worker);
    atomic_fetch_add(&s->runs[index], 1);
    work(1e-6 * (double)(index % 70));
    if (index % 7 == 0)
        work(0.012); /* more than a slice */
    bandit_pause();
    atomic_fetch_sub(&s->busy[worker], 1);
    if (index % 100 == 0)
        executor.for_each(executor.context, TILES, inner_tile, s);
}

static void spread(computing_job *job)
{
    spreading *s = (spreading *)(void *)job;
    bandit_executor executor = computing_executor(s->c);
    assert_int_equal(executor.workers, s->permits);
    executor.for_each(executor.context, TILES, tile, s);
    executor.for_each(executor.context, 1, tile, s);
    executor.for_each(executor.context, 0, tile, s);
}

static void tiles_run_once(void **state)
{
    (void)state;
    for (size_t permits = repeats(1, 3); permits <= 4; permits += repeats(1, 2)) {
        struct computing *c = computing_new(permits, NULL);
        spreading *s = calloc(3, sizeof *s);
        computing_account *accounts[3];
        for (int i = 0; i < 3; i++) {
            accounts[i] = computing_account_new(c, 1.0 + i);
            s[i].c = c;
            s[i].permits = permits;
            s[i].job.run = spread;
            computing_submit(c, &s[i].job, accounts[i]);
        }
        for (int i = 0; i < 3; i++)
            computing_account_free(c, accounts[i]);
        computing_free(c);
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < TILES; k++) {
                assert_int_equal(s[i].runs[k], k == 0 ? 2 : 1);
                assert_int_equal(s[i].inner_runs[k], 4);
            }
            assert_false(s[i].shared);
        }
        free(s);
    }
}

/* Comes back only if three tiles run at the same time. */
typedef struct meeting {
    computing_job job;
    struct computing *c;
    pthread_barrier_t all_here;
} meeting;

static void meet(void *arg, size_t index, size_t worker)
{
    (void)index;
    (void)worker;
    pthread_barrier_wait(&((meeting *)arg)->all_here);
}

static void hold_meeting(computing_job *job)
{
    meeting *m = (meeting *)(void *)job;
    bandit_executor executor = computing_executor(m->c);
    for (int i = 0; i < 100; i++)
        executor.for_each(executor.context, 3, meet, m);
}

static void tiles_run_on_all_threads_at_once(void **state)
{
    (void)state;
    meeting m = {.job.run = hold_meeting, .c = computing_new(3, NULL)};
    pthread_barrier_init(&m.all_here, NULL, 3);
    computing_submit(m.c, &m.job, NULL);
    computing_free(m.c);
    pthread_barrier_destroy(&m.all_here);
}

/* ---- shares -------------------------------------------------------------------------------------------- */

enum { KINDS = 3 };

/* Goes on until it is given up. Of kind 0: steps of 0.2 ms; 1: tiles; 2: tiles that pause, and are longer than a
 * slice. */
typedef struct endless {
    computing_job job;
    struct computing *c;
    computing_account *account;
    int kind;
    atomic_llong microseconds;
    atomic_bool ended;
} endless;

static void endless_tile(void *arg, size_t index, size_t worker)
{
    endless *e = arg;
    (void)index;
    (void)worker;
    for (int i = 0; i < (e->kind == 2 ? 100 : 1); i++) {
        work(0.0002);
        atomic_fetch_add(&e->microseconds, 200);
        if (e->kind == 2 && bandit_pause())
            return;
    }
}

static void run_endless(computing_job *job)
{
    endless *e = (endless *)(void *)job;
    bandit_executor executor = computing_executor(e->c);
    while (!bandit_pause())
        executor.for_each(executor.context, e->kind == 0 ? 1 : 20, endless_tile, e);
    atomic_store(&e->ended, true);
}

static void begin_endless(endless *e, struct computing *c, int kind, double weight)
{
    *e = (endless){.job.run = run_endless, .c = c, .kind = kind};
    e->account = computing_account_new(c, weight);
    computing_submit(c, &e->job, e->account);
}

/* 5 ms, in steps. */
typedef struct brief {
    computing_job job;
    sem_t done;
} brief;

static void run_brief(computing_job *job)
{
    brief *b = (brief *)(void *)job;
    for (int i = 0; i < 25; i++) {
        work(0.0002);
        bandit_pause();
    }
    sem_post(&b->done);
}

/* It ends although the others, which came before it, never do. */
static void a_short_job_does_not_wait_for_endless_ones(void **state)
{
    (void)state;
    for (size_t permits = 1; permits <= 2; permits++) {
        struct computing *c = computing_new(permits, NULL);
        endless heavy[6];
        for (int i = 0; i < 6; i++)
            begin_endless(&heavy[i], c, i % KINDS, 1.0);
        computing_account *account = computing_account_new(c, 1.0);
        for (int i = 0; i < 20; i++) {
            brief b = {.job.run = run_brief};
            sem_init(&b.done, 0, 0);
            computing_submit(c, &b.job, account);
            sem_wait(&b.done);
            sem_destroy(&b.done);
        }
        computing_account_free(c, account);
        for (int i = 0; i < 6; i++)
            computing_cancel(heavy[i].account);
        for (int i = 0; i < 6; i++)
            computing_account_free(c, heavy[i].account);
        computing_free(c);
        for (int i = 0; i < 6; i++)
            assert_true(heavy[i].ended);
    }
}

static void wait_for_work(const endless *e, long long microseconds)
{
    while (atomic_load(&e->microseconds) < microseconds)
        sched_yield();
}

/* Of six jobs on one permit, whatever their weights, none is kept out by the others. */
static void all_jobs_get_on(void **state)
{
    (void)state;
    struct computing *c = computing_new(1, NULL);
    endless heavy[6];
    for (int i = 0; i < 6; i++)
        begin_endless(&heavy[i], c, i % KINDS, i == 5 ? 2.0 : 1.0);
    for (int i = 0; i < 6; i++)
        wait_for_work(&heavy[i], 50000);
    computing_stop(c);
    for (int i = 0; i < 6; i++)
        computing_account_free(c, heavy[i].account);
    computing_free(c);
}

/* One that has been alone for long does not pay for it: it goes on beside a second job that has used nothing. */
static void nobody_pays_for_having_been_alone(void **state)
{
    (void)state;
    struct computing *c = computing_new(1, NULL);
    endless first, second;
    begin_endless(&first, c, 0, 1.0);
    wait_for_work(&first, 600000);
    begin_endless(&second, c, 0, 1.0);
    wait_for_work(&second, 20000);
    long long used = atomic_load(&first.microseconds);
    wait_for_work(&first, used + 20000);
    assert_true(atomic_load(&second.microseconds) < 600000);
    computing_stop(c);
    computing_account_free(c, first.account);
    computing_account_free(c, second.account);
    computing_free(c);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void one_account_is_given_up_and_resumed(void **state)
{
    (void)state;
    struct computing *c = computing_new(2, NULL);
    endless given_up, stays;
    begin_endless(&given_up, c, 2, 1.0);
    begin_endless(&stays, c, 1, 1.0);
    computing_cancel(given_up.account);
    while (!given_up.ended)
        sched_yield();
    assert_false(stays.ended);
    endless again; /* a later job of the account as well */
    again = (endless){.job.run = run_endless, .c = c, .account = given_up.account};
    computing_submit(c, &again.job, again.account);
    while (!again.ended)
        sched_yield();
    assert_false(stays.ended);
    computing_resume(given_up.account);
    endless resumed = {.job.run = run_endless, .c = c, .account = given_up.account};
    computing_submit(c, &resumed.job, resumed.account);
    wait_for_work(&resumed, 1000);
    assert_false(resumed.ended);
    computing_stop(c);
    computing_account_free(c, given_up.account);
    computing_account_free(c, stays.account);
    computing_free(c);
    assert_true(stays.ended);
}

/* More jobs than there may be threads: they wait, and all end. */
static void many_jobs_are_put_down(void **state)
{
    (void)state;
    enum { MANY = 400 };
    struct computing *c = computing_new(2, NULL);
    computing_statistics statistics;
    endless *heavy = calloc(MANY, sizeof *heavy);
    for (int i = 0; i < MANY; i++)
        begin_endless(&heavy[i], c, i % KINDS, 1.0);
    struct timespec pause = {.tv_nsec = 500 * 1000 * 1000};
    nanosleep(&pause, NULL);
    computing_read_statistics(c, &statistics);
    assert_int_equal(statistics.permits, 2);
    assert_int_equal(statistics.jobs, MANY);
    assert_true(statistics.threads >= 2 && statistics.threads <= 2 + 256);
    assert_true(statistics.waiting >= MANY - 2);
    assert_true(statistics.longest_step > 0.0);
    computing_stop(c);
    for (int i = 0; i < MANY; i++)
        computing_account_free(c, heavy[i].account);
    computing_free(c);
    for (int i = 0; i < MANY; i++)
        assert_true(heavy[i].ended);
    free(heavy);
}

/* A job that waits for something else leaves its permit to others. */
typedef struct waiting_job {
    computing_job job;
    struct computing *c;
    sem_t other_ran;
} waiting_job;

static void wait_for_other(computing_job *job)
{
    waiting_job *w = (waiting_job *)(void *)job;
    computing_wait_begin(w->c);
    sem_wait(&w->other_ran);
    computing_wait_end(w->c);
}

typedef struct waking_job {
    computing_job job;
    waiting_job *other;
} waking_job;

static void wake_other(computing_job *job)
{
    sem_post(&((waking_job *)(void *)job)->other->other_ran);
}

static void who_waits_does_not_compute(void **state)
{
    (void)state;
    waiting_job waiting = {.job.run = wait_for_other, .c = computing_new(1, NULL)};
    waking_job waking = {.job.run = wake_other, .other = &waiting};
    sem_init(&waiting.other_ran, 0, 0);
    computing_submit(waiting.c, &waiting.job, NULL);
    computing_submit(waiting.c, &waking.job, NULL);
    computing_free(waiting.c);
    sem_destroy(&waiting.other_ran);
}

/* A job that submits itself again, in turn with tasks of a pool that has been told to end. */
typedef struct relay {
    computing_job job;
    pool_task task;
    struct computing *c;
    pool *p;
    int left;
} relay;

static void back_to_computing(pool_task *task)
{
    relay *r = (relay *)(void *)((char *)task - offsetof(relay, task));
    computing_submit(r->c, &r->job, NULL);
}

static void pass_on(computing_job *job)
{
    relay *r = (relay *)(void *)job;
    if (r->left-- == 0)
        return;
    if (r->left % 3 == 0)
        computing_submit(r->c, &r->job, NULL);
    else
        pool_submit(r->p, &r->task, POOL_SHORT);
}

static void what_jobs_submit_runs_before_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        pool *p = pool_new(1 + (size_t)i % 3);
        struct computing *c = computing_new(1 + (size_t)i % 2, p);
        relay relays[4];
        for (int j = 0; j < 4; j++) {
            relays[j] =
                (relay){.job.run = pass_on, .task.run = back_to_computing, .c = c, .p = p, .left = 20 + j};
            computing_submit(c, &relays[j].job, NULL);
        }
        pool_free(p);
        computing_free(c);
        for (int j = 0; j < 4; j++)
            assert_int_equal(relays[j].left, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(tiles_run_once),
        cmocka_unit_test(tiles_run_on_all_threads_at_once),
        cmocka_unit_test(a_short_job_does_not_wait_for_endless_ones),
        cmocka_unit_test(all_jobs_get_on),
        cmocka_unit_test(nobody_pays_for_having_been_alone),
        cmocka_unit_test(one_account_is_given_up_and_resumed),
        cmocka_unit_test(many_jobs_are_put_down),
        cmocka_unit_test(who_waits_does_not_compute),
        cmocka_unit_test(what_jobs_submit_runs_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
