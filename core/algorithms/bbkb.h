/* What the tests look at of BBKB. */
#ifndef BANDIT_BBKB_H
#define BANDIT_BBKB_H

#include "algorithm.h"

/* How many arms the batch in force was begun without the variances of (screening.h). */
size_t bandit_bbkb_left_out(const bandit_engine *engine);

#endif
