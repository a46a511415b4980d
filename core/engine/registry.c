#include "core/engine/registry.h"

#include <assert.h>

#define X(enumerator, name) extern const bandit_algorithm_entry bandit_##name##_algorithm;
BANDIT_ALGORITHM_LIST(X)
#undef X

static const bandit_algorithm_entry *const entries[BANDIT_ALGORITHMS] = {
#define X(enumerator, name) [enumerator] = &bandit_##name##_algorithm,
    BANDIT_ALGORITHM_LIST(X)
#undef X
};

const bandit_algorithm_entry *bandit_registry_entry(bandit_algorithm algorithm)
{
    assert((unsigned)algorithm < BANDIT_ALGORITHMS);
    return entries[algorithm];
}
