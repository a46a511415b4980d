/* The points of a request: they are found among the candidates of the space, or numbered as new ones. points.c defines
 * what is declared here. */
#ifndef SERVER_STUDY_POINTS_H
#define SERVER_STUDY_POINTS_H

#include "server/study/study.h"

/* Called in a turn with the arms of a request's points, after the new ones have been recorded. It must reply to the
 * request. */
typedef void study_placed(study *s, study_request *request, const uint32_t *arms);

/* Finds the request's n points (n x the width of the space, coded; owned by the request) and calls `placed`,
 * perhaps in a later turn. If that is impossible, it refuses the request. A request with an idempotency key gets a
 * separate write. */
void study_place_points(study *s, study_request *request, const double *points, size_t n,
                        study_placed *placed);
/* The same for points that are all new: features of a candidate list that grows. keys: one per point, "" for none;
 * NULL: no keys. Keys that other candidates have are refused. */
void study_append_points(study *s, study_request *request, const double *points, size_t n,
                         const struct wire_keys *keys, study_placed *placed);

/* Gives all candidates these keys instead of the ones that they had. */
void study_place_keys(study *s, study_request *request, const struct wire_keys *keys, study_placed *placed);
/* Records the keys of the candidates from `first` on. Call in a turn. */
void study_record_keys(study *s, int64_t first, const struct wire_keys *keys);

void study_start_placing(study *s);  /* starts the next request, unless a numbering job is running */
void study_refuse_placing(study *s); /* refuses all waiting requests, because the study is gone */

/* Does a request with the same idempotency key already wait here? */
bool study_places_with_key(const study *s, const study_request *request);

#endif
