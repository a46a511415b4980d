/* Shared by the files of pi_gp_ucb on a space: pi_gp_ucb_space.c (batches, stored states, predictions),
 * pi_gp_ucb_cells.c (the cells of the cover and their bounds), pi_gp_ucb_search.c (the next point). */
#ifndef CORE_ALGORITHMS_PI_GP_UCB_SPACE_H
#define CORE_ALGORITHMS_PI_GP_UCB_SPACE_H

#include "core/algorithms/space_engine.h"
#include "core/arms/cover.h"

enum { BANDIT_PI_DIMENSIONS = BANDIT_COVER_DIMENSIONS };

typedef struct bandit_pi_cell {
    bandit_cell cell; /* its members are the pulled arms in it */
    uint64_t pulls;
    bandit_posterior posterior;
    bandit_surface surface; /* the posterior and the picks in flight */
    double width;           /* beta_A */
    double pulled_variance; /* sum_i n_i sigma^2(x_i), paper's scale */
} bandit_pi_cell;

typedef struct bandit_pi_batch {
    bandit_ledger ledger;
    bandit_pi_cell **cells; /* n entries, owned */
    size_t n, capacity;
    uint32_t *pulled; /* n_pulled: the arms of the ledger when the batch began */
    size_t n_pulled, capacity_pulled;
    uint64_t n_picks, n_out;
    double total; /* sum of the start-of-batch variances of the picks in flight, paper's scale */
    unsigned char state[64];
    size_t n_state;
} bandit_pi_batch;

typedef struct bandit_pi_space {
    bandit_engine base;
    bandit_cover cover;
    bandit_pi_batch batches[2];
    unsigned in_force;
    double *coded; /* one entry per parameter */
} bandit_pi_space;

/* ---- pi_gp_ucb_space.c -------------------------------------------------------------------------------- */

extern const bandit_algorithm_table bandit_pi_gp_ucb_space_table;

/* ---- pi_gp_ucb_cells.c --------------------------------------------------------------------------------- */

/* beta_A before step t = observations + 1, for a cell with this information gain. */
double bandit_pi_width(const bandit_pi_space *engine, const bandit_pi_batch *batch, double information_gain);

/* Frees the cells from `first` on. */
void bandit_pi_clear_cells(bandit_pi_batch *batch, size_t first);
size_t bandit_pi_cell_memory(const bandit_pi_cell *cell);
bool bandit_pi_contains(const bandit_pi_space *engine, const bandit_pi_cell *cell, const double *features);

/* Sets batch->cells to the leaves with pulls that follow from the ledger; widths are not set. Errors:
 * BANDIT_NO_MEMORY, BANDIT_NUMERICAL, BANDIT_MEMORY_LIMIT. */
bandit_status bandit_pi_make_cells(bandit_pi_space *engine, bandit_pi_batch *batch, bandit_error *err);

/* The largest upper bound, at the start of the batch, among the cells that contain the point; the bound of
 * the prior if no cell does. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_pi_bound_at(const bandit_pi_space *engine, const bandit_pi_batch *batch,
                                 const double *features, bandit_prediction *out, bandit_error *err);

/* Reserves memory for one more pick in flight at this point, in every cell that contains it. If no cell with
 * pulls does, the leaf that contains the point is added (last). *variance: the variance at the point at the
 * start of the batch, paper's scale. Errors: BANDIT_NO_MEMORY, BANDIT_MEMORY_LIMIT. */
bandit_status bandit_pi_make_room(bandit_pi_space *engine, bandit_pi_batch *batch, const double *features,
                                  double *variance, bandit_error *err);
/* Adds the pick in flight. Its memory must have been reserved. */
void bandit_pi_take_out(bandit_pi_space *engine, bandit_pi_batch *batch, const double *features,
                        double variance);

/* ---- pi_gp_ucb_search.c -------------------------------------------------------------------------------- */

/* Sets engine->coded to the next point. */
bandit_status bandit_pi_choose(bandit_pi_space *engine, bandit_pi_batch *batch,
                               const bandit_select_limits *limits, bool *found, bandit_error *err);

#endif
