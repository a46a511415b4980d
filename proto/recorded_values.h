/* Reads the stored text of a result beyond the value of its first objective: a JSON object with the values of other
 * metrics by name. If standard errors were reported, its last member has the name "", which no metric has, and is an
 * object with the standard errors by metric: {"latency": 31, "": {"accuracy": 0.01}}. The text is "" if there is
 * neither. */
#ifndef PROTO_RECORDED_VALUES_H
#define PROTO_RECORDED_VALUES_H

#include "proto/wire.h"

/* Sets out[i] to the value of metrics[i]. False: out of memory, the text is not valid, or a value is missing. */
bool wire_read_recorded(const char *text, const wire_metric *const *metrics, size_t n, double *out);

/* Sets out[i] to the standard error of metrics[i]; 0: none was reported. False: out of memory, or the text is not
 * valid. */
bool wire_read_std_errors(const char *text, const wire_metric *const *metrics, size_t n, double *out);

/* Whether standard errors were reported, and of how many metrics (SIZE_MAX: out of memory, or the text is not
 * valid). */
bool wire_has_std_errors(const char *text);
size_t wire_count_std_errors(const char *text);

/* The two parts, each an object's text or "": the values, and the standard errors. New strings; NULL: out of memory. */
char *wire_recorded_values(const char *text);
char *wire_recorded_std_errors(const char *text);

/* Joins two such parts to one text; NULL: out of memory. */
char *wire_join_recorded(const char *values, const char *std_errors);

#endif
