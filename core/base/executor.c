#include "bandit/executor.h"

static void serial_for_each(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        task(arg, i, 0);
}

const bandit_executor bandit_executor_serial = {.for_each = serial_for_each, .context = NULL, .workers = 1};
