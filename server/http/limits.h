/* Limits of the configuration that are not the HTTP front's own. Each answers the request, naming the limit
 * and its option, and returns false when it is passed. */
#ifndef SERVER_HTTP_LIMITS_H
#define SERVER_HTTP_LIMITS_H

#include "server/http/http.h"

/* Is there room for one more study? A look before anything is done: requests at the same moment may all find
 * room, so the write that makes the study bears the limit as well (limit_studies_in_write), and fails with
 * STORE_TOO_MANY. */
bool limit_studies(http_request *request);
void limit_studies_in_write(const http_request *request, store_write *write);
void limit_studies_passed(http_request *request); /* answers */

/* Values of one study: rows x columns. */
bool limit_values(http_request *request, size_t rows, size_t columns);
bool limit_values_fit(const http_request *request, size_t rows, size_t columns); /* asks only */

/* Results of one tell. */
bool limit_results(http_request *request, size_t n);

/* One more ask that waits, given back with limit_waiting_less. */
bool limit_waiting_more(http_request *request);
void limit_waiting_less(struct app *a);

#endif
