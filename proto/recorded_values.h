/* Reads the stored text of a result's values beyond that of its first objective: a JSON object of numbers. */
#ifndef PROTO_RECORDED_VALUES_H
#define PROTO_RECORDED_VALUES_H

#include "proto/wire.h"

/* Sets out[i] to the value of metrics[i]. False: out of memory, the text is not valid, or a value is missing. */
bool wire_read_recorded(const char *text, const wire_metric *const *metrics, size_t n, double *out);

#endif
