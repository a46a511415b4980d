#include "space.h"

#include "memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LARGEST_INTEGER = 9007199254740992.0; /* 2^53 */

/* ---- checking ------------------------------------------------------------------------------------------ */

static bandit_status refuse(bandit_error *err, size_t i, const char *what)
{
    return bandit_fail(err, BANDIT_INVALID_ARMS, "", "parameter %zu: %s", i, what);
}

static bandit_status check_range(const bandit_parameter *p, size_t i, bandit_error *err)
{
    if (!isfinite(p->min) || !isfinite(p->max) || !isfinite(p->max - p->min))
        return refuse(err, i, "min and max must be finite, and so must their distance");
    if (!(p->min < p->max))
        return refuse(err, i, "max must be greater than min");
    if (p->log && !(p->min > 0.0))
        return refuse(err, i, "min must be greater than 0 on a log scale");
    if (p->type == BANDIT_PARAMETER_INTEGER &&
        (p->min != trunc(p->min) || p->max != trunc(p->max) || fabs(p->min) > LARGEST_INTEGER ||
         fabs(p->max) > LARGEST_INTEGER))
        return refuse(err, i, "min and max must be whole numbers of at most 2^53");
    return BANDIT_OK;
}

static bool is_among(double value, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] == value)
            return true;
    }
    return false;
}

/* Is it a value of the parameter? */
static bool is_value(const bandit_parameter *p, double value)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
        return value >= p->min && value <= p->max;
    case BANDIT_PARAMETER_INTEGER:
        return value >= p->min && value <= p->max && value == trunc(value);
    case BANDIT_PARAMETER_DISCRETE:
        return is_among(value, p->numbers, p->n_values);
    case BANDIT_PARAMETER_CATEGORICAL:
        return value >= 0.0 && value < (double)p->n_values && value == trunc(value);
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    }
    return value == 0.0 || value == 1.0;
}

static bandit_status check_values(const bandit_parameter *p, size_t i, bandit_error *err)
{
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE:
    case BANDIT_PARAMETER_INTEGER:
        return check_range(p, i, err);
    case BANDIT_PARAMETER_DISCRETE:
        if (p->n_values == 0)
            return refuse(err, i, "must have a value");
        for (size_t k = 0; k < p->n_values; k++) {
            if (!isfinite(p->numbers[k]) || is_among(p->numbers[k], p->numbers, k))
                return refuse(err, i, "values must be finite and different");
        }
        return BANDIT_OK;
    case BANDIT_PARAMETER_CATEGORICAL:
        if (p->n_values == 0)
            return refuse(err, i, "must have a value");
        return BANDIT_OK;
    case BANDIT_PARAMETER_BOOLEAN:
        return BANDIT_OK;
    }
    return refuse(err, i, "is of no known type");
}

static bandit_status check_condition(const bandit_parameter *parameters, size_t n, size_t i,
                                     bandit_error *err)
{
    const bandit_parameter *p = &parameters[i];
    if (p->parent == BANDIT_NO_PARENT)
        return BANDIT_OK;
    if (p->parent >= n || parameters[p->parent].type == BANDIT_PARAMETER_DOUBLE)
        return refuse(err, i, "its condition must be on a parameter that is not of type double");
    if (p->n_parent_values == 0)
        return refuse(err, i, "its condition must have a value");
    for (size_t k = 0; k < p->n_parent_values; k++) {
        if (!is_value(&parameters[p->parent], p->parent_values[k]))
            return refuse(err, i, "its condition is on what is no value of the other parameter");
    }
    size_t ancestor = p->parent;
    for (size_t steps = 0; ancestor != BANDIT_NO_PARENT && ancestor < n; steps++) {
        if (steps == n)
            return refuse(err, i, "the conditions form a cycle");
        ancestor = parameters[ancestor].parent;
    }
    return BANDIT_OK;
}

