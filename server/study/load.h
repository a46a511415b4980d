/* Loading a study from the store into memory. load.c defines what is declared here. */
#ifndef SERVER_STUDY_LOAD_H
#define SERVER_STUDY_LOAD_H

#include "server/study/study.h"

/* Fills the study's memory. Call it while the study is not loaded. */
store_status study_load(study *s, store_error *err);

/* Frees the study's memory except its engine, which study_drop_engine frees. Requests with points are
 * refused. */
void study_unload(study *s);

#endif
