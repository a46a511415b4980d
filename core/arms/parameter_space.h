/* What a space is to the engine's own files: parameters in an order in which parents come first, and where
 * the features of each stand. See bandit/space.h for points and features. */
#ifndef CORE_ARMS_PARAMETER_SPACE_H
#define CORE_ARMS_PARAMETER_SPACE_H

#include "bandit/space.h"
#include "core/base/sorted.h"

#include <stdint.h>

/* 2^53: whole numbers are exact up to here. */
#define BANDIT_LARGEST_INTEGER 9007199254740992.0

typedef struct bandit_place {
    size_t first, n;   /* its features */
    size_t activity;   /* the feature that says whether it is active; SIZE_MAX: it always is */
    double low, width; /* double, integer: value = low + width * feature, of logarithms where asked */
    double *sorted;    /* discrete: the numbers, ascending; owned */
    double *condition; /* the parameter's parent_values, ascending; owned */
    bool has_children; /* there is a condition on it */
    size_t subtree;    /* points of the parameter and what it makes active; SIZE_MAX: at least as many */
} bandit_place;

typedef struct bandit_space {
    size_t n;                     /* parameters */
    bandit_parameter *parameters; /* n; with their own numbers and parent_values */
    bandit_place *places;         /* n */
    size_t *order;                /* n: parameters, parents before children */
    size_t dimension;             /* features */
    size_t *owner;                /* dimension: the parameter a feature belongs to */
    size_t size;                  /* points; SIZE_MAX: at least as many */
    bool closed;                  /* enumerated */

    double *coded; /* an arm's n entries each */
    size_t capacity_coded;
    uint32_t *table; /* open addressing: arm + 1, or 0; n_table a power of two */
    size_t n_table;
} bandit_space;

bandit_status bandit_space_new(bandit_space **out, const bandit_parameter *parameters, size_t n,
                               bandit_error *err);
void bandit_space_free(bandit_space *space); /* NULL is fine */
size_t bandit_space_memory(const bandit_space *space);

/* Are all parameters double or integer, and always active? */
bool bandit_space_is_numeric(const bandit_space *space);

/* ---- values and conditions ----------------------------------------------------------------------------- */

/* The n values in ascending order, finite all of them, as a copy that the caller frees; NULL: no memory. */
double *bandit_sorted_values(const double *values, size_t n);

/* How many of n values, which are ascending, are smaller. NaN: 0. */
static inline size_t bandit_values_below(double value, const double *values, size_t n)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, values[i] < value);
    return place;
}

/* Is it one of n values, which are ascending? */
static inline bool bandit_is_one_of(double value, const double *values, size_t n)
{
    size_t k = bandit_values_below(value, values, n);
    return k < n && values[k] == value;
}

/* Does the parameter's condition, its values ascending, hold where the one that it is on has this value? */
static inline bool bandit_condition_holds(const bandit_parameter *parameter, double parent_value)
{
    return bandit_is_one_of(parent_value, parameter->parent_values, parameter->n_parent_values);
}

/* Is it a value of the parameter, whose numbers are ascending? */
bool bandit_parameter_has_value(const bandit_parameter *parameter, double value);

/* ---- space_points.c ------------------------------------------------------------------------------------ */

/* Is parameter i active, its ancestors' values given? */
bool bandit_space_is_active(const bandit_space *space, const double *coded, size_t i);

/* Is it a value of parameter i? */
bool bandit_space_is_value(const bandit_space *space, size_t i, double value);

/* The first point in a fixed order, and the one after `coded`: false after the last. No parameter is double.
 */
void bandit_space_first_point(const bandit_space *space, double *coded);
bool bandit_space_next_point(const bandit_space *space, double *coded);

/* As bandit_arms_check_point. */
bandit_status bandit_space_check_point(const bandit_space *space, const double *coded, bandit_error *err);

/* Number of values of a parameter that is not double. */
uint64_t bandit_space_values(const bandit_parameter *parameter);
/* The k-th of them, ascending for numbers. */
double bandit_space_value(const bandit_space *space, size_t i, uint64_t k);

/* The k of a value. */
uint64_t bandit_space_rank(const bandit_space *space, size_t i, double value);

/* The features of a point; features[dimension]. */
void bandit_space_encode(const bandit_space *space, const double *coded, double *features);
/* Those of one parameter, its activity included (NaN: not active), among the features of the whole point. */
void bandit_space_encode_parameter(const bandit_space *space, size_t i, double value, double *features);

/* The value of active double or integer parameter i at feature u in [0, 1] (clamped), integers rounded. */
double bandit_space_decode_number(const bandit_space *space, size_t i, double u);

/* A value of a double parameter rounded to about 12 digits of its range (of its factor, on a log scale): what
 * comes back from a feature is then what went into it, and numbers are short to read. */
double bandit_space_round_number(const bandit_space *space, size_t i, double value);

/* The feature of double or integer parameter i at a value. */
double bandit_space_encode_number(const bandit_space *space, size_t i, double value);

#endif
