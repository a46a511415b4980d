/* A study as answers show it. */
#ifndef SERVER_DATA_STUDY_VIEW_H
#define SERVER_DATA_STUDY_VIEW_H

#include "proto/wire.h"
#include "server/store/store.h"

/* Writes the study of this row. The store is asked for the best point of a space; NULL is fine without one.
 * STORE_NO_MEMORY, STORE_CORRUPT: something stored cannot be read. */
store_status study_view_encode(wire_writer *w, store *s, const store_study *row);

/* A study that has just been made, with what it has taken over; NULL: nothing. */
store_status study_view_encode_new(wire_writer *w, const store_study *row, const wire_taken_over *history);

/* Differs whenever the study has changed, and from that of another study of the same id. */
void study_etag(char out[40], int64_t number, int64_t last_seq);

#endif
