/* Words without a result, where others have many: of an open space's categorical and boolean parameters.
 *
 * A model learns from the words with results how much words differ, and after a long search it may be sure of the
 * best one to many digits. Then no other word promises an improvement, not even one of which it knows nothing,
 * such as a word that is new since the results were imported. So since revision 3, every EVERY-th pick of log_ei
 * is the best point with such a word, once there are ENOUGH results for each word of its parameter. That is at
 * most one pick for each word, and a small share of all results. Words with properties are left to the model,
 * which knows what they have in common with the others. Ours. */
#ifndef CORE_ALGORITHMS_UNTRIED_WORDS_H
#define CORE_ALGORITHMS_UNTRIED_WORDS_H

#include "core/algorithms/algorithm.h"
#include "core/posterior/ledger.h"

/* The values to fix in the `number`-th pick: those of limits->fixed, and an untried word, that has no result, is not
 * in flight and has not failed. *fixed: NULL if the pick is like others; otherwise to be freed. Errors:
 * BANDIT_NO_MEMORY and those of bandit_genome_init. */
bandit_status bandit_untried_word(const bandit_engine *engine, const bandit_ledger *ledger,
                                  const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                  uint64_t number, double **fixed, bandit_error *err);

/* The same for a pick that is explained, after the earlier picks were replayed. *fixed is also NULL if the arm does not
 * have these values, because no such point could be picked. */
bandit_status bandit_untried_word_of(const bandit_engine *engine, const bandit_ledger *ledger,
                                     const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                     uint64_t number, uint32_t arm, double **fixed, bandit_error *err);

#endif
