#include "server/study/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool request_repeats(const study_request *a, const study_request *b)
{
    return a->key && b->key && a->number == b->number && strcmp(a->operation, b->operation) == 0 &&
           strcmp(a->key, b->key) == 0 && strcmp(a->caller, b->caller) == 0;
}

static void send(study_request *request, const study_reply *reply)
{
    request->client->reply(request, reply);
}

static void send_text(study_request *request, wire_writer *body, study_reply *reply)
{
    if (wire_writer_finish(body, &reply->body, &reply->size))
        send(request, reply);
    else
        reply_store_problem(request, STORE_NO_MEMORY);
}

void reply_json(study_request *request, wire_writer *body)
{
    study_reply reply = {.kind = REPLY_OK};
    send_text(request, body, &reply);
}

void reply_json_later(study_request *request, wire_writer *body, int retry_after)
{
    study_reply reply = {.kind = REPLY_OK, .retry_after = retry_after};
    send_text(request, body, &reply);
}

bool reply_created(study_request *request, wire_writer *body, const char *id)
{
    study_reply reply = {.kind = REPLY_CREATED, .created = id};
    if (!wire_writer_finish(body, &reply.body, &reply.size))
        return false;
    send(request, &reply);
    return true;
}

void reply_limit(study_request *request, reply_kind kind)
{
    study_reply reply = {.kind = kind};
    send(request, &reply);
}

void reply_empty(study_request *request)
{
    study_reply reply = {.kind = REPLY_EMPTY};
    send(request, &reply);
}

void reply_problem(study_request *request, reply_kind kind, const wire_errors *errors, const char *detail,
                   ...)
{
    char text[512];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    study_reply reply = {.kind = kind, .errors = errors, .detail = text};
    if (kind == REPLY_BUSY)
        reply.retry_after = 1;
    send(request, &reply);
}

static reply_kind kind_of(store_status status)
{
    switch (status) {
    case STORE_NOT_FOUND:
        return REPLY_NOT_FOUND;
    case STORE_EXISTS:
        return REPLY_CONFLICT;
    case STORE_CORRUPT:
        return REPLY_DAMAGED;
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
    return REPLY_UNAVAILABLE;
}

void reply_store_problem(study_request *request, store_status status)
{
    study_reply reply = {.kind = kind_of(status), .failure = status};
    send(request, &reply);
}

void reply_undecodable(study_request *request, wire_status status, const wire_errors *errors)
{
    study_reply reply = {.kind = status == WIRE_MALFORMED ? REPLY_MALFORMED : REPLY_INVALID,
                         .errors = errors};
    if (status == WIRE_MALFORMED || status == WIRE_INVALID)
        send(request, &reply);
    else
        reply_store_problem(request, STORE_NO_MEMORY);
}

void reply_release(study_request *request)
{
    request->held = false;
    request->client->release(request);
}

void reply_unstored(study_request *request, store_status status)
{
    study_reply reply = {.kind = kind_of(status), .failure = status, .unstored = true};
    request->held = false;
    send(request, &reply);
}
