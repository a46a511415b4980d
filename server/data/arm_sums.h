/* Recomputes the counts and sums of single candidates from all their reported results. */
#ifndef SERVER_DATA_ARM_SUMS_H
#define SERVER_DATA_ARM_SUMS_H

#include "bandit/engine.h"
#include "server/data/definition.h"

/* The results of some candidates that were reported with a standard error, for bandit_engine_amend. */
typedef struct arm_errors {
    bandit_result *results; /* n */
    double *others;         /* what they point to */
    size_t n;
} arm_errors;

/* Adds up the results that are part of a study's stored model (log position <= joined_through), for n
 * candidates (ascending, no duplicates). The sums are in the engine's units, and are added in the order in
 * which the results joined the model: batch by batch, and in each batch the imports, then the trials by
 * number, then late results by trial and attempt. Amendments apply up to the log position amended_through.
 * sums: memory of the caller: n sums for each modelled metric, those of the first metric first. errors: of the same
 * results; the caller clears it. */
store_status study_arm_sums(store *from, int64_t study, const study_config *config, int64_t joined_through,
                            int64_t amended_through, const uint32_t *candidates, size_t n,
                            bandit_arm_sum *sums, arm_errors *errors);
void arm_errors_clear(arm_errors *errors);

#endif
