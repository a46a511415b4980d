/* A study's candidates: set, added, retired. candidates.c defines what is declared here, and study_set_candidates,
 * study_add_candidates and study_retire_candidates. */
#ifndef SERVER_STUDY_CANDIDATES_H
#define SERVER_STUDY_CANDIDATES_H

#include "server/study/study.h"

/* Closes the queued trials of retired candidates. Returns how many it has closed. */
size_t study_cancel_retired(study *s);

#endif