bandit_status bandit_space_check(const bandit_parameter *parameters, size_t n, bandit_error *err)
{
    if (n == 0)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "a space must have a parameter");
    for (size_t i = 0; i < n; i++) {
        bandit_status status = check_values(&parameters[i], i, err);
        if (status != BANDIT_OK)
            return status;
        if (parameters[i].has_default && !is_value(&parameters[i], parameters[i].default_value))
            return refuse(err, i, "its default is none of its values");
    }
    for (size_t i = 0; i < n; i++) {
        bandit_status status = check_condition(parameters, n, i, err);
        if (status != BANDIT_OK)
            return status;
    }
    return BANDIT_OK;
}

/* ---- layout -------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *copy_sorted(const double *values, size_t n)
{
    double *copy = bandit_alloc(n, sizeof *copy);
    if (!copy)
        return NULL;
    if (n > 0)
        memcpy(copy, values, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, compare_doubles);
    return copy;
}

static bool same_condition(const bandit_parameter *a, const bandit_parameter *b)
{
    return a->parent == b->parent && a->n_parent_values == b->n_parent_values &&
           memcmp(a->parent_values, b->parent_values, a->n_parent_values * sizeof(double)) == 0;
}

/* Copies what the parameters borrow. parent_values become ascending. */
static bool copy_parameters(bandit_space *s, const bandit_parameter *parameters)
{
    for (size_t i = 0; i < s->n; i++) {
        bandit_parameter *p = &s->parameters[i];
        *p = parameters[i];
        p->numbers = p->parent_values = NULL;
        if (p->type == BANDIT_PARAMETER_DISCRETE) {
            s->places[i].sorted = copy_sorted(parameters[i].numbers, p->n_values);
            if (!s->places[i].sorted)
                return false;
            p->numbers = s->places[i].sorted;
        }
        if (p->parent != BANDIT_NO_PARENT) {
            s->places[i].condition = copy_sorted(parameters[i].parent_values, p->n_parent_values);
            if (!s->places[i].condition)
                return false;
            p->parent_values = s->places[i].condition;
        }
    }
    return true;
}

static void order_parameters(bandit_space *s)
{
    size_t n = 0;
    /* by depth: 0 for those that are always active */
    for (size_t depth = 0; n < s->n; depth++) {
        for (size_t i = 0; i < s->n; i++) {
            size_t own = 0;
            for (size_t a = s->parameters[i].parent; a != BANDIT_NO_PARENT; a = s->parameters[a].parent)
                own++;
            if (own == depth)
                s->order[n++] = i;
        }
    }
}

static void place_parameter(bandit_space *s, size_t i)
{
    const bandit_parameter *p = &s->parameters[i];
    bandit_place *place = &s->places[i];
    place->first = s->dimension;
    place->n = p->type == BANDIT_PARAMETER_CATEGORICAL ? p->n_values : 1;
    s->dimension += place->n;
    if (p->type == BANDIT_PARAMETER_DOUBLE || p->type == BANDIT_PARAMETER_INTEGER) {
        place->low = p->log ? log(p->min) : p->min;
        place->width = (p->log ? log(p->max) : p->max) - place->low;
    }
}

/* One activity for all parameters with the same condition. */
static void place_activity(bandit_space *s, size_t i)
{
    s->places[i].activity = SIZE_MAX;
    if (s->parameters[i].parent == BANDIT_NO_PARENT)
        return;
    for (size_t k = 0; k < i; k++) {
        if (same_condition(&s->parameters[k], &s->parameters[i])) {
            s->places[i].activity = s->places[k].activity;
            return;
        }
    }
    s->places[i].activity = s->dimension++;
}

/* ---- size ---------------------------------------------------------------------------------------------- */

static bool condition_holds(const bandit_parameter *p, double parent_value)
{
    return is_among(parent_value, p->parent_values, p->n_parent_values);
}

static size_t capped_product(size_t a, size_t b)
{
    return a > 0 && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}

