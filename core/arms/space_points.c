/* Points of a space: active parameters, values and their numbers, features, and enumeration. */
#include "core/arms/parameter_space.h"

#include <assert.h>
#include <math.h>

/* ---- values -------------------------------------------------------------------------------------------- */

bool bandit_parameter_has_value(const bandit_parameter *p, double value)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
        return value >= p->min && value <= p->max;
    case BANDIT_PARAMETER_INTEGER:
        if (p->step > 0.0 && value != lattice_value(p->min, p->step, lattice_place(p->min, p->step, value)))
            return false;
        return value >= p->min && value <= p->max && (p->step > 0.0 || value == trunc(value));
    case BANDIT_PARAMETER_DISCRETE:
        return bandit_is_one_of(value, p->numbers, p->n_values);
    case BANDIT_PARAMETER_CATEGORICAL:
        return value >= 0.0 && value < (double)p->n_values && value == trunc(value);
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    }
    return value == 0.0 || value == 1.0;
}

bool bandit_space_is_active(const bandit_space *s, const double *coded, size_t i)
{
    for (; s->parameters[i].parent != BANDIT_NO_PARENT; i = s->parameters[i].parent) {
        if (!bandit_condition_holds(&s->parameters[i], coded[s->parameters[i].parent]))
            return false;
    }
    return true;
}

bool bandit_space_is_value(const bandit_space *s, size_t i, double value)
{
    return bandit_parameter_has_value(&s->parameters[i], value);
}

bandit_status bandit_space_check_point(const bandit_space *s, const double *coded, bandit_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        bool active = bandit_space_is_active(s, coded, i);
        if (active && !bandit_parameter_has_value(&s->parameters[i], coded[i]))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                               "parameter %zu: its value is missing or not allowed", i);
        if (!active && !isnan(coded[i]))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                               "parameter %zu: has a value, but the other values make it inactive", i);
    }
    return BANDIT_OK;
}

/* ---- values by number, and features -------------------------------------------------------------------- */

uint64_t bandit_space_values(const bandit_parameter *p)
{
    assert(p->type != BANDIT_PARAMETER_DOUBLE);
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE: /* callers exclude it */
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    case BANDIT_PARAMETER_INTEGER:
        return (uint64_t)(p->step > 0.0 ? lattice_place(p->min, p->step, p->max) : p->max - p->min) + 1;
    case BANDIT_PARAMETER_DISCRETE:
    case BANDIT_PARAMETER_CATEGORICAL:
        return p->n_values;
    }
    return 2;
}

bool bandit_is_nearly_continuous(const bandit_parameter *p)
{
    const double many = 100.0;
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
        return true;
    case BANDIT_PARAMETER_INTEGER:
        return 1.0 + (p->max - p->min) / (p->step > 0.0 ? p->step : 1.0) > many;
    case BANDIT_PARAMETER_DISCRETE:
        return (double)p->n_values > many;
    case BANDIT_PARAMETER_CATEGORICAL:
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    }
    return false; /* it has no neighbours */
}

double bandit_space_value(const bandit_space *s, size_t i, uint64_t k)
{
    const bandit_parameter *p = &s->parameters[i];
    assert(p->type != BANDIT_PARAMETER_DOUBLE && k < bandit_space_values(p));
    if (p->type == BANDIT_PARAMETER_INTEGER)
        return p->step > 0.0 ? lattice_value(p->min, p->step, (double)k) : p->min + (double)k;
    return p->type == BANDIT_PARAMETER_DISCRETE ? p->numbers[k] : (double)k;
}

uint64_t bandit_space_rank(const bandit_space *s, size_t i, double value)
{
    const bandit_parameter *p = &s->parameters[i];
    if (p->type == BANDIT_PARAMETER_INTEGER)
        return (uint64_t)(p->step > 0.0 ? lattice_place(p->min, p->step, value) : value - p->min);
    if (p->type != BANDIT_PARAMETER_DISCRETE)
        return (uint64_t)value;
    return bandit_values_below(value, p->numbers, p->n_values - 1);
}

