/* The internal form of a space: parameters, in an order in which parents come first, and the position of each
 * parameter's features. bandit/space.h explains points and features. */
#ifndef CORE_ARMS_PARAMETER_SPACE_H
#define CORE_ARMS_PARAMETER_SPACE_H

#include "bandit/lattice.h"
#include "bandit/sorted.h"
#include "bandit/space.h"
#include "core/arms/words.h"

#include <math.h>
#include <stdint.h>

/* 2^53: integers up to this are exact in a double. */
#define BANDIT_LARGEST_INTEGER LATTICE_LARGEST

typedef struct bandit_place {
    size_t first, n;    /* the position and the number of its features */
    size_t activity;    /* the feature for its activity; SIZE_MAX: it is always active */
    double low, width;  /* double, integer: value = low + width * feature; for log scales, of logarithms */
    double *sorted;     /* discrete: the numbers, ascending; owned */
    bandit_words words; /* categorical: the features of its words */
    double *condition;  /* the parameter's parent_values, ascending; owned */
    bool has_children;  /* some parameter has a condition on this one */
    size_t subtree;     /* number of points of the parameter with those that it makes active; SIZE_MAX: at
                           least that many */
} bandit_place;

typedef struct bandit_space {
    size_t n;                     /* parameters */
    bandit_parameter *parameters; /* n; with owned numbers and parent_values */
    bandit_place *places;         /* n entries */
    size_t *order;                /* n: parameter numbers, parents before children */
    size_t dimension;             /* number of features */
    size_t *owner;                /* dimension: the parameter that a feature belongs to */
    size_t size;                  /* number of points; SIZE_MAX: at least that many */
    bool closed;                  /* all points are enumerated; none can be added */
    bandit_rules *rules;          /* owned; NULL: every point is allowed */

    double *coded; /* n entries per arm */
    size_t capacity_coded;
    uint32_t *table; /* hash table with open addressing: arm + 1, or 0; n_table is a power of two */
    size_t n_table;
} bandit_space;

bandit_status bandit_space_new(bandit_space **out, const bandit_parameter *parameters, size_t n,
                               bandit_error *err);
void bandit_space_free(bandit_space *space); /* accepts NULL */
size_t bandit_space_memory(const bandit_space *space);

/* Whether all parameters are double or integer, and always active. */
bool bandit_space_is_numeric(const bandit_space *space);

/* Whether the parameter has words of which the model only knows that they differ: it is categorical without
 * properties, or boolean. */
static inline bool bandit_has_plain_words(const bandit_space *space, size_t parameter)
{
    const bandit_parameter *p = &space->parameters[parameter];
    return (p->type == BANDIT_PARAMETER_CATEGORICAL && !p->features) || p->type == BANDIT_PARAMETER_BOOLEAN;
}

/* Whether the parameter is a number that is continuous or has more than a hundred values. The values of others are those of
 * a grid: neighbours are different settings. */
bool bandit_is_nearly_continuous(const bandit_parameter *parameter);

/* Of a parameter with words, whether with properties or not. */
static inline size_t bandit_number_of_words(const bandit_space *space, size_t parameter)
{
    const bandit_parameter *p = &space->parameters[parameter];
    return p->type == BANDIT_PARAMETER_BOOLEAN ? 2 : p->n_values;
}

/* Whether a coded point has the fixed values; NaN fixes nothing. */
static inline bool bandit_has_fixed(const bandit_space *space, const double *coded, const double *fixed)
{
    bool has = true;
    for (size_t i = 0; i < space->n && has; i++)
        has = isnan(fixed[i]) || coded[i] == fixed[i];
    return has;
}

/* ---- values and conditions ----------------------------------------------------------------------------- */

/* A copy of the n values, which must be finite, in ascending order. The caller frees it. NULL when out of
 * memory. */
double *bandit_sorted_values(const double *values, size_t n);

