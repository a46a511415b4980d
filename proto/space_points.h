/* Spaces of named parameters, and their points.
 *
 * A coded point has n doubles, one per parameter: the number itself for double, integer and discrete
 * parameters, the index of the word for categorical ones, 0 or 1 for boolean ones, and NaN if the parameter
 * is not active or was left open. */
#ifndef PROTO_SPACE_POINTS_H
#define PROTO_SPACE_POINTS_H

#include "proto/json_writer.h"

#include <stdbool.h>
#include <stddef.h>

struct wire_errors;

typedef enum wire_parameter_type {
    WIRE_PARAMETER_DOUBLE,
    WIRE_PARAMETER_INTEGER,
    WIRE_PARAMETER_DISCRETE,
    WIRE_PARAMETER_CATEGORICAL,
    WIRE_PARAMETER_BOOLEAN
} wire_parameter_type;

#define WIRE_NO_PARENT SIZE_MAX

typedef struct wire_parameter {
    char *name;
    wire_parameter_type type;
    double min, max; /* double, integer; min < max */
    bool log;        /* double, integer; requires min > 0 */
    double step;     /* double, integer: the values are min + k step; 0: all (whole) numbers */
    bool has_precision;
    int precision;    /* double: decimal places of chosen values; on a log scale, their significant digits */
    bool ordered;     /* categorical: the words are in an order */
    double *features; /* categorical: the properties of the words, n_values x n_features; NULL: none */
    size_t n_features;
    char **feature_names; /* n_features; NULL: not given */
    char *scaling;        /* of the properties: "standardize", "unit" or "none"; NULL: not given */
    char *encoding;       /* of words without properties: "codes"; NULL: one feature for each word */
    char *unit;           /* only shown; NULL: not given */
    bool context;         /* each ask gives its value; it is never chosen */
    double *numbers;      /* discrete: n_values, in the order given */
    char **words;         /* categorical: n_values */
    uint32_t *order;      /* indices of the values, ascending by value */
    bool whole;           /* discrete: all values are integers, and are written as such */
    size_t n_values;
    bool has_default;
    double default_value; /* coded */
    /* Active only while parameter `parent` is active and has one of these values (coded) or, if there are
     * none, a number in the range from parent_min to parent_max. No cycles. */
    size_t parent; /* WIRE_NO_PARENT: always active */
    double *parent_values;
    size_t n_parent_values;
    double parent_min, parent_max; /* −INFINITY, INFINITY: not given */
} wire_parameter;

/* A value given by a client, and the name of its parameter. */
typedef struct wire_assignment {
    char *name;
    enum { WIRE_ASSIGN_NUMBER, WIRE_ASSIGN_TEXT, WIRE_ASSIGN_TRUTH } type;
    double number; /* 0 or 1 for WIRE_ASSIGN_TRUTH */
    char *text;
} wire_assignment;

typedef struct wire_assignments {
    wire_assignment *items; /* NULL: none given */
    size_t n;
} wire_assignments;

void wire_assignments_clear(wire_assignments *assignments);

typedef enum wire_completeness {
    WIRE_WHOLE, /* an active parameter that is left out gets its default; without a default it is required */
    WIRE_PARTIAL, /* a parameter that is left out stays open (NaN) */
    WIRE_ASKED    /* the same, but contexts are required */
} wire_completeness;

/* Codes a client's point into values (n, caller's). False: it has added problems at pointer + "/<name>":
 * unknown names, values outside the space, and parameters that are inactive for the other values. */
bool wire_code_parameters(double *values, const wire_parameter *parameters, size_t n,
                          const wire_assignments *given, wire_completeness completeness, const char *pointer,
                          struct wire_errors *errors);

/* Codes one value; NaN if the parameter does not have it. The name is not compared. */
double wire_code_assignment(const wire_parameter *parameter, const wire_assignment *given);

/* The second half of wire_code_parameters, for coded values: applies defaults and checks activity. */
bool wire_complete_parameters(double *values, const wire_parameter *parameters, size_t n,
                              wire_completeness completeness, const char *pointer,
                              struct wire_errors *errors);

/* What a value of the parameter must be, for an error message: "must be a number from 0.0 to 1.0", "must be
 * one of 1, 2, 4". A long list is cut off. False: out of memory. */
enum { WIRE_VALUES_TEXT = 240 };
bool wire_describe_values(const wire_parameter *parameter, char out[WIRE_VALUES_TEXT]);

/* Is it a coded value of the parameter? */
bool wire_is_value(const wire_parameter *parameter, double value);

/* Is parameter i active at this point? Reads only the values of its ancestors. */
bool wire_parameter_is_active(const wire_parameter *parameters, const double *values, size_t i);

/* Codes the text of a CSV cell; NaN if the parameter does not have this value. */
double wire_code_text(const wire_parameter *parameter, const char *text, size_t n);

/* {"<name>": <value>, …} without parameters that are NaN. */
void wire_encode_parameters(wire_writer *w, const wire_parameter *parameters, size_t n, const double *values);

/* The value alone, as JSON. */
void wire_encode_parameter_value(wire_writer *w, const wire_parameter *parameter, double value);

#endif
