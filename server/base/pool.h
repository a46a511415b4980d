/* The pool has serving threads, which run short tasks (asks, tells, actor turns); equally many reading threads, for
 * what may take longer (pages of history, series, exports, large bodies); and equally many computing threads, which
 * run long tasks (planning a batch, loading an engine) and the tiles that these are divided into. So short tasks
 * never queue behind long ones. Where tasks queue, callers take turns (fair_queue.h). Tiles take precedence over the next long task. Computing threads yield to all others (nice, and
 * sched_yield between tiles), so that no request waits for a computation. */
#ifndef SERVER_BASE_POOL_H
#define SERVER_BASE_POOL_H

#include "bandit/executor.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pool pool;

/* Embedded in its owner, which must live until `run` is called. From then on it may be submitted again. */
typedef struct pool_task {
    void (*run)(struct pool_task *task);
    struct pool_task *next;
} pool_task;

typedef enum pool_priority { POOL_SHORT, POOL_READING, POOL_LONG, POOL_PRIORITIES } pool_priority;

/* threads >= 1: the number of threads of each kind. NULL if they cannot be created. */
pool *pool_new(size_t threads);

/* Any thread. caller: a number for whom it is done; 0: for the server itself. */
void pool_submit(pool *p, pool_task *task, pool_priority priority);
void pool_submit_for(pool *p, pool_task *task, pool_priority priority, uint64_t caller);

/* The executor for engine calls, which only long tasks may make: `worker` is the number of a computing
 * thread. */
bandit_executor pool_executor(pool *p);

size_t pool_threads(const pool *p); /* computing threads */
size_t pool_queued(pool *p);        /* waiting tasks */

/* Finishes the queued tasks and the tasks that they submit, then ends the threads. NULL is fine. */
void pool_free(pool *p);

#endif
