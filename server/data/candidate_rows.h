/* Candidates' rows as they are stored, held to be what their study's definition says: what a damaged database
 * has in their place reaches neither an answer nor an engine. */
#ifndef SERVER_DATA_CANDIDATE_ROWS_H
#define SERVER_DATA_CANDIDATE_ROWS_H

#include "proto/wire.h"
#include "server/store/store.h"

/* n rows of `width` numbers from `first` on into rows (n x width, caller's): features, coded points with NaN
 * where a parameter is not active, or rows of the kernel matrix. STORE_CORRUPT when they cannot be; otherwise
 * as store_read_candidates. */
store_status candidate_rows(double *rows, store *s, int64_t study, const wire_study *definition, size_t width,
                            int64_t first, size_t n, store_error *err);

/* The same for n candidates that stored rows speak of, in the order of `indices`; otherwise as
 * store_read_candidates_at. */
store_status candidate_rows_at(double *rows, store *s, int64_t study, const wire_study *definition,
                               size_t width, const int64_t *indices, size_t n, store_error *err);

#endif
