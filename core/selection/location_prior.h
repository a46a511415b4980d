/* A prior over where the best point of a space lies.
 *
 * With few results, a posterior is most uncertain at the corners of the space, so that an acquisition is largest
 * there, in one corner after the other (Siivola et al. 2018). The more parameters, the more corners; in a space of six
 * parameters this can last for fifty trials. So an acquisition is multiplied by a prior density of the best point
 * (as by Hvarfner et al. 2022), which is normal around the middle of the space:
 *
 *   log pi(x) = − sum_i (2 x_i − 1)^2        x_i in [0, 1], which is 0 in the middle and −1 at a border
 *
 * over the numbers that are continuous or have more than a hundred values. Those in which the leader is at a border
 * do not count, so that the search stays free there. If more than 20 count, the sum is multiplied by 20 / their number.
 * The density does not depend on the number of results. An optimum at a border is still found, because near it expected
 * improvements differ by more. (ours)
 *
 * Picks of log_ei in an open space heed it since revision 6: every second with one objective, and two of
 * three with several. The others go to the borders, too. */
#ifndef CORE_SELECTION_LOCATION_PRIOR_H
#define CORE_SELECTION_LOCATION_PRIOR_H

#include "core/arms/parameter_space.h"

enum { BANDIT_SINCE_LOCATION_PRIOR = 6 /* the first revision whose picks heed it */ };

typedef struct bandit_location_prior {
    size_t *features; /* n: the features that count */
    size_t n, capacity;
} bandit_location_prior; /* {0}: every place is as likely as any other */

/* Sets which numbers count. `leader` has the features of the point that leads the search. *prior is {0} or used before. Errors:
 * BANDIT_NO_MEMORY; then no number counts. */
bandit_status bandit_location_prior_set(bandit_location_prior *prior, const bandit_space *space,
                                        const double *leader, bandit_error *err);
void bandit_location_prior_clear(bandit_location_prior *prior);
size_t bandit_location_prior_memory(const bandit_location_prior *prior);

/* log pi at a point. Adds its gradient to `gradient`, unless that is NULL. */
double bandit_location_prior_log(const bandit_location_prior *prior, const double *features,
                                 double *gradient);

#endif
