/* Leases end by the boot clock, which nobody can set: trial.lease_end. Their ends are stored and shown by the
 * wall clock: trial.lease_expires_at. lease.c keeps the two together. */
#ifndef SERVER_STUDY_LEASE_H
#define SERVER_STUDY_LEASE_H

#include "server/study/study.h"

/* The lease of a trial that is handed out or renewed at `now`. */
void lease_begin(trial *t, int64_t now, double seconds);

/* The lease of a pending trial that has just been loaded. latest: the time of the study's last event. */
void lease_resume(study *s, trial *t, int64_t latest);

/* After the wall clock was set: records the ends of leases anew. A turn records only some of them. True: the
 * next turn should come at once and continue. */
bool study_restate_leases(study *s, int64_t now);

#endif
