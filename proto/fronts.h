/* Answers of studies with several modelled metrics: fronts, and predictions of every metric. Values are in the
 * units of the metrics, one for each of the modelled metrics in their order (wire_modelled_metrics). */
#ifndef PROTO_FRONTS_H
#define PROTO_FRONTS_H

#include "proto/wire.h"

/* A point with the values that were reported for it, or with what the models expect of it. */
typedef struct wire_front_point {
    int64_t trial;       /* whose values these are; 0: left out */
    int64_t observation; /* the number of the imported result whose values these are; 0: left out */
    int64_t candidate;   /* < 0: left out */
    const char *key;     /* of the candidate; "" or NULL: left out */
    const wire_study *space;
    const double *parameters; /* coded, of the space; NULL: left out */
    const double *values;     /* reported, or means */
    const double *stds;       /* NULL: the values were reported */
    double feasible;          /* with stds: the probability that all bounds hold */
    int64_t pulls;            /* with stds: measurements of this point */
} wire_front_point;

typedef struct wire_fronts {
    const wire_study *definition;
    bool has_volume;
    double volume;           /* of the observed front */
    const double *reference; /* one for each objective; NULL: there is none yet */
    bool inferred;           /* it was inferred from the results */
    const wire_front_point *observed, *recommended;
    size_t n_observed, n_recommended;
} wire_fronts;

/* {"hypervolume", "reference", "reference_inferred", "observed": {"pareto"}, "recommended": {"pareto"}} */
void wire_encode_fronts(wire_writer *w, const wire_fronts *fronts);

/* {"observed", "recommended"} of one objective with bounds; each is null if there is none. `best` has the objective's
 * members of `observed`. */
void wire_encode_feasible_best(wire_writer *w, const wire_study *definition, const wire_best *best,
                               const double *values, const wire_front_point *recommended);

/* The members "mean", "std" and "ucb". */
void wire_encode_prediction(wire_writer *w, const wire_prediction *p);

/* The members "values": {name: {"mean", "std", "ucb"}} and, with bounds, "feasible_probability". The j-th modelled metric
 * has predictions[j * stride]. */
void wire_encode_metrics_predicted(wire_writer *w, const wire_study *definition,
                                   const wire_prediction *predictions, size_t stride, double feasible);

/* {"predictions": [{"values": {name: {"mean", "std", "ucb"}}, "feasible_probability"}]}; with one objective also its
 * "mean", "std" and "ucb". predictions: n for each modelled metric, the first metric's first; feasible: n. */
void wire_encode_all_predictions(wire_writer *w, const wire_study *definition,
                                 const wire_prediction *predictions, const double *feasible, size_t n);

#endif
