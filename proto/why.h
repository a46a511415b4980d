/* The answer about why a trial was chosen. */
#ifndef PROTO_WHY_H
#define PROTO_WHY_H

#include "proto/wire.h"

/* What the model said of one metric. */
typedef struct wire_expected {
    const char *metric;
    double mean, std;
} wire_expected;

/* One of the nearest results. */
typedef struct wire_neighbor {
    int64_t trial;     /* 0: an imported result, shown as null */
    int64_t candidate; /* < 0: left out */
    const char *key;   /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    double value, distance;
} wire_neighbor;

/* NaN is shown as null. */
typedef struct wire_why {
    int64_t trial;
    int64_t batch;        /* < 0: shown as null */
    int64_t planned_at;   /* 0: shown as null */
    int64_t observations; /* in the model */
    const char *rule, *sentence;
    const wire_expected *predictions;
    size_t n_predictions;
    double score, width, incumbent, promise, ignorance;
    const int64_t *in_flight; /* trials */
    size_t n_in_flight;
    const wire_neighbor *nearest;
    size_t n_nearest;
} wire_why;

void wire_encode_why(wire_writer *w, const wire_why *why);

#endif
