/* Partitioned improved GP-UCB on a space of numbers. [JBG20], as in pi_gp_ucb.c for candidates.
 *
 * The box of the features, [0,1]^d, is covered by closed cubes that are refined where there are many pulls
 * (cover.h). Each has an independent exact posterior on its pulls. The next point is the maximum over cells
 * of mu_A + beta_A sigma_A, found inside each cell by a sweep and, in the best few, by L-BFGS. Only cells
 * with pulls are stored. In all others the bound is the same constant, that of no pulls, so one point of a
 * sequence that lies in any of them represents them all. Picks in flight shrink the variance in their cells
 * (surface.h). The first batch is a design (space_design.h). The state is only the ledger. */
#include "core/algorithms/pi_gp_ucb_space.h"
#include "core/algorithms/space_design.h"

#include "core/algorithms/stored_state.h"
#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stored scalars, in the machine's byte order. */
typedef struct pi_state {
    char magic[BANDIT_STATE_KIND];
    char code_path[BANDIT_STATE_CODE_PATH];
    uint64_t observations;
    double sum_squares;
} pi_state;

static const char STATE_MAGIC[BANDIT_STATE_KIND] = "pispace";

static bandit_pi_space *self(bandit_engine *engine)
{
    return (bandit_pi_space *)engine;
}

