/* How the engine distributes its work, and how it can be interrupted. The caller owns the threads; the engine
 * determines the blocks and the order of sums. Results therefore depend neither on the number of threads nor
 * on when a computation was suspended. */
#ifndef BANDIT_EXECUTOR_H
#define BANDIT_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Part `index` of a job, 0 <= index < n. Parts write to disjoint memory and may run in any order, at the
 * same time, on any thread; `worker` < executor.workers is unique among the parts that run at once (for
 * scratch memory), also while a part is suspended (bandit_pause). */
typedef void bandit_task(void *arg, size_t index, size_t worker);

typedef struct bandit_executor {
    /* Runs task(arg, i, worker) for i = 0 … n−1 and returns when all are done. */
    void (*for_each)(void *context, size_t n, bandit_task *task, void *arg);
    void *context;
    size_t workers; /* at least 1 */
} bandit_executor;

/* Runs the parts one after the other on the calling thread. */
extern const bandit_executor bandit_executor_serial;

/* Sets the checkpoint function of the calling thread. A long call calls it between two pieces of work, also
 * within parts, if possible at most 50 ms apart. The function may block while others compute. It returns true
 * if the result is not needed any more, and then again until the call has returned BANDIT_CANCELLED. After
 * that the engine may only be freed, and so may a set of arms that was being made. NULL, which every thread
 * begins with: calls are never interrupted. */
typedef bool bandit_checkpoint_function(void *context);
void bandit_on_pause(bandit_checkpoint_function *function, void *context);

/* For the library: a checkpoint. If it returns true, the caller must return soon, with any result. */
bool bandit_pause(void);

#endif
