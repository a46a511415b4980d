/* Keys of candidates: PUT …/candidates/keys, and requests that name candidates by their keys. */
#include "server/data/candidate_keys.h"
#include "proto/arrays.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/api/named.h"
#include "server/app.h"

#include <stdlib.h>
#include <string.h>

/* ---- upload -------------------------------------------------------------------------------------------- */

typedef struct receiving {
    wire_keys keys; /* comes first: the study reads the context as this member */
    char *body;
    size_t n, capacity;
} receiving;

static void receiving_free(void *context)
{
    receiving *r = context;
    wire_keys_clear(&r->keys);
    free(r->body);
    free(r);
}

/* False: the request has been answered. */
static bool open_receiving(http_request *request)
{
    const char *type = request->content_type;
    if (strcmp(type, "text/plain") != 0 && strcmp(type, "application/json") != 0) {
        http_answer_problem(request, 415, NULL,
                            "keys must be text/plain, one per line, or application/json, not %s",
                            *type ? type : "without a Content-Type");
        return false;
    }
    request->context = calloc(1, sizeof(receiving));
    request->context_free = receiving_free;
    if (!request->context) {
        request->context_free = NULL;
        http_answer_store_problem(request, STORE_NO_MEMORY);
    }
    return request->context != NULL;
}

void handle_keys_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_receiving(request))
        return;
    receiving *r = request->context;
    if (!wire_grow(&r->body, &r->capacity, r->n + n, 4096, 1)) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    memcpy(r->body + r->n, bytes, n);
    r->n += n;
    http_upload_continue(request);
}

void handle_keys_put(http_request *request)
{
    if (!request->context && !open_receiving(request))
        return;
    receiving *r = request->context;
    wire_errors errors = {0};
    bool json = strcmp(request->content_type, "application/json") == 0;
    wire_status status = json ? wire_decode_keys(&r->keys, r->body ? r->body : "", r->n, &errors)
                              : wire_read_key_lines(&r->keys, r->body ? r->body : "", r->n, &errors);
    free(r->body);
    r->body = NULL;
    if (status == WIRE_OK)
        call_study(request, study_set_keys);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

/* ---- names --------------------------------------------------------------------------------------------- */

static void take_number(void *arg, const store_study *row)
{
    *(int64_t *)arg = row->study;
}

/* Finds the number of the request's study. False: the request has been answered. */
static bool find_study(http_request *request, int64_t *number)
{
    store_error error = {0};
    store_status status = store_read_study(request->app->store, request->study, take_number, number, &error);
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    return status == STORE_OK;
}

/* Answers the request if some candidates were not found. */
static bool all_found(http_request *request, store_status status, wire_errors *errors)
{
    if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (errors->n > 0)
        http_answer_undecodable(request, WIRE_INVALID, errors);
    bool found = status == STORE_OK && errors->n == 0;
    wire_errors_clear(errors);
    return found;
}

bool named_candidates(http_request *request, const wire_keys *keys, int64_t *out)
{
    wire_errors errors = {0};
    store_error error = {0};
    int64_t of;
    if (!keys)
        return true;
    if (!find_study(request, &of))
        return false;
    store_status status = candidate_keys_find(out, request->app->store, of, keys, &errors, &error);
    return all_found(request, status, &errors);
}

bool named_if_any(http_request *request, const char *key, int64_t *out)
{
    wire_errors none = {0};
    store_error error = {0};
    int64_t of;
    return find_study(request, &of) &&
           all_found(request, store_find_key(request->app->store, of, key, out, &error), &none);
}

bool named_candidate(http_request *request, const char *key, const char *pointer, int64_t *out)
{
    wire_errors errors = {0};
    if (!key)
        return true;
    if (!named_if_any(request, key, out))
        return false;
    if (*out < 0)
        wire_errors_add(&errors, pointer, "no candidate has the key \"%s\"", key);
    return all_found(request, STORE_OK, &errors);
}
