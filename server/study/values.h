/* The metrics of a reported result. values.c defines what is declared here. */
#ifndef SERVER_STUDY_VALUES_H
#define SERVER_STUDY_VALUES_H

#include "proto/wire.h"
#include "server/study/study.h"

/* Sets result->value to that of the objective. *recorded becomes the text of the recorded metrics, in the
 * order of the definition ("" without any; freed by the caller). `at` is the JSON pointer of the result, such
 * as "" or "/results/3". False: the result is refused and *errors has the problems, or memory has run out
 * (*recorded is NULL). */
bool study_read_values(const study *s, wire_result *result, const char *at, char **recorded,
                       wire_errors *errors);

#endif
