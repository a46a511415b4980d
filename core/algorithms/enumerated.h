/* Picks among the points of an enumerated space: what candidates in general know nothing of.
 *
 *   fixed     points without the fixed values may not be chosen
 *   silence   where noise is below BANDIT_SILENT of the prior's deviation, a point that was pulled, or is
 *             out, is not picked again as long as there is another (ours)
 *   defaults  the very first pick is the point of the defaults, if every active parameter has one */
#ifndef CORE_ALGORITHMS_ENUMERATED_H
#define CORE_ALGORITHMS_ENUMERATED_H

#include "core/algorithms/algorithm.h"

/* Share of the prior's deviation below which noise is no reason to look twice. */
#define BANDIT_SILENT 0.01

bool bandit_is_silent(const bandit_engine *engine);

typedef struct bandit_enumerated {
    bool *met;          /* an arm each: pulled, or out */
    uint32_t *withheld; /* as many */
    double *coded;      /* a parameter each */
    size_t n_met;
} bandit_enumerated;

/* NULL where the arms are no enumerated space. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_enumerated_new(bandit_enumerated **out, const bandit_arms *arms, bandit_error *err);
void bandit_enumerated_free(bandit_enumerated *enumerated); /* NULL is fine */

/* A batch has begun with these pulls out; the sums are the engine's. */
void bandit_enumerated_begin(bandit_enumerated *enumerated, const bandit_engine *engine,
                             const bandit_pick *pending, size_t n_pending);
/* Picks have been made. */
void bandit_enumerated_note(bandit_enumerated *enumerated, const bandit_pick *picks, size_t n);

/* bandit_engine_select. Errors also: BANDIT_INVALID_OPTION, field "fixed", when no point has the values. */
bandit_status bandit_enumerated_select(bandit_enumerated *enumerated, bandit_engine *engine,
                                       const bandit_select_limits *limits, const bandit_executor *executor,
                                       bandit_pick *picks, bandit_selection *out, bandit_error *err);

#endif
