/* The results that a new study takes from another study, if their points fit. */
#ifndef SERVER_DATA_HISTORY_TRANSFER_H
#define SERVER_DATA_HISTORY_TRANSFER_H

#include "server/data/definition.h"
#include "server/store/store.h"

enum { HISTORY_TRANSFER_EXAMPLES = 100 };

typedef struct history_transfer {
    store_observation *list; /* by the new study's candidates */
    size_t n, capacity;
    /* Of an open space: the coded points of the results, n_points of them. Otherwise see any_point. */
    double *points;
    size_t n_points;
    bool
        reversed; /* the other study seeks the opposite end of another metric, such as accuracy instead of errors */
    wire_taken_over shown; /* for the response; its examples are owned here */
} history_transfer;

/* Which results to take. */
typedef struct history_request {
    const char *study;   /* borrowed, also by the outcome */
    const char *pointer; /* for errors: of the member that names the study */
    int64_t through_seq; /* results up to this position of its log */
    /* The other study may be merely similar: its objective may have another name, and its candidates may be different.
     * A result at a row that is not a candidate of the new study then gets a candidate number from the number of
     * candidates on, and `points` of the outcome has these rows. */
    bool any_point;
} history_request;

/* Reads the current results of another study. points: the candidates of the new study. If it has none, and the domain
 * is a set, `points` gets the candidates of the other study (the caller frees them). WIRE_INVALID with *errors if the
 * studies are not compatible; *stored is the status of the store. */
wire_status history_transfer_new(history_transfer **out, store *s, const study_config *settings,
                                 const history_request *asked, wire_study *points, wire_errors *errors,
                                 store_status *stored);
void history_transfer_free(history_transfer *t); /* NULL is fine */

#endif
