/* The metrics of a reported result. */
#ifndef SERVER_DATA_RESULT_VALUES_H
#define SERVER_DATA_RESULT_VALUES_H

#include "server/data/definition.h"

/* Sets result->value to that of the objective. *recorded becomes the text of the recorded metrics, in the order of the
 * definition, with the reported standard errors ("" if there are neither; the caller frees it). `at` is the JSON
 * pointer of the result, such as "" or "/results/3". False: the result is refused and *errors has the problems, or
 * memory has run out (*recorded is NULL). */
bool result_values_read(const study_config *config, wire_result *result, const char *at, char **recorded,
                        wire_errors *errors);

/* The text of an amended result. recorded: from result_values_read. If the amendment gives the first objective's value
 * alone, the other values of `was` stay, and so do its standard errors unless new ones are given. The caller frees the
 * text; NULL: out of memory. */
char *result_values_amended(const study_config *config, const wire_result *result, const char *was,
                            const char *recorded);

#endif
