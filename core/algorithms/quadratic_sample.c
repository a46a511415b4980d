#include "core/algorithms/quadratic_sample.h"

#include "core/arms/arms_storage.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>

static bool is_number(const bandit_parameter *p)
{
    return p->type == BANDIT_PARAMETER_DOUBLE ||
           (p->type == BANDIT_PARAMETER_INTEGER && p->max - p->min >= 3.0);
}

/* The mean reward of an arm; NaN: it has none. */
static double reward_of(const bandit_arm_sum *rewards, size_t n, uint32_t arm)
{
    const bandit_arm_sum *sum = bandit_sum_of(rewards, n, arm);
    return sum ? sum->sum / (double)sum->count : (double)NAN;
}

/* Sets the arms with rewards, their values and the leader; then the variables, of which there are none without a leader. */
static void find_leader(bandit_quadratic_sample *s, const bandit_arms *arms, const bandit_arm_sum *counted,
                        size_t n, const bandit_arm_sum *rewards, size_t n_rewards)
{
    const bandit_space *space = arms->space;
    double best = -INFINITY;
    for (size_t i = 0; i < n && !bandit_pause(); i++) {
        double reward = reward_of(rewards, n_rewards, counted[i].arm);
        if (isfinite(reward)) {
            s->arms[s->n] = counted[i].arm;
            s->values[s->n++] = reward;
        }
        if (!(reward > best))
            continue;
        best = reward;
        bandit_arms_coded(arms, counted[i].arm, s->leader);
    }
    for (size_t i = 0; i < space->n && best > -INFINITY; i++) {
        if (is_number(&space->parameters[i]) && !isnan(s->leader[i]))
            s->parameters[s->k++] = i;
    }
}

/* Whether the coded point has the leader's values in all but the variables, which are active at both. */
static bool agrees(const bandit_quadratic_sample *s, const bandit_space *space)
{
    bool same = true;
    for (size_t i = 0; i < space->n && same; i++)
        same = isnan(s->coded[i]) == isnan(s->leader[i]) &&
               (isnan(s->coded[i]) || is_number(&space->parameters[i]) || s->coded[i] == s->leader[i]);
    return same;
}

/* Keeps the results that agree, and sets their features. */
static void keep_those_that_agree(bandit_quadratic_sample *s, const bandit_arms *arms)
{
    size_t n = s->n;
    s->n = 0;
    for (size_t i = 0; i < n && !bandit_pause(); i++) {
        bandit_arms_coded(arms, s->arms[i], s->coded);
        if (!agrees(s, arms->space))
            continue;
        for (size_t j = 0; j < s->k; j++)
            s->x[s->n * s->k + j] =
                bandit_space_encode_number(arms->space, s->parameters[j], s->coded[s->parameters[j]]);
        s->arms[s->n] = s->arms[i];
        s->values[s->n++] = s->values[i];
    }
}

bandit_status bandit_quadratic_sample_take(bandit_quadratic_sample *s, const bandit_arms *arms,
                                           const bandit_arm_sum *counted, size_t n,
                                           const bandit_arm_sum *rewards, size_t n_rewards, bandit_error *err)
{
    size_t numbers = arms->space->n;
    *s = (bandit_quadratic_sample){0};
    s->arms = bandit_alloc(n, sizeof *s->arms);
    s->parameters = bandit_alloc(numbers, sizeof *s->parameters);
    s->leader = bandit_alloc(n * (numbers + 1) + 2 * numbers, sizeof *s->leader);
    if (!s->arms || !s->parameters || !s->leader)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    s->coded = s->leader + numbers;
    s->values = s->coded + numbers;
    s->x = s->values + n;
    find_leader(s, arms, counted, n, rewards, n_rewards);
    if (s->k == 0)
        s->n = 0;
    keep_those_that_agree(s, arms);
    return bandit_pause_status(err);
}

void bandit_quadratic_sample_clear(bandit_quadratic_sample *s)
{
    free(s->arms);
    free(s->parameters);
    free(s->leader);
    *s = (bandit_quadratic_sample){0};
}
