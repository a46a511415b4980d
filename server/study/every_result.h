/* Passes over all results of a study. Some are only in memory, and those on disk may be older than those in memory. Call the
 * functions in the study's turn. every_result.c defines what is declared here. */
#ifndef SERVER_STUDY_EVERY_RESULT_H
#define SERVER_STUDY_EVERY_RESULT_H

#include "server/study/study.h"

/* A value that was reported for a trial, once or more often. recorded: the values of the other metrics; if the study
 * models one metric, it may be NULL. */
typedef void visit_result(void *arg, int64_t trial, double value, const char *recorded);

/* Calls `visit` for the value of each trial and for each late result, in any order. */
store_status study_visit_results(study *s, visit_result *visit, void *arg);

/* An imported result that has a value. */
typedef void visit_imported(void *arg, const store_imported *row);

/* Calls `visit` for each of them, in the order of their numbers; some of the last ones may then be visited again. */
store_status study_visit_imported(study *s, visit_imported *visit, void *arg);

#endif
