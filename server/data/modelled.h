/* The values of all modelled metrics of a result. The value of the first objective is stored as the result's value; the
 * others are stored with the recorded metrics, as the text of a JSON object. */
#ifndef SERVER_DATA_MODELLED_H
#define SERVER_DATA_MODELLED_H

#include "server/data/definition.h"

/* Sets out[0 … n_modelled−1] to the values as reported. False: out of memory, or a value is missing. Never
 * false if only the first objective is modelled. */
bool modelled_values(const study_config *config, double value, const char *recorded, double *out);

/* The same as rewards of the engine: turned so that larger is better. */
bool modelled_rewards(const study_config *config, double value, const char *recorded, double *out);

/* The reported standard errors of all modelled metrics; 0: none was reported. False: out of memory, or one is not
 * valid. */
bool modelled_std_errors(const study_config *config, const char *recorded, double *out);

/* Does a result with these values keep all bounds? */
bool modelled_is_feasible(const study_config *config, const double *values);

#endif
