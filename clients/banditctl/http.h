/* Requests to one server, over libcurl. A client belongs to one thread at a time. */
#ifndef CLIENTS_BANDITCTL_HTTP_H
#define CLIENTS_BANDITCTL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct http_client http_client;

/* url: http://HOST:PORT, https://HOST:PORT or unix:/path (borrowed). NULL: the value of BANDITD_URL, or the
 * default. The token comes from BANDITD_TOKEN. On failure *out is NULL, and the error was printed on stderr.
 */
bool http_client_new(http_client **out, const char *url);
void http_client_free(http_client *client);
const char *http_client_url(const http_client *client);

typedef struct http_request {
    const char *method, *path; /* the path is sent unchanged */
    const char *body;          /* NULL: none; otherwise `size` bytes of `content_type` (NULL: JSON) */
    size_t size;
    const char *content_type;
    FILE *upload;                /* in place of `body`: a file of `size` bytes */
    FILE *download;              /* receives the body of a 2xx response, in place of http_answer.body */
    const char *idempotency_key; /* NULL: none */
    double seconds;              /* time limit; 0: a minute; < 0: no limit while data flows */
    int cancel; /* a file descriptor: the request is cancelled when it becomes readable; < 0: none */
} http_request;

#define HTTP_REQUEST_INIT                                                                                    \
    {                                                                                                        \
        .method = "GET", .cancel = -1                                                                        \
    }

typedef struct http_answer {
    long status;    /* 0: no response; `why` says why */
    bool cancelled; /* with status 0 */
    bool unwritten; /* with status 0: the response could not be written to `download` */
    char *body;     /* NUL-terminated; "" when there is none */
    size_t size;
    double retry_after; /* seconds; 0: not given by the server */
    char why[256];
} http_answer;

/* Sends a request and waits for the response. The caller clears the response in any case. */
void http_send(http_client *client, const http_request *request, http_answer *out);
void http_answer_clear(http_answer *answer);

#endif
