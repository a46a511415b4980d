#include "server/pool.h"

#include "server/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct task_queue {
    pool_task *first, **last;
    size_t n;
} task_queue;

/* One for_each in progress. Lives on the stack of the thread that called it. */
typedef struct tile_job {
    bandit_task *task;
    void *arg;
    size_t n, taken, finished;
    pthread_cond_t all_finished;
    struct tile_job *next;
} tile_job;

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t serve, compute; /* work for threads of either kind */
    task_queue queues[2];          /* by priority */
    tile_job *tiles;
    size_t running; /* tasks; each may still spread tiles or submit others */
    bool stopping;
    size_t n_computing, n_serving;
    pthread_t *threads; /* those that compute first */
};

/* Which of its pool's computing threads this is: the worker number of the tiles it runs. */
static _Thread_local size_t thread_index;

static void queue_init(task_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
    queue->n = 0;
}

static pool_task *queue_pop(task_queue *queue)
{
    pool_task *task = queue->first;
    if (task) {
        queue->first = task->next;
        if (!queue->first)
            queue->last = &queue->first;
        queue->n--;
        task->next = NULL;
    }
    return task;
}

static bool is_over(const pool *p)
{
    return p->stopping && p->running == 0 && p->queues[POOL_SHORT].n == 0 && p->queues[POOL_LONG].n == 0;
}

/* Runs one task outside the lock. */
static void run_task(pool *p, pool_task *task)
{
    p->running++;
    pthread_mutex_unlock(&p->lock);
    task->run(task);
    pthread_mutex_lock(&p->lock);
    p->running--;
    if (is_over(p)) {
        pthread_cond_broadcast(&p->serve);
        pthread_cond_broadcast(&p->compute);
    }
}

/* Takes the next tile of `job` and runs it outside the lock; false when all are taken. */
static bool run_tile(pool *p, tile_job *job)
{
    if (job->taken == job->n)
        return false;
    size_t index = job->taken++;
    if (job->taken == job->n) { /* nothing left for others to find */
        tile_job **link = &p->tiles;
        while (*link != job)
            link = &(*link)->next;
        *link = job->next;
    }
    pthread_mutex_unlock(&p->lock);
    job->task(job->arg, index, thread_index);
    pthread_mutex_lock(&p->lock);
    if (++job->finished == job->n)
        pthread_cond_signal(&job->all_finished);
    return true;
}

typedef struct thread_start {
    pool *p;
    size_t index;
} thread_start;

/* Sockets and the disk go first, so that more queues up for each turn and each commit; then requests; then
 * arithmetic. */
enum { SERVING_NICER = 5, COMPUTING_NICER = 10, NICEST = 19 };

/* Than the process was started. On Linux a thread's priority is its own. */
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
    pthread_mutex_lock(&p->lock);
    while (!is_over(p)) {
        pool_task *task = p->tiles ? NULL : queue_pop(&p->queues[POOL_LONG]);
        if (task)
            run_task(p, task);
        else if (p->tiles)
            run_tile(p, p->tiles);
        else
            pthread_cond_wait(&p->compute, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void *serving_thread(void *arg)
{
    pool *p = arg;
    be_nicer(SERVING_NICER);
    pthread_mutex_lock(&p->lock);
    while (!is_over(p)) {
        pool_task *task = queue_pop(&p->queues[POOL_SHORT]);
        if (task)
            run_task(p, task);
        else
            pthread_cond_wait(&p->serve, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
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
        return;
    }
    pthread_cond_init(&job.all_finished, NULL);
    pthread_mutex_lock(&p->lock);
    job.next = p->tiles;
    p->tiles = &job;
    pthread_cond_broadcast(&p->compute);
    while (run_tile(p, &job))
        ;
    while (job.finished < job.n)
        pthread_cond_wait(&job.all_finished, &p->lock);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&job.all_finished);
}

bandit_executor pool_executor(pool *p)
{
    return (bandit_executor){.for_each = for_each, .context = p, .workers = p->n_computing};
}

void pool_submit(pool *p, pool_task *task, pool_priority priority)
{
    pthread_mutex_lock(&p->lock);
    task_queue *queue = &p->queues[priority];
    task->next = NULL;
    *queue->last = task;
    queue->last = &task->next;
    queue->n++;
    pthread_cond_signal(priority == POOL_SHORT ? &p->serve : &p->compute);
    pthread_mutex_unlock(&p->lock);
}

size_t pool_threads(const pool *p)
{
    return p->n_computing;
}

size_t pool_queued(pool *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->queues[POOL_SHORT].n + p->queues[POOL_LONG].n;
    pthread_mutex_unlock(&p->lock);
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
    return true;
}

static bool start_serving(pool *p)
{
    pthread_t *thread = &p->threads[p->n_computing + p->n_serving];
    if (pthread_create(thread, NULL, serving_thread, p) != 0)
        return false;
    p->n_serving++;
    return true;
}

pool *pool_new(size_t threads)
{
    assert(threads >= 1);
    pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->threads = calloc(2 * threads, sizeof *p->threads);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->serve, NULL);
    pthread_cond_init(&p->compute, NULL);
    queue_init(&p->queues[POOL_SHORT]);
    queue_init(&p->queues[POOL_LONG]);
    bool started = p->threads != NULL;
    for (size_t i = 0; started && i < threads; i++)
        started = start_computing(p);
    for (size_t i = 0; started && i < threads; i++)
        started = start_serving(p);
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
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->serve);
    pthread_cond_broadcast(&p->compute);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_computing + p->n_serving; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->serve);
    pthread_cond_destroy(&p->compute);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}
