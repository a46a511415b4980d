/* Estimates of the values of trials that were stopped without one, so that the model learns from them. estimates.c
 * defines what is declared here. */
#ifndef SERVER_STUDY_ESTIMATES_H
#define SERVER_STUDY_ESTIMATES_H

#include "server/study/study.h"

/* Records an estimate for each stopped trial that has measurements, no value and no estimate, as soon as enough trials are
 * complete (stopping.h). It joins the model as a result with a standard error, and counts nowhere else. It stays as it
 * is; later results do not change it. Call when trials have been closed. */
void study_estimate_stopped(study *s, int64_t now);

#endif
