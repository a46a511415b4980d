/* What uploads and additions of candidates share. */
#ifndef SERVER_API_CANDIDATE_UPLOAD_H
#define SERVER_API_CANDIDATE_UPLOAD_H

#include "proto/points.h"
#include "server/http/http.h"

/* Finds the format of the request's body from its Content-Type. False: the request has been answered. */
bool candidate_format(http_request *request, wire_points_format *out);

#endif
