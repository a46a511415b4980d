/* Answers about a study's model: its inputs, and how good it is. */
#ifndef PROTO_INSIGHT_H
#define PROTO_INSIGHT_H

#include "proto/wire.h"

/* One parameter or feature. */
typedef struct wire_importance {
    const char *parameter;
    bool has_first; /* false: shown as null */
    double first, total, std, top;
} wire_importance;

typedef struct wire_importances {
    const char *metric;
    int64_t batch, observations; /* of the model */
    const char *measure;         /* "sobol", "derivative" */
    double variance;
    wire_importance *items;
    size_t n;
} wire_importances;

void wire_encode_importances(wire_writer *w, const wire_importances *importances);

/* The effect at a value of one parameter or feature, or of two. */
typedef struct wire_effect {
    double value[2];
    bool is_bin; /* of a feature: shows the range and the number of candidates */
    double low[2], high[2];
    int64_t candidates;
    double mean, std;
} wire_effect;

typedef struct wire_effects {
    const char *metric;
    int64_t batch;
    size_t n_axes;
    const char *names[2];
    const wire_parameter *parameters[2]; /* of a space; NULL: features */
    const wire_effect *items;
    size_t n;
} wire_effects;

void wire_encode_effects(wire_writer *w, const wire_effects *effects);

/* A candidate or point with results, and what the model predicts of it without them. */
enum { WIRE_UNSEEN_TRIALS = 8 };
typedef struct wire_unseen {
    int64_t arm;       /* not shown */
    int64_t candidate; /* < 0: left out */
    const char *key;   /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    int64_t pulls;
    double value, mean, std, z;
    bool set_aside;
    int64_t trials[WIRE_UNSEEN_TRIALS]; /* of an outlier: the first of its trials */
    size_t n_trials;
} wire_unseen;

enum { WIRE_INTERVALS = 3 };
typedef struct wire_diagnostics {
    const char *metric;
    int64_t batch, observations, points, set_aside;
    struct {
        double share, inside;
    } intervals[WIRE_INTERVALS];
    double error, rank_correlation; /* NaN: shown as null */
    const wire_unseen *outliers, *predictions;
    size_t n_outliers, n_predictions;
} wire_diagnostics;

void wire_encode_diagnostics(wire_writer *w, const wire_diagnostics *diagnostics);

/* What is left to gain. */
enum { WIRE_GAINS = 3 };
typedef struct wire_outlook {
    const char *metric;
    int64_t batch, observations, draws;
    int64_t candidate; /* of the recommended point; < 0: left out */
    const char *key;   /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    double mean, std, epsilon, probability, possible;
    struct {
        int64_t trials;
        double gain;
    } gains[WIRE_GAINS];
} wire_outlook;

void wire_encode_outlook(wire_writer *w, const wire_outlook *outlook);

#endif
