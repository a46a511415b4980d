#include "proto/conditions.h"

#include "bandit/lattice.h"

#include <math.h>
#include <stdio.h>

static double smallest(const wire_parameter *p)
{
    return p->type == WIRE_PARAMETER_DISCRETE ? p->numbers[p->order[0]] : p->min;
}

static double largest(const wire_parameter *p)
{
    return p->type == WIRE_PARAMETER_DISCRETE ? p->numbers[p->order[p->n_values - 1]] : p->max;
}

/* The smallest value, not below `min`, of a parameter with numbers. `min` is not above its range. */
static double first_from(const wire_parameter *p, double min)
{
    if (p->type == WIRE_PARAMETER_DISCRETE) {
        size_t i = 0;
        while (p->numbers[p->order[i]] < min)
            i++;
        return p->numbers[p->order[i]];
    }
    if (p->step > 0.0) {
        double k = fmax(0.0, lattice_place(p->min, p->step, min)), value = lattice_value(p->min, p->step, k);
        bool above = value >= min;
        k += above ? 0.0 : 1.0;
        return k > lattice_last(p->min, p->max, p->step) ? (double)INFINITY
                                                         : lattice_value(p->min, p->step, k);
    }
    double from = fmax(min, p->min);
    return p->type == WIRE_PARAMETER_INTEGER ? ceil(from) : from;
}

/* Checks one bound; one that is not given is infinite. */
static bool check_bound(const wire_parameter *other, size_t i, const char *name, double bound,
                        wire_errors *errors)
{
    char pointer[64];
    if (isinf(bound) || (bound >= smallest(other) && bound <= largest(other)))
        return true;
    snprintf(pointer, sizeof pointer, "/domain/parameters/%zu/active_when/%s", i, name);
    wire_errors_add(errors, pointer, "must be in the range of \"%.100s\", from %.17g to %.17g", other->name,
                    smallest(other), largest(other));
    return false;
}

bool wire_check_conditions(const wire_study *study, wire_errors *errors)
{
    bool fine = true;
    for (size_t i = 0; i < study->n_parameters; i++) {
        const wire_parameter *p = &study->parameters[i];
        if (p->parent == WIRE_NO_PARENT || p->parent_values)
            continue;
        const wire_parameter *other = &study->parameters[p->parent];
        bool in_range = check_bound(other, i, "min", p->parent_min, errors);
        in_range &= check_bound(other, i, "max", p->parent_max, errors);
        if (in_range && first_from(other, p->parent_min) > p->parent_max) {
            char pointer[64];
            snprintf(pointer, sizeof pointer, "/domain/parameters/%zu/active_when", i);
            wire_errors_add(errors, pointer, "has no value of \"%.100s\" between min and max", other->name);
            in_range = false;
        }
        fine &= in_range;
    }
    return fine;
}
