/* How the engine spreads work and lets itself be interrupted: the caller owns the threads, the engine owns the
 * blocks and the order of sums, so that results depend neither on how many threads there are nor on when a
 * computation was put down. */
#ifndef BANDIT_EXECUTOR_H
#define BANDIT_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Part `index` of a job, 0 <= index < n. Parts write to disjoint memory and may run in any order, at the
 * same time, on any thread; `worker` < executor.workers is unique among the parts that run at once (for
 * scratch memory), also while a part is put down (bandit_pause). */
typedef void bandit_task(void *arg, size_t index, size_t worker);

typedef struct bandit_executor {
    /* Runs task(arg, i, worker) for i = 0 … n−1 and returns when all are done. */
    void (*for_each)(void *context, size_t n, bandit_task *task, void *arg);
    void *context;
    size_t workers; /* at least 1 */
} bandit_executor;

/* Runs the parts one after the other on the calling thread. */
extern const bandit_executor bandit_executor_serial;

/* The thread's checkpoint: called between two pieces of work of a long call, also within parts, if possible at
 * most 50 ms apart. It may block while others compute. true: nobody wants the result any more. It then stays true
 * until the call has returned BANDIT_CANCELLED; the engine may only be freed from then on, and so may a set of
 * arms that was being made. NULL, which every thread begins with: the call is never interrupted. */
typedef bool bandit_checkpoint_function(void *context);
void bandit_on_pause(bandit_checkpoint_function *function, void *context);

/* For the library: at a checkpoint. true: the caller ends soon, with whatever result. */
bool bandit_pause(void);

#endif
