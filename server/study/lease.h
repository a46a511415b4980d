/* Leases end by the boot clock, which cannot be set: trial.lease_end. Their ends are stored and shown by the
 * wall clock: trial.lease_expires_at. lease.c keeps the two consistent. */
#ifndef SERVER_STUDY_LEASE_H
#define SERVER_STUDY_LEASE_H

#include "server/study/study.h"

/* Begins the lease of a trial that is handed out or renewed at `now`. */
void lease_begin(trial *t, int64_t now, double seconds);

/* Continues the lease of a pending trial that has just been loaded. latest: the time of the study's last event. */
void lease_resume(study *s, trial *t, int64_t latest);

/* Call it after the wall clock was set. It records the ends of leases again, only some of them in one turn. True: the
 * next turn should come at once and continue. */
bool study_restate_leases(study *s, int64_t now);

#endif
