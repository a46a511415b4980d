/* Explains why a trial was chosen. Its batch is restored from the log, independently of the study in memory, and the
 * planner's score is recomputed. why.c defines what is declared here. */
#ifndef SERVER_STUDY_WHY_H
#define SERVER_STUDY_WHY_H

#include "server/app.h"
#include "server/study/engine_lane.h"

typedef struct planned_trial {
    int64_t trial;
    int64_t study, dimension, reference_candidates; /* as in store_study */
} planned_trial;

/* Writes the answer about a trial that a batch planned. Call it in a computing job. It uses none of the study's memory,
 * so the study continues. outcome->error: the reason why the engine refuses to restore the batch. */
void study_why(const app *a, const planned_trial *planned, wire_writer *w, engine_outcome *outcome);

/* Writes the answer about a trial that a user proposed. */
void study_why_own(wire_writer *w, int64_t number);

#endif
