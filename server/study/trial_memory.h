/* The memory that the trials of a study take, and its bound. When an idle study is evicted, its queued trials leave
 * memory. Pending trials stay, because their leases end. trial_memory.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_MEMORY_H
#define SERVER_STUDY_TRIAL_MEMORY_H

#include "server/study/study.h"

/* Updates the study's share of the count. Call it in a turn, or while the study has no turn. */
void study_count_trials(study *s);

/* Do the study's open trials leave no room for new ones? Together with its engine they may use --study-memory; and they
 * may use half of the part of --total-memory that the trials of other studies leave. A few trials are allowed in any
 * case, so that every study can continue. */
bool study_has_too_many_trials(const study *s);

#endif
