/* Spaces of parameters, and sets of arms that grow inside them.
 *
 * A point is n doubles, one per parameter, "coded": the number itself for double, integer and discrete
 * parameters, the index of the word for categorical ones, 0 or 1 for boolean ones, NaN for a parameter that
 * is not active at the point.
 *
 * A kernel sees the features of a point:
 *
 *   double, integer   (x − min) / (max − min), of logarithms if `log` is set; in [0, 1]. Integers are rounded
 *                     first, so that the model sees only points that can be evaluated. A parameter of type
 *                     integer with a step has the numbers min + k step, which may be fractions.
 *   discrete          rank / (n − 1) in ascending order. A user who lists 16, 32, 64, 128 means even steps;
 *                     features in proportion to the numbers would crowd all but the largest together.
 *   boolean           0 or 1: as far apart as two words.
 *   categorical       one-hot, n features of 1/sqrt(2) or 0: any two words are at distance 1. With `codes`,
 *                     127 or 511 features such that any two words are nearly at distance 1. If words have
 *                     properties, these are the features, scaled such that the mean squared distance of two
 *                     words is 1.
 *   activity          one feature for each different condition: 1/sqrt(2) if it holds, else 0.
 *
 * The features of a parameter that is not active are at the middle of their range (1/(n sqrt 2) each for
 * words), so that the branches of a space share what they have in common. */
#ifndef BANDIT_SPACE_H
#define BANDIT_SPACE_H

#include "bandit/arms.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum bandit_parameter_type {
    BANDIT_PARAMETER_DOUBLE,
    BANDIT_PARAMETER_INTEGER,
    BANDIT_PARAMETER_DISCRETE,
    BANDIT_PARAMETER_CATEGORICAL,
    BANDIT_PARAMETER_BOOLEAN
} bandit_parameter_type;

#define BANDIT_NO_PARENT SIZE_MAX

typedef struct bandit_parameter {
    bandit_parameter_type type;
    double min, max;       /* double, integer; min < max, finite; whole numbers below 2^53 for integers */
    bool log;              /* double, integer; min > 0 then */
    double step;           /* integer: the values are min + k step, max among them (lattice.h); 0:
                            * whole numbers */
    bool rounded;          /* double: values that are chosen are rounded to `digits` */
    int digits;            /* decimal places, 0 … 15; on a log scale significant digits, 1 … 15 */
    const double *numbers; /* discrete: n_values different ones, in any order; borrowed */
    size_t n_values;       /* discrete, categorical; at least 1 */
    const double
        *features;     /* categorical: properties of the words, n_values x n_features; borrowed; NULL: none */
    size_t n_features; /* at least 1 with features */
    bool codes;        /* categorical without properties: fewer features than words, for thousands of words */
    bandit_scaling scaling; /* of the properties, each on its own, as for candidates */
    bool has_default;
    double default_value; /* coded */
    bool context; /* every select fixes it; the best point, and what is an improvement, depend on its value */
    /* Active only while parameter `parent` is active and has one of these values (coded; borrowed; not for a
     * parent of type double). No cycles. BANDIT_NO_PARENT: always active. */
    size_t parent;
    const double *parent_values;
    size_t n_parent_values;
    bool
        parent_range; /* instead of a list: a number from parent_min to parent_max; not for words and booleans */
    double parent_min, parent_max;
} bandit_parameter;

/* BANDIT_INVALID_ARMS, naming the parameter by its number, unless the n >= 1 parameters are as described
 * above; BANDIT_NO_MEMORY. */
bandit_status bandit_space_check(const bandit_parameter *parameters, size_t n, bandit_error *err);

/* An empty set of arms in the space: the points that have been visited, in the order of their first visit.
 * The parameters are copied. bandit_arms_count is 0, bandit_arms_dimension the number of features; the set
 * is finished (bandit_arms_finish is not called).
 *
 * An engine made on it chooses among all points of the space; bandit_engine_select appends the points that
 * were not visited before. Nothing else may use the set or the engine during a call that may append. To restore
 * an engine, append all visited points in their order first.
 * Errors: those of bandit_space_check. */
bandit_status bandit_arms_new_space(bandit_arms **out, const bandit_parameter *parameters, size_t n,
                                    bandit_error *err);

/* ---- rules ------------------------------------------------------------------------------------------- */

/* A rule that the points of a space keep. A linear rule has coefficients for its parameters, which are all
 * numbers on linear scales: sum of coefficients * values <= bound, or = bound. */