double bandit_space_encode_number(const bandit_space *s, size_t i, double value)
{
    const bandit_parameter *p = &s->parameters[i];
    double u = ((p->log ? log(value) : value) - s->places[i].low) / s->places[i].width;
    return fmin(1.0, fmax(0.0, u));
}

double bandit_space_decode_number(const bandit_space *s, size_t i, double u)
{
    const bandit_parameter *p = &s->parameters[i];
    if (!(u > 0.0))
        return p->min;
    if (u >= 1.0)
        return p->max;
    double value = s->places[i].low + s->places[i].width * u;
    if (p->log)
        value = exp(value);
    if (p->type == BANDIT_PARAMETER_INTEGER)
        value = p->step > 0.0 ? lattice_value(p->min, p->step, lattice_place(p->min, p->step, value))
                              : round(value);
    return fmin(p->max, fmax(p->min, value)) + 0.0; /* adding 0 turns −0 into 0 */
}

double bandit_space_round_number(const bandit_space *s, size_t i, double value)
{
    const bandit_parameter *p = &s->parameters[i];
    double width = p->log ? fabs(value) * s->places[i].width : s->places[i].width;
    if (p->rounded)
        return lattice_round_digits(value, p->digits, p->log, p->min, p->max);
    double rounded = lattice_round_to(value, floor(log10(width)) - 12.0);
    return fmin(p->max, fmax(p->min, rounded)) + 0.0;
}

void bandit_space_encode_parameter(const bandit_space *s, size_t i, double value, double *features)
{
    const double root_half = 0.70710678118654752440;
    const bandit_parameter *p = &s->parameters[i];
    const bandit_place *place = &s->places[i];
    double *out = features + place->first;
    bool active = !isnan(value);
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
    case BANDIT_PARAMETER_INTEGER:
        out[0] = active ? bandit_space_encode_number(s, i, value) : 0.5;
        break;
    case BANDIT_PARAMETER_DISCRETE:
        out[0] = !active || p->n_values == 1
                     ? 0.5
                     : (double)bandit_space_rank(s, i, value) / (double)(p->n_values - 1);
        break;
    case BANDIT_PARAMETER_BOOLEAN:
        out[0] = active ? value : 0.5;
        break;
    case BANDIT_PARAMETER_CATEGORICAL:
        bandit_words_encode(&place->words, value, out);
        break;
    }
    if (place->activity != SIZE_MAX)
        features[place->activity] = active ? root_half : 0.0;
}

void bandit_space_encode(const bandit_space *s, const double *coded, double *features)
{
    for (size_t i = 0; i < s->n; i++)
        bandit_space_encode_parameter(s, i, coded[i], features);
}

/* ---- one point after the other ------------------------------------------------------------------------- */

/* Sets the parameters from order[from] on to their first values, given those of the earlier ones. */
static void first_values(const bandit_space *s, size_t from, double *coded)
{
    for (size_t at = from; at < s->n; at++) {
        size_t i = s->order[at];
        coded[i] = bandit_space_is_active(s, coded, i) ? bandit_space_value(s, i, 0) : (double)NAN;
    }
}

void bandit_space_first_point(const bandit_space *s, double *coded)
{
    first_values(s, 0, coded);
}

bool bandit_space_next_point(const bandit_space *s, double *coded)
{
    for (size_t at = s->n; at-- > 0;) {
        size_t i = s->order[at];
        if (isnan(coded[i]))
            continue;
        uint64_t k = bandit_space_rank(s, i, coded[i]) + 1;
        if (k < bandit_space_values(&s->parameters[i])) {
            coded[i] = bandit_space_value(s, i, k);
            first_values(s, at + 1, coded);
            return true;
        }
    }
    return false;
}
