#include "server/http/idempotency.h"

#include "server/app.h"
#include "server/base/clock.h"
#include "server/http/route.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of stored_head.flags. Answers of earlier versions do not have the second: their hash is of the body alone. */
enum { HAS_BODY = 1, HASH_COVERS_QUERY = 2 };

/* An answer is stored as this head, followed by the body. */
typedef struct stored_head {
    int32_t status;
    uint32_t flags;
    char location[96];
} stored_head;

void idempotency_path(const http_request *request, int64_t study, char out[160])
{
    snprintf(out, 160, "%s #%lld/%lld", request->route->path, (long long)study, (long long)request->number);
}

static bool has_query(const http_request *request)
{
    for (size_t i = 0; i < HTTP_QUERIES; i++)
        if (request->query[i])
            return true;
    return false;
}

/* The hash of the body and, if there is one, of the query, whose parameters may come in any order. Calls with an
 * Idempotency-Key have no bounds. */
static void hash_request(unsigned char out[32], const http_request *request)
{
    crypto_generichash_state hash;
    memcpy(out, request->body_hash, sizeof request->body_hash);
    if (!has_query(request))
        return;
    crypto_generichash_init(&hash, NULL, 0, sizeof request->body_hash);
    crypto_generichash_update(&hash, request->body_hash, sizeof request->body_hash);
    for (size_t i = 0; i < HTTP_QUERIES; i++) {
        const char *name = http_query_name((http_query)i), *value = request->query[i];
        if (!value)
            continue;
        crypto_generichash_update(&hash, (const unsigned char *)name, strlen(name) + 1);
        crypto_generichash_update(&hash, (const unsigned char *)value, strlen(value) + 1);
    }
    crypto_generichash_final(&hash, out, sizeof request->body_hash);
}

static bool is_same(const http_request *request, const store_answer *stored, const stored_head *head)
{
    unsigned char hash[sizeof stored->body_hash];
    memcpy(hash, request->body_hash, sizeof hash);
    if (head->flags & HASH_COVERS_QUERY)
        hash_request(hash, request);
    return memcmp(stored->body_hash, hash, sizeof hash) == 0;
}

typedef struct repetition {
    http_request *request;
    bool same;
    store_status status; /* of taking the answer */
} repetition;

static void take_answer(void *arg, const store_answer *stored)
{
    repetition *r = arg;
    stored_head head;
    r->same = true;
    r->status = STORE_CORRUPT;
    if (stored->n_response < sizeof head)
        return;
    memcpy(&head, stored->response, sizeof head);
    r->same = is_same(r->request, stored, &head);
    if (!r->same)
        return;
    if (head.status < 200 || head.status > 599)
        return;
    struct http_answer *answer = &r->request->answer;
    size_t size = stored->n_response - sizeof head;
    answer->body = (head.flags & HAS_BODY) ? malloc(size + 1) : NULL;
    r->status = (head.flags & HAS_BODY) && !answer->body ? STORE_NO_MEMORY : STORE_OK;
    if (r->status != STORE_OK)
        return;
    if (answer->body) {
        memcpy(answer->body, stored->response + sizeof head, size);
        answer->body[size] = '\0';
        answer->content_type = head.status < 400 ? "application/json" : "application/problem+json";
    }
    answer->size = size;
    answer->status = head.status;
    memcpy(answer->location, head.location, sizeof answer->location);
    answer->location[sizeof answer->location - 1] = '\0';
}

bool idempotency_repeat(http_request *request, int64_t study)
{
    if (!request->idempotency_key)
        return false;
    repetition r = {.request = request};
    char path[160];
    store_error error = {0};
    idempotency_path(request, study, path);
    store_status status = store_read_answer(request->app->store, request->caller.id, path,
                                            request->idempotency_key, clock_now(), take_answer, &r, &error);
    if (status == STORE_NOT_FOUND)
        return false;
    if (status == STORE_OK && !r.same)
        http_answer_problem(request, 409, NULL,
                            "this Idempotency-Key was already used with another body or query");
    else if (status == STORE_OK && r.status == STORE_OK)
        http_answer_again(request);
    else
        http_answer_store_problem(request, status != STORE_OK ? status : r.status);
    return true;
}

static store_status attach(const http_request *request, int64_t study, store_write *write,
                           const stored_head *head, const char *body, size_t n_body)
{
    char path[160];
    store_answer stored = {
        .token = request->caller.id, .path = path, .key = request->idempotency_key, .time = clock_now()};
    unsigned char *bytes = malloc(sizeof *head + n_body);
    if (!bytes)
        return STORE_NO_MEMORY;
    memcpy(bytes, head, sizeof *head);
    if (n_body)
        memcpy(bytes + sizeof *head, body, n_body);
    hash_request(stored.body_hash, request);
    idempotency_path(request, study, path);
    stored.response = bytes;
    stored.n_response = sizeof *head + n_body;
    store_status status = store_write_set_answer(write, &stored);
    free(bytes);
    return status;
}

store_status idempotency_attach(const http_request *request, int64_t study, store_write *write)
{
    const struct http_answer *answer = &request->answer;
    if (!request->idempotency_key || answer->status < 200 || answer->status > 299)
        return STORE_OK;
    stored_head head = {.status = answer->status, .flags = HASH_COVERS_QUERY | (answer->body ? HAS_BODY : 0)};
    memcpy(head.location, answer->location, sizeof head.location);
    return attach(request, study, write, &head, answer->body, answer->body ? answer->size : 0);
}

store_status idempotency_attach_problem(const http_request *request, int64_t study, store_write *write,
                                        int status, const char *title, const char *detail)
{
    if (!request->idempotency_key)
        return STORE_OK;
    char *text;
    size_t size;
    stored_head head = {.status = status, .flags = HASH_COVERS_QUERY | HAS_BODY};
    wire_problem problem = {.status = status, .type = "about:blank", .title = title, .detail = detail};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_problem(&w, &problem);
    if (!wire_writer_finish(&w, &text, &size))
        return STORE_NO_MEMORY;
    store_status result = attach(request, study, write, &head, text, size);
    free(text);
    return result;
}
