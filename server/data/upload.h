/* An upload of candidates into the store: blocks are staged, and a digest of the content is computed. */
#ifndef SERVER_DATA_UPLOAD_H
#define SERVER_DATA_UPLOAD_H

#include "server/store/store.h"

typedef struct upload upload;

store_status upload_new(upload **out, store *s);

/* Rows per block: about 1 MiB, at least 1. */
size_t upload_rows_at_once(size_t dimension);

/* Stages n x dimension values, beginning at row `first`; rows come in order. Returns the failure of an
 * earlier block. */
store_status upload_rows(upload *u, size_t first, size_t n, size_t dimension, const double *rows);

/* Calls `settled` (any thread) once at most `most` blocks are still being written. One wait at a time. */
void upload_wait(upload *u, size_t most, void (*settled)(void *arg), void *arg);

/* STORE_OK, or the failure of a staged block. */
store_status upload_status(upload *u);

size_t upload_count(const upload *u);
const char *upload_digest(upload *u); /* hexadecimal; no more rows can be staged */

/* Fills event->u.candidates except the dimension. Storing the event gives the content to the study. */
void upload_describe(upload *u, store_event *event);

/* The content belongs to a study: upload_free keeps it. */
void upload_keep(upload *u);

/* Does not wait for blocks that are being written, which keep what they need. Content that is not kept is
 * abandoned. NULL is fine. */
void upload_free(upload *u);

#endif
