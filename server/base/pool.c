#include "server/base/pool.h"

#include "server/base/clock.h"
#include "server/base/fair_queue.h"
#include "server/base/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* One for_each in progress. Lives on the stack of the thread that called it. */
typedef struct tile_job {
    bandit_task *task;
    void *arg;
    size_t n, taken, finished;
    pthread_cond_t all_finished;
    struct tile_job *next;
} tile_job;

/* Each kind of thread has its own lock: a computing thread may be preempted while it holds its lock, and a
 * serving thread must not wait for it. */
typedef struct lane {
    pthread_mutex_t lock;
    pthread_cond_t work;
    fair_queue queue;
} lane;

struct pool {
    lane lanes[POOL_PRIORITIES];
    tile_job *tiles;     /* of the computing lane */
    atomic_size_t tasks; /* queued or running; each may still add tiles or submit tasks */
    atomic_bool stopping;
    size_t n_computing, n_threads;
    pthread_t *threads; /* computing threads first */
};

/* The number of this thread among the computing threads: the worker number of the tiles that it runs. */
static _Thread_local size_t thread_index;

static bool is_over(pool *p)
{
    return atomic_load(&p->stopping) && atomic_load(&p->tasks) == 0;
}

static void wake_all(pool *p)
{
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        pthread_mutex_lock(&p->lanes[i].lock);
        pthread_cond_broadcast(&p->lanes[i].work);
        pthread_mutex_unlock(&p->lanes[i].lock);
    }
}

/* Runs one task outside the lock of its lane. */
static void run_task(pool *p, lane *l, pool_task *task)
{
    pthread_mutex_unlock(&l->lock);
    task->run(task);
    if (atomic_fetch_sub(&p->tasks, 1) == 1 && atomic_load(&p->stopping))
        wake_all(p);
    pthread_mutex_lock(&l->lock);
}

/* The scheduler may let a thread keep its processor for milliseconds, and a request passes through five
 * threads. Computing threads therefore offer to yield every half millisecond, between tiles. */
static bool should_give_way(void)
{
    static const double interval = 0.0005;
    static _Thread_local double last;
    double now = clock_steady();
    bool due = now - last >= interval;
    if (due)
        last = now;
    return due;
}

/* Called with the lane's lock, which is released while the thread yields. */
static void give_way(lane *l)
{
    if (should_give_way()) {
        pthread_mutex_unlock(&l->lock);
        sched_yield();
        pthread_mutex_lock(&l->lock);
    }
}

/* Takes the next tile of `job` and runs it outside the lock; false when all are taken. */
static bool run_tile(pool *p, tile_job *job)
{
    lane *l = &p->lanes[POOL_LONG];
    if (job->taken == job->n)
        return false;
    size_t index = job->taken++;
    if (job->taken == job->n) { /* no tile is left for other threads */
        tile_job **link = &p->tiles;
        while (*link != job)
            link = &(*link)->next;
        *link = job->next;
    }
    pthread_mutex_unlock(&l->lock);
    job->task(job->arg, index, thread_index);
    pthread_mutex_lock(&l->lock);
    if (++job->finished == job->n)
        pthread_cond_signal(&job->all_finished);
    return true;
}

typedef struct thread_start {
    pool *p;
    size_t index;
} thread_start;

/* Sockets and the disk take precedence, so that more work collects for each turn and each commit; then
 * requests; then long reads and computations. */
enum { SERVING_NICER = 5, READING_NICER = 10, COMPUTING_NICER = 10, NICEST = 19 };

/* Raises the nice value of this thread above that of the process. On Linux each thread has its own. */
static void be_nicer(int by)
{
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0) + by;
    if (errno != 0 || setpriority(PRIO_PROCESS, 0, nice < NICEST ? nice : NICEST) != 0)
        log_event(LOG_WARN, "nice_failed", "reason", strerror(errno), NULL);
}

