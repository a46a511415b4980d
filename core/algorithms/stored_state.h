/* The common form of the algorithms' stored states: a struct of scalars in the machine's byte order, whose
 * first bytes name its kind. */
#ifndef CORE_ALGORITHMS_STORED_STATE_H
#define CORE_ALGORITHMS_STORED_STATE_H

#include "core/algorithms/algorithm.h"

enum { BANDIT_STATE_KIND = 8, BANDIT_STATE_CODE_PATH = 16 };

/* Reads the checkpoint's state into *state, a struct of `size` bytes that begins with `kind`. Returns
 * BANDIT_INVALID_STATE if the stored state has another size or kind. */
bandit_status bandit_state_read(void *state, size_t size, const char kind[BANDIT_STATE_KIND],
                                const bandit_checkpoint *checkpoint, bandit_error *err);

/* The name of the version of the inner loops, padded with zeros. Identical choices need the same version, so
 * a restored engine uses the recorded one. If the processor cannot run it, the engine uses the processor's
 * best. */
void bandit_state_record_code_path(char name[BANDIT_STATE_CODE_PATH], const bandit_engine *engine);
void bandit_state_follow_code_path(const char name[BANDIT_STATE_CODE_PATH], bandit_engine *engine);

#endif
