/* A trial as answers show it. */
#ifndef SERVER_DATA_TRIAL_VIEW_H
#define SERVER_DATA_TRIAL_VIEW_H

#include "proto/trials.h"
#include "server/store/store.h"

/* The study that the trials belong to. */
typedef struct trial_context {
    const wire_study *definition;
    int64_t listed; /* the points of an enumerated space, whose numbers are shown; 0: it is open */
    size_t width;   /* numbers per point */
} trial_context;

/* The trial as answers show it. Borrows from all arguments. A time of 0 is not shown.
 *   point  width numbers: features, or coded parameters; not read, and may be NULL, if the domain is a kernel matrix
 *   key    of the candidate; "" or NULL: it has none */
wire_trial trial_view(const store_trial *row, const trial_context *of, const double *point, const char *key);

#endif