/* How many of n ascending values are smaller than `value`. NaN: 0. */
static inline size_t bandit_values_below(double value, const double *values, size_t n)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, values[i] < value);
    return place;
}

/* Whether `value` is one of n ascending values. */
static inline bool bandit_is_one_of(double value, const double *values, size_t n)
{
    size_t k = bandit_values_below(value, values, n);
    return k < n && values[k] == value;
}

/* Whether the parameter's condition, whose values are ascending, holds when its parent has this value. */
static inline bool bandit_condition_holds(const bandit_parameter *parameter, double parent_value)
{
    if (parameter->parent_range)
        return parent_value >= parameter->parent_min && parent_value <= parameter->parent_max;
    return bandit_is_one_of(parent_value, parameter->parent_values, parameter->n_parent_values);
}

/* Whether the parameter, whose numbers are ascending, has this value. */
bool bandit_parameter_has_value(const bandit_parameter *parameter, double value);

/* ---- space_points.c ------------------------------------------------------------------------------------ */

/* Whether parameter i is active, given the values of its ancestors. */
bool bandit_space_is_active(const bandit_space *space, const double *coded, size_t i);

/* Whether `value` is a value of parameter i. */
bool bandit_space_is_value(const bandit_space *space, size_t i, double value);

/* The first point in a fixed order, and the next one after `coded`; false after the last. The space must have
 * no double parameters. */
void bandit_space_first_point(const bandit_space *space, double *coded);
bool bandit_space_next_point(const bandit_space *space, double *coded);

/* As bandit_arms_check_point. */
bandit_status bandit_space_check_point(const bandit_space *space, const double *coded, bandit_error *err);

/* Number of values of a parameter that is not double. */
uint64_t bandit_space_values(const bandit_parameter *parameter);
/* The k-th of them, ascending for numbers. */
double bandit_space_value(const bandit_space *space, size_t i, uint64_t k);

/* The k of a value: the inverse of bandit_space_value. */
uint64_t bandit_space_rank(const bandit_space *space, size_t i, double value);

/* Computes the features of a point; `features` has `dimension` entries. */
void bandit_space_encode(const bandit_space *space, const double *coded, double *features);
/* Sets the features of one parameter, including its activity, in the features of the whole point. NaN: not
 * active. */
void bandit_space_encode_parameter(const bandit_space *space, size_t i, double value, double *features);

/* The value of the double or integer parameter i at feature u in [0, 1] (clamped); integers are rounded. */
double bandit_space_decode_number(const bandit_space *space, size_t i, double u);

/* Rounds a value of a double parameter to its digits, or to about 12 digits of its range (on a log scale, of
 * the value itself). Converting to a feature and back then returns the same value, and numbers have few
 * digits. */
double bandit_space_round_number(const bandit_space *space, size_t i, double value);

/* The feature of the double or integer parameter i at a value. */
double bandit_space_encode_number(const bandit_space *space, size_t i, double value);

/* ---- space_rules.c ------------------------------------------------------------------------------------- */

/* Whether this is a point of the space that keeps its rules. */
bool bandit_space_allows(const bandit_space *space, const double *coded);

/* Solves the linear equations among the rules for some of the numbers, in place; others are not changed.
 * `fixed` are values that stay (NaN: none). A number may be left outside its range if the equations do not
 * allow a value within. `work` has bandit_space_equations_size entries. */
void bandit_space_solve(const bandit_space *space, const double *fixed, double *coded, double *work);
size_t bandit_space_equations_size(const bandit_space *space);

/* Visits the points of a space without doubles that keep its rules, in the order of bandit_space_next_point,
 * until the visitor returns false. *complete: all such points were visited. The walk stops after 2^24 steps.
 * Errors: BANDIT_NO_MEMORY. */
typedef bool bandit_visit_point(void *context, const double *coded);
bandit_status bandit_space_walk(const bandit_space *space, bandit_visit_point *visit, void *context,
                                bool *complete, bandit_error *err);

#endif
