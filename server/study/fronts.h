/* Answers about all modelled metrics of a study that has several of them, or bounds. Called on the engine lane.
 * fronts.c defines what is declared here. */
#ifndef SERVER_STUDY_FRONTS_H
#define SERVER_STUDY_FRONTS_H

#include "server/study/queries.h"

/* Answers GET …/best. */
void fronts_answer_best(study *s, question *q);

/* Answers POST …/predict for n candidates, or points if `points` is not NULL. */
void fronts_answer_predictions(study *s, question *q, const uint32_t *arms, const double *points, size_t n);

#endif
