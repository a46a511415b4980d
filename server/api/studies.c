/* Creates, shows, lists, changes and deletes studies. */
#include "proto/changes.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/data/study_view.h"
#include "server/http/idempotency.h"
#include "server/http/limits.h"
#include "server/http/paging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void handle_study_create(http_request *request)
{
    wire_study *wanted;
    wire_errors errors = {0};
    if (idempotency_repeat(request, 0) || !limit_studies(request))
        return;
    wire_status status = study_config_decode(&wanted, request->body, request->body_size, &errors);
    if (status == WIRE_OK)
        status = wire_refuse_frozen(wanted, &errors);
    if (status == WIRE_OK) {
        call_create(request, wanted, INT64_MAX);
    } else {
        http_answer_undecodable(request, status, &errors);
        wire_study_free(wanted);
    }
    wire_errors_clear(&errors);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct showing {
    store *store;
    definition_cache *definitions;
    http_request *request;
    wire_writer w;
    page page;
    char last_id[64];
    wire_writer damaged; /* the ids of damaged studies: the beginning of an array */
    bool any_damaged;
    store_status status; /* of showing a row */
    char etag[40];       /* of one study */
    bool unchanged;      /* since the client has read it */
} showing;

static void show_got(void *arg, const store_study *row)
{
    showing *s = arg;
    study_etag(s->etag, row->study, row->last_seq);
    s->unchanged = http_client_has(s->request, s->etag);
    if (!s->unchanged)
        s->status = study_view_encode(&s->w, s->store, s->definitions, row);
}

void handle_study_get(http_request *request)
{
    showing s = {.store = request->app->store, .definitions = request->app->definitions, .request = request};
    store_error error = {0};
    store_status status = store_read_study(request->app->store, request->study, show_got, &s, &error);
    if (status == STORE_OK)
        status = s.status;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else if (s.unchanged)
        http_answer_empty(request, 304);
    else {
        memcpy(request->answer.etag, s.etag, sizeof s.etag);
        http_answer_json(request, 200, &s.w);
    }
    wire_writer_clear(&s.w);
}

static void show_listed(void *arg, const store_study *row)
{
    showing *s = arg;
    if (!page_take(&s->page, strlen(row->definition)))
        return;
    snprintf(s->last_id, sizeof s->last_id, "%s", row->id);
    store_status status =
        row->damaged ? STORE_CORRUPT : study_view_encode(&s->w, s->store, s->definitions, row);
    if (status == STORE_CORRUPT) {
        if (!s->any_damaged)
            wire_array_begin(&s->damaged);
        s->any_damaged = true;
        wire_string(&s->damaged, row->id);
    } else if (status != STORE_OK &&
               status !=
                   STORE_NOT_FOUND) { /* a study that was deleted since its row was read is not listed */
        s->status = status;
    }
}

/* Ends the list. If memory runs out, s->status says so. */
static void end_list(showing *s)
{
    char *damaged = NULL;
    size_t size;
    if (s->any_damaged) {
        wire_array_end(&s->damaged);
        if (!wire_writer_finish(&s->damaged, &damaged, &size))
            s->status = STORE_NO_MEMORY;
    }
    wire_study_list_end(&s->w, damaged, s->page.more ? s->last_id : NULL);
    free(damaged);
}

/* ?state= and ?label=key:value. False: they are not valid, and the request has been answered. */
static bool read_filters(http_request *request, store_study_filter *filter)
{
    const char *state = request->query[HTTP_QUERY_STATE];
    char *label = request->query[HTTP_QUERY_LABEL];
    char *colon = label ? strchr(label, ':') : NULL;
    if (state && !study_state_parse(&filter->state, state)) {
        const char *names[STUDY_STATES];
        for (int i = 0; i < STUDY_STATES; i++)
            names[i] = study_state_name((study_state)i);
        query_refuse_state(request, names, STUDY_STATES);
        return false;
    }
    if (label && !colon) {
        http_answer_problem(request, 422, NULL, "query parameter 'label' must be key:value");
        return false;
    }
    filter->by_state = state != NULL;
    if (colon) {
        *colon = '\0';
        filter->label = label;
        filter->label_value = colon + 1;
    }
    return true;
}

void handle_study_list(http_request *request)
{
    showing s = {.store = request->app->store, .definitions = request->app->definitions};
    store_error error = {0};
    store_study_filter filter = {0};
    if (!page_read(&s.page, request, false, 0) || !read_filters(request, &filter))
        return;
    filter.after = s.page.token;
    if (*request->caller.study) /* a token for one study sees that study alone */
        filter.id = request->caller.study;
    wire_list_begin(&s.w);
    store_status status =
        store_read_studies(request->app->store, &filter, s.page.limit + 1, show_listed, &s, &error);
    end_list(&s);
    if (status == STORE_OK)
        status = s.status;
    if (status != STORE_OK)
        http_answer_store_problem(request, status);
    else
        http_answer_json(request, 200, &s.w);
    wire_writer_clear(&s.damaged);
    wire_writer_clear(&s.w);
}

static void free_change(void *context)
{
    study_change *change = context;
    wire_study_patch_free(change->patch);
    free(change);
}

void handle_study_patch(http_request *request)
{
    wire_errors errors = {0};
    wire_status status = WIRE_NO_MEMORY;
    study_change *change = calloc(1, sizeof *change);
    if (change) {
        request->context = change;
        request->context_free = free_change;
        change->if_match = http_header_value(request, "If-Match");
        status = wire_decode_study_patch(&change->patch, request->body, request->body_size, &errors);
    }
    if (status == WIRE_OK)
        call_study(request, study_patch);
    else
        http_answer_undecodable(request, status, &errors);
    wire_errors_clear(&errors);
}

void handle_study_delete(http_request *request)
{
    study_change *change = calloc(1, sizeof *change);
    if (!change) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    request->context = change;
    request->context_free = free_change;
    change->if_match = http_header_value(request, "If-Match");
    call_study(request, study_delete);
}
