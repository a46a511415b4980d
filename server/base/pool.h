/* The pool has serving threads, which run short tasks (asks, tells, actor turns), and reading threads, for tasks that
 * may take longer (pages of history, series, exports, large bodies). So short tasks never queue behind long ones. There
 * is one reading thread fewer than serving threads, so that readers leave a processor free: a thread that wakes up on a
 * busy processor may wait for the scheduler's next ticks, 4 ms each, however nice the reader is. Callers whose tasks
 * queue take turns (fair_queue.h). Computations are jobs of computing.h. */
#ifndef SERVER_BASE_POOL_H
#define SERVER_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct pool pool;

/* Embedded in its owner, which must live until `run` is called. From then on it may be submitted again. */
typedef struct pool_task {
    void (*run)(struct pool_task *task);
    /* For pool.c, from when it is submitted until it runs. */
    struct pool_task *next;
    uint64_t caller;
} pool_task;

/* Which threads run a task. */
typedef enum pool_priority { POOL_SHORT, POOL_READING, POOL_PRIORITIES } pool_priority;

/* threads >= 1: the number of serving threads. There is one reading thread fewer, but at least one. NULL if they cannot
 * be created. */
pool *pool_new(size_t threads);

/* Any thread. caller: the number of the caller that the task is for; 0: the server itself. */
void pool_submit(pool *p, pool_task *task, pool_priority priority);
void pool_submit_for(pool *p, pool_task *task, pool_priority priority, uint64_t caller);

/* Between these two calls the pool does not end, because tasks may still be submitted to it. Several may hold it at one
 * time. Any thread. */
void pool_hold(pool *p);
void pool_release(pool *p);

size_t pool_queued(pool *p); /* waiting tasks */

/* Finishes the queued tasks and the tasks that they submit, waits until nobody holds the pool, then ends the threads.
 * NULL is fine. */
void pool_free(pool *p);

#endif
