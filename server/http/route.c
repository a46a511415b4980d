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

/* Skips a fixed segment that both begin with. */
static bool pass_fixed(const char **pattern, const char **path)
{
    while (**pattern && **pattern != '/' && **pattern == **path) {
        (*pattern)++;
        (*path)++;
    }
    return (**pattern == '\0' || **pattern == '/') && (**path == '\0' || **path == '/');
}

static bool is_named(const char *pattern, const char *name)
{
    return strncmp(pattern, name, strlen(name)) == 0;
}

/* Takes the path's segment of n bytes as the value of a {name}. */
static bool take(const char *pattern, const char *path, size_t n, http_request *request, bool words)
{
    if (is_named(pattern, "{study}")) {
        if (!wire_is_study_id(path, n))
            return false;
        memcpy(request->study, path, n);
        request->study[n] = '\0';
        return true;
    }
    if (is_named(pattern, "{number}"))
        return wire_decode_integer(path, n, 0, WIRE_MAX_INTEGER, &request->number) || (words && n > 0);
    if (is_named(pattern, "{file}"))
        return find_file(path, n, request);
    bool fits = n > 0 && n < sizeof request->token;
    if (fits) {
        memcpy(request->token, path, n);
        request->token[n] = '\0';
    }
    return fits;
}

/* Compares segment by segment; {file} stands for the rest of the path. A {study} that is not a valid id does not match,
 * nor does a {file} that does not exist, nor a {number} that is not a number, unless it may be a word. */
static bool matches(const char *pattern, const char *path, http_request *request, bool words)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        if (*pattern != '{') {
            if (!pass_fixed(&pattern, &path))
                return false;
            continue;
        }
        size_t n = is_named(pattern, "{file}") ? strlen(path) : strcspn(path, "/");
        if (!take(pattern, path, n, request, words))
            return false;
        pattern += strcspn(pattern, "/");
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
