#include "server/routes.h"
#include "proto/query.h"
#include "server/handlers.h"

#include <stdlib.h>
#include <string.h>

#define PAGED         (1u << HTTP_QUERY_LIMIT | 1u << HTTP_QUERY_PAGE_TOKEN)
#define TRIAL_FILTERS (PAGED | 1u << HTTP_QUERY_STATE | 1u << HTTP_QUERY_WORKER)

const route routes[] = {
    {"/healthz", HTTP_GET, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_healthz, NULL},
    {"/readyz", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_readyz, NULL},
    {"/openapi.yaml", HTTP_GET, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_openapi, NULL},
    {"/", HTTP_GET, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_index, NULL},
    {"/{file}", HTTP_GET, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_file, NULL},
    {"/v1/version", HTTP_GET, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_version, NULL},
    {"/v1/algorithms", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_algorithms, NULL},
    {"/v1/studies", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, PAGED, handle_study_list, NULL},
    {"/v1/studies", HTTP_POST, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_study_create, NULL},
    {"/v1/studies/{study}", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_study_get, NULL},
    {"/v1/studies/{study}", HTTP_PATCH, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_study_patch, NULL},
    {"/v1/studies/{study}", HTTP_DELETE, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_study_delete, NULL},
    {"/v1/studies/{study}/candidates", HTTP_PUT, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0, handle_candidates_put,
     handle_candidates_piece},
    {"/v1/studies/{study}/kernel", HTTP_PUT, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0, handle_candidates_put,
     handle_candidates_piece},
    {"/v1/studies/{study}/observations", HTTP_POST, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0,
     handle_observations_post, handle_observations_piece},
    {"/v1/studies/{study}/ask", HTTP_POST, ROUTE_POOL, ROUTE_BODY_OPTIONAL, 0, handle_ask, NULL},
    {"/v1/studies/{study}/tell", HTTP_POST, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_tell, NULL},
    {"/v1/studies/{study}/trials", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, TRIAL_FILTERS, handle_trial_list,
     NULL},
    {"/v1/studies/{study}/trials/{number}", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_trial_get, NULL},
    {"/v1/studies/{study}/trials/{number}/heartbeat", HTTP_POST, ROUTE_POOL, ROUTE_BODY_OPTIONAL, 0,
     handle_heartbeat, NULL},
    {"/v1/studies/{study}/best", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_best, NULL},
    {"/v1/studies/{study}/predict", HTTP_POST, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_predict, NULL},
    {"/v1/studies/{study}/model", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_model, NULL},
    {"/v1/studies/{study}/batches", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, PAGED, handle_batch_list, NULL},
    {"/v1/studies/{study}/series", HTTP_GET, ROUTE_POOL, ROUTE_BODY_NONE, 1u << HTTP_QUERY_POINTS,
     handle_series, NULL},
    {0},
};

static bool is_study_id(const char *text, size_t n)
{
    if (n < 1 || n > 63)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!word && (i == 0 || (c != '.' && c != '_' && c != '-')))
            return false;
    }
    return true;
}

/* A file of the dashboard. */
static bool find_file(const char *text, size_t n, http_request *request)
{
    char name[64];
    if (n < 1 || n >= sizeof name)
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    request->file = web_find(name);
    return request->file != NULL;
}

/* Segment by segment. A {study} that cannot be a study's id, and a {file} that is not there, match
 * nothing. */
static bool matches(const char *pattern, const char *path, http_request *request)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t n_pattern = strcspn(pattern, "/"), n = strcspn(path, "/");
        if (strncmp(pattern, "{study}", n_pattern) == 0 && n_pattern == 7) {
            if (!is_study_id(path, n))
                return false;
            memcpy(request->study, path, n);
            request->study[n] = '\0';
        } else if (strncmp(pattern, "{number}", n_pattern) == 0 && n_pattern == 8) {
            if (!wire_decode_integer(path, n, 0, WIRE_MAX_INTEGER, &request->number))
                return false;
        } else if (strncmp(pattern, "{file}", n_pattern) == 0 && n_pattern == 6) {
            if (!find_file(path, n, request))
                return false;
        } else if (n != n_pattern || memcmp(pattern, path, n) != 0) {
            return false;
        }
        pattern += n_pattern;
        path += n;
    }
    return *pattern == '\0' && *path == '\0';
}

/* The Allow header of a path's methods, as bits 1 << http_method. */
static const char *allow_text(unsigned methods)
{
    static const char *const texts[1u << HTTP_METHODS] = {
        [1u << HTTP_GET] = "GET, HEAD, OPTIONS",
        [1u << HTTP_POST] = "POST, OPTIONS",
        [1u << HTTP_PUT] = "PUT, OPTIONS",
        [1u << HTTP_DELETE] = "DELETE, OPTIONS",
        [1u << HTTP_GET | 1u << HTTP_POST] = "GET, HEAD, POST, OPTIONS",
        [1u << HTTP_GET | 1u << HTTP_PATCH | 1u << HTTP_DELETE] = "GET, HEAD, PATCH, DELETE, OPTIONS",
        [1u << HTTP_GET | 1u << HTTP_PUT] = "GET, HEAD, PUT, OPTIONS",
        [1u << HTTP_GET | 1u << HTTP_PUT | 1u << HTTP_POST] = "GET, HEAD, PUT, POST, OPTIONS",
        [1u << HTTP_PUT | 1u << HTTP_POST] = "PUT, POST, OPTIONS",
    };
    return texts[methods];
}

const route *route_find(const char *path, http_method method, http_request *request, const char **allow)
{
    unsigned methods = 0;
    *allow = NULL;
    for (const route *r = routes; r->path; r++) {
        if (!matches(r->path, path, request))
            continue;
        if (r->method == method)
            return r;
        methods |= 1u << r->method;
    }
    if (methods)
        *allow = allow_text(methods);
    return NULL;
}
