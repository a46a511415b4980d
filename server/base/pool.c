#include "server/base/pool.h"

#include "server/base/fair_queue.h"
#include "server/base/nice.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Each kind of thread has its own lane. A thread that submits a task takes no lock, so it never waits for a nicer
 * thread that lost its processor while it held the lock. Only the threads of the lane, which are equally nice, use the
 * lock. */
typedef struct lane {
    _Atomic(pool_task *) arrived; /* the newest first; moved to the queue when a thread takes a task */
    sem_t work;                   /* counts the tasks that no thread has taken */
    atomic_size_t n;              /* the same number, for pool_queued */
    pthread_mutex_t lock;
    fair_queue queue;
    size_t n_threads;
} lane;

enum { STOPPING = 1, TASK = 2 };

struct pool {
    lane lanes[POOL_PRIORITIES];
    /* STOPPING, plus a TASK for each task that is queued or running and for each hold: these may submit tasks. */
    atomic_size_t state;
    size_t n_threads;
    pthread_t *threads;
};

void pool_hold(pool *p)
{
    atomic_fetch_add(&p->state, TASK);
}

/* Nothing is left to do. Wakes each thread so that it ends. After the last post the pool may be freed. */
static void end_threads(pool *p)
{
    size_t left[POOL_PRIORITIES];
    for (size_t i = 0; i < POOL_PRIORITIES; i++)
        left[i] = p->lanes[i].n_threads;
    for (size_t i = 0; i < POOL_PRIORITIES; i++)
        for (; left[i] > 0; left[i]--)
            sem_post(&p->lanes[i].work);
}

void pool_release(pool *p)
{
    if (atomic_fetch_sub(&p->state, TASK) == TASK + STOPPING)
        end_threads(p);
}

static void move_arrived(lane *l)
{
    pool_task *oldest = NULL;
    for (pool_task *t = atomic_exchange(&l->arrived, NULL), *next; t; t = next) {
        next = t->next;
        t->next = oldest;
        oldest = t;
    }
    for (pool_task *next; oldest; oldest = next) {
        next = oldest->next;
        fair_queue_add(&l->queue, oldest, oldest->caller);
    }
}

/* Waits for a task. NULL: the threads end. */
static pool_task *take(lane *l)
{
    while (sem_wait(&l->work) != 0)
        continue; /* interrupted by a signal */
    pthread_mutex_lock(&l->lock);
    move_arrived(l);
    pool_task *task = fair_queue_take(&l->queue);
    pthread_mutex_unlock(&l->lock);
    if (task)
        atomic_fetch_sub(&l->n, 1);
    return task;
}

static void run_lane(pool *p, lane *l)
{
    for (pool_task *task; (task = take(l));) {
        task->run(task);
        pool_release(p);
    }
}

static void *serving_thread(void *arg)
{
    pool *p = arg;
    nice_raise(NICER_SERVING);
    run_lane(p, &p->lanes[POOL_SHORT]);
    return NULL;
}

static void *reading_thread(void *arg)
{
    pool *p = arg;
    nice_raise(NICER_READING);
    run_lane(p, &p->lanes[POOL_READING]);
    return NULL;
}

void pool_submit(pool *p, pool_task *task, pool_priority priority)
{
    pool_submit_for(p, task, priority, 0);
}

void pool_submit_for(pool *p, pool_task *task, pool_priority priority, uint64_t caller)
{
    lane *l = &p->lanes[priority];
    pool_hold(p);
    task->caller = caller;
    atomic_fetch_add(&l->n, 1);
    task->next = atomic_load(&l->arrived);
    while (!atomic_compare_exchange_weak(&l->arrived, &task->next, task))
        continue;
    sem_post(&l->work);
}

size_t pool_queued(pool *p)
{
    size_t n = 0;
    for (size_t i = 0; i < POOL_PRIORITIES; i++)
        n += atomic_load(&p->lanes[i].n);
    return n;
}

static bool start(pool *p, pool_priority priority, void *(*run)(void *), size_t n)
{
    lane *l = &p->lanes[priority];
    while (l->n_threads < n && pthread_create(&p->threads[p->n_threads], NULL, run, p) == 0) {
        l->n_threads++;
        p->n_threads++;
    }
    return l->n_threads == n;
}

static size_t readers_among(size_t threads)
{
    return threads > 1 ? threads - 1 : 1;
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
        sem_init(&p->lanes[i].work, 0, 0);
        fair_queue_init(&p->lanes[i].queue);
    }
    bool started = p->threads && start(p, POOL_SHORT, serving_thread, threads) &&
                   start(p, POOL_READING, reading_thread, readers_among(threads));
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
    if (atomic_fetch_or(&p->state, STOPPING) < TASK)
        end_threads(p);
    for (size_t i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        sem_destroy(&p->lanes[i].work);
        pthread_mutex_destroy(&p->lanes[i].lock);
    }
    free(p->threads);
    free(p);
}
