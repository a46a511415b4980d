/* The stored state of an engine that refits: written at every batch, and checked when it is read. */
#include "core/engine/refitting_engine.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Indexed by whether there are sources, the form of the fit, and whether errors were reported. */
static const char MAGIC[2][3][2][8] = {
    {{"learn 2", "learn 4"}, {"learn 3", "learn 5"}, {"learn a", "learn b"}},
    {{"learn 6", "learn 8"}, {"learn 7", "learn 9"}, {"", ""}}};

/* Each form stores one more value than the one before: the power, and the share of the shorter range. */
typedef enum form { PLAIN, WARPED, TWO_RANGES } form;

static form form_of(const bandit_fit_settings *settings)
{
    return settings->two_ranges ? TWO_RANGES : settings->warp ? WARPED : PLAIN;
}

/* The values that follow from reported errors. */
typedef struct told_part {
    double unit_noise, least_error;
    uint64_t n_rows;
} told_part;

/* Bytes of the power and of the share of the shorter range, as far as they are stored. */
static size_t power_bytes(const bandit_refitting_engine *e)
{
    return form_of(&e->settings) >= WARPED ? sizeof(double) : 0;
}

static size_t share_bytes(const bandit_refitting_engine *e)
{
    return form_of(&e->settings) == TWO_RANGES ? sizeof(double) : 0;
}

static bool has_told(const bandit_fitted *l, const bandit_told_errors *errors)
{
    return errors->n > 0 || l->unit_noise != l->noise;
}

static size_t source_bytes(const bandit_refitting_engine *e)
{
    return e->sources.n * sizeof(double);
}

size_t bandit_refitting_state_bytes(const bandit_refitting_engine *e, const bandit_fitted *l,
                                    const bandit_told_errors *errors, size_t n_inner)
{
    size_t told = has_told(l, errors) ? sizeof(told_part) + errors->n * sizeof(bandit_error_row) : 0;
    return sizeof(bandit_refitting_state) + power_bytes(e) + share_bytes(e) + source_bytes(e) +
           l->n_lengthscales * sizeof(double) + l->n_aside * sizeof(bandit_arm_sum) + told + n_inner;
}

static void put(unsigned char **at, const void *from, size_t size)
{
    if (size > 0)
        memcpy(*at, from, size);
    *at += size;
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
    bool told = has_told(l, &e->errors);
    told_part part = {l->unit_noise, l->least_error, e->errors.n};
    memcpy(state.magic, MAGIC[e->sources.n > 0][form_of(&e->settings)][told], sizeof state.magic);
    unsigned char *at = e->state;
    put(&at, &state, sizeof state);
    put(&at, &l->power, power_bytes(e));
    put(&at, &l->short_share, share_bytes(e));
    put(&at, l->source_weights, source_bytes(e));
    put(&at, &part, told ? sizeof part : 0);
    put(&at, l->lengthscales, l->n_lengthscales * sizeof(double));
    for (size_t i = 0; i < l->n_aside; i++) {
        bandit_arm_sum sum;
        memset(&sum, 0, sizeof sum);
        sum.arm = l->aside[i].arm;
        sum.count = l->aside[i].count;
        sum.sum = l->aside[i].sum;
        put(&at, &sum, sizeof sum);
    }
    put(&at, e->errors.rows, e->errors.n * sizeof(bandit_error_row));
    put(&at, inner.state, inner.n_state);
    e->n_state = (size_t)(at - e->state);
    assert(e->n_state <= e->capacity_state);
}

/* Exact engines store the most: one entry per arm and per result. */
bool bandit_refitting_reserve_state(bandit_refitting_engine *e, const bandit_fitted *l, size_t n)
{
    size_t inner = 1024 + (e->next.n + n + e->n_state / 24 + 1) * 24;
    if (e->next_errors.n > 0)
        inner += e->next_errors.n * sizeof(bandit_error_row);
    return bandit_reserve_keep((void **)&e->state, &e->capacity_state, e->n_state,
                               bandit_refitting_state_bytes(e, l, &e->next_errors, inner), 1);
}

