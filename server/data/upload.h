/* Candidates on their way into the store: staged in blocks, with a digest of their content. */
#ifndef SERVER_DATA_UPLOAD_H
#define SERVER_DATA_UPLOAD_H

#include "server/store/store.h"

typedef struct upload upload;

store_status upload_new(upload **out, store *s);

/* Rows per block: about 1 MiB, at least 1. */
size_t upload_rows_at_once(size_t dimension);

/* Stages n x dimension values from row `first` on, in order. An earlier block's failure is reported. */
store_status upload_rows(upload *u, size_t first, size_t n, size_t dimension, const double *rows);

/* Calls `settled` (any thread) once at most `most` blocks are on their way to the disk. One wait at a time.
 */
void upload_wait(upload *u, size_t most, void (*settled)(void *arg), void *arg);

/* STORE_OK, or what a staged block failed with. */
store_status upload_status(upload *u);

size_t upload_count(const upload *u);
const char *upload_digest(upload *u); /* hexadecimal; ends the staging */

/* Fills event->u.candidates but for the dimension. Once the event is stored the content is the study's. */
void upload_describe(upload *u, store_event *event);

/* The content has become a study's: upload_free keeps it. */
void upload_keep(upload *u);

/* Waits for no one: a block on its way keeps what it needs. Content that was not kept is abandoned. NULL is
 * fine. */
void upload_free(upload *u);

#endif