static size_t capped_sum(size_t a, size_t b)
{
    return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

/* Has a child of parameter i before the k-th value of child c's condition made `value` counted? */
static bool is_counted(const bandit_space *s, size_t i, size_t c, size_t k)
{
    const double *values = s->parameters[c].parent_values;
    assert(values); /* c is a child */
    bool counted = is_among(values[k], values, k);
    for (size_t e = 0; e < c && !counted; e++)
        counted = s->parameters[e].parent == i && condition_holds(&s->parameters[e], values[k]);
    return counted;
}

/* Points of the subtree of parameter i, its children's being known: over its values, the products of what
 * each makes active. Values that no condition is on are counted at once. */
static size_t subtree_size(const bandit_space *s, size_t i)
{
    if (s->parameters[i].type == BANDIT_PARAMETER_DOUBLE)
        return SIZE_MAX;
    uint64_t rest = bandit_space_values(&s->parameters[i]);
    size_t total = 0;
    for (size_t c = 0; c < s->n; c++) {
        for (size_t k = 0; s->parameters[c].parent == i && k < s->parameters[c].n_parent_values; k++) {
            if (is_counted(s, i, c, k))
                continue;
            double value = s->parameters[c].parent_values[k];
            size_t below = 1;
            for (size_t child = 0; child < s->n; child++) {
                if (s->parameters[child].parent == i && condition_holds(&s->parameters[child], value))
                    below = capped_product(below, s->places[child].subtree);
            }
            total = capped_sum(total, below);
            rest--;
        }
    }
    return capped_sum(total, rest < SIZE_MAX ? (size_t)rest : SIZE_MAX);
}

static void count_points(bandit_space *s)
{
    s->size = 1;
    for (size_t at = s->n; at-- > 0;) {
        size_t i = s->order[at];
        s->places[i].subtree = subtree_size(s, i);
        if (s->parameters[i].parent == BANDIT_NO_PARENT)
            s->size = capped_product(s->size, s->places[i].subtree);
    }
}

/* ---- life --------------------------------------------------------------------------------------------- */

bandit_status bandit_space_new(bandit_space **out, const bandit_parameter *parameters, size_t n,
                               bandit_error *err)
{
    *out = NULL;
    bandit_status status = bandit_space_check(parameters, n, err);
    if (status != BANDIT_OK)
        return status;
    bandit_space *s = calloc(1, sizeof *s);
    if (s) {
        s->n = n;
        s->parameters = bandit_alloc_zeroed(n, sizeof *s->parameters);
        s->places = bandit_alloc_zeroed(n, sizeof *s->places);
        s->order = bandit_alloc(n, sizeof *s->order);
    }
    if (!s || !s->parameters || !s->places || !s->order || !copy_parameters(s, parameters))
        goto no_memory;
    order_parameters(s);
    for (size_t i = 0; i < n; i++)
        place_parameter(s, i);
    for (size_t i = 0; i < n; i++) {
        place_activity(s, i);
        if (s->parameters[i].parent != BANDIT_NO_PARENT)
            s->places[s->parameters[i].parent].has_children = true;
    }
    s->owner = bandit_alloc(s->dimension, sizeof *s->owner);
    if (!s->owner)
        goto no_memory;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < s->places[i].n; j++)
            s->owner[s->places[i].first + j] = i;
        if (s->places[i].activity != SIZE_MAX)
            s->owner[s->places[i].activity] = s->parameters[i].parent;
    }
    count_points(s);
    *out = s;
    return BANDIT_OK;
no_memory:
    bandit_space_free(s);
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

void bandit_space_free(bandit_space *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->places && i < s->n; i++) {
        free(s->places[i].sorted);
        free(s->places[i].condition);
    }
    free(s->parameters);
    free(s->places);
    free(s->order);
    free(s->owner);
    free(s->coded);
    free(s->table);
    free(s);
}

