#include "tests/bench/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct helper {
    bench_pool *pool;
    pthread_t thread;
    size_t worker;
} helper;

struct bench_pool {
    pthread_mutex_t lock;
    pthread_cond_t started, finished;
    size_t workers, busy; /* helpers that still run the job */
    unsigned long job;    /* grows with each; helpers wait for the next */
    bool closing;
    size_t n;
    bandit_task *task;
    void *arg;
    atomic_size_t next;
    atomic_ullong nanoseconds; /* in parts, of all workers */
    helper helpers[];
};

static unsigned long long thread_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void take_parts(bench_pool *pool, size_t worker)
{
    unsigned long long start = thread_nanoseconds();
    for (size_t i; (i = atomic_fetch_add(&pool->next, 1)) < pool->n;)
        pool->task(pool->arg, i, worker);
    atomic_fetch_add(&pool->nanoseconds, thread_nanoseconds() - start);
}

static void *helper_main(void *arg)
{
    helper *self = arg;
    bench_pool *pool = self->pool;
    unsigned long seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->job == seen && !pool->closing)
            pthread_cond_wait(&pool->started, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->job;
        pthread_mutex_unlock(&pool->lock);
        take_parts(pool, self->worker);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void for_each(void *context, size_t n, bandit_task *task, void *arg)
{
    bench_pool *pool = context;

    pthread_mutex_lock(&pool->lock);
    pool->n = n;
    pool->task = task;
    pool->arg = arg;
    atomic_store(&pool->next, 0);
    pool->busy = pool->workers - 1;
    pool->job++;
    pthread_cond_broadcast(&pool->started);
    pthread_mutex_unlock(&pool->lock);

    take_parts(pool, 0);

    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

bench_pool *bench_pool_new(size_t workers)
{
    bench_pool *pool = calloc(1, sizeof *pool + (workers - 1) * sizeof *pool->helpers);
    if (!pool) {
        fprintf(stderr, "no memory for a pool\n");
        exit(1);
    }
    pool->workers = workers;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->started, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (size_t i = 0; i + 1 < workers; i++) {
        helper *h = &pool->helpers[i];
        *h = (helper){.pool = pool, .worker = i + 1};
        if (pthread_create(&h->thread, NULL, helper_main, h) != 0) {
            fprintf(stderr, "no thread for the pool\n");
            exit(1);
        }
    }
    return pool;
}

bandit_executor bench_pool_executor(bench_pool *pool)
{
    return (bandit_executor){.for_each = for_each, .context = pool, .workers = pool->workers};
}

double bench_pool_parallel_seconds(bench_pool *pool)
{
    return 1e-9 * (double)atomic_load(&pool->nanoseconds);
}

void bench_pool_free(bench_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->started);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i + 1 < pool->workers; i++)
        pthread_join(pool->helpers[i].thread, NULL);
    pthread_cond_destroy(&pool->started);
    pthread_cond_destroy(&pool->finished);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
