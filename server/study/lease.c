#include "server/study/lease.h"

#include "server/base/clock.h"

#include <stdlib.h>

/* A lease that ended while the server was down gets this time after the start, because it could not be renewed. */
enum { RESTART_GRACE_MS = 30000 };

/* Stored ends of leases may be wrong by this much, because the wall clock is slewed and times are rounded. */
enum { TOLERANCE_MS = 1000 };
enum { RESTATED_IN_A_TURN = 200 };

void lease_begin(trial *t, int64_t now, double seconds)
{
    int64_t lease = (int64_t)(seconds * 1000);
    t->lease_expires_at = now + lease;
    t->lease_end = clock_boot_ms() + lease;
}

void lease_resume(study *s, trial *t, int64_t latest)
{
    int64_t now = clock_now(), boot = clock_boot_ms(), started = s->app->started_at;
    if (latest > now) /* the clock was set back while the server was down */
        s->clock_jumps = -1;
    t->lease_end = boot + (t->lease_expires_at - (latest > now ? latest : now));
    if (started && t->lease_end <= started) {
        t->lease_end = started + RESTART_GRACE_MS;
        t->lease_expires_at = now + (t->lease_end - boot);
    }
}

static void restate(study *s, trial *t, int64_t now, int64_t end)
{
    t->lease_expires_at = end;
    store_event event = {.type = EVENT_TRIAL_RENEWED, .time = now};
    event.u.renewed.trial = t->id;
    event.u.renewed.attempt = t->attempt;
    event.u.renewed.worker = t->worker;
    event.u.renewed.lease_expires_at = end;
    commit_record(s->commit, &event);
}

bool study_restate_leases(study *s, int64_t now)
{
    int64_t jumps = atomic_load(&s->app->clock_jumps), boot = clock_boot_ms();
    size_t n = 0;
    if (s->clock_jumps == jumps)
        return false;
    for (trial *t = trial_queue_first(s->queue, TRIALS_PENDING); t; t = trial_queue_next(t)) {
        int64_t end = now + (t->lease_end - boot);
        if (llabs(end - t->lease_expires_at) < TOLERANCE_MS)
            continue;
        if (n++ == RESTATED_IN_A_TURN)
            return true;
        restate(s, t, now, end < 1 ? 1 : end);
    }
    s->clock_jumps = jumps;
    return false;
}
