/* Converts spaces of named parameters from the API's form to the engine's, and candidates of any domain to the form
 * that responses show. */
#ifndef SERVER_DATA_STUDY_SPACE_H
#define SERVER_DATA_STUDY_SPACE_H

#include "bandit/engine.h"
#include "bandit/space.h"
#include "proto/wire.h"

/* A space with at most this many points, and at most this many numbers in them, is enumerated. */
enum { SPACE_ENUMERATED_POINTS = 10000, SPACE_ENUMERATED_NUMBERS = 1000000 };

/* The parameters of the definition for the engine, in one block that the caller frees; it borrows the arrays
 * of the definition. NULL: out of memory. */
bandit_parameter *space_parameters_new(const wire_study *definition);

/* "unit" and "none"; any other word, or NULL, means "standardize". */
bandit_scaling scaling_of_word(const char *word);

/* Can the properties of words be scaled? WIRE_INVALID: *errors says which cannot. */
wire_status space_check_properties(const wire_study *definition, wire_errors *errors);

/* Does the asker set the values of some parameters? Such a space is never enumerated. */
bool space_has_context(const wire_study *definition);

/* Lists all points of a small space that keep its constraints, coded, in the engine's order. *rows: *n x
 * definition->n_parameters, freed by the caller. *rows is NULL and *n is 0 if the space is not small, or if no point
 * keeps the constraints; only in the second case *listed is true. */
bandit_status space_enumerate(double **rows, size_t *n, bool *listed, const wire_study *definition,
                              bandit_error *err);

/* Does the algorithm support this open space? False: *err has the reason. */
bool space_takes(const bandit_parameter *parameters, size_t n, const bandit_options *options,
                 bandit_error *err);

/* The length of a stored row of this domain: features or parameters; 0 for a precomputed kernel. */
size_t candidate_width(const wire_study *definition);

/* The name of parameter or feature i < candidate_width. Features without names are called x0, x1, …; `number` is memory
 * for such a name. */
const char *candidate_input_name(const wire_study *definition, size_t i, char number[24]);

/* The parameter or feature of this name; SIZE_MAX: there is none. */
size_t candidate_input(const wire_study *definition, const char *name);

/* A candidate for a response. */
typedef struct candidate_view {
    int64_t candidate;       /* its number; −1, left out, in an open space */
    const double *point;     /* features; NULL: left out */
    const wire_study *space; /* with parameters */
    const double *parameters;
} candidate_view;

/* Borrows the definition and the row (candidate_width numbers). listed: the number of points that an enumerated space
 * lists; 0 for an open space. Responses show no numbers for other points of a space. */
candidate_view candidate_view_of(const wire_study *definition, int64_t listed, int64_t candidate,
                                 const double *row);

#endif
