/* Users' own trials. propose.c defines what is declared here, and study_propose. */
#ifndef SERVER_STUDY_PROPOSE_H
#define SERVER_STUDY_PROPOSE_H

#include "server/study/study.h"

/* Handle the proposals that have waited for a plan. The first queues them, unless another plan is in
 * progress. The second refuses them, because the study is deleted or with this status. */
void study_run_deferred(study *s);
void study_fail_deferred(study *s, store_status status);

#endif
