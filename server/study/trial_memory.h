/* The memory that the trials of a study take, and its bound. Queued trials leave memory with a study that nobody uses;
 * pending ones do not, because their leases end. trial_memory.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_MEMORY_H
#define SERVER_STUDY_TRIAL_MEMORY_H

#include "server/study/study.h"

/* Updates the study's share of the count. Call in a turn, or while the study has none. */
void study_count_trials(study *s);

/* Do its open trials leave no room for new ones? With its engine they may have --study-memory, and the open trials of
 * a study half of what those of the others leave of --total-memory. A few trials are allowed in any case, so that
 * every study can go on. */
bool study_has_too_many_trials(const study *s);

#endif