static void *computing_thread(void *arg)
{
    thread_start *start = arg;
    pool *p = start->p;
    thread_index = start->index;
    free(start);
    be_nicer(COMPUTING_NICER);
    lane *l = &p->lanes[POOL_LONG];
    pthread_mutex_lock(&l->lock);
    while (!is_over(p)) {
        pool_task *task = p->tiles ? NULL : fair_queue_take(&l->queue);
        if (task) {
            run_task(p, l, task);
        } else if (p->tiles) {
            run_tile(p, p->tiles);
            give_way(l);
        } else {
            pthread_cond_wait(&l->work, &l->lock);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void run_lane(pool *p, lane *l)
{
    pthread_mutex_lock(&l->lock);
    while (!is_over(p)) {
        pool_task *task = fair_queue_take(&l->queue);
        if (task)
            run_task(p, l, task);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

static void *serving_thread(void *arg)
{
    pool *p = arg;
    be_nicer(SERVING_NICER);
    run_lane(p, &p->lanes[POOL_SHORT]);
    return NULL;
}

static void *reading_thread(void *arg)
{
    pool *p = arg;
    be_nicer(READING_NICER);
    run_lane(p, &p->lanes[POOL_READING]);
    return NULL;
}

static void for_each(void *context, size_t n, bandit_task *task, void *arg)
{
    pool *p = context;
    tile_job job = {.task = task, .arg = arg, .n = n};
    if (n == 0)
        return;
    if (n == 1) {
        task(arg, 0, thread_index);
        if (should_give_way())
            sched_yield();
        return;
    }
    lane *l = &p->lanes[POOL_LONG];
    pthread_cond_init(&job.all_finished, NULL);
    pthread_mutex_lock(&l->lock);
    job.next = p->tiles;
    p->tiles = &job;
    pthread_cond_broadcast(&l->work);
    while (run_tile(p, &job))
        give_way(l);
    while (job.finished < job.n)
        pthread_cond_wait(&job.all_finished, &l->lock);
    pthread_mutex_unlock(&l->lock);
    pthread_cond_destroy(&job.all_finished);
}

bandit_executor pool_executor(pool *p)
{
    return (bandit_executor){.for_each = for_each, .context = p, .workers = p->n_computing};
}

void pool_submit(pool *p, pool_task *task, pool_priority priority)
{
    pool_submit_for(p, task, priority, 0);
}

void pool_submit_for(pool *p, pool_task *task, pool_priority priority, uint64_t caller)
{
    lane *l = &p->lanes[priority];
    atomic_fetch_add(&p->tasks, 1);
    pthread_mutex_lock(&l->lock);
    fair_queue_add(&l->queue, task, caller);
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
}

size_t pool_threads(const pool *p)
{
    return p->n_computing;
}

size_t pool_queued(pool *p)
{
    size_t n = 0;
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        pthread_mutex_lock(&p->lanes[i].lock);
        n += p->lanes[i].queue.n;
        pthread_mutex_unlock(&p->lanes[i].lock);
    }
    return n;
}

static bool start_computing(pool *p)
{
    thread_start *start = malloc(sizeof *start);
    if (!start)
        return false;
    *start = (thread_start){.p = p, .index = p->n_computing};
    if (pthread_create(&p->threads[p->n_computing], NULL, computing_thread, start) != 0) {
        free(start);
        return false;
    }
    p->n_computing++;
    p->n_threads++;
    return true;
}

static bool start_other(pool *p, void *(*run)(void *))
{
    if (pthread_create(&p->threads[p->n_threads], NULL, run, p) != 0)
        return false;
    p->n_threads++;
    return true;
}

pool *pool_new(size_t threads)
{
    assert(threads >= 1);
    pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->threads = calloc(POOL_PRIORITIES * threads, sizeof *p->threads);
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        pthread_mutex_init(&p->lanes[i].lock, NULL);
        pthread_cond_init(&p->lanes[i].work, NULL);
        fair_queue_init(&p->lanes[i].queue);
    }
    bool started = p->threads != NULL;
    for (size_t i = 0; started && i < threads; i++)
        started = start_computing(p);
    for (size_t i = 0; started && i < threads; i++)
        started = start_other(p, serving_thread) && start_other(p, reading_thread);
    if (!started) {
        pool_free(p);
        return NULL;
    }
    return p;
}

void pool_free(pool *p)
{
    if (!p)
        return;
    atomic_store(&p->stopping, true);
    wake_all(p);
    for (size_t i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        pthread_cond_destroy(&p->lanes[i].work);
        pthread_mutex_destroy(&p->lanes[i].lock);
    }
    free(p->threads);
    free(p);
}
