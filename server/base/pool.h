/* The pool: threads that serve, which run short tasks (handlers, actor turns), and as many that compute: long
 * tasks (planning a batch, loading an engine) and the tiles that these are cut into, tiles before the next
 * long task. Those that compute give way to all others (nice, and sched_yield between tiles), so that no
 * request waits for arithmetic. */
#ifndef SERVER_BASE_POOL_H
#define SERVER_BASE_POOL_H

#include "bandit/executor.h"

#include <stddef.h>

typedef struct pool pool;

/* Embedded in its owner, which must live until `run` has been called; may be submitted again from then on. */
typedef struct pool_task {
    void (*run)(struct pool_task *task);
    struct pool_task *next;
} pool_task;

typedef enum pool_priority { POOL_SHORT, POOL_LONG } pool_priority;

/* `threads` that compute, and as many that serve. NULL when they cannot be had. threads >= 1. */
pool *pool_new(size_t threads);

/* Any thread. */
void pool_submit(pool *p, pool_task *task, pool_priority priority);

/* For engine calls made from a long task, and from nowhere else: `worker` is the number of a thread that
 * computes. */
bandit_executor pool_executor(pool *p);

size_t pool_threads(const pool *p); /* that compute */
size_t pool_queued(pool *p);        /* tasks that wait */

/* Runs what is queued and what that submits, then ends the threads. NULL is fine. */
void pool_free(pool *p);

#endif
