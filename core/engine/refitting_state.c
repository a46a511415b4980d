/* The stored state of an engine that refits: written at every batch, and checked when it is read. */
#include "core/engine/refitting_engine.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char STATE_MAGIC[8] = "learn 2", WARPED_MAGIC[8] = "learn 3";

/* Bytes of the power, if it is stored. */
static size_t power_bytes(bool warped)
{
    return warped ? sizeof(double) : 0;
}

size_t bandit_refitting_state_bytes(const bandit_fitted *l, size_t n_inner)
{
    return sizeof(bandit_refitting_state) + power_bytes(l->warped) + l->n_lengthscales * sizeof(double) +
           l->n_aside * sizeof(bandit_arm_sum) + n_inner;
}

void bandit_refitting_write_state(bandit_refitting_engine *e)
{
    const bandit_fitted *l = &e->fitted;
    bandit_checkpoint inner = {0};
    e->inner->table->checkpoint(e->inner, &inner);
    bandit_refitting_state state = {.n_lengthscales = l->n_lengthscales,
                                    .n_aside = l->n_aside,
                                    .fitted_on = l->fitted_on,
                                    .observations = e->ledger.observations,
                                    .sum_squares = e->ledger.sum_squares,
                                    .within = e->within,
                                    .within_degrees = e->within_degrees,
                                    .offset = l->offset,
                                    .scale = l->scale,
                                    .low = l->low,
                                    .high = l->high,
                                    .range = l->range,
                                    .signal = l->signal,
                                    .noise = l->noise,
                                    .mean = l->mean,
                                    .norm_bound = e->inner->options.norm_bound};
    memcpy(state.magic, l->warped ? WARPED_MAGIC : STATE_MAGIC, sizeof state.magic);
    unsigned char *at = e->state;
    memcpy(at, &state, sizeof state);
    at += sizeof state;
    memcpy(at, &l->power, power_bytes(l->warped));
    at += power_bytes(l->warped);
    if (l->n_lengthscales > 0)
        memcpy(at, l->lengthscales, l->n_lengthscales * sizeof(double));
    at += l->n_lengthscales * sizeof(double);
    for (size_t i = 0; i < l->n_aside; i++, at += sizeof(bandit_arm_sum)) {
        bandit_arm_sum sum;
        memset(&sum, 0, sizeof sum); /* padding is stored as well, so set it to 0 */
        sum.arm = l->aside[i].arm;
        sum.count = l->aside[i].count;
        sum.sum = l->aside[i].sum;
        memcpy(at, &sum, sizeof sum);
    }
    if (inner.n_state > 0)
        memcpy(at, inner.state, inner.n_state);
    e->n_state = (size_t)(at - e->state) + inner.n_state;
    assert(e->n_state <= e->capacity_state);
}

/* Exact engines store the most: one entry per arm and per result. */
bool bandit_refitting_reserve_state(bandit_refitting_engine *e, const bandit_fitted *l, size_t n)
{
    size_t inner = 1024 + (e->next.n + n + e->n_state / 24 + 1) * 24;
    return bandit_reserve_keep((void **)&e->state, &e->capacity_state, e->n_state,
                               bandit_refitting_state_bytes(l, inner), 1);
}

static bool is_positive(double x)
{
    return isfinite(x) && x > 0.0;
}

static bool is_at_least_0(double x)
{
    return isfinite(x) && x >= 0.0;
}

/* Whether an engine can have written these values. `left`: number of bytes after them. */
static bool is_valid(const bandit_refitting_engine *e, const bandit_refitting_state *state, size_t left)
{
    bool fits = state->n_lengthscales == e->settings.n_lengthscales &&
                left / sizeof(double) >= state->n_lengthscales &&
                (left - state->n_lengthscales * sizeof(double)) / sizeof(bandit_arm_sum) >= state->n_aside;
    return fits && is_positive(state->scale) && is_positive(state->signal) && is_positive(state->noise) &&
           isfinite(state->offset) && isfinite(state->mean) && state->low < state->high &&
           is_positive(state->range) && is_at_least_0(state->within) &&
           is_at_least_0(state->within_degrees) && is_at_least_0(state->norm_bound) &&
           is_at_least_0(state->sum_squares);
}

/* Reads lengthscales and outliers at *at, and advances *at. */
static bandit_status read_lists(bandit_fitted *l, size_t n_aside, const unsigned char **at, bandit_error *err)
{
    for (size_t i = 0; i < l->n_lengthscales; i++, *at += sizeof(double)) {
        memcpy(&l->lengthscales[i], *at, sizeof(double));
        if (!is_positive(l->lengthscales[i]))
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored lengthscale %zu is not valid", i);
    }
    l->n_aside = n_aside;
    l->aside = bandit_alloc(n_aside, sizeof *l->aside);
    if (!l->aside)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n_aside; i++, *at += sizeof *l->aside) {
        memcpy(&l->aside[i], *at, sizeof *l->aside);
        if (i > 0 && l->aside[i].arm <= l->aside[i - 1].arm)
            return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored outlier %zu is not valid", i);
    }
    return BANDIT_OK;
}

bandit_status bandit_refitting_read_state(bandit_refitting_engine *e, const bandit_checkpoint *checkpoint,
                                          bandit_refitting_state *state, bandit_checkpoint *inner,
                                          bandit_error *err)
{
    bandit_fitted *l = &e->fitted;
    const unsigned char *at = checkpoint->state;
    size_t n = checkpoint->n_state;
    if (n < sizeof *state + power_bytes(e->settings.warp))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state of %zu bytes is too short", n);
    memcpy(state, at, sizeof *state);
    at += sizeof *state;
    l->power = 1.0;
    memcpy(&l->power, at, power_bytes(e->settings.warp));
    at += power_bytes(e->settings.warp);
    if (memcmp(state->magic, e->settings.warp ? WARPED_MAGIC : STATE_MAGIC, sizeof state->magic) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    if (!is_valid(e, state, n - (size_t)(at - (const unsigned char *)checkpoint->state)) ||
        !(l->power >= 0.0 && l->power <= 4.0))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored hyper-parameters are not valid");
    l->offset = state->offset;
    l->scale = state->scale;
    l->low = state->low;
    l->high = state->high;
    l->range = state->range;
    l->signal = state->signal;
    l->noise = state->noise;
    l->mean = state->mean;
    l->fitted_on = state->fitted_on;
    e->within = state->within;
    e->within_degrees = state->within_degrees;
    bandit_status status = read_lists(l, state->n_aside, &at, err);
    if (status != BANDIT_OK)
        return status;
    *inner = *checkpoint;
    inner->state = at;
    inner->n_state = n - (size_t)(at - checkpoint->state);
    return BANDIT_OK;
}
