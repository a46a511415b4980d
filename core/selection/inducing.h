/* Inducing points of s_gp_ts ([VPA21]): at most m of the pulled arms. */
#ifndef CORE_SELECTION_INDUCING_H
#define CORE_SELECTION_INDUCING_H

#include "core/arms/covariance.h"
#include "core/posterior/ledger.h"

/* The largest ground set of the k-DPP. If more arms were pulled, the ground set is a uniform sample of them
 * (ours), because the greedy start holds m doubles for each of its arms. */
enum { BANDIT_INDUCING_GROUND = 32768 };

/* A sample of the k-DPP over the pulled arms, for batch number `batch`: at least one arm, ascending. Only
 * seed, lambda and dpp_steps of `options` are used. `dictionary` is the caller's, with memory for m arms and
 * for all pulled arms. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_inducing_draw(uint32_t *dictionary, size_t *n_dictionary, size_t m,
                                   const bandit_options *options, uint64_t batch,
                                   const bandit_covariance *covariance, const bandit_ledger *ledger,
                                   bandit_error *err);

#endif