size_t bandit_space_memory(const bandit_space *s)
{
    return sizeof *s + s->n * (sizeof *s->parameters + sizeof *s->places + sizeof *s->order) +
           s->dimension * sizeof *s->owner + s->capacity_coded * sizeof *s->coded +
           s->n_table * sizeof *s->table;
}

/* ---- points -------------------------------------------------------------------------------------------- */

bool bandit_space_is_active(const bandit_space *s, const double *coded, size_t i)
{
    for (; s->parameters[i].parent != BANDIT_NO_PARENT; i = s->parameters[i].parent) {
        if (!condition_holds(&s->parameters[i], coded[s->parameters[i].parent]))
            return false;
    }
    return true;
}

bool bandit_space_is_value(const bandit_space *s, size_t i, double value)
{
    return is_value(&s->parameters[i], value);
}

bandit_status bandit_space_check_point(const bandit_space *s, const double *coded, bandit_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        bool active = bandit_space_is_active(s, coded, i);
        if (active && !is_value(&s->parameters[i], coded[i]))
            return refuse(err, i, "has no value, or one that is not its own");
        if (!active && !isnan(coded[i]))
            return refuse(err, i, "has a value, but is not active with the other parameters' values");
    }
    return BANDIT_OK;
}

uint64_t bandit_space_values(const bandit_parameter *p)
{
    assert(p->type != BANDIT_PARAMETER_DOUBLE);
    switch (p->type) {
    case BANDIT_PARAMETER_DOUBLE: /* not asked for */
    case BANDIT_PARAMETER_BOOLEAN:
        break;
    case BANDIT_PARAMETER_INTEGER:
        return (uint64_t)(p->max - p->min) + 1;
    case BANDIT_PARAMETER_DISCRETE:
    case BANDIT_PARAMETER_CATEGORICAL:
        return p->n_values;
    }
    return 2;
}

double bandit_space_value(const bandit_space *s, size_t i, uint64_t k)
{
    const bandit_parameter *p = &s->parameters[i];
    assert(p->type != BANDIT_PARAMETER_DOUBLE && k < bandit_space_values(p));
    if (p->type == BANDIT_PARAMETER_INTEGER)
        return p->min + (double)k;
    return p->type == BANDIT_PARAMETER_DISCRETE ? p->numbers[k] : (double)k;
}

uint64_t bandit_space_rank(const bandit_space *s, size_t i, double value)
{
    const bandit_parameter *p = &s->parameters[i];
    if (p->type == BANDIT_PARAMETER_INTEGER)
        return (uint64_t)(value - p->min);
    if (p->type != BANDIT_PARAMETER_DISCRETE)
        return (uint64_t)value;
    uint64_t k = 0;
    while (k + 1 < p->n_values && p->numbers[k] < value)
        k++;
    return k;
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
        value = round(value);
    return fmin(p->max, fmax(p->min, value)) + 0.0; /* no −0 */
}

double bandit_space_round_number(const bandit_space *s, size_t i, double value)
{
    const bandit_parameter *p = &s->parameters[i];
    double width = p->log ? fabs(value) * s->places[i].width : s->places[i].width, rounded;
    double exponent = floor(log10(width)) - 12.0;
    if (!(fabs(exponent) <= 22.0)) /* beyond, powers of ten are not exact */
        return value;
    double power = pow(10.0, fabs(exponent));
    double steps = exponent < 0.0 ? value * power : value / power;
    if (!(fabs(steps) < LARGEST_INTEGER))
        return value;
    rounded = exponent < 0.0 ? round(steps) / power : round(steps) * power;
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
        for (size_t k = 0; k < place->n; k++)
            out[k] = active ? 0.0 : root_half / (double)place->n;
        if (active)
            out[(size_t)value] = root_half;
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

/* ---- one point after the other --------------------------------------------------------------------------
 */

/* The first values of the parameters from order[from] on, given those before. */
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
