/* Why a trial was chosen: its batch is restored from the log, apart from the study, and the planner's score is computed
 * again. why.c defines what is declared here. */
#ifndef SERVER_STUDY_WHY_H
#define SERVER_STUDY_WHY_H

#include "server/app.h"
#include "server/study/engine_lane.h"

typedef struct planned_trial {
    int64_t trial;
    int64_t study, dimension, reference_candidates; /* as in store_study */
} planned_trial;

/* Writes the answer about a trial that a batch planned. Call in a computing job; it touches nothing that the study
 * uses, so the study continues. outcome->error: the engine refuses to restore the batch, and says why. */
void study_why(const app *a, const planned_trial *planned, wire_writer *w, engine_outcome *outcome);

/* Writes the answer about a user's own trial of this number. */
void study_why_own(wire_writer *w, int64_t number);

#endif