static bool is_positive(double x)
{
    return isfinite(x) && x > 0.0;
}

static bool is_at_least_0(double x)
{
    return isfinite(x) && x >= 0.0;
}

static bool are_finite(const double *x, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
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

/* Reads the values that follow from reported errors at *at, of at most `left` bytes, and advances *at.
 * Without reported errors there is nothing to read. */
static bool read_told_part(bandit_fitted *l, bool told, size_t left, const unsigned char **at,
                           told_part *part)
{
    *part = (told_part){.unit_noise = l->noise};
    if (told && left < sizeof *part)
        return false;
    if (told) {
        memcpy(part, *at, sizeof *part);
        *at += sizeof *part;
    }
    l->unit_noise = part->unit_noise;
    l->least_error = part->least_error;
    return is_positive(part->unit_noise) && is_at_least_0(part->least_error);
}

/* Reads the rows of reported errors at *at, of at most `left` bytes, and advances *at. */
static bandit_status read_rows(bandit_refitting_engine *e, uint64_t n, size_t left, const unsigned char **at,
                               bandit_error *err)
{
    bandit_told_errors *errors = &e->errors;
    if (n > left / sizeof(bandit_error_row))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored standard errors are truncated");
    if (!bandit_reserve((void **)&errors->rows, &errors->capacity, (size_t)n, sizeof *errors->rows))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (n > 0)
        memcpy(errors->rows, *at, (size_t)n * sizeof *errors->rows);
    errors->n = (size_t)n;
    *at += (size_t)n * sizeof *errors->rows;
    return bandit_told_errors_valid(errors->rows, errors->n, bandit_arms_count(e->base.arms))
               ? BANDIT_OK
               : bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored errors are not valid");
}

static void take_state(bandit_refitting_engine *e, const bandit_refitting_state *state)
{
    bandit_fitted *l = &e->fitted;
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
}

bandit_status bandit_refitting_read_state(bandit_refitting_engine *e, const bandit_checkpoint *checkpoint,
                                          bandit_refitting_state *state, bandit_checkpoint *inner,
                                          bandit_error *err)
{
    bandit_fitted *l = &e->fitted;
    const unsigned char *at = checkpoint->state;
    size_t n = checkpoint->n_state;
    if (n < sizeof *state + power_bytes(e) + share_bytes(e) + source_bytes(e))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored state of %zu bytes is too short", n);
    memcpy(state, at, sizeof *state);
    at += sizeof *state;
    l->power = 1.0;
    memcpy(&l->power, at, power_bytes(e));
    at += power_bytes(e);
    l->short_share = 0.0;
    memcpy(&l->short_share, at, share_bytes(e));
    at += share_bytes(e);
    memcpy(l->source_weights, at, source_bytes(e));
    at += source_bytes(e);
    const char(*magic)[8] = MAGIC[e->sources.n > 0][form_of(&e->settings)];
    bool told = memcmp(state->magic, magic[true], sizeof state->magic) == 0;
    if (!told && memcmp(state->magic, magic[false], sizeof state->magic) != 0)
        return bandit_fail(err, BANDIT_INVALID_STATE, "",
                           "the stored state is of another kind or machine type");
    const unsigned char *end = checkpoint->state + n;
    told_part part;
    take_state(e, state);
    if (!read_told_part(l, told, (size_t)(end - at), &at, &part) || !is_valid(e, state, (size_t)(end - at)) ||
        !(l->power >= 0.0 && l->power <= 4.0) || !(l->short_share >= 0.0 && l->short_share < 1.0) ||
        !are_finite(l->source_weights, e->sources.n))
        return bandit_fail(err, BANDIT_INVALID_STATE, "", "the stored hyper-parameters are not valid");
    bandit_status status = read_lists(l, state->n_aside, &at, err);
    if (status == BANDIT_OK)
        status = read_rows(e, part.n_rows, (size_t)(end - at), &at, err);
    if (status != BANDIT_OK)
        return status;
    *inner = *checkpoint;
    inner->state = at;
    inner->n_state = (size_t)(end - at);
    return BANDIT_OK;
}
