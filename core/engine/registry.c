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

const bandit_algorithm_info *bandit_algorithm_about(bandit_algorithm algorithm)
{
    return &bandit_registry_entry(algorithm)->about;
}

bool bandit_algorithm_takes(bandit_algorithm algorithm, bandit_option option)
{
    return bandit_algorithm_about(algorithm)->options & BANDIT_OPTION_BIT(option);
}

bool bandit_algorithm_has_model(bandit_algorithm algorithm)
{
    return bandit_algorithm_takes(algorithm, BANDIT_OPTION_KERNEL);
}
