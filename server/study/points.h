/* Points that a request brings: found in the space, or numbered after those that are known. points.c defines what is
 * declared here. */
#ifndef SERVER_STUDY_POINTS_H
#define SERVER_STUDY_POINTS_H

#include "server/study/study.h"

/* Called in a turn with the arms of a request's points, of which the new ones have been recorded. Replies. */
typedef void study_placed(study *s, study_request *request, const uint32_t *arms);

/* Finds the request's n points (n x the width of the space, coded; they belong to the request) and calls `placed`,
 * perhaps in a later turn; refuses when it cannot. A request with an idempotency key gets a write of its own. */
void study_place_points(study *s, study_request *request, const double *points, size_t n,
                        study_placed *placed);
/* The same for points that are all new: features of a set of candidates that grows. */
void study_append_points(study *s, study_request *request, const double *points, size_t n,
                         study_placed *placed);

void study_start_placing(study *s);  /* the next request's, unless a numbering job is out */
void study_refuse_placing(study *s); /* all that wait: the study is gone */

/* Does the same request, by its idempotency key, wait here already? */
bool study_places_with_key(const study *s, const study_request *request);

#endif
