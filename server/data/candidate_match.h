/* Finds candidates by their features. */
#ifndef SERVER_DATA_CANDIDATE_MATCH_H
#define SERVER_DATA_CANDIDATE_MATCH_H

#include "proto/wire.h"
#include "server/store/store.h"

/* The numbers of the first candidates that have these features, for n points (n x width, row-major); −1: there is
 * none. Features are equal if they are in single precision, to about seven digits. Of the study's candidates, the
 * first `candidates` are looked at. Errors: those of candidate_rows, STORE_NO_MEMORY. */
store_status candidate_match(int64_t *out, store *s, int64_t study, const wire_study *definition,
                             size_t width, int64_t candidates, const double *points, size_t n,
                             store_error *err);

#endif
