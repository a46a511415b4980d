#include "proto/integer.h"
#include "server/api/handlers.h"
#include "server/http/route.h"

#include <stdlib.h>
#include <string.h>

#define PAGED         (1u << HTTP_QUERY_LIMIT | 1u << HTTP_QUERY_PAGE_TOKEN)
#define STUDY_FILTERS (PAGED | 1u << HTTP_QUERY_STATE | 1u << HTTP_QUERY_LABEL)
#define TRIAL_FILTERS (PAGED | 1u << HTTP_QUERY_STATE | 1u << HTTP_QUERY_WORKER)

const route routes[] = {
    {"/healthz", HTTP_GET, AUTH_OPEN, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_healthz, NULL},
    {"/readyz", HTTP_GET, AUTH_OPEN, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_readyz, NULL},
    {"/openapi.yaml", HTTP_GET, AUTH_OPEN, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_openapi, NULL},
    {"/", HTTP_GET, AUTH_OPEN, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_index, NULL},
    {"/{file}", HTTP_GET, AUTH_OPEN, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_file, NULL},
    {"/metrics", HTTP_GET, AUTH_WHOLE_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_metrics, NULL},
    {"/v1/version", HTTP_GET, AUTH_OPEN, ROUTE_IMMEDIATE, ROUTE_BODY_NONE, 0, handle_version, NULL},
    {"/v1/algorithms", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_algorithms, NULL},
    {"/v1/tokens", HTTP_GET, AUTH_ADMIN, ROUTE_POOL, ROUTE_BODY_NONE, PAGED, handle_token_list, NULL},
    {"/v1/tokens", HTTP_POST, AUTH_ADMIN, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_token_create, NULL},
    {"/v1/tokens/{token}", HTTP_DELETE, AUTH_ADMIN, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_token_delete,
     NULL},
    {"/v1/studies", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, STUDY_FILTERS, handle_study_list,
     NULL},
    {"/v1/studies", HTTP_POST, AUTH_EDITOR, ROUTE_UPLOAD, ROUTE_BODY_LINES, 0, handle_study_import,
     handle_study_import_piece},
    {"/v1/studies", HTTP_POST, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_study_create, NULL},
    {"/v1/studies/{study}", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_study_get, NULL},
    {"/v1/studies/{study}", HTTP_PATCH, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_study_patch,
     NULL},
    {"/v1/studies/{study}", HTTP_DELETE, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_study_delete,
     NULL},
    {"/v1/studies/{study}/candidates", HTTP_PUT, AUTH_EDITOR, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0,
     handle_candidates_put, handle_candidates_piece},
    {"/v1/studies/{study}/candidates", HTTP_POST, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0,
     handle_candidates_add, NULL},
    {"/v1/studies/{study}/candidates", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE,
     PAGED | 1u << HTTP_QUERY_SORT, handle_candidate_list, NULL},
    {"/v1/studies/{study}/candidates/retire", HTTP_POST, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0,
     handle_candidates_retire, NULL},
    {"/v1/studies/{study}/candidates/{number}", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0,
     handle_candidate_get, NULL},
    {"/v1/studies/{study}/kernel", HTTP_PUT, AUTH_EDITOR, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0,
     handle_candidates_put, handle_candidates_piece},
    {"/v1/studies/{study}/observations", HTTP_POST, AUTH_EDITOR, ROUTE_UPLOAD, ROUTE_BODY_REQUIRED, 0,
     handle_observations_post, handle_observations_piece},
    {"/v1/studies/{study}/ask", HTTP_POST, AUTH_WORKER, ROUTE_POOL, ROUTE_BODY_OPTIONAL, 0, handle_ask, NULL},
    {"/v1/studies/{study}/tell", HTTP_POST, AUTH_WORKER, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0, handle_tell,
     NULL},
    {"/v1/studies/{study}/trials", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, TRIAL_FILTERS,
     handle_trial_list, NULL},
    {"/v1/studies/{study}/trials/{number}", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0,
     handle_trial_get, NULL},
    {"/v1/studies/{study}/trials", HTTP_POST, AUTH_WORKER, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0,
     handle_trial_propose, NULL},
    {"/v1/studies/{study}/trials/{number}/amend", HTTP_POST, AUTH_EDITOR, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0,
     handle_trial_amend, NULL},
    {"/v1/studies/{study}/trials/{number}/measurements", HTTP_POST, AUTH_WORKER, ROUTE_POOL,
     ROUTE_BODY_REQUIRED, 0, handle_measurement, NULL},
    {"/v1/studies/{study}/trials/{number}/heartbeat", HTTP_POST, AUTH_WORKER, ROUTE_POOL, ROUTE_BODY_OPTIONAL,
     0, handle_heartbeat, NULL},
    {"/v1/studies/{study}/best", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_best, NULL},
    {"/v1/studies/{study}/predict", HTTP_POST, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_REQUIRED, 0,
     handle_predict, NULL},
    {"/v1/studies/{study}/model", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_model, NULL},
    {"/v1/studies/{study}/batches", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, PAGED,
     handle_batch_list, NULL},
    {"/v1/studies/{study}/export", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE,
     1u << HTTP_QUERY_FORMAT, handle_export, NULL},
    {"/v1/studies/{study}/events", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE, 0, handle_events,
     NULL},
    {"/v1/studies/{study}/series", HTTP_GET, AUTH_VIEWER, ROUTE_POOL, ROUTE_BODY_NONE,
     1u << HTTP_QUERY_POINTS, handle_series, NULL},
    {0},
};

bool route_is_study_id(const char *text, size_t n)
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

/* Segment by segment; a {file} is all that is left of the path. A {study} that cannot be a study's id, and a
 * {file} that is not there, match nothing. */
static bool matches(const char *pattern, const char *path, http_request *request)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t n_pattern = strcspn(pattern, "/"), n = strcspn(path, "/");
        if (strncmp(pattern, "{study}", n_pattern) == 0 && n_pattern == 7) {
            if (!route_is_study_id(path, n))
                return false;
            memcpy(request->study, path, n);
            request->study[n] = '\0';
        } else if (strncmp(pattern, "{number}", n_pattern) == 0 && n_pattern == 8) {
            if (!wire_decode_integer(path, n, 0, WIRE_MAX_INTEGER, &request->number))
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

const route *route_find(const char *path, http_method method, http_request *request, unsigned *methods)
{
    *methods = 0;
    for (const route *r = routes; r->path; r++) {
        if (!matches(r->path, path, request))
            continue;
        bool takes =
            r->body != ROUTE_BODY_LINES || strcmp(request->content_type, "application/x-ndjson") == 0;
        if (r->method == method && takes)
            return r;
        *methods |= 1u << r->method;
    }
    return NULL;
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
