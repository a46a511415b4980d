/* The first dictionary of a study with imported observations: BLESS, Rudi, Calandriello, Carratino, Rosasco,
 * NeurIPS 2018, Algorithm 1, with pulls as items. */
#ifndef CORE_SELECTION_BLESS_H
#define CORE_SELECTION_BLESS_H

#include "core/selection/dictionary.h"

/* Samples by leverage scores at regularization rho, which decreases from t kappa^2 to lambda in ceil(ln t)
 * geometric levels. All pulls of an arm have the same score, so the copies of an arm are counted, not listed.
 * `offers` has n >= 1 entries, ascending. `dictionary` is the caller's, with n entries; it receives *size
 * arms, ascending, at least one. Only q_bar, seed, batch, covariance and lambda of `how` are used. Errors:
 * BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_dictionary_bless(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                      size_t n, const bandit_resampling *how, bandit_error *err);

#endif
