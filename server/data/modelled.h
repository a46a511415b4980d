/* The values of all modelled metrics of a result. The value of the first objective is stored as the result's own,
 * the others with the recorded metrics, as the text of a JSON object. */
#ifndef SERVER_DATA_MODELLED_H
#define SERVER_DATA_MODELLED_H

#include "server/data/definition.h"

/* Sets out[0 … n_modelled−1] to the values as reported. False: out of memory, or a value is missing. Never
 * false if the first objective is all that is modelled. */
bool modelled_values(const study_config *config, double value, const char *recorded, double *out);

/* The same as rewards of the engine: turned so that larger is better. */
bool modelled_rewards(const study_config *config, double value, const char *recorded, double *out);

/* The told standard errors of all modelled metrics; 0: none was told. False: out of memory, or not valid. */
bool modelled_std_errors(const study_config *config, const char *recorded, double *out);

/* Does a result with these values keep all bounds? */
bool modelled_is_feasible(const study_config *config, const double *values);

#endif
