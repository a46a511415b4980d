/* Counts and sums of single candidates, added up again from everything that was told of them. */
#ifndef SERVER_DATA_ARM_SUMS_H
#define SERVER_DATA_ARM_SUMS_H

#include "bandit/engine.h"
#include "server/store/store.h"

/* What the results of a study come to that are part of its stored model (log position <= joined_through), for
 * n candidates (ascending, no repeats), in the engine's units and in the order in which they joined the
 * model: batch by batch, in each the imports, then the trials by number, then late results by trial and
 * attempt. Amendments count up to the log position amended_through. sums  n, caller's */
store_status study_arm_sums(store *from, int64_t study, bool minimize, int64_t joined_through,
                            int64_t amended_through, const uint32_t *candidates, size_t n,
                            bandit_arm_sum *sums);

#endif
