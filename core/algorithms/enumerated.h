/* Selection among the points of an enumerated space. It adds to an engine on candidates:
 *
 *   fixed     points without the fixed values may not be chosen
 *   silence   if the noise is below BANDIT_SILENT times the standard deviation of the prior, a point that was
 *             pulled or is in flight is not picked again while another point may be picked (ours)
 *   defaults  the very first pick is the point of the defaults, if every active parameter has one
 *             and it may be picked */
#ifndef CORE_ALGORITHMS_ENUMERATED_H
#define CORE_ALGORITHMS_ENUMERATED_H

#include "core/algorithms/algorithm.h"

/* If the noise is a smaller share of the prior's standard deviation, evaluating a point twice is
 * pointless. */
#define BANDIT_SILENT 0.01

bool bandit_is_silent(const bandit_engine *engine);

typedef struct bandit_enumerated {
    bool *met;          /* one per arm: pulled, or in flight */
    uint32_t *withheld; /* has memory for every arm */
    double *coded;      /* one per parameter */
    size_t n_met;
} bandit_enumerated;

/* *out is NULL if the arms are not those of an enumerated space. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_enumerated_new(bandit_enumerated **out, const bandit_arms *arms, bandit_error *err);
void bandit_enumerated_free(bandit_enumerated *enumerated); /* accepts NULL */

/* Call when a batch has begun with these picks in flight. Pulled arms are read from the engine's sums. */
void bandit_enumerated_begin(bandit_enumerated *enumerated, const bandit_engine *engine,
                             const bandit_pick *pending, size_t n_pending);
/* Call when picks have been made. */
void bandit_enumerated_note(bandit_enumerated *enumerated, const bandit_pick *picks, size_t n);

/* As bandit_engine_select. Errors also: BANDIT_INVALID_OPTION, field "fixed", if no point has the fixed
 * values. */
bandit_status bandit_enumerated_select(bandit_enumerated *enumerated, bandit_engine *engine,
                                       const bandit_select_limits *limits, const bandit_executor *executor,
                                       bandit_pick *picks, bandit_selection *out, bandit_error *err);

#endif
