#include "server/base/pool.h"

#include "server/base/fair_queue.h"
#include "server/base/nice.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Each kind of thread has its own lock. */
typedef struct lane {
    pthread_mutex_t lock;
    pthread_cond_t work;
    fair_queue queue;
} lane;

struct pool {
    lane lanes[POOL_PRIORITIES];
    atomic_size_t tasks; /* queued, running, or held for: each may still submit tasks */
    atomic_bool stopping;
    size_t n_threads;
    pthread_t *threads;
};

static bool is_over(pool *p)
{
    return atomic_load(&p->stopping) && atomic_load(&p->tasks) == 0;
}

void pool_hold(pool *p)
{
    atomic_fetch_add(&p->tasks, 1);
}

/* Wakes all threads, with the lock of the first lane. */
static void wake_with_lock(pool *p)
{
    pthread_cond_broadcast(&p->lanes[0].work);
    for (size_t i = 1; i < POOL_PRIORITIES; i++) {
        pthread_mutex_lock(&p->lanes[i].lock);
        pthread_cond_broadcast(&p->lanes[i].work);
        pthread_mutex_unlock(&p->lanes[i].lock);
    }
}

/* The last release of a stopping pool ends its threads, and pool_free frees it when they have ended. The threads of the
 * first lane find out with their lane's lock, so while this holds that lock the pool is there. */
void pool_release(pool *p)
{
    size_t n = atomic_load(&p->tasks);
    while (n > 1)
        if (atomic_compare_exchange_weak(&p->tasks, &n, n - 1))
            return;
    pthread_mutex_lock(&p->lanes[0].lock);
    if (atomic_fetch_sub(&p->tasks, 1) == 1 && atomic_load(&p->stopping))
        wake_with_lock(p);
    pthread_mutex_unlock(&p->lanes[0].lock);
}

/* Runs one task outside the lock of its lane. */
static void run_task(pool *p, lane *l, pool_task *task)
{
    pthread_mutex_unlock(&l->lock);
    task->run(task);
    pool_release(p);
    pthread_mutex_lock(&l->lock);
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
    pthread_mutex_lock(&l->lock);
    fair_queue_add(&l->queue, task, caller);
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
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

static bool start(pool *p, void *(*run)(void *))
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
        started = start(p, serving_thread) && start(p, reading_thread);
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
    pthread_mutex_lock(&p->lanes[0].lock);
    wake_with_lock(p);
    pthread_mutex_unlock(&p->lanes[0].lock);
    for (size_t i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    for (size_t i = 0; i < POOL_PRIORITIES; i++) {
        pthread_cond_destroy(&p->lanes[i].work);
        pthread_mutex_destroy(&p->lanes[i].lock);
    }
    free(p->threads);
    free(p);
}