static const bandit_pi_batch *in_force(const bandit_engine *engine)
{
    const bandit_pi_space *e = (const bandit_pi_space *)engine;
    return &e->batches[e->in_force];
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static bandit_status pi_open(bandit_engine *engine, bandit_error *err)
{
    bandit_pi_space *e = self(engine);
    const bandit_options *o = &engine->options;
    size_t d = bandit_arms_dimension(engine->arms);
    uint32_t initial = o->initial_cells ? (uint32_t)o->initial_cells
                                        : bandit_cover_initial_for(d, o->kernel.nu, (double)o->horizon);
    bandit_cover_init(&e->cover, engine->arms, initial, o->kernel.nu);
    e->coded = bandit_alloc(engine->arms->space->n, sizeof *e->coded);
    return e->coded ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

static void pi_close(bandit_engine *engine)
{
    bandit_pi_space *e = self(engine);
    for (int i = 0; i < 2; i++) {
        bandit_pi_clear_cells(&e->batches[i], 0);
        free(e->batches[i].cells);
        free(e->batches[i].pulled);
        bandit_ledger_clear(&e->batches[i].ledger);
    }
    free(e->coded);
}

static size_t pi_memory(const bandit_engine *engine)
{
    const bandit_pi_space *e = (const bandit_pi_space *)engine;
    size_t bytes = 0;
    for (int k = 0; k < 2; k++) {
        const bandit_pi_batch *b = &e->batches[k];
        bytes += b->ledger.capacity * sizeof(bandit_arm_sum) + b->capacity * sizeof(bandit_pi_cell *) +
                 b->capacity_pulled * sizeof(uint32_t);
        for (size_t i = 0; i < b->n; i++)
            bytes += bandit_pi_cell_memory(b->cells[i]);
    }
    return bytes;
}

typedef struct growing {
    const bandit_pi_batch *batch;
    const bandit_pi_cell *cell;
} growing;

static double radius(const bandit_engine *engine, const void *context)
{
    const growing *g = context;
    return bandit_pi_width((const bandit_pi_space *)engine, g->batch, 0.5 * g->cell->posterior.log_det_ratio);
}

static bandit_status take_out_arm(bandit_pi_space *e, bandit_pi_batch *b, uint32_t arm, bandit_error *err)
{
    double features[BANDIT_PI_DIMENSIONS], variance;
    bandit_space_features_of(e->base.arms, arm, features);
    bandit_status status = bandit_pi_make_room(e, b, features, &variance, err);
    if (status == BANDIT_OK)
        bandit_pi_take_out(e, b, features, variance);
    return status;
}

/* Completes the frozen batch from its ledger. A new batch and a restored one both take this path. */
static bandit_status freeze(bandit_pi_space *e, bandit_pi_batch *b, const bandit_pick *pending,
                            size_t n_pending, bandit_error *err)
{
    bandit_pi_clear_cells(b, 0);
    b->n_picks = b->n_out = 0;
    b->total = 0.0;
    if (!bandit_reserve((void **)&b->pulled, &b->capacity_pulled, b->ledger.n, sizeof(uint32_t)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    b->n_pulled = b->ledger.n;
    for (size_t i = 0; i < b->ledger.n; i++)
        b->pulled[i] = b->ledger.sums[i].arm;
    bandit_status status = bandit_pi_make_cells(e, b, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < b->n; i++) {
        growing g = {b, b->cells[i]};
        bandit_engine_grow_norm_bound(&e->base, bandit_posterior_mean_norm(&g.cell->posterior), radius, &g);
    }
    for (size_t i = 0; i < b->n; i++)
        b->cells[i]->width = bandit_pi_width(e, b, 0.5 * b->cells[i]->posterior.log_det_ratio);
    for (size_t i = 0; status == BANDIT_OK && i < n_pending; i++)
        status = take_out_arm(e, b, pending[i].arm, err);
    pi_state state = {.observations = b->ledger.observations, .sum_squares = b->ledger.sum_squares};
    memcpy(state.magic, STATE_MAGIC, sizeof state.magic);
    bandit_state_record_code_path(state.code_path, &e->base);
    static_assert(sizeof state <= sizeof b->state, "the state fits");
    memcpy(b->state, &state, sizeof state);
    b->n_state = sizeof state;
    return status;
}

static bandit_status pi_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    bandit_pi_space *e = self(engine);
    bandit_pi_batch *ended = &e->batches[e->in_force], *next = &e->batches[1 - e->in_force];
    bandit_status status =
        bandit_engine_next_ledger(engine, &next->ledger, &ended->ledger, results, n_results, err);
    if (status == BANDIT_OK)
        status = freeze(e, next, pending, n_pending, err);
    if (status != BANDIT_OK) {
        bandit_pi_clear_cells(next, 0);
        return status;
    }
    e->in_force = 1 - e->in_force;
    bandit_pi_clear_cells(ended, 0);
    return BANDIT_OK;
}

static bandit_status pi_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                              const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    bandit_pi_space *e = self(engine);
    return bandit_ledger_amend(&e->batches[e->in_force].ledger, amendments, n, sums, n_sums, err);
}

static bandit_status pi_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                                bandit_error *err)
{
    (void)executor;
    bandit_pi_space *e = self(engine);
    bandit_pi_batch *b = &e->batches[e->in_force];
    pi_state state;
    bandit_status status = bandit_state_read(&state, sizeof state, STATE_MAGIC, checkpoint, err);
    if (status != BANDIT_OK)
        return status;
    if (!(isfinite(state.sum_squares) && state.sum_squares >= 0.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored scalars are not valid");
    bandit_state_follow_code_path(state.code_path, engine);
    status = bandit_ledger_restore(&b->ledger, bandit_arms_count(engine->arms), checkpoint,
                                   state.observations, state.sum_squares, err);
    return status == BANDIT_OK ? freeze(e, b, pending, n_pending, err) : status;
}

/* ---- picks --------------------------------------------------------------------------------------------- */

static bandit_stop_rule stop_rule(const bandit_pi_space *e, const bandit_pi_batch *b)
{
    if (b->ledger.n == 0)
        return b->n_out >= bandit_design_size(&e->base, false) ? BANDIT_STOP_INITIAL : BANDIT_STOP_NONE;
    return b->n_out > 0 ? BANDIT_STOP_SEQUENTIAL : BANDIT_STOP_NONE;
}

/* Makes the pick at e->coded, and appends its arm if it is new. A pick that fails changes nothing. */
static bandit_status take_choice(bandit_pi_space *e, bandit_pi_batch *b, bandit_pick *pick, bandit_error *err)
{
    bandit_arms *arms = e->base.arms;
    size_t known = bandit_arms_find(arms, e->coded), n_cells = b->n;
    double features[BANDIT_PI_DIMENSIONS];
    bandit_space_encode(arms->space, e->coded, features);
    pick->arm = (uint32_t)(known == SIZE_MAX ? bandit_arms_count(arms) : known);
    bandit_status status = bandit_pi_make_room(e, b, features, &pick->variance, err);
    if (status == BANDIT_OK && known == SIZE_MAX)
        status = bandit_arms_append(arms, e->coded, 1, err);
    if (status == BANDIT_OK)
        bandit_pi_take_out(e, b, features, pick->variance);
    else
        bandit_pi_clear_cells(b, n_cells);
    return status;
}

static bandit_status pi_select(bandit_engine *engine, const bandit_select_limits *limits,
                               const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                               bandit_error *err)
{
    (void)executor;
    bandit_pi_space *e = self(engine);
    bandit_pi_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    while (bandit_engine_wants_pick(limits, stop_rule(e, b), out)) {
        bool found = false;
        status = bandit_pi_choose(e, b, limits, &found, err);
        if (status != BANDIT_OK)
            break;
        if (!found) {
            out->stop_rule = BANDIT_STOP_EXHAUSTED;
            break;
        }
        bandit_pick pick;
        status = take_choice(e, b, &pick, err);
        if (status != BANDIT_OK)
            break;
        picks[out->n_picks++] = pick;
        b->n_picks++;
    }
    out->ratio = 1.0 + b->total;
    /* keep the picks made; the next call reports the error */
    return out->n_picks > 0 ? BANDIT_OK : status;
}

static bandit_status pi_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                     const bandit_executor *executor, bandit_error *err)
{
    (void)executor;
    bandit_pi_space *e = self(engine);
    bandit_pi_batch *b = &e->batches[e->in_force];
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n_picks; i++) {
        status = take_out_arm(e, b, picks[i].arm, err);
        b->n_picks += status == BANDIT_OK;
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void pi_checkpoint(const bandit_engine *engine, bandit_checkpoint *out)
{
    const bandit_pi_batch *b = in_force(engine);
    out->sums = b->ledger.sums;
    out->n_sums = b->ledger.n;
    out->state = b->state;
    out->n_state = b->n_state;
}

static bandit_status pi_predict(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                                size_t n, bandit_prediction *out, bandit_error *err)
{
    const bandit_pi_space *e = (const bandit_pi_space *)engine;
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        double features[BANDIT_PI_DIMENSIONS];
        if (arms)
            bandit_space_features_of(engine->arms, arms[i], features);
        status = bandit_pi_bound_at(e, in_force(engine),
                                    arms ? features : coordinates + i * e->cover.dimension, &out[i], err);
    }
    return status;
}

/* beta is that of the widest cell; effective dimension and information gain are sums over cells. */
static void pi_describe(const bandit_engine *engine, bandit_description *out)
{
    const bandit_pi_space *e = (const bandit_pi_space *)engine;
    const bandit_pi_batch *b = in_force(engine);
    double widest = bandit_pi_width(e, b, 0.0);
    out->observations = b->ledger.observations;
    out->dictionary = b->pulled;
    out->n_dictionary = b->n_pulled;
    for (size_t i = 0; i < b->n; i++) {
        const bandit_pi_cell *c = b->cells[i];
        widest = fmax(widest, c->width);
        out->effective_dimension += c->pulled_variance;
        out->information_gain += 0.5 * c->posterior.log_det_ratio;
    }
    out->beta = widest * sqrt(engine->options.lambda);
}

const bandit_algorithm_table bandit_pi_gp_ucb_space_table = {
    .size = sizeof(bandit_pi_space),
    .from_sums = true,
    .open = pi_open,
    .close = pi_close,
    .begin_batch = pi_begin_batch,
    .amend = pi_amend,
    .restore = pi_restore,
    .select = pi_select,
    .replay_picks = pi_replay_picks,
    .checkpoint = pi_checkpoint,
    .predict = pi_predict,
    .describe = pi_describe,
    .memory = pi_memory,
};
