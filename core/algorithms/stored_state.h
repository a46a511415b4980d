/* What the stored states of the algorithms have in common: a struct of scalars in the machine's own byte
 * order, whose first bytes say of which kind it is. */
#ifndef CORE_ALGORITHMS_STORED_STATE_H
#define CORE_ALGORITHMS_STORED_STATE_H

#include "core/algorithms/algorithm.h"

enum { BANDIT_STATE_KIND = 8, BANDIT_STATE_CODE_PATH = 16 };

/* *state, a struct of `size` bytes that begins with `kind`, becomes the checkpoint's. BANDIT_INVALID_STATE
 * when that has another size or kind. */
bandit_status bandit_state_read(void *state, size_t size, const char kind[BANDIT_STATE_KIND],
                                const bandit_checkpoint *checkpoint, bandit_error *err);

/* The version of the inner loops by name, padded with zeros. The same choices need the same loops: a restored
 * engine takes those that were recorded; where the processor lacks them, its best are as good. */
void bandit_state_record_code_path(char name[BANDIT_STATE_CODE_PATH], const bandit_engine *engine);
void bandit_state_follow_code_path(const char name[BANDIT_STATE_CODE_PATH], bandit_engine *engine);

#endif
