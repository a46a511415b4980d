/* Creates, lists and revokes tokens over HTTP, and shows what the caller's token allows. */
#include "proto/tokens.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/http/auth.h"
#include "server/http/idempotency.h"
#include "server/http/paging.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A write in progress. */
typedef struct token_write {
    http_request *request;
    store_lane *lane;
    store_write *write;
    auth_entry *entry; /* of a new token */
    char id[AUTH_ID_SIZE];
} token_write;

static void token_write_free(token_write *t)
{
    store_write_free(t->write);
    store_lane_close(t->lane);
    auth_entry_free(t->entry);
    free(t);
}

static store_status token_write_new(token_write **out, http_request *request)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return STORE_NO_MEMORY;
    (*out)->request = request;
    store_status status = store_lane_open(&(*out)->lane, request->app->store, 0, 0, 0);
    if (status == STORE_OK)
        status = store_write_new(&(*out)->write, (*out)->lane);
    if (status != STORE_OK) {
        token_write_free(*out);
        *out = NULL;
    }
    return status;
}

static void submit(token_write *t, store_done *done)
{
    store_write *write = t->write;
    t->write = NULL;
    store_submit(write, done, t);
}

/* ---- making -------------------------------------------------------------------------------------------- */

/* Drops the held answer. */
static void take_back(http_request *request)
{
    free(request->answer.body);
    request->answer = (struct http_answer){0};
    request->held = false;
}

static void no_such_study(http_request *request)
{
    wire_errors errors = {0};
    take_back(request);
    wire_errors_add(&errors, "/study", "there is no such study");
    http_answer_undecodable(request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
}

static void made(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    token_write *t = arg;
    http_request *request = t->request;
    (void)study;
    (void)last_seq;
    if (status == STORE_OK) {
        log_event(LOG_INFO, "token_made", "id", t->id, "by", request->caller.id, NULL);
        auth_add(request->app->auth, t->entry);
        t->entry = NULL;
        http_release(request);
    } else if (status == STORE_NOT_FOUND) {
        no_such_study(request);
    } else {
        http_release_failed(request, status);
    }
    token_write_free(t);
}

static bool set_answer(http_request *request, const store_token *token, const char *text)
{
    wire_writer w = WIRE_WRITER_INIT;
    wire_token shown = {.id = token->id,
                        .role = token->role,
                        .study = token->study,
                        .description = token->description,
                        .created_at = token->created_at,
                        .expires_at = token->expires_at,
                        .text = text};
    wire_encode_token(&w, &shown);
    snprintf(request->answer.location, sizeof request->answer.location, "/v1/tokens/%s", token->id);
    request->held = true;
    http_answer_json(request, 201, &w);
    return request->answer.status == 201;
}

/* A repeat of the request gets a refusal, because the text of a token is never stored. */
static store_status attach(const http_request *request, const char *id, store_write *write)
{
    char detail[160];
    snprintf(
        detail, sizeof detail,
        "this request created the token %s, whose text is shown only once: revoke it and create another one",
        id);
    return idempotency_attach_problem(request, 0, write, 409, "Conflict", detail);
}

static void make(http_request *request, const wire_new_token *wanted)
{
    char text[AUTH_TEXT_SIZE];
    token_write *t;
    store_token token = {.role = wanted->role,
                         .study = wanted->study ? wanted->study : "",
                         .description = wanted->description ? wanted->description : "",
                         .created_at = clock_now()};
    if (wanted->lifetime_seconds.given)
        token.expires_at = token.created_at + 1000 * wanted->lifetime_seconds.value;
    store_status status = token_write_new(&t, request);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
        return;
    }
    auth_make(&token, t->id, text);
    t->entry = auth_entry_new(&token);
    status = t->entry ? store_write_put_token(t->write, &token) : STORE_NO_MEMORY;
    if (status == STORE_OK && !set_answer(request, &token, text))
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = attach(request, t->id, t->write);
    sodium_memzero(text, sizeof text);
    if (status == STORE_OK) {
        submit(t, made);
        return;
    }
    token_write_free(t);
    http_release_failed(request, status);
}

void handle_token_create(http_request *request)
{
    wire_new_token *wanted;
    wire_errors errors = {0};
    if (idempotency_repeat(request, 0))
        return;
    wire_status status = wire_decode_new_token(&wanted, request->body, request->body_size, &errors);
    if (status == WIRE_OK)
        make(request, wanted);
    else
        http_answer_undecodable(request, status, &errors);
    wire_new_token_free(wanted);
    wire_errors_clear(&errors);
}

/* ---- listing ------------------------------------------------------------------------------------------- */

typedef struct listing {
    wire_writer w;
    page page;
    int64_t last;
} listing;

static void list_one(void *arg, const store_token *token)
{
    listing *l = arg;
    if (!page_take(&l->page, 0))
        return;
    wire_token shown = {.id = token->id,
                        .role = token->role,
                        .study = token->study,
                        .description = token->description,
                        .created_at = token->created_at,
                        .expires_at = token->expires_at};
    wire_encode_token(&l->w, &shown);
    l->last = token->number;
}

void handle_token_list(http_request *request)
{
    listing l = {0};
    char token[24];
    store_error error = {0};
    if (!page_read(&l.page, request, true, 0))
        return;
    wire_list_begin(&l.w);
    store_status status =
        store_read_tokens(request->app->store, l.page.after, l.page.limit + 1, list_one, &l, &error);
    page_token(token, l.last);
    wire_list_end(&l.w, l.page.more ? token : NULL);
    if (status == STORE_OK)
        http_answer_json(request, 200, &l.w);
    else
        http_answer_store_problem(request, status);
    wire_writer_clear(&l.w);
}

/* ---- revoking ------------------------------------------------------------------------------------------ */

static void revoked(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    token_write *t = arg;
    http_request *request = t->request;
    (void)study;
    (void)last_seq;
    if (status == STORE_OK) {
        log_event(LOG_INFO, "token_revoked", "id", t->id, "by", request->caller.id, NULL);
        auth_remove(request->app->auth, t->id);
        http_release(request);
    } else if (status == STORE_NOT_FOUND) {
        take_back(request);
        http_answer_problem(request, 404, NULL, "there is no token '%s'", t->id);
    } else {
        http_release_failed(request, status);
    }
    token_write_free(t);
}

void handle_token_delete(http_request *request)
{
    token_write *t;
    store_status status = token_write_new(&t, request);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
        return;
    }
    memcpy(t->id, request->token, sizeof t->id);
    status = store_write_remove_token(t->write, t->id);
    if (status != STORE_OK) {
        token_write_free(t);
        http_answer_store_problem(request, status);
        return;
    }
    request->held = true;
    http_answer_empty(request, 204);
    submit(t, revoked);
}

/* ---- the caller ---------------------------------------------------------------------------------------- */

void handle_whoami(http_request *request)
{
    wire_writer w = WIRE_WRITER_INIT;
    auth_token token;
    if (!auth_about(&token, request->app->auth, &request->caller)) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    wire_caller caller = {.role = auth_role_name(request->caller.role),
                          .study = request->caller.study,
                          .name = token.name,
                          .expires_at = token.expires_at};
    wire_encode_caller(&w, &caller);
    free(token.name);
    http_answer_json(request, 200, &w);
}
