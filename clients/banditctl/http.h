/* Requests to one server, over libcurl. A client belongs to one thread at a time. */
#ifndef CLIENTS_BANDITCTL_HTTP_H
#define CLIENTS_BANDITCTL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct http_client http_client;

/* url: http://HOST:PORT, https://… or unix:/path (borrowed); NULL: BANDITD_URL, or the default. The token
 * comes from BANDITD_TOKEN. *out is NULL when it fails, which has been said on standard error. */
bool http_client_new(http_client **out, const char *url);
void http_client_free(http_client *client);
const char *http_client_url(const http_client *client);

typedef struct http_request {
    const char *method, *path; /* the path is sent as it is */
    const char *body;          /* NULL: none; otherwise `size` bytes of `content_type` (NULL: JSON) */
    size_t size;
    const char *content_type;
    FILE *upload;                /* instead of `body`: read to its end, `size` bytes */
    FILE *download;              /* the body of a 2xx answer goes here instead of into it */
    const char *idempotency_key; /* NULL: none */
    double seconds;              /* how long it may take; 0: a minute; < 0: as long as something moves */
    int cancel; /* a file descriptor: the request is given up when it becomes readable; < 0: none */
} http_request;

#define HTTP_REQUEST_INIT                                                                                    \
    {                                                                                                        \
        .method = "GET", .cancel = -1                                                                        \
    }

typedef struct http_answer {
    long status;    /* 0: none came; `why` says so */
    bool cancelled; /* then status is 0 */
    bool unwritten; /* the same: it came, and could not be written */
    char *body;     /* NUL-terminated; "" when there is none */
    size_t size;
    double retry_after; /* seconds; 0: the server did not say */
    char why[256];
} http_answer;

/* Sends a request and waits for its answer, which the caller clears in any case. */
void http_send(http_client *client, const http_request *request, http_answer *out);
void http_answer_clear(http_answer *answer);

#endif
