#include "bandit/executor.h"

static void serial_for_each(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    for (size_t i = 0; i < n; i++) {
        task(arg, i, 0);
        bandit_pause();
    }
}

const bandit_executor bandit_executor_serial = {.for_each = serial_for_each, .context = NULL, .workers = 1};

static _Thread_local bandit_checkpoint_function *checkpoint;
static _Thread_local void *checkpoint_context;

void bandit_on_pause(bandit_checkpoint_function *function, void *context)
{
    checkpoint = function;
    checkpoint_context = context;
}

bool bandit_pause(void)
{
    return checkpoint && checkpoint(checkpoint_context);
}