typedef struct bandit_rule {
    const size_t *parameters; /* n, ascending */
    size_t n;
    const double *coefficients; /* n; NULL: not linear */
    double bound;
    bool equality;
} bandit_rule;

typedef struct bandit_rules {
    const bandit_rule *list;
    size_t n;
    const bool *counted; /* one per parameter: its value 0 has a meaning of its own for some rule */
    /* At most 0 if rule i holds at a coded point; otherwise by how much it is broken. It forgives rounding
     * errors up to `tolerance`; points that the engine chooses use at most a thousandth of that. */
    double (*slack)(const struct bandit_rules *rules, size_t i, const double *coded);
    double tolerance;
    void (*release)(struct bandit_rules *rules);
} bandit_rules;

/* Gives rules to an empty set of arms in a space, which releases the rules when it is freed. Engines pick
 * only points that keep them; other points can still be appended. */
void bandit_arms_constrain(bandit_arms *arms, bandit_rules *rules);

/* Whether a coded point of the space keeps the rules; *rule is the first that it breaks. */
bool bandit_arms_allows(const bandit_arms *arms, const double *coded, size_t *rule);

/* Looks for a point that keeps all rules, or all but number `without` (SIZE_MAX: all), and from which numbers
 * can move: the linear rules must leave them more than a point or a face. *share is the share of points of a
 * low-discrepancy sequence that keep these rules, before any search. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_arms_find_allowed(const bandit_arms *arms, size_t without, bool *found, double *share,
                                       bandit_error *err);

/* How many points of a space without doubles keep the rules; SIZE_MAX if there are more than `most`, or too
 * many to look at. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_arms_count_allowed(const bandit_arms *arms, size_t most, size_t *count,
                                        bandit_error *err);

/* The number of points of a space, considering its conditions but not its rules. SIZE_MAX: at least that
 * many, or a double can be active, or a condition divides more than 2^20 numbers. */
size_t bandit_arms_space_size(const bandit_arms *arms);

/* Appends all points of a space that keep its rules to its empty set, in a fixed order, and closes the set.
 * Engines made on it then choose among its arms as candidates, and nothing can be appended. For spaces that
 * bandit_arms_space_size finds small. Errors: BANDIT_NO_MEMORY; BANDIT_INVALID_ARMS when there are more than
 * 2^31 − 1. */
bandit_status bandit_arms_enumerate(bandit_arms *arms, bandit_error *err);

/* The points that bandit_arms_enumerate appends, in its order, without their features, which take far more
 * memory: the first one, and the one after `coded` (one entry per parameter); false after the last. */
void bandit_arms_first_point(const bandit_arms *arms, double *coded);
bool bandit_arms_next_point(const bandit_arms *arms, double *coded);

/* Whether the set is a space that grows: made by bandit_arms_new_space and not enumerated. */
bool bandit_arms_is_open_space(const bandit_arms *arms);

/* The space's parameters, borrowed from the arms; NULL and 0 for a set that is not a space. */
const bandit_parameter *bandit_arms_parameters(const bandit_arms *arms, size_t *n);

/* The number of entries of a point as a caller gives it: one per parameter of a space, otherwise one per
 * feature. */
size_t bandit_arms_point_width(const bandit_arms *arms);

/* The parameter that feature j of a space belongs to (for an activity, the parent). It serves to learn values
 * per parameter. */
size_t bandit_arms_feature_parameter(const bandit_arms *arms, size_t j);

/* Appends n arms to a set that is finished: coded points of an open space, or raw rows of features, scaled by
 * the statistics that bandit_arms_finish took (rows is n x bandit_arms_point_width, row-major; a set of
 * features may grow only while no engine uses it). On an error nothing is appended.
 * Errors: BANDIT_NO_MEMORY; BANDIT_INVALID_ARMS, naming row and column, for a value that is not finite or
 * outside the space, an inactive parameter with a value, an active one without, and a point of the space that
 * is an arm already; also beyond 2^31 − 1 arms; BANDIT_UNSUPPORTED for a precomputed or an enumerated set. */
bandit_status bandit_arms_append(bandit_arms *arms, const double *rows, size_t n, bandit_error *err);

/* The coded point of an arm of a space; `out` has one entry per parameter. */
void bandit_arms_coded(const bandit_arms *arms, size_t arm, double *out);

/* The arm at this coded point of a space, or SIZE_MAX. */
size_t bandit_arms_find(const bandit_arms *arms, const double *coded);

/* BANDIT_INVALID_ARMS, naming the parameter, unless `coded` is a point of the set's space. */
bandit_status bandit_arms_check_point(const bandit_arms *arms, const double *coded, bandit_error *err);

#endif
