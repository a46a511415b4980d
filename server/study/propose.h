/* Trials that users propose. propose.c defines what is declared here, and study_propose. */
#ifndef SERVER_STUDY_PROPOSE_H
#define SERVER_STUDY_PROPOSE_H

#include "server/study/study.h"

/* These handle the proposals that have waited for a plan. study_run_deferred queues them, unless another plan is in
 * progress. study_fail_deferred refuses them, because the study was deleted or with this status. */
void study_run_deferred(study *s);
void study_fail_deferred(study *s, store_status status);

#endif
