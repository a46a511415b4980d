/* Shared by space_picks.c, which chooses the next point of a space, and space_reasons.c, which says why one was chosen. */
#ifndef CORE_ALGORITHMS_SPACE_PICKS_H
#define CORE_ALGORITHMS_SPACE_PICKS_H

#include "core/algorithms/space_objective.h"

/* What a pick must improve on, and beside which point it looks. */
typedef struct bandit_space_aim {
    bool of_word; /* the pick is a search among the points of one word (word_search.h) */
    double incumbent;
    uint32_t leader;
    double width; /* of a wide pick; 0: it is none */
} bandit_space_aim;

/* Whether the next pick is one of the design although there is a model. If all results are equal, the fit has long
 * lengthscales, and the most uncertain points are the corners of the space. */
bool bandit_space_continues_design(const bandit_space_engine *e, const bandit_space_batch *b);

/* Whether the next pick is a uniform point. */
bool bandit_space_explores(const bandit_space_engine *e, const bandit_space_batch *b);

/* Whether an arm has the fixed values. Overwrites e->coded. */
bool bandit_space_has_fixed(bandit_space_engine *e, uint32_t arm, const double *fixed);

/* Sets *fixed to the values that the next pick has: an untried word, or one that is searched (*of_word), or to NULL. To be
 * freed. */
bandit_status bandit_space_fix_word(const bandit_space_engine *e, const bandit_space_batch *b,
                                    const bandit_select_limits *limits, double **fixed, bool *of_word,
                                    bandit_error *err);

/* Sets e->coded to the best point of a quadratic function, if it is time for one and there is one. */
bandit_status bandit_space_choose_quadratic(bandit_space_engine *e, bandit_space_batch *b,
                                            const bandit_select_limits *limits, bool *found,
                                            bandit_error *err);

/* Sets the objective of the next pick, and the other members of *at as at->of_word says. Needs the grid, and memory
 * for its values. */
bandit_status bandit_space_start_choice(bandit_space_engine *e, bandit_space_batch *b,
                                        const bandit_select_limits *limits, bandit_space_aim *at,
                                        bandit_space_objective *c, bandit_objective *objective,
                                        bandit_error *err);

#endif
