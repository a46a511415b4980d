/* The results that a new study copies from another study, if their points fit. */
#ifndef SERVER_DATA_HISTORY_TRANSFER_H
#define SERVER_DATA_HISTORY_TRANSFER_H

#include "server/data/definition.h"
#include "server/store/store.h"

enum { HISTORY_TRANSFER_EXAMPLES = 100 };

typedef struct history_transfer {
    store_observation *list; /* by the new study's candidates */
    size_t n, capacity;
    double *points; /* of an open space: the coded points of the results, n_points of them */
    size_t n_points;
    wire_taken_over shown; /* for the response; its examples are owned here */
} history_transfer;

/* Reads the current results of settings->wire->history_from, of those up to position `through_seq` of its log. points: the candidates of the new study. If
 * there are none, and the domain is a set, it gets the candidates of the other study (to be freed).
 * WIRE_INVALID with *errors if the studies are not compatible; *stored is the status of the store. */
wire_status history_transfer_new(history_transfer **out, store *s, const study_config *settings,
                                 int64_t through_seq, wire_study *points, wire_errors *errors,
                                 store_status *stored);
void history_transfer_free(history_transfer *t); /* NULL is fine */

#endif
