/* The best imported result of a study, which decides whether a trial's new result is the best of all. The imported results
 * are in the store and may be many, so they are read only when that is asked for the first time, and again after the
 * best one was amended. Call all functions in the study's turn. imported_best.c defines what is declared here. */
#ifndef SERVER_STUDY_IMPORTED_BEST_H
#define SERVER_STUDY_IMPORTED_BEST_H

#include "server/study/study.h"

/* Is an imported result that keeps all bounds better than this value of the first objective? If the results cannot be
 * read, the turn fails. */
bool study_is_outdone(study *s, double value);

/* Finds the best imported result if it is not known. Call it before results are imported, because a later read may miss
 * those that are not on disk yet. If the results cannot be read, the turn fails. */
void study_find_best_imported(study *s);

/* Takes in a result that was imported, or amended. */
void study_note_imported(study *s, const store_imported *row);

#endif
