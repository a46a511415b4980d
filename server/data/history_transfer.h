/* What a new study takes over from another one: its told results, where their points fit. */
#ifndef SERVER_DATA_HISTORY_TRANSFER_H
#define SERVER_DATA_HISTORY_TRANSFER_H

#include "server/data/definition.h"
#include "server/store/store.h"

enum { TAKEOVER_EXAMPLES = 100 };

typedef struct takeover {
    store_observation *list; /* by the new study's candidates */
    size_t n, capacity;
    double *points; /* of a space that is not enumerated: those of the results, coded; n_points of them */
    size_t n_points;
    wire_taken_over shown; /* what is told of it; its examples belong to this */
} takeover;

/* Reads the results of settings->wire->history_from as they are now. `points`: the new study's candidates;
 * where there are none, and the domain is a set, those of the other study are taken over too, and put there
 * (to be freed). WIRE_INVALID with *errors when the studies do not go together; *stored says what the store
 * said. */
wire_status takeover_new(takeover **out, store *s, const study_config *settings, wire_study *points,
                         wire_errors *errors, store_status *stored);
void takeover_free(takeover *t); /* NULL is fine */

#endif
