/* Answers about all modelled metrics of a study that has several of them, or bounds. Called on the engine lane.
 * fronts.c defines what is declared here. */
#ifndef SERVER_STUDY_FRONTS_H
#define SERVER_STUDY_FRONTS_H

#include "server/study/queries.h"

/* Answers GET …/best. */
void fronts_answer_best(study *s, question *q);

/* What the models expect of n arms, or of n points if `points` is not NULL, in the units of the metrics.
 *   out       n for each modelled metric, the first metric's first
 *   feasible  n: the probability that all bounds hold
 * Errors: those of bandit_engine_predict_arms and …_points. */
bandit_status fronts_predict(const study *s, const study_config *config, const uint32_t *arms,
                             const double *points, size_t n, wire_prediction *out, double *feasible,
                             bandit_error *err);

/* Can JSON show one of them? The j-th metric has predictions[j * stride]. */
bool fronts_shows(const study_config *config, const wire_prediction *predictions, size_t stride,
                  double feasible);

/* Answers POST …/predict for n candidates, or points if `points` is not NULL. */
void fronts_answer_predictions(study *s, question *q, const uint32_t *arms, const double *points, size_t n);

#endif
