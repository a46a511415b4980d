/* Finds candidates by their features. */
#ifndef SERVER_DATA_CANDIDATE_MATCH_H
#define SERVER_DATA_CANDIDATE_MATCH_H

#include "proto/wire.h"
#include "server/store/store.h"

/* Finds, for each of n points (n x width, row-major), the first candidate with these features; −1: there is none.
 * Features are equal if they are equal in single precision, that is to about seven digits. Only the study's first
 * `candidates` candidates are searched. Errors: those of candidate_rows, STORE_NO_MEMORY. */
store_status candidate_match(int64_t *out, store *s, int64_t study, const wire_study *definition,
                             size_t width, int64_t candidates, const double *points, size_t n,
                             store_error *err);

#endif
