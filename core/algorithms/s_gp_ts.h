/* Shared by the files of S-GP-TS: s_gp_ts.c (the algorithm, and its rule in a space), s_gp_ts_list.c (its
 * engine on candidates). */
#ifndef CORE_ALGORITHMS_S_GP_TS_H
#define CORE_ALGORITHMS_S_GP_TS_H

#include "core/algorithms/algorithm.h"

extern const bandit_algorithm_table bandit_s_gp_ts_list_table;

#endif
