#include "core/algorithms/quadratic_pick.h"

#include "core/algorithms/space_objective.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/learning/quadratic_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The results that the function is fitted to. */
typedef struct sample {
    size_t *parameters; /* k: the numbers */
    size_t n, k;
    double *x, *values; /* n x k features, row-major; n rewards */
    double *leader;     /* coded: the best result */
    double *step;       /* k */
} sample;

static bool is_number(const bandit_parameter *p)
{
    return p->type == BANDIT_PARAMETER_DOUBLE ||
           (p->type == BANDIT_PARAMETER_INTEGER && p->max - p->min >= 3.0);
}

/* The mean reward of an arm as reported; NaN: it has none. */
static double reward_of(const bandit_ledger *rewards, uint32_t arm)
{
    const bandit_arm_sum *sum = bandit_sum_of(rewards->sums, rewards->n, arm);
    return sum ? sum->sum / (double)sum->count : (double)NAN;
}

/* Sets the leader and the parameters; none if there is no leader. */
static void find_leader(sample *s, const bandit_space_engine *e, const bandit_space_batch *b,
                        const bandit_ledger *rewards)
{
    const bandit_space *space = e->base.arms->space;
    double best = -INFINITY;
    s->k = 0;
    for (size_t i = 0; i < b->ledger.n && !bandit_pause(); i++) {
        uint32_t arm = b->ledger.sums[i].arm;
        double reward = reward_of(rewards, arm);
        if (!(reward > best))
            continue;
        best = reward;
        bandit_arms_coded(e->base.arms, arm, s->leader);
    }
    for (size_t i = 0; i < space->n && best > -INFINITY; i++) {
        if (is_number(&space->parameters[i]) && !isnan(s->leader[i]))
            s->parameters[s->k++] = i;
    }
}

/* Whether a point has the leader's values in all but the numbers of the function, which are active at both. */
static bool agrees(const sample *s, const bandit_space *space, const double *coded)
{
    bool same = true;
    for (size_t i = 0; i < space->n && same; i++)
        same = isnan(coded[i]) == isnan(s->leader[i]) &&
               (isnan(coded[i]) || is_number(&space->parameters[i]) || coded[i] == s->leader[i]);
    return same;
}

/* Overwrites e->coded. */
static void take_results(sample *s, bandit_space_engine *e, const bandit_space_batch *b,
                         const bandit_ledger *rewards)
{
    const bandit_space *space = e->base.arms->space;
    s->n = 0;
    for (size_t i = 0; i < b->ledger.n && !bandit_pause(); i++) {
        uint32_t arm = b->ledger.sums[i].arm;
        double reward = reward_of(rewards, arm);
        bandit_arms_coded(e->base.arms, arm, e->coded);
        if (!isfinite(reward) || !agrees(s, space, e->coded))
            continue;
        for (size_t j = 0; j < s->k; j++)
            s->x[s->n * s->k + j] =
                bandit_space_encode_number(space, s->parameters[j], e->coded[s->parameters[j]]);
        s->values[s->n++] = reward;
    }
}

/* Sets e->coded to the point of the step. */
static void set_point(const sample *s, bandit_space_engine *e)
{
    const bandit_space *space = e->base.arms->space;
    memcpy(e->coded, s->leader, space->n * sizeof *e->coded);
    for (size_t j = 0; j < s->k; j++) {
        size_t i = s->parameters[j];
        double value = bandit_space_decode_number(space, i, s->step[j]);
        bool rounds = space->parameters[i].type == BANDIT_PARAMETER_DOUBLE;
        e->coded[i] = rounds ? bandit_space_round_number(space, i, value) : value;
    }
}

bandit_status bandit_quadratic_pick(bandit_space_engine *e, const bandit_space_batch *b,
                                    const bandit_select_limits *limits, bool *found, bandit_error *err)
{
    const bandit_space *space = e->base.arms->space;
    const bandit_ledger *rewards = e->base.rewards ? e->base.rewards : &b->ledger;
    size_t n = b->ledger.n, numbers = space->n;
    bandit_status status = BANDIT_OK;
    *found = false;
    sample s = {.parameters = bandit_alloc(numbers, sizeof *s.parameters)};
    double *memory = bandit_alloc(n * (numbers + 1) + 2 * numbers, sizeof *memory);
    if (!s.parameters || !memory) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    s.leader = memory;
    s.step = memory + numbers;
    s.values = s.step + numbers;
    s.x = s.values + n;
    find_leader(&s, e, b, rewards);
    if (s.k > 0)
        take_results(&s, e, b, rewards);
    status = bandit_quadratic_step(s.x, s.values, s.n, s.k, s.step, found, err);
    if (status != BANDIT_OK || !*found)
        goto out;
    set_point(&s, e);
    *found = bandit_space_allows(space, e->coded) &&
             bandit_space_may_be_picked(&e->base, b, limits, e->coded, true, bandit_space_is_silent(e));
out:
    free(s.parameters);
    free(memory);
    return status;
}
