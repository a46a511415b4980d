/* The algorithms with a model on a space of parameters: one engine, in which an algorithm is a rule. It says
 * on which of the visited points the posterior stands, how wide its bound is, what is maximized, and when a
 * batch ends. The posterior is the sparse one of [BBKB] for all of them: on all pulled points it is the exact
 * one.
 *
 * A batch before the first reward is a design: the point of the defaults, if any parameter has one, then
 * points of a low-discrepancy sequence; they depend on no reward, so that a few more than one cost nobody any
 * waiting †. In every other the acquisition is maximized anew for each pick, under the posterior in which
 * what is out is hallucinated (surface.h). Picks are points of the space, appended to the arms when they are
 * new.
 *
 * Where noise is no reason for it (bandit_is_silent), a point that was pulled, or is out, is not picked again
 * as long as there is another †. Points that may not be chosen (failures) keep others away that are within
 * BANDIT_SPACE_AVOIDED lengthscales of them, as long as there are any †. */
#ifndef BANDIT_SPACE_ENGINE_H
#define BANDIT_SPACE_ENGINE_H

#include "acquisition.h"
#include "algorithm.h"
#include "confidence.h"
#include "ledger.h"
#include "maximize.h"
#include "surface.h"
#include "svgp.h"

#define BANDIT_SPACE_AVOIDED 0.1

typedef enum bandit_space_dictionary {
    BANDIT_SPACE_RESAMPLED, /* by ridge leverage scores: [BBKB] */
    BANDIT_SPACE_PULLED,    /* all pulled points: the exact posterior */
    BANDIT_SPACE_INDUCING   /* at most options.inducing of them: [VPA21] */
} bandit_space_dictionary;

typedef enum bandit_space_end {
    BANDIT_SPACE_SEQUENTIAL, /* after every pick */
    BANDIT_SPACE_SUM,        /* after the pick at which 1 + sum sigma^2_fb exceeds ratio_bound: [BBKB] */
    BANDIT_SPACE_PRODUCT     /* … at which prod (1 + sigma^2_{s−1}) does: Desautels et al. 2014 */
} bandit_space_end;

typedef struct bandit_space_batch bandit_space_batch;

typedef struct bandit_space_rule {
    bandit_algorithm algorithm;
    bandit_space_dictionary dictionary;
    bandit_space_end end;
    bool samples; /* what is maximized is a sample of the posterior; else `acquire`, with what is out in it */
    bandit_acquisition_kind acquire;
} bandit_space_rule;

extern const bandit_algorithm_table bandit_space_bbkb_table, bandit_space_bkb_table,
    bandit_space_gp_ucb_table, bandit_space_igp_ucb_table, bandit_space_gp_bucb_table,
    bandit_space_gp_ts_table, bandit_space_async_ts_table, bandit_space_s_gp_ts_table,
    bandit_space_gp_ei_table, bandit_space_gp_pi_table, bandit_space_epsilon_greedy_table;

#endif
