/* Intermediate measurements of trials. curves.c defines what is declared here, and measure.c study_measure. */
#ifndef SERVER_STUDY_MEASURE_H
#define SERVER_STUDY_MEASURE_H

#include "server/study/study.h"

void study_drop_curves(study *s);                     /* they are loaded again when needed */
void study_note_progress(study *s, const trial *t);   /* call when its attempt or its state has changed */
void study_forget_progress(study *s, const trial *t); /* call when its attempt is released */

#endif
