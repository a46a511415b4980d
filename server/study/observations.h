/* Imported observations before they are added to a study. observations.c defines study_has_news, and
 * study_observe. */
#ifndef SERVER_STUDY_OBSERVATIONS_H
#define SERVER_STUDY_OBSERVATIONS_H

#include "proto/read_observations.h"
#include "server/study/study.h"

typedef struct import {
    wire_observations_reader *reader;
    study_config *config;
    const wire_study *definition; /* of the configuration; borrowed by the reader */
    store_status status;          /* outcome of reading the definition */
    store *store;
    int64_t study;      /* the number of the study that the rows are read for */
    int64_t candidates; /* number of candidates when the import began */
    char digest[80];
    bool takes_broken;       /* results at points that break a constraint are imported as infeasible */
    store_observation *list; /* their texts are owned */
    const char **broken;     /* n, with takes_broken: the constraint that the point breaks, or NULL */
    /* n x parameters, coded, for a space; n x features for candidates, once a result names one by features. Then
     * the candidates in `list` are found later. NULL: all have numbers. */
    double *points;
    size_t n, n_points, capacity, points_capacity; /* n_points: rows of `points` that are set */
    size_t broken_capacity, n_broken;
    wire_errors misses; /* keys that no candidate has */
    bool is_json;
    bool no_memory;
} import;

/* Are there results that the current model does not include? */
bool study_has_news(const study *s);

#endif
