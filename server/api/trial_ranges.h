/* The ranges of a list of trials: ?min:NAME= and ?max:NAME= of metrics, parameters and features. */
#ifndef SERVER_API_TRIAL_RANGES_H
#define SERVER_API_TRIAL_RANGES_H

#include "proto/wire.h"
#include "server/http/http.h"
#include "server/store/store.h"

/* low <= value <= high. A trial without such a value is outside. */
typedef struct trial_range {
    const char *metric; /* borrowed from the definition; NULL: a parameter or feature */
    bool objective;     /* it is the first objective, whose value is the trial's own */
    size_t column;      /* of the parameter in a point */
    double low, high;   /* -INFINITY, INFINITY: not given */
} trial_range;

typedef struct trial_ranges {
    trial_range *items;
    size_t n;
    bool of_points; /* some are of parameters */
} trial_ranges;

/* Reads the ranges of the request. NAME is a metric or a parameter; if both have the name, it is metric:NAME or
 * parameter:NAME. The bounds of a categorical parameter are two of its words, in the order of the definition. If the
 * ranges are not valid, it answers and returns false. */
bool trial_ranges_read(trial_ranges *out, const wire_study *definition, http_request *request);

void trial_ranges_clear(trial_ranges *ranges);

/* Are the trial's metrics in their ranges? */
bool trial_ranges_have_values(const trial_ranges *ranges, const store_trial *row);

/* Are the parameters in their ranges? `point`: candidate_width numbers */
bool trial_ranges_have_point(const trial_ranges *ranges, const double *point);

/* The trial's value of a metric; NaN: none.  objective: the metric is the study's first objective */
double trial_metric_value(const store_trial *row, const char *metric, bool objective);

#endif
