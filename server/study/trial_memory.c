#include "server/study/trial_memory.h"

#include "server/watch/metrics.h"

enum { FEW_TRIALS = 64 };

void study_count_trials(study *s)
{
    size_t bytes = trial_queue_memory(s->queue);
    metrics_add(s->app->metrics, METRICS_TRIAL_BYTES, (int64_t)bytes - (int64_t)s->trial_bytes);
    atomic_fetch_add(&s->app->trial_bytes, bytes - s->trial_bytes); /* modulo 2^64, as unsigned numbers are */
    s->trial_bytes = bytes;
}

bool study_has_too_many_trials(const study *s)
{
    const server_config *config = s->app->config;
    size_t open = trial_queue_open_memory(s->queue), engine = atomic_load(&s->engine.memory);
    if (trial_queue_open(s->queue) < FEW_TRIALS)
        return false;
    size_t all = atomic_load(&s->app->trial_bytes), others = all > s->trial_bytes ? all - s->trial_bytes : 0;
    size_t left = config->total_memory > others ? config->total_memory - others : 0;
    return open > left / 2 || engine > config->study_memory || open > config->study_memory - engine;
}
