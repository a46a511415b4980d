/* A study for a response. */
#ifndef SERVER_DATA_STUDY_VIEW_H
#define SERVER_DATA_STUDY_VIEW_H

#include "proto/wire.h"
#include "server/data/definition_cache.h"
#include "server/data/history_transfer.h"
#include "server/store/store.h"

/* Writes the study of this row. Reads the imported values from the store, since one of them may be the best, and in a
 * space also the best point. `cache` may be NULL. Returns STORE_NO_MEMORY, or STORE_CORRUPT if stored data cannot be
 * read. */
store_status study_view_encode(wire_writer *w, store *s, definition_cache *cache, const store_study *row);

/* Writes a study that has just been created, with the history that it has taken over. history NULL: none.
 * points: the study's candidates; if the domain is a space, the best one is shown. */
store_status study_view_encode_new(wire_writer *w, const store_study *row, const history_transfer *history,
                                   const double *points);

/* An entity tag that changes with every change of the study, and differs for another study of the same id. */
void study_etag(char out[40], int64_t number, int64_t last_seq);

#endif
