/* Shared by the files of server/http; only this folder includes it. */
#ifndef SERVER_HTTP_INTERNAL_H
#define SERVER_HTTP_INTERNAL_H

#include "server/http/http.h"

struct MHD_Connection;
struct MHD_Response;
struct server_config;

/* Memory of a connection: the request line, the headers and libmicrohttpd's data for them must fit. */
enum { HTTP_HEAD_MEMORY = 32 << 10 };

/* ---- send.c -------------------------------------------------------------------------------------------- */

/* Sends request->answer, unless it is held. */
void http_complete(http_request *request);

/* ---- headers.c ----------------------------------------------------------------------------------------- */

/* The client's X-Request-Id if it is valid, otherwise a new id. */
void http_request_id(struct MHD_Connection *connection, char out[HTTP_ID_SIZE]);

/* ---- library_errors.c ---------------------------------------------------------------------------------- */

/* Calls libmicrohttpd's MHD_queue_response. The function of that name in library_errors.c handles the library's own
 * answers. */
bool http_queue(struct MHD_Connection *connection, int status, struct MHD_Response *response);

/* ---- compress.c ---------------------------------------------------------------------------------------- */

/* http_tag makes the entity tag of the body. http_compress returns true if it has compressed the body, and
 * then marks the tag. */
void http_tag(struct http_answer *answer);
bool http_accepts_gzip(const char *accepted);
bool http_compress(struct http_answer *answer);

/* ---- checks.c ------------------------------------------------------------------------------------------ */

/* Why a request is refused before it is routed. */
typedef struct http_refusal {
    int status; /* 0: it is not refused */
    char detail[160];
} http_refusal;

/* Is the loaded libmicrohttpd 1.0 or later? (The version at compile time may have been another one.) In its strict
 * mode, such a version itself refuses some of the requests that the functions below refuse. It may also lay out the
 * lines of a head differently in memory. */
bool http_library_checks_heads(void);

/* Refuses a target with malformed percent-encoding or an encoded NUL. */
http_refusal http_check_target(const char *target);
/* Refuses a method that is not a token, and a NUL in the method or the target: libmicrohttpd before 1.0 passes on only
 * the part before a NUL. The texts point into the received bytes; length: of the target as received. */
http_refusal http_check_line(const char *method, const char *target, size_t length, const char *version);
/* Does its path contain an encoded slash? libmicrohttpd decodes it before the path is split, whereas other
 * programs treat it as part of a name. */
bool http_target_has_slash(const char *target);

/* The path of the decoded target. The target may be a complete URI (RFC 9112, 3.2.2), whose host must match
 * the Host header. NULL: *refusal has been set. */
const char *http_target_path(struct MHD_Connection *connection, const char *target, http_refusal *refusal);

/* Refuses headers that parsers interpret differently (RFC 9112, 3.2 and 6.3), in the same way with every
 * version of libmicrohttpd. */
http_refusal http_check_framing(struct MHD_Connection *connection, const char *method, const char *version);

/* Without authentication, a web page in the user's browser must not reach the server: neither through a host
 * name that resolves to this server (DNS rebinding), nor by writes from another origin. */
http_refusal http_check_origin(struct MHD_Connection *connection, const char *method,
                               const struct server_config *config);

/* The value of Access-Control-Allow-Origin for an origin that --cors-origin permits; otherwise NULL. */
const char *http_cors_origin(const char *origin, const struct server_config *config);

#endif
