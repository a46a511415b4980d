#include "server/http/idempotency.h"

#include "server/app.h"
#include "server/base/clock.h"
#include "server/http/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer is stored as this head, followed by the body. */
typedef struct stored_head {
    int32_t status;
    uint32_t has_body;
    char location[96];
} stored_head;

void idempotency_path(const http_request *request, int64_t study, char out[160])
{
    snprintf(out, 160, "%s #%lld/%lld", request->route->path, (long long)study, (long long)request->number);
}

typedef struct repetition {
    http_request *request;
    bool same_body;
    store_status status; /* of taking the answer */
} repetition;

static void take_answer(void *arg, const store_answer *stored)
{
    repetition *r = arg;
    stored_head head;
    r->same_body = memcmp(stored->body_hash, r->request->body_hash, sizeof stored->body_hash) == 0;
    if (!r->same_body)
        return;
    r->status = STORE_CORRUPT;
    if (stored->n_response < sizeof head)
        return;
    memcpy(&head, stored->response, sizeof head);
    if (head.status < 200 || head.status > 599)
        return;
    struct http_answer *answer = &r->request->answer;
    size_t size = stored->n_response - sizeof head;
    answer->body = head.has_body ? malloc(size + 1) : NULL;
    r->status = head.has_body && !answer->body ? STORE_NO_MEMORY : STORE_OK;
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
    if (status == STORE_OK && !r.same_body)
        http_answer_problem(request, 409, NULL, "this Idempotency-Key was already used with another body");
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
    memcpy(stored.body_hash, request->body_hash, sizeof stored.body_hash);
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
    stored_head head = {.status = answer->status, .has_body = answer->body != NULL};
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
    stored_head head = {.status = status, .has_body = 1};
    wire_problem problem = {.status = status, .type = "about:blank", .title = title, .detail = detail};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_problem(&w, &problem);
    if (!wire_writer_finish(&w, &text, &size))
        return STORE_NO_MEMORY;
    store_status result = attach(request, study, write, &head, text, size);
    free(text);
    return result;
}
