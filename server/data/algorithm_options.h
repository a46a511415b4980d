/* Translates the options of a study's algorithm from the API's fields (proto/algorithm_fields.h) to the engine's
 * options (bandit/algorithm.h), which have the same names. The engine knows the defaults, and which option applies to
 * which algorithm. Defaults that depend on other options or on the study are set here. */
#ifndef SERVER_DATA_ALGORITHM_OPTIONS_H
#define SERVER_DATA_ALGORITHM_OPTIONS_H

#include "bandit/engine.h"
#include "proto/algorithm_fields.h"
#include "server/data/completion.h"

/* The one option that is the server's own; every algorithm has it. */
#define MAX_ARM_FAILURES_NAME "max_arm_failures"
enum { MAX_ARM_FAILURES_DEFAULT = 3 };

/* The field of the option with this name. */
const wire_algorithm_field *algorithm_field(const char *name);

/* Lists in *errors the given options that do not apply to the algorithm. */
void algorithm_options_check(const wire_algorithm *given, bandit_algorithm algorithm, wire_errors *errors);

/* Fills in the defaults of request->algorithm, and lists values that are not valid in found->errors. */
void algorithm_options_complete(wire_study *request, bandit_algorithm algorithm, completion *found);

/* The same for the kernel's options alone. */
void algorithm_kernel_complete(wire_kernel *kernel, wire_domain_type domain, completion *found);

/* Sets the engine's options from a completed algorithm; the other members of *out stay. out->kernel borrows
 * *lengthscales, which the caller frees. False: out of memory. */
bool algorithm_options_apply(const wire_algorithm *algorithm, bandit_options *out, double **lengthscales);

/* Answers GET /v1/algorithms: {"algorithms": [{"name", "description", "parameters": […]}, …]}. */
void algorithm_list_encode(wire_writer *w);

#endif
