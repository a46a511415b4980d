/* The metrics of a reported result. */
#ifndef SERVER_DATA_RESULT_VALUES_H
#define SERVER_DATA_RESULT_VALUES_H

#include "server/data/definition.h"

/* Sets result->value to that of the objective. *recorded becomes the text of the recorded metrics, in the
 * order of the definition, with the told standard errors ("" without any; freed by the caller). `at` is the JSON pointer of the result, such
 * as "" or "/results/3". False: the result is refused and *errors has the problems, or memory has run out
 * (*recorded is NULL). */
bool result_values_read(const study_config *config, wire_result *result, const char *at, char **recorded,
                        wire_errors *errors);

/* The text of an amended result: `recorded`, as read above. If it gives the first objective's value alone, the other
 * values of `was` stay, and its standard errors unless new ones are given. A new string; NULL: out of memory. */
char *result_values_amended(const study_config *config, const wire_result *result, const char *was,
                            const char *recorded);

#endif
