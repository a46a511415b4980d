/* Imported observations on their way into a study. observations.c defines study_has_news, and study_observe. */
#ifndef SERVER_STUDY_OBSERVATIONS_H
#define SERVER_STUDY_OBSERVATIONS_H

#include "proto/read_observations.h"
#include "server/study/study.h"

typedef struct import {
    wire_observations_reader *reader;
    wire_study *definition; /* that the reader borrows */
    store_status status;    /* of reading it */
    int64_t study;          /* the number of the study that they are read for */
    int64_t candidates;     /* as the study had them when the import began */
    char digest[80];
    store_observation *list;
    double *points; /* of a space: n x its parameters, coded; `list` gets its candidates later */
    size_t n, capacity, points_capacity;
    bool no_memory;
} import;

/* Are there results that the current model does not know? */
bool study_has_news(const study *s);

#endif
