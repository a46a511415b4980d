/* Search among the points of one word, of an open space's categorical or boolean parameter.
 *
 * A search follows the word whose first results were the best. Once it knows the optimum there to some digits, no point
 * of another word promises an improvement on it, although that word may have the better optimum in a narrower basin. A
 * wide bound does not help: it is largest at the corners of the space. So since revision 4, while log_ei stands still
 * (bandit_ledger_stands_still), every fourth pick is the one of the largest expected improvement on the results with
 * another word, as in a context. It takes the words in turn, the one with the fewest results and points in flight first,
 * while it has fewer than the leader's word. Words without a result are those of untried_words.h. Words with properties
 * are left to the model, which knows what they have in common. Ours. */
#ifndef CORE_ALGORITHMS_WORD_SEARCH_H
#define CORE_ALGORITHMS_WORD_SEARCH_H

#include "core/algorithms/algorithm.h"
#include "core/posterior/ledger.h"

/* The values to fix in a pick: one word, NaN for all other parameters. `n_picks`: number of picks made in this batch.
 * *fixed: NULL if the pick is like others, and always if limits->fixed is not NULL; otherwise to be freed. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_word_search(const bandit_engine *engine, const bandit_ledger *ledger,
                                 const uint32_t *out, size_t n_out, const bandit_select_limits *limits,
                                 uint64_t n_picks, double **fixed, bandit_error *err);

#endif
