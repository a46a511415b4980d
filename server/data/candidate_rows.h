/* Reads stored rows of candidates and checks them against the study's definition, so that rows of a damaged
 * database reach neither a response nor an engine. */
#ifndef SERVER_DATA_CANDIDATE_ROWS_H
#define SERVER_DATA_CANDIDATE_ROWS_H

#include "proto/wire.h"
#include "server/store/store.h"

/* Reads n rows of `width` numbers, beginning at `first`, into rows (n x width, caller's): features, coded
 * points with NaN for inactive parameters, or rows of the kernel matrix. STORE_CORRUPT if a row is not valid;
 * otherwise like store_read_candidates. */
store_status candidate_rows(double *rows, store *s, int64_t study, const wire_study *definition, size_t width,
                            int64_t first, size_t n, store_error *err);

/* The same for the n candidates in `indices`, in this order; otherwise like store_read_candidates_at. */
store_status candidate_rows_at(double *rows, store *s, int64_t study, const wire_study *definition,
                               size_t width, const int64_t *indices, size_t n, store_error *err);

#endif
