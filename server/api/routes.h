/* The table of routes that http_start serves. */
#ifndef SERVER_API_ROUTES_H
#define SERVER_API_ROUTES_H

#include "server/http/route.h"

/* One row per method of a path, closed by a path of NULL. */
extern const route api_routes[];

#endif
