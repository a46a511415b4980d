/* Limits of the configuration that concern studies. When a limit is exceeded, each function answers the
 * request with the limit and its option, and returns false. */
#ifndef SERVER_HTTP_LIMITS_H
#define SERVER_HTTP_LIMITS_H

#include "server/http/http.h"

/* Is there room for one more study? Concurrent requests may all pass this early check, so the write that
 * creates the study enforces the limit as well (limit_studies_in_write) and fails with STORE_TOO_MANY. */
bool limit_studies(http_request *request);
void limit_studies_in_write(const http_request *request, store_write *write);
void limit_studies_passed(http_request *request); /* answers */

/* Values of one study: rows x columns. */
bool limit_values_fit(const http_request *request, size_t rows, size_t columns); /* does not answer */
void limit_values_passed(http_request *request);                                 /* answers */

/* Results of one tell. */
bool limit_results(http_request *request, size_t n);

#endif
