#include "server/http/route.h"
#include "proto/integer.h"
#include "server/base/embedded.h"

#include <string.h>

/* Finds a file of the dashboard. */
static bool find_file(const char *text, size_t n, http_request *request)
{
    char name[64];
    if (n < 1 || n >= sizeof name)
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    request->file = embedded_find_web(name);
    return request->file != NULL;
}

/* Compares segment by segment; {file} stands for the rest of the path. A {study} that is not a valid id, and
 * a {file} that does not exist, do not match; nor does a {number} that is none, unless it may be a word. */
static bool matches(const char *pattern, const char *path, http_request *request, bool words)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t n_pattern = strcspn(pattern, "/"), n = strcspn(path, "/");
        if (strncmp(pattern, "{study}", n_pattern) == 0 && n_pattern == 7) {
            if (!wire_is_study_id(path, n))
                return false;
            memcpy(request->study, path, n);
            request->study[n] = '\0';
        } else if (strncmp(pattern, "{number}", n_pattern) == 0 && n_pattern == 8) {
            if (!wire_decode_integer(path, n, 0, WIRE_MAX_INTEGER, &request->number) && (!words || n == 0))
                return false;
        } else if (strncmp(pattern, "{file}", n_pattern) == 0 && n_pattern == 6) {
            n = strlen(path);
            if (!find_file(path, n, request))
                return false;
        } else if (strncmp(pattern, "{token}", n_pattern) == 0 && n_pattern == 7) {
            if (n < 1 || n >= sizeof request->token)
                return false;
            memcpy(request->token, path, n);
            request->token[n] = '\0';
        } else if (n != n_pattern || memcmp(pattern, path, n) != 0) {
            return false;
        }
        pattern += n_pattern;
        path += n;
    }
    return *pattern == '\0' && *path == '\0';
}

void route_allow(unsigned methods, char out[ROUTE_ALLOW_SIZE])
{
    static const char *const names[HTTP_METHODS] = {[HTTP_GET] = "GET, HEAD",
                                                    [HTTP_POST] = "POST",
                                                    [HTTP_PUT] = "PUT",
                                                    [HTTP_PATCH] = "PATCH",
                                                    [HTTP_DELETE] = "DELETE"};
    *out = '\0';
    for (int m = 0; m < HTTP_METHODS; m++)
        if (methods & 1u << m) {
            strcat(out, names[m]);
            strcat(out, ", ");
        }
    strcat(out, "OPTIONS");
}

const char *route_content_type(route_body body)
{
    return body == ROUTE_BODY_LINES  ? "application/x-ndjson"
           : body == ROUTE_BODY_FORM ? "multipart/form-data"
                                     : NULL;
}

const route *route_find(const route *table, const char *path, http_method method, http_request *request,
                        unsigned *methods)
{
    *methods = 0;
    for (const route *r = table; r->path; r++) {
        if (!matches(r->path, path, request, false))
            continue;
        const char *type = route_content_type(r->body);
        if (r->method == method && (!type || strcmp(request->content_type, type) == 0))
            return r;
        *methods |= 1u << r->method;
    }
    return NULL;
}

bool route_has_word_for_number(const route *table, const char *path, http_request *request)
{
    for (const route *r = table; r->path; r++)
        if (strstr(r->path, "{number}") && matches(r->path, path, request, true))
            return true;
    return false;
}

const char *http_method_name(http_method method)
{
    static const char *const names[HTTP_METHODS] = {[HTTP_GET] = "GET",
                                                    [HTTP_POST] = "POST",
                                                    [HTTP_PUT] = "PUT",
                                                    [HTTP_PATCH] = "PATCH",
                                                    [HTTP_DELETE] = "DELETE"};
    return names[method];
}
