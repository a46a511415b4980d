/* How the engine spreads work: the caller owns the threads, the engine owns the blocks and the order of
 * sums, so that results do not depend on how many threads there are. */
#ifndef BANDIT_EXECUTOR_H
#define BANDIT_EXECUTOR_H

#include <stddef.h>

/* Part `index` of a job, 0 <= index < n. Parts write to disjoint memory and may run in any order, at the
 * same time, on any thread; `worker` < executor.workers is unique among the parts that run at once (for
 * scratch memory). */
typedef void bandit_task(void *arg, size_t index, size_t worker);

typedef struct bandit_executor {
    /* Runs task(arg, i, worker) for i = 0 … n−1 and returns when all are done. */
    void (*for_each)(void *context, size_t n, bandit_task *task, void *arg);
    void *context;
    size_t workers; /* at least 1 */
} bandit_executor;

/* Runs the parts one after the other on the calling thread. */
extern const bandit_executor bandit_executor_serial;

#endif
