/* The first dictionary from imported history: BLESS, Rudi, Calandriello, Carratino, Rosasco, NeurIPS 2018,
 * Algorithm 1, with pulls as items. */
#ifndef CORE_SELECTION_BLESS_H
#define CORE_SELECTION_BLESS_H

#include "core/selection/dictionary.h"

/* Leverage scores at regularization rho, from t kappa^2 down to lambda in ceil(ln t) geometric levels. All
 * pulls of an arm have the same score, so an arm's copies are counted, not listed. `dictionary` is the
 * caller's, n entries; receives *size arms, ascending, at least one. offers: n >= 1, ascending.
 * Only q_bar, seed, batch, covariance and lambda of `how` are used.
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_dictionary_bless(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                      size_t n, const bandit_resampling *how, bandit_error *err);

#endif
