#include "core/algorithms/quadratic_pick.h"

#include "core/algorithms/quadratic_sample.h"
#include "core/algorithms/space_objective.h"
#include "core/base/allocate.h"
#include "core/learning/quadratic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets e->coded to the point of the step. */
static void set_point(const bandit_quadratic_sample *s, const double *step, bandit_space_engine *e)
{
    const bandit_space *space = e->base.arms->space;
    memcpy(e->coded, s->leader, space->n * sizeof *e->coded);
    for (size_t j = 0; j < s->k; j++) {
        size_t i = s->parameters[j];
        double value = bandit_space_decode_number(space, i, step[j]);
        bool rounds = space->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
        e->coded[i] = rounds ? bandit_space_round_number(space, i, value) : value;
    }
}

/* The context of bandit_quadratic_grid. */
typedef struct lattice {
    const bandit_space *space;
    const bandit_quadratic_sample *sample;
} lattice;

/* Of integers: the features of the two values that a feature is between. */
static void round_integer(const void *context, size_t j, double feature, double *nearest, double *other)
{
    const lattice *l = context;
    size_t i = l->sample->parameters[j];
    const bandit_parameter *p = &l->space->parameters[i];
    *nearest = *other = feature;
    if (p->type != BANDIT_PARAMETER_INTEGER)
        return;
    double value = bandit_space_decode_number(l->space, i, feature), unit = p->step > 0.0 ? p->step : 1.0;
    *nearest = bandit_space_encode_number(l->space, i, value);
    value = fmin(fmax(value + (*nearest < feature ? unit : -unit), p->min), p->max);
    *other = bandit_space_encode_number(l->space, i, value);
}

bandit_status bandit_quadratic_pick(bandit_space_engine *e, const bandit_space_batch *b,
                                    const bandit_select_limits *limits, bool *found, bandit_error *err)
{
    const bandit_space *space = e->base.arms->space;
    const bandit_ledger *rewards = e->base.rewards ? e->base.rewards : &b->ledger;
    bandit_quadratic_sample s;
    *found = false;
    bandit_status status = bandit_quadratic_sample_take(&s, e->base.arms, b->ledger.sums, b->ledger.n,
                                                        rewards->sums, rewards->n, err);
    double *step = bandit_alloc(s.k, sizeof *step);
    if (status == BANDIT_OK && !step)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    const lattice integers = {space, &s};
    const bandit_quadratic_grid grid = {round_integer, &integers};
    bool on_grid = e->base.options.revision >= BANDIT_SINCE_INTEGER_STEPS;
    if (status == BANDIT_OK)
        status = bandit_quadratic_step(s.x, s.values, s.n, s.k, on_grid ? &grid : NULL, step, found, err);
    if (status == BANDIT_OK && *found) {
        set_point(&s, step, e);
        *found = bandit_space_allows(space, e->coded) &&
                 bandit_space_may_be_picked(&e->base, b, limits, e->coded, true, bandit_space_is_silent(e));
    }
    free(step);
    bandit_quadratic_sample_clear(&s);
    return status;
}
