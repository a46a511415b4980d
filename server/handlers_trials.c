/* Ask, tell, and reading trials. */
#include "proto/changes.h"
#include "server/app.h"
#include "server/handlers.h"
#include "server/limits.h"
#include "server/page.h"
#include "server/space.h"
#include "server/study.h"

#include <stdlib.h>
#include <string.h>

static void free_ask(void *ask)
{
    wire_ask_free(ask);
}

static void free_tell(void *tell)
{
    wire_tell_free(tell);
}

void handle_ask(http_request *request)
{
    wire_ask *ask;
    wire_errors errors = {0};
    wire_status status =
        wire_decode_ask(&ask, request->body ? request->body : "", request->body_size, &errors);
    if (status == WIRE_OK && ask->fixed.items) {
        wire_errors_add(&errors, "/fixed", "applies to a domain of type \"space\" only");
        wire_ask_free(ask);
        status = WIRE_INVALID;
    }
    if (status == WIRE_OK) {
        request->context = ask;
        request->context_free = free_ask;
        registry_post(request->app->registry, request, study_ask);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_tell(http_request *request)
{
    wire_tell *tell;
    wire_errors errors = {0};
    wire_status status = wire_decode_tell(&tell, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = tell;
        request->context_free = free_tell;
        if (limit_results(request, tell->n))
            registry_post(request->app->registry, request, study_tell);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}

void handle_heartbeat(http_request *request)
{
    wire_errors errors = {0};
    wire_heartbeat *heartbeat = malloc(sizeof *heartbeat);
    wire_status status = WIRE_NO_MEMORY;
    request->context = heartbeat;
    request->context_free = free;
    if (heartbeat)
        status = wire_decode_heartbeat(heartbeat, request->body, request->body_size, &errors);
    if (status == WIRE_OK)
        registry_post(request->app->registry, request, study_heartbeat);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct listing {
    store *store;
    int64_t study;
    wire_study *definition;
    bool finite;  /* the candidates are all there is */
    size_t width; /* numbers of a point; 0: the candidates are known by a kernel matrix alone */
    double *point;
    wire_writer w;
    page page;
    int64_t last;
    store_status status;
} listing;

static void take_study(void *arg, const store_study *row)
{
    listing *l = arg;
    l->study = row->study;
    wire_errors errors = {0};
    l->finite = row->reference_candidates > 0;
    if (wire_decode_study(&l->definition, row->definition, strlen(row->definition), &errors) == WIRE_OK)
        l->width = candidate_width(l->definition);
    else
        l->status = STORE_CORRUPT;
    wire_errors_clear(&errors);
}

/* Finds the request's study; false: answered. */
static bool open_listing(listing *l, http_request *request)
{
    store_error error = {0};
    l->store = request->app->store;
    store_status status = store_read_study(l->store, request->study, take_study, l, &error);
    if (status == STORE_OK)
        status = l->status;
    if (status == STORE_OK && !(l->point = malloc((l->width ? l->width : 1) * sizeof *l->point)))
        status = STORE_NO_MEMORY;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    return status == STORE_OK;
}

static void close_listing(listing *l)
{
    wire_writer_clear(&l->w);
    free(l->point);
    wire_study_free(l->definition);
}

/* The row as answers show it; borrows from the row and the listing. */
static wire_trial view(listing *l, const store_trial *row)
{
    store_error error = {0};
    if (l->status == STORE_OK && l->width > 0)
        l->status = store_read_candidates(l->store, l->study, row->candidate, 1, l->point, &error);
    candidate_view shown = candidate_view_of(l->definition, l->finite, row->candidate, l->point);
    return (wire_trial){.id = row->trial,
                        .state = trial_state_name(row->state),
                        .batch = row->batch,
                        .attempt = row->attempt,
                        .candidate = shown.candidate,
                        .point = shown.point,
                        .dimension = l->width,
                        .space = shown.space,
                        .parameters = shown.parameters,
                        .worker = row->worker,
                        .issued_at = row->issued_at,
                        .lease_expires_at = row->state == TRIAL_PENDING ? row->lease_expires_at : 0,
                        .has_value = row->has_value,
                        .value = row->value,
                        .reason = row->reason,
                        .told_at = row->told_at};
}

static void show_listed(void *arg, const store_trial *row)
{
    listing *l = arg;
    if (!page_take(&l->page))
        return;
    wire_trial shown = view(l, row);
    wire_encode_trial(&l->w, &shown);
    l->last = row->trial;
}

/* All attempts of a trial. */
typedef struct history {
    wire_attempt *attempts;
    size_t n;
    bool no_memory;
} history;

static void take_attempt(void *arg, const store_attempt *row)
{
    history *h = arg;
    wire_attempt *attempts = realloc(h->attempts, (h->n + 1) * sizeof *attempts);
    h->no_memory |= !attempts;
    if (!attempts)
        return;
    h->attempts = attempts;
    wire_attempt *a = &attempts[h->n++];
    *a = (wire_attempt){.attempt = row->attempt,
                        .worker = strdup(row->worker),
                        .issued_at = row->issued_at,
                        .lease_expires_at = row->lease_expires_at,
                        .ended_at = row->ended_at,
                        .outcome = strdup(row->outcome)};
    h->no_memory |= !a->worker || !a->outcome;
}

static void show_history(void *arg, const store_trial *row)
{
    listing *l = arg;
    history h = {0};
    store_error error = {0};
    wire_trial shown = view(l, row);
    if (l->status == STORE_OK)
        l->status = store_read_attempts(l->store, l->study, row->trial, take_attempt, &h, &error);
    if (l->status == STORE_OK && h.no_memory)
        l->status = STORE_NO_MEMORY;
    if (l->status == STORE_OK)
        wire_encode_trial_history(&l->w, &shown, h.attempts, h.n);
    for (size_t i = 0; i < h.n; i++) {
        free((char *)(uintptr_t)h.attempts[i].worker);
        free((char *)(uintptr_t)h.attempts[i].outcome);
    }
    free(h.attempts);
}

void handle_trial_list(http_request *request)
{
    listing l = {0};
    store_error error = {0};
    store_trial_filter filter = {.worker = request->query[HTTP_QUERY_WORKER]};
    const char *state_name = request->query[HTTP_QUERY_STATE];
    trial_state state;
    if (state_name && !trial_state_parse(&state, state_name)) {
        http_answer_problem(request, 422, NULL, "query parameter 'state' must be a trial's state, not '%s'",
                            state_name);
        return;
    }
    if (state_name)
        filter.states = 1u << state;
    if (!page_read(&l.page, request, true, 0))
        return;
    filter.after = l.page.after;
    if (open_listing(&l, request)) {
        wire_list_begin(&l.w);
        store_status status =
            store_read_trials(l.store, l.study, &filter, l.page.limit + 1, show_listed, &l, &error);
        char token[24];
        page_token(token, l.last);
        wire_list_end(&l.w, l.page.more ? token : NULL);
        if (status == STORE_OK)
            status = l.status;
        if (status == STORE_OK)
            http_answer_json(request, 200, &l.w);
        else
            http_answer_store_problem(request, status);
    }
    close_listing(&l);
}

void handle_trial_get(http_request *request)
{
    listing l = {0};
    store_error error = {0};
    if (open_listing(&l, request)) {
        store_status status = store_read_trial(l.store, l.study, request->number, show_history, &l, &error);
        if (status == STORE_OK)
            status = l.status;
        if (status == STORE_OK)
            http_answer_json(request, 200, &l.w);
        else if (status == STORE_NOT_FOUND)
            http_answer_problem(request, 404, NULL, "there is no trial %lld", (long long)request->number);
        else
            http_answer_store_problem(request, status);
    }
    close_listing(&l);
}
