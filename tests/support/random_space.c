#include "tests/support/random_space.h"

#include "tests/support/dense_gp.h"

#include <math.h>

size_t random_space_below(random_space *s, size_t n)
{
    return (size_t)(dense_uniform(&s->state) * (double)n);
}

static double random_value(random_space *s, const bandit_parameter *p)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
        return p->log ? p->min * pow(p->max / p->min, 0.001 + 0.998 * dense_uniform(&s->state))
                      : p->min + dense_uniform(&s->state) * (p->max - p->min);
    case BANDIT_PARAMETER_INTEGER:
        return p->min + (double)random_space_below(s, (size_t)(p->max - p->min) + 1);
    case BANDIT_PARAMETER_DISCRETE:
        return p->numbers[random_space_below(s, p->n_values)];
    case BANDIT_PARAMETER_CATEGORICAL:
        return (double)random_space_below(s, p->n_values);
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    }
    return (double)random_space_below(s, 2);
}

static void random_type(random_space *s, size_t i, bool small)
{
    bandit_parameter *p = &s->parameters[i];
    *p = (bandit_parameter){.parent = BANDIT_NO_PARENT};
    p->type = small ? (bandit_parameter_type)(1 + random_space_below(s, 4))
                    : (bandit_parameter_type)random_space_below(s, 5);
    p->log = random_space_below(s, 2) == 1;
    p->min = p->log ? 1.0 + (double)random_space_below(s, 4) : (double)random_space_below(s, 9) - 4.0;
    p->max = p->min + 1.0 + (double)random_space_below(s, small ? 3 : 300);
    if (p->type == BANDIT_PARAMETER_DOUBLE && p->log)
        p->min *= 1e-4;
    if (p->type == BANDIT_PARAMETER_DISCRETE || p->type == BANDIT_PARAMETER_CATEGORICAL) {
        p->n_values = 1 + random_space_below(s, small ? 3 : RANDOM_SPACE_VALUES);
        for (size_t k = 0; k < p->n_values; k++) /* different, and in no order */
            s->numbers[i][k] = (double)((7 * k + i) % 5) * 2.5 - 3.0;
        p->numbers = s->numbers[i];
    }
}

/* On one of the parameters that may have children, earlier or later in the list; never a cycle: parents are
 * taken from lower numbers of a hidden order, here i * 5 mod n. */
static void random_condition(random_space *s, size_t i)
{
    size_t parent = random_space_below(s, s->n);
    bandit_parameter *p = &s->parameters[i], *q = &s->parameters[parent];
    bool before = s->n % 5 == 0 ? parent < i : parent * 5 % s->n < i * 5 % s->n;
    if (!before || q->type == BANDIT_PARAMETER_DOUBLE || random_space_below(s, 3) == 0)
        return;
    p->parent = parent;
    size_t wanted = 1 + random_space_below(s, 3);
    for (size_t k = 0; k < wanted; k++) {
        double value = random_value(s, q);
        bool known = false;
        for (size_t e = 0; e < p->n_parent_values; e++)
            known |= s->conditions[i][e] == value;
        if (!known)
            s->conditions[i][p->n_parent_values++] = value;
    }
    p->parent_values = s->conditions[i];
}

void random_space_init(random_space *s, uint64_t seed, size_t n, bool small)
{
    *s = (random_space){.state = seed, .n = n};
    for (size_t i = 0; i < n; i++)
        random_type(s, i, small);
    for (size_t i = 0; i < n; i++)
        random_condition(s, i);
}

void random_space_make_numeric(random_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        bandit_parameter *p = &s->parameters[i];
        p->type = random_space_below(s, 3) ? BANDIT_PARAMETER_DOUBLE : BANDIT_PARAMETER_INTEGER;
        p->min = p->log ? fmax(1.0, ceil(p->min)) : p->min;
        p->parent = BANDIT_NO_PARENT;
        p->n_parent_values = 0;
    }
}

bool random_space_is_active(const random_space *s, const double *coded, size_t i)
{
    const bandit_parameter *p = &s->parameters[i];
    if (p->parent == BANDIT_NO_PARENT)
        return true;
    bool holds = false;
    for (size_t k = 0; k < p->n_parent_values; k++)
        holds |= p->parent_values[k] == coded[p->parent];
    return holds && random_space_is_active(s, coded, p->parent);
}

static void set_value(random_space *s, double *coded, size_t i)
{
    if (s->parameters[i].parent != BANDIT_NO_PARENT)
        set_value(s, coded, s->parameters[i].parent);
    if (isinf(coded[i]))
        coded[i] = random_space_is_active(s, coded, i) ? random_value(s, &s->parameters[i]) : (double)NAN;
}

void random_space_point(random_space *s, double *coded)
{
    for (size_t i = 0; i < s->n; i++)
        coded[i] = INFINITY; /* not set yet */
    for (size_t i = 0; i < s->n; i++)
        set_value(s, coded, i);
}
