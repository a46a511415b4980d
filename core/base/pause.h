/* Checkpoints of the library (bandit/executor.h) for functions that return a status. */
#ifndef CORE_BASE_PAUSE_H
#define CORE_BASE_PAUSE_H

#include "bandit/executor.h"
#include "bandit/status.h"

/* BANDIT_CANCELLED if the result is not needed any more. */
static inline bandit_status bandit_pause_status(bandit_error *err)
{
    return bandit_pause() ? bandit_fail(err, BANDIT_CANCELLED, "", "given up") : BANDIT_OK;
}

/* A checkpoint at every 2^14th element of a loop over all arms. */
static inline void bandit_pause_at(size_t i)
{
    if (i % 16384 == 16383)
        bandit_pause();
}

#endif
