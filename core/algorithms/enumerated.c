#include "core/algorithms/enumerated.h"

#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bandit_is_silent(const bandit_engine *engine)
{
    double noise = engine->options.noise_std;
    if (engine->table->is_silent)
        return engine->table->is_silent(engine);
    return engine->has_model && noise * noise <= BANDIT_SILENT * BANDIT_SILENT * engine->covariance.kappa2;
}

bandit_status bandit_enumerated_new(bandit_enumerated **out, const bandit_arms *arms, bandit_error *err)
{
    *out = NULL;
    if (!arms->space || !arms->space->closed)
        return BANDIT_OK;
    bandit_enumerated *l = calloc(1, sizeof *l);
    if (l) {
        l->met = bandit_alloc_zeroed(arms->n, sizeof *l->met);
        l->withheld = bandit_alloc(arms->n, sizeof *l->withheld);
        l->coded = bandit_alloc(arms->space->n, sizeof *l->coded);
    }
    if (!l || !l->met || !l->withheld || !l->coded) {
        bandit_enumerated_free(l);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    *out = l;
    return BANDIT_OK;
}

void bandit_enumerated_free(bandit_enumerated *l)
{
    if (!l)
        return;
    free(l->met);
    free(l->withheld);
    free(l->coded);
    free(l);
}

void bandit_enumerated_note(bandit_enumerated *l, const bandit_pick *picks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        l->n_met += !l->met[picks[i].arm];
        l->met[picks[i].arm] = true;
    }
}

void bandit_enumerated_begin(bandit_enumerated *l, const bandit_engine *engine, const bandit_pick *pending,
                             size_t n_pending)
{
    bandit_checkpoint now = {0};
    engine->table->checkpoint(engine, &now);
    memset(l->met, 0, engine->arms->n * sizeof *l->met);
    l->n_met = now.n_sums;
    for (size_t i = 0; i < now.n_sums; i++)
        l->met[now.sums[i].arm] = true;
    bandit_enumerated_note(l, pending, n_pending);
}

static bool fits(const bandit_enumerated *l, const bandit_arms *arms, size_t arm, const double *fixed)
{
    if (!fixed)
        return true;
    bandit_arms_coded(arms, arm, l->coded);
    for (size_t i = 0; i < arms->space->n; i++) {
        if (!isnan(fixed[i]) && fixed[i] != l->coded[i])
            return false;
    }
    return true;
}

/* The point of the default values; SIZE_MAX if an active parameter has none. */
static size_t default_arm(const bandit_enumerated *l, const bandit_arms *arms)
{
    const bandit_space *s = arms->space;
    for (size_t at = 0; at < s->n; at++) {
        size_t i = s->order[at];
        bool active = bandit_space_is_active(s, l->coded, i);
        if (active && !s->parameters[i].has_default)
            return SIZE_MAX;
        l->coded[i] = active ? s->parameters[i].default_value : (double)NAN;
    }
    return bandit_arms_find(arms, l->coded);
}

static bool insists_on(const bandit_enumerated *l, const bandit_arms *arms,
                       const bandit_select_limits *limits, size_t arm)
{
    return arm != SIZE_MAX && fits(l, arms, arm, limits->fixed) &&
           (limits->defaults_or_none || !bandit_is_withheld(limits, (uint32_t)arm));
}

/* Sets l->withheld to the arms that may not be picked next. Returns how many. */
static size_t withhold(bandit_enumerated *l, const bandit_engine *engine, const bandit_select_limits *limits,
                       bool repeats)
{
    const bandit_arms *arms = engine->arms;
    size_t n = 0, w = 0, only = SIZE_MAX;
    if (l->n_met == 0 && engine->batch == 0)
        only = default_arm(l, arms);
    if (!insists_on(l, arms, limits, only))
        only = SIZE_MAX;
    for (size_t a = 0; a < arms->n; a++) {
        bool withheld = w < limits->n_withheld && limits->withheld[w] == a;
        w += withheld;
        if (withheld || (!repeats && l->met[a]) || (only != SIZE_MAX && a != only) ||
            !fits(l, arms, a, limits->fixed))
            l->withheld[n++] = (uint32_t)a;
    }
    return n;
}

static bool has_fixed(const bandit_enumerated *l, const bandit_arms *arms, const double *fixed)
{
    for (size_t a = 0; a < arms->n; a++) {
        if (fits(l, arms, a, fixed))
            return true;
    }
    return false;
}

bandit_status bandit_enumerated_select(bandit_enumerated *l, bandit_engine *engine,
                                       const bandit_select_limits *limits, const bandit_executor *executor,
                                       bandit_pick *picks, bandit_selection *out, bandit_error *err)
{
    size_t n = 0;
    bandit_selection last = {0};
    bool silent = bandit_is_silent(engine);
    if (limits->fixed && !has_fixed(l, engine->arms, limits->fixed))
        return bandit_fail(err, BANDIT_INVALID_OPTION, "fixed", "no point of the space has these values");
    for (;;) { /* one pick at a time, because each pick changes what may be picked next */
        bandit_select_limits one = *limits;
        size_t n_withheld = withhold(l, engine, limits, !silent);
        if (n_withheld == engine->arms->n)
            n_withheld = withhold(l, engine, limits, true);
        one.fixed = NULL;
        one.max_picks = limits->max_picks > n ? 1 : 0;
        one.remaining = limits->remaining - n;
        one.withheld = l->withheld;
        one.n_withheld = n_withheld;
        *out = (bandit_selection){0};
        bandit_status status = engine->table->select(engine, &one, executor, picks + n, out, err);
        if (status != BANDIT_OK && n == 0)
            return status;
        if (status != BANDIT_OK) { /* keep the picks made; the next call reports the error */
            *out = last;
            break;
        }
        last = *out;
        bandit_enumerated_note(l, picks + n, out->n_picks);
        n += out->n_picks;
        if (out->n_picks == 0)
            break;
    }
    out->n_picks = n;
    return BANDIT_OK;
}
