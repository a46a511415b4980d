/* Sets the answers of requests. */
#include "server/http/internal.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int http_statuses[HTTP_STATUSES] = {200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 411,
                                          413, 414, 415, 417, 422, 429, 431, 500, 501, 503, 505};

void http_answer_json(http_request *request, int status, wire_writer *body)
{
    struct http_answer *answer = &request->answer;
    if (!wire_writer_finish(body, &answer->body, &answer->size)) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    answer->status = status;
    answer->content_type = "application/json";
    http_complete(request);
}

void http_answer_static(http_request *request, int status, const char *content_type, const char *body,
                        size_t size)
{
    request->answer.status = status;
    request->answer.content_type = content_type;
    request->answer.static_body = body;
    request->answer.size = size;
    http_complete(request);
}

void http_answer_stream(http_request *request, const char *content_type, http_read *read)
{
    request->answer.status = MHD_HTTP_OK;
    request->answer.content_type = content_type;
    request->answer.read = read;
    http_complete(request);
}

void http_answer_again(http_request *request)
{
    http_complete(request);
}

void http_answer_empty(http_request *request, int status)
{
    request->answer.status = status;
    http_complete(request);
}

static const char *status_title(int status)
{
    const char *phrase = MHD_get_reason_phrase_for((unsigned)status);
    return phrase ? phrase : "Error";
}

/* Adds the first problem of a body to the detail, because many clients show only the detail. */
static void add_first_error(char *text, size_t size, const wire_errors *errors)
{
    if (!errors || errors->n == 0)
        return;
    size_t n = strlen(text), more = errors->n - 1 + errors->dropped;
    const wire_error_item *first = &errors->items[0];
    char others[40] = "";
    if (more > 0)
        snprintf(others, sizeof others, " (and %zu more)", more);
    snprintf(text + n, size - n, ": %s%s%s%s", first->pointer, *first->pointer ? ": " : "", first->detail,
             others);
}

void http_answer_problem(http_request *request, int status, const wire_errors *errors, const char *detail,
                         ...)
{
    char text[512];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    add_first_error(text, sizeof text, errors);
    snprintf(request->answer.detail, sizeof request->answer.detail, "%.159s", text);
    wire_problem problem = {.status = status,
                            .type = "about:blank",
                            .title = status_title(status),
                            .detail = text,
                            .errors = errors};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_problem(&w, &problem);
    if (!wire_writer_finish(&w, &request->answer.body, &request->answer.size)) {
        static const char no_memory[] =
            "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
            "\"detail\":\"out of memory\"}\n";
        request->answer.static_body = no_memory;
        request->answer.size = sizeof no_memory - 1;
        status = MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE && request->answer.retry_after == 0)
        request->answer.retry_after = 1;
    request->answer.status = status;
    request->answer.content_type = "application/problem+json";
    http_complete(request);
}

void http_answer_undecodable(http_request *request, wire_status status, const wire_errors *errors)
{
    switch (status) {
    case WIRE_MALFORMED:
        http_answer_problem(request, MHD_HTTP_BAD_REQUEST, NULL, "%s",
                            errors->n ? errors->items[0].detail : "the request body is malformed");
        return;
    case WIRE_INVALID:
        http_answer_problem(request, MHD_HTTP_UNPROCESSABLE_CONTENT, errors, "the request body is invalid");
        return;
    case WIRE_OK:
    case WIRE_NO_MEMORY:
        break;
    }
    http_answer_store_problem(request, STORE_NO_MEMORY);
}

/* Answers if the status concerns the requested object or a damaged database. False: it is another status. */
static bool answer_status(http_request *request, store_status status)
{
    switch (status) {
    case STORE_NOT_FOUND:
        http_answer_problem(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
        return true;
    case STORE_EXISTS:
        http_answer_problem(request, MHD_HTTP_CONFLICT, NULL, "already exists");
        return true;
    case STORE_CORRUPT:
        http_answer_problem(request, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL,
                            "the database is damaged; `banditd check` reports where");
        return true;
    case STORE_OK:
    case STORE_TOO_MANY:
    case STORE_ABORTED:
    case STORE_SUPERSEDED:
    case STORE_BUSY:
    case STORE_FULL:
    case STORE_READ_ONLY:
    case STORE_FOREIGN:
    case STORE_NEWER:
    case STORE_NO_MEMORY:
    case STORE_IO:
    case STORE_MOVED:
    case STORE_UNREACHABLE:
    case STORE_ELSEWHERE:
    case STORE_CLOSED:
        break;
    }
    return false;
}

void http_answer_store_problem(http_request *request, store_status status)
{
    if (!answer_status(request, status))
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
                            "the request cannot be answered now: %s", store_status_text(status));
}

void http_release(http_request *request)
{
    request->held = false;
    http_complete(request);
}

void http_release_failed(http_request *request, store_status status)
{
    free(request->answer.body);
    request->answer = (struct http_answer){0};
    request->held = false;
    if (!answer_status(request, status))
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
                            "the request could not be stored: %s", store_status_text(status));
}
