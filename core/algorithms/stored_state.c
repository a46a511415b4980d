#include "core/algorithms/stored_state.h"

#include <string.h>

bandit_status bandit_state_read(void *state, size_t size, const char kind[BANDIT_STATE_KIND],
                                const bandit_checkpoint *checkpoint, bandit_error *err)
{
    if (checkpoint->n_state != size)
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state has %zu bytes, not %zu",
                           checkpoint->n_state, size);
    memcpy(state, checkpoint->state, size);
    if (memcmp(state, kind, BANDIT_STATE_KIND) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    return BANDIT_OK;
}

void bandit_state_record_code_path(char name[BANDIT_STATE_CODE_PATH], const bandit_engine *engine)
{
    memset(name, 0, BANDIT_STATE_CODE_PATH);
    strncpy(name, engine->covariance.simd->name, BANDIT_STATE_CODE_PATH - 1);
}

void bandit_state_follow_code_path(const char name[BANDIT_STATE_CODE_PATH], bandit_engine *engine)
{
    const bandit_simd *recorded = NULL;
    if (memchr(name, '\0', BANDIT_STATE_CODE_PATH))
        recorded = bandit_simd_named(name);
    if (recorded)
        engine->covariance.simd = recorded;
}
