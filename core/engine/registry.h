/* Access to the algorithms by their enumerator. */
#ifndef CORE_ENGINE_REGISTRY_H
#define CORE_ENGINE_REGISTRY_H

#include "core/algorithms/algorithm.h"

/* The entry is static. */
const bandit_algorithm_entry *bandit_registry_entry(bandit_algorithm algorithm);

#endif
