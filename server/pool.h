/* The compute pool: a fixed number of threads that run short tasks (actor turns), long tasks (planning a
 * batch, loading a study) and the tiles that long tasks are cut into. Short tasks go before tiles and tiles
 * before the next long task: a thread in the middle of a long task looks for short ones between its tiles. */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include "bandit/executor.h"

#include <stddef.h>

typedef struct pool pool;

/* Embedded in its owner, which must live until `run` has been called; may be submitted again from then on. */
typedef struct pool_task {
    void (*run)(struct pool_task *task);
    struct pool_task *next;
} pool_task;

typedef enum pool_priority { POOL_SHORT, POOL_LONG } pool_priority;

/* NULL when threads cannot be had. threads >= 1. */
pool *pool_new(size_t threads);

/* Any thread. */
void pool_submit(pool *p, pool_task *task, pool_priority priority);

/* For engine calls made from a long task, and from nowhere else: `worker` is the number of a pool thread. */
bandit_executor pool_executor(pool *p);

size_t pool_threads(const pool *p);
size_t pool_queued(pool *p); /* tasks that wait */

/* Runs what is queued and what that submits, then ends the threads. NULL is fine. */
void pool_free(pool *p);

#endif
