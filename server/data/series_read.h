/* The values of a study that its series shows. */
#ifndef SERVER_DATA_SERIES_READ_H
#define SERVER_DATA_SERIES_READ_H

#include "server/data/series.h"
#include "server/store/store.h"

/* Adds the values of one metric of the definition, or the hypervolumes of its objectives if `metric` is NULL.
 * Takes ownership of *definition, and sets it to NULL. */
store_status series_read(series *s, store *from, int64_t study, wire_study **definition,
                         const wire_metric *metric);

#endif
