/* Spaces of named parameters: from the API's words to the engine's, and how candidates of any kind are shown.
 */
#ifndef SERVER_DATA_STUDY_SPACE_H
#define SERVER_DATA_STUDY_SPACE_H

#include "bandit/engine.h"
#include "bandit/space.h"
#include "proto/wire.h"

/* A space that has no more points than this, and no more numbers in them, is a finite set of candidates. */
enum { SPACE_ENUMERATED_POINTS = 10000, SPACE_ENUMERATED_NUMBERS = 1000000 };

/* The definition's parameters as the engine has them; borrows the definition's arrays. The caller frees the
 * block. NULL: out of memory. */
bandit_parameter *space_parameters_new(const wire_study *definition);

/* Lists all points of a small space, coded, in the engine's order: *rows is *n x definition->n_parameters and
 * the caller's to free; NULL and 0 when it is not small. */
bandit_status space_enumerate(double **rows, size_t *n, const wire_study *definition, bandit_error *err);

/* Does the algorithm work on the space when it is not enumerated? False: *err says why. */
bool space_takes(const bandit_parameter *parameters, size_t n, const bandit_options *options,
                 bandit_error *err);

/* Numbers in a stored row of this domain: features or parameters; 0 for a set known by its kernel alone. */
size_t candidate_width(const wire_study *definition);

/* A candidate as answers show it. */
typedef struct candidate_view {
    int64_t candidate;       /* its index; −1, left out, in a space that is not enumerated */
    const double *point;     /* features; NULL: left out */
    const wire_study *space; /* with parameters */
    const double *parameters;
} candidate_view;

/* Borrows the definition and the row (candidate_width numbers). `finite`: the set is all there is to choose
 * from. */
candidate_view candidate_view_of(const wire_study *definition, bool finite, int64_t candidate,
                                 const double *row);

#endif
