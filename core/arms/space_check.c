/* Validation of a space's parameters: ranges, values, defaults, conditions. */
#include "core/arms/parameter_space.h"

#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bandit_status refuse(bandit_error *err, size_t i, const char *what)
{
    return bandit_fail(err, BANDIT_INVALID_ARMS, "", "parameter %zu: %s", i, what);
}

/* Checks an integer parameter: whole numbers, or numbers in steps. */
static bandit_status check_steps(const bandit_parameter *p, size_t i, bandit_error *err)
{
    if (p->step == 0.0)
        return p->min != trunc(p->min) || p->max != trunc(p->max) || fabs(p->min) > BANDIT_LARGEST_INTEGER ||
                       fabs(p->max) > BANDIT_LARGEST_INTEGER
                   ? refuse(err, i, "min and max must be integers of at most 2^53")
                   : BANDIT_OK;
    double last = lattice_place(p->min, p->step, p->max);
    if (!(p->step > 0.0) || !isfinite(p->step) || !(last < BANDIT_LARGEST_INTEGER) ||
        lattice_value(p->min, p->step, last) != p->max)
        return refuse(err, i, "max must be a whole number of steps from min");
    return BANDIT_OK;
}

static bandit_status check_range(const bandit_parameter *p, size_t i, bandit_error *err)
{
    if (!isfinite(p->min) || !isfinite(p->max) || !isfinite(p->max - p->min))
        return refuse(err, i, "min, max and max - min must be finite");
    if (!(p->min < p->max))
        return refuse(err, i, "max must be greater than min");
    if (p->log && !(p->min > 0.0))
        return refuse(err, i, "min must be greater than 0 on a log scale");
    if (p->rounded && (p->digits < (p->log ? 1 : 0) || p->digits > 15))
        return refuse(err, i, "digits must be from 0 to 15, or from 1 on a log scale");
    return p->type == BANDIT_PARAMETER_INTEGER ? check_steps(p, i, err) : BANDIT_OK;
}

static bandit_status check_words(const bandit_parameter *p, size_t i, bandit_error *err)
{
    bandit_error why = {0};
    bandit_status status = bandit_words_check(p, &why);
    return status == BANDIT_OK ? BANDIT_OK
                               : bandit_fail(err, status, "", "parameter %zu: %s", i, why.message);
}

static const char different[] = "its values must be finite and different";

static bandit_status check_values(const bandit_parameter *p, size_t i, bandit_error *err)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
    case BANDIT_PARAMETER_INTEGER:
        return check_range(p, i, err);
    case BANDIT_PARAMETER_DISCRETE:
        if (p->n_values == 0)
            return refuse(err, i, "must have at least one value");
        for (size_t k = 0; k < p->n_values; k++) {
            if (!isfinite(p->numbers[k]))
                return refuse(err, i, different);
        }
        return BANDIT_OK;
    case BANDIT_PARAMETER_CATEGORICAL:
        if (p->n_values == 0)
            return refuse(err, i, "must have at least one value");
        return check_words(p, i, err);
    case BANDIT_PARAMETER_BOOLEAN:
        return BANDIT_OK;
    }
    return refuse(err, i, "has an unknown type");
}

static bandit_status check_condition(const bandit_parameter *parameters, size_t n, size_t i,
                                     bandit_error *err)
{
    const bandit_parameter *p = &parameters[i];
    if (p->parent == BANDIT_NO_PARENT)
        return BANDIT_OK;
    if (p->parent >= n || (!p->parent_range && parameters[p->parent].type == BANDIT_PARAMETER_DOUBLE))
        return refuse(err, i, "its condition must refer to a parameter that is not of type double");
    if (p->parent_range &&
        (parameters[p->parent].type == BANDIT_PARAMETER_CATEGORICAL ||
         parameters[p->parent].type == BANDIT_PARAMETER_BOOLEAN || !(p->parent_min <= p->parent_max)))
        return refuse(err, i, "its condition must be on a range of numbers");
    if (!p->parent_range && p->n_parent_values == 0)
        return refuse(err, i, "its condition must have at least one value");
    for (size_t k = 0; !p->parent_range && k < p->n_parent_values; k++) {
        if (!bandit_parameter_has_value(&parameters[p->parent], p->parent_values[k]))
            return refuse(err, i, "its condition has a value that the other parameter does not have");
    }
    size_t ancestor = p->parent;
    for (size_t steps = 0; ancestor != BANDIT_NO_PARENT && ancestor < n; steps++) {
        if (steps == n)
            return refuse(err, i, "the conditions form a cycle");
        ancestor = parameters[ancestor].parent;
    }
    return BANDIT_OK;
}

/* Replaces the numbers of a discrete parameter by a sorted copy, *own. */
static bandit_status sort_numbers(bandit_parameter *p, double **own, size_t i, bandit_error *err)
{
    p->numbers = *own = bandit_sorted_values(p->numbers, p->n_values);
    if (!*own)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t k = 1; k < p->n_values; k++) {
        if (p->numbers[k] == p->numbers[k - 1])
            return refuse(err, i, different);
    }
    return BANDIT_OK;
}

/* Checks all parameters. The numbers of discrete ones are replaced by sorted copies, which `sorted` holds. */
static bandit_status check_all(bandit_parameter *parameters, size_t n, double **sorted, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; i < n; i++) {
        bandit_parameter *p = &parameters[i];
        status = check_values(p, i, err);
        if (status == BANDIT_OK && p->type == BANDIT_PARAMETER_DISCRETE)
            status = sort_numbers(p, &sorted[i], i, err);
        if (status != BANDIT_OK)
            return status;
        if (p->has_default && !bandit_parameter_has_value(p, p->default_value))
            return refuse(err, i, "its default is not one of its values");
    }
    for (size_t i = 0; i < n && status == BANDIT_OK; i++)
        status = check_condition(parameters, n, i, err);
    return status;
}

bandit_status bandit_space_check(const bandit_parameter *parameters, size_t n, bandit_error *err)
{
    if (n == 0)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "a space must have at least one parameter");
    bandit_parameter *own = bandit_alloc(n, sizeof *own);
    double **sorted = bandit_alloc_zeroed(n, sizeof *sorted);
    bandit_status status;
    if (own && sorted) {
        memcpy(own, parameters, n * sizeof *own);
        status = check_all(own, n, sorted, err);
    } else {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; sorted && i < n; i++)
        free(sorted[i]);
    free(sorted);
    free(own);
    return status;
}
