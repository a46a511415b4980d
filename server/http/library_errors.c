/* Answers to requests that libmicrohttpd refuses by itself: a head that is too large, a malformed header
 * line, length or chunk, an unsupported version of HTTP.
 *
 * The library answers these in HTML, some of them (0.9.75) with a doubled head, and has no option to change
 * that. But it passes its answers to its public function MHD_queue_response, and a definition of that symbol in
 * the program takes precedence over the library's. The definition here sends problem+json with the same status
 * and shuts down the sending side. The library's own bytes afterwards are lost, and it closes the connection.
 * The server's own answers call the library's function directly. If the library is bound to its own symbols
 * (-Bsymbolic-functions, as in Ubuntu), its HTML answers remain. */
#include "server/base/log.h"
#include "server/http/internal.h"
#include "server/http/sockets.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

enum { SECONDS = 2 }; /* for the library to close the connection */
_Static_assert(HTTP_HEAD_MEMORY == 32 << 10, "the texts below say 32 KiB");

typedef enum MHD_Result queue_function(struct MHD_Connection *, unsigned int, struct MHD_Response *);

static queue_function *queue_of_the_library;

static void find_queue(void)
{
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&queue_of_the_library, &found,
           sizeof found); /* C does not convert object pointers to function pointers */
}

static queue_function *library_queue(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_queue);
    return queue_of_the_library;
}

bool http_queue(struct MHD_Connection *connection, int status, struct MHD_Response *response)
{
    queue_function *queue = library_queue();
    return queue && queue(connection, (unsigned)status, response) == MHD_YES;
}

static const char *why(struct MHD_Connection *connection, unsigned int status)
{
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool chunks =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    switch (status) {
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return chunks ? "a chunk of the body exceeds every size limit (--max-body, --max-upload)"
                      : "the body exceeds every size limit (--max-body, --max-upload)";
    case MHD_HTTP_URI_TOO_LONG:
        return "the request target is too long: the request head may have at most 32 KiB";
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
        return "the headers are too long: the request head may have at most 32 KiB";
    case MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED:
        return "only HTTP/1.0 and HTTP/1.1 are supported";
    case MHD_HTTP_BAD_REQUEST:
        if (chunks)
            return "the chunks of the body, or the lines after them, are malformed";
        if (length && (!*length || length[strspn(length, "0123456789")]))
            return "the Content-Length is not a number";
        return "a line of the request head is malformed";
    }
    return "the request cannot be read";
}

static void say(struct MHD_Connection *connection, int fd, const char *text, size_t n)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    bool sent;
    if (info && info->tls_session) {
        gnutls_session_t session = info->tls_session;
        sent = gnutls_record_send(session, text, n) == (ssize_t)n;
        if (sent)
            gnutls_bye(session, GNUTLS_SHUT_WR);
    } else {
        sent = send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
    }
    if (!sent)
        log_event(LOG_DEBUG, "http", "detail", "a refusal could not be sent", NULL);
}

/* Called only by the library, on the thread of the connection. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                                   struct MHD_Response *response)
{
    char id[HTTP_ID_SIZE], text[1024];
    const char *detail = why(connection, status), *title = MHD_get_reason_phrase_for(status);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context) /* nothing else is sent on this connection */
        http_link_set(info->socket_context, HTTP_LINK_WORKING, SECONDS);
    http_request_id(connection, id);
    size_t n = http_links_answer(text, sizeof text, (int)status, title ? title : "Error", detail, id);
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) {
        say(connection, info->connect_fd, text, n);
        shutdown(info->connect_fd, SHUT_WR);
    }
    log_event(LOG_DEBUG, "request_refused", "id", id, "status", log_format("%u", status), "detail", detail,
              NULL);
    return http_queue(connection, (int)status, response) ? MHD_YES : MHD_NO;
}
