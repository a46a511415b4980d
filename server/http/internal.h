/* The inside of the HTTP front, shared by http*.c only. */
#ifndef SERVER_HTTP_INTERNAL_H
#define SERVER_HTTP_INTERNAL_H

#include "server/http/http.h"

struct MHD_Connection;
struct MHD_Response;
struct server_config;

/* Memory of a connection: a request's line, its headers and what is made of them must fit. */
enum { HTTP_HEAD_MEMORY = 32 << 10 };

/* The request's answer is set: sends it, unless it is held. */
void http_complete(http_request *request);

/* That of the client if it can be one, or a new one. */
void http_request_id(struct MHD_Connection *connection, char out[HTTP_ID_SIZE]);

/* MHD_queue_response, which is for libmicrohttpd's own answers (library_errors.c). */
bool http_queue(struct MHD_Connection *connection, int status, struct MHD_Response *response);

/* compress.c. The tag is that of the body as it is; compressing (true: done) marks it. */
void http_tag(struct http_answer *answer);
bool http_accepts_gzip(const char *accepted);
bool http_compress(struct http_answer *answer);

/* Why a request is refused before anything else is looked at. */
typedef struct http_refusal {
    int status; /* 0: it is not */
    char detail[160];
} http_refusal;

/* The request line's target: percent-encoding that cannot be undone, or that hides a NUL. */
http_refusal http_check_target(const char *target);
/* Has its path a slash that is encoded? libmicrohttpd decodes it before the path is taken apart, and others
 * take it for part of a name. */
bool http_target_has_slash(const char *target);

/* What of the decoded target is the path, also where it is a whole address (RFC 9112, 3.2.2): its host must
 * be that of the Host header. NULL: *refusal says why not; it is left alone otherwise. */
const char *http_target_path(struct MHD_Connection *connection, const char *target, http_refusal *refusal);

/* Headers that parsers disagree about (RFC 9112, 3.2 and 6.3): answered alike with every libmicrohttpd. */
http_refusal http_check_framing(struct MHD_Connection *connection, const char *version);

/* Without authentication, a web page in the user's browser must not reach the server: neither through a name
 * of its own that it points here (DNS rebinding), nor with writes from another origin. */
http_refusal http_check_origin(struct MHD_Connection *connection, const char *method,
                               const struct server_config *config);

/* Is the origin one of --cors-origin? What is answered to it then; NULL when it is not. */
const char *http_cors_origin(const char *origin, const struct server_config *config);

#endif
