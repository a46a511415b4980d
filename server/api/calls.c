#include "server/api/calls.h"

#include "server/app.h"
#include "server/http/idempotency.h"
#include "server/http/limits.h"
#include "server/http/route.h"
#include "server/study/create.h"
#include "server/study/registry.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct call {
    study_request base;
    http_request *http;
} call;

static http_request *http_of(const study_request *base)
{
    return ((const call *)(const void *)base)->http;
}

static int status_of(reply_kind kind)
{
    switch (kind) {
    case REPLY_OK:
        return 200;
    case REPLY_CREATED:
        return 201;
    case REPLY_EMPTY:
        return 204;
    case REPLY_MALFORMED:
        return 400;
    case REPLY_NOT_FOUND:
        return 404;
    case REPLY_CONFLICT:
        return 409;
    case REPLY_OUTDATED:
        return 412;
    case REPLY_TOO_MANY_VALUES:
        return 413;
    case REPLY_INVALID:
    case REPLY_TOO_MANY_STUDIES:
        return 422;
    case REPLY_BUSY:
        return 429;
    case REPLY_DAMAGED:
        return 500;
    case REPLY_UNAVAILABLE:
        break;
    }
    return 503;
}

static void answer_body(http_request *http, const study_reply *reply)
{
    http->answer.status = status_of(reply->kind);
    http->answer.body = reply->body;
    http->answer.size = reply->size;
    http->answer.content_type = "application/json";
    http->answer.retry_after = reply->retry_after;
    if (reply->created)
        snprintf(http->answer.location, sizeof http->answer.location, "/v1/studies/%s", reply->created);
    http_answer_again(http);
}

static void answer_refusal(http_request *http, const study_reply *reply)
{
    http->answer.retry_after = reply->retry_after;
    if (reply->unstored)
        http_release_failed(http, reply->failure);
    else if (reply->failure != STORE_OK)
        http_answer_store_problem(http, reply->failure);
    else if (reply->kind == REPLY_TOO_MANY_STUDIES)
        limit_studies_passed(http);
    else if (reply->kind == REPLY_TOO_MANY_VALUES)
        limit_values_passed(http);
    else if (reply->detail)
        http_answer_problem(http, status_of(reply->kind), reply->errors, "%s", reply->detail);
    else
        http_answer_undecodable(http, reply->kind == REPLY_MALFORMED ? WIRE_MALFORMED : WIRE_INVALID,
                                reply->errors);
}

/* A reply that is not held ends the request, which may have been freed when these functions return. */
static void answer(study_request *base, const study_reply *reply)
{
    http_request *http = http_of(base);
    http->may_wait = base->may_wait;
    http->held = base->held;
    if (!base->held)
        free(base);
    if (http->answer.status) { /* a held answer, which this one replaces */
        free(http->answer.body);
        http->answer = (struct http_answer){0};
    }
    if (reply->body)
        answer_body(http, reply);
    else if (reply->kind == REPLY_EMPTY)
        http_answer_empty(http, status_of(reply->kind));
    else
        answer_refusal(http, reply);
}

static void release(study_request *base)
{
    http_request *http = http_of(base);
    free(base);
    http_release(http);
}

static bool is_gone(const study_request *base)
{
    return http_client_is_gone(http_of(base));
}

static store_status keep(const study_request *base, int64_t number, store_write *write)
{
    const http_request *http = http_of(base);
    if (http->answer.status >= 500) /* the reply could not be made, so nothing of the request may be stored */
        return STORE_NO_MEMORY;
    return idempotency_attach(http, number, write);
}

static bool repeat(study_request *base, int64_t number)
{
    http_request *http = http_of(base);
    if (!idempotency_repeat(http, number))
        return false;
    free(base);
    return true;
}

study_request *call_new(http_request *request)
{
    static const study_client client = {
        .reply = answer, .release = release, .is_gone = is_gone, .keep = keep, .repeat = repeat};
    call *c = malloc(sizeof *c);
    if (!c) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return NULL;
    }
    *c = (call){.base = {.client = &client,
                         .study = request->study,
                         .number = request->number,
                         .context = request->context,
                         .key = request->idempotency_key,
                         .caller = request->caller.id,
                         .operation = request->route->path,
                         .holder = request->holder},
                .http = request};
    return &c->base;
}

void call_study(http_request *request, void (*run)(study *s, study_request *call))
{
    study_request *c = call_new(request);
    if (!c)
        return;
    c->run = run;
    registry_post(request->app->registry, c);
}

void call_create(http_request *request, wire_study *wanted, int64_t through_seq)
{
    study_request *c = call_new(request);
    if (c)
        study_create(request->app, c, wanted, through_seq);
    else
        wire_study_free(wanted);
}
