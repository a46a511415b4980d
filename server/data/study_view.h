/* A study for a response. */
#ifndef SERVER_DATA_STUDY_VIEW_H
#define SERVER_DATA_STUDY_VIEW_H

#include "proto/wire.h"
#include "server/store/store.h"

/* Writes the study of this row. In a space, the best point is read from the store; s may be NULL if there is
 * none. Returns STORE_NO_MEMORY, or STORE_CORRUPT if stored data cannot be read. */
store_status study_view_encode(wire_writer *w, store *s, const store_study *row);

/* Writes a study that has just been created, with the history that it has taken over, or NULL. */
store_status study_view_encode_new(wire_writer *w, const store_study *row, const wire_taken_over *history);

/* An entity tag that changes with every change of the study, and differs for another study of the same id. */
void study_etag(char out[40], int64_t number, int64_t last_seq);

#endif
