/* Expressions over the parameters of a space: the rules that its points keep.
 *
 *   rule        if rule then rule | choice
 *   choice      both or both …
 *   both        denial and denial …
 *   denial      not denial | comparison
 *   comparison  sum < sum <= sum …        with <=, >=, <, >, = or !=; a chain means that each holds
 *   sum         product + product - product …
 *   product     sign * sign / sign …
 *   sign        - sign | power
 *   power       primary ^ sign
 *   primary     number | name | "word" | function(sum, …) | (rule)
 *
 * Functions are min, max, abs, sqrt, exp, log and count, the number of its parameters that are not 0. A name
 * that is no identifier stands in back quotes. Words are compared with parameters that have them. A parameter
 * of truth values is a rule of its own.
 *
 * A point is coded as in proto/space_points.h: numbers, the number of a word, 0 or 1, and NaN for a parameter
 * that is not active. A comparison that names an inactive parameter holds. A truth value that is inactive is
 * false, and `count` does not count what is inactive. */
#ifndef PROTO_EXPRESSIONS_EXPRESSION_H
#define PROTO_EXPRESSIONS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

typedef enum expression_kind {
    EXPRESSION_REAL,  /* any number of a range */
    EXPRESSION_WHOLE, /* numbers of a list, or in steps */
    EXPRESSION_WORDS,
    EXPRESSION_SWITCH /* true or false */
} expression_kind;

/* A parameter that an expression may name. */
typedef struct expression_name {
    const char *name;
    expression_kind kind;
    bool log;           /* numbers on a logarithmic scale: not in linear forms */
    bool ordered;       /* words that can be compared by < and > */
    char *const *words; /* n_words */
    size_t n_words;
} expression_name;

typedef struct expression_error {
    size_t column; /* from 1, in characters */
    char text[200];
} expression_error;

typedef enum expression_status { EXPRESSION_OK, EXPRESSION_INVALID, EXPRESSION_NO_MEMORY } expression_status;

typedef struct expression expression;

/* Reads a text of at most 2^16 bytes. *out is owned by the caller, and borrows nothing. EXPRESSION_INVALID:
 * *error says why, and where. */
expression_status expression_parse(expression **out, const char *text, const expression_name *names, size_t n,
                                   expression_error *error);
void expression_free(expression *e); /* accepts NULL */

/* The rules that are joined by `and`: each must hold. At least 1. */
size_t expression_parts(const expression *e);

/* Rounding that a comparison forgives, relative to the sizes of what is added up. */
#define EXPRESSION_TOLERANCE 1e-9

/* At most 0 if part k holds at the point; otherwise by how much it is broken, relative to the size of what is
 * compared. */
double expression_slack(const expression *e, size_t k, const double *coded);

/* The parameters that part k names, ascending. */
const size_t *expression_parameters(const expression *e, size_t k, size_t *n);

/* Whether `count` names this parameter somewhere. */
bool expression_counts(const expression *e, size_t parameter);

/* Part k as a linear form over numbers: sum of coefficients[j] * value of parameters[j] <= bound, or = bound.
 * Both lists have as many entries as expression_parameters. */
typedef struct expression_linear {
    const double *coefficients;
    double bound;
    bool equality;
} expression_linear;

/* Returns false if the part is not linear. */
bool expression_is_linear(const expression *e, size_t k, expression_linear *out);

#endif
