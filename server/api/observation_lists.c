/* Lists and shows imported results, and amends one. */
#include "proto/arrays.h"
#include "proto/changes.h"
#include "proto/trials.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/definition_cache.h"
#include "server/data/observation_view.h"
#include "server/data/study_space.h"
#include "server/http/paging.h"
#include "server/study/requests.h"

#include <stdlib.h>
#include <string.h>

/* A page of results: first the rows are read, then their points together. */
typedef struct listing {
    store *store;
    int64_t study;
    definition_cache *definitions;
    const wire_study *definition; /* from the cache */
    trial_context of;
    store_imported *rows; /* copies, with their reasons */
    size_t n, capacity;
    double *points;      /* n x of.width */
    bool has_keys;       /* some candidates of the study have keys */
    candidate_key *keys; /* n */
    page page;
    wire_amended *amended; /* amendments of a single result; they own their strings */
    size_t n_amended;
    store_status status;
} listing;

static void take_study(void *arg, const store_study *row)
{
    listing *l = arg;
    l->study = row->study;
    l->has_keys = row->has_keys;
    l->status = definition_cache_read(&l->definition, l->definitions, row->definition);
    if (l->status == STORE_OK)
        l->of = (trial_context){.definition = l->definition,
                                .listed = row->reference_candidates,
                                .width = candidate_width(l->definition)};
}

/* Finds the request's study. False: the request has been answered. */
static bool open_listing(listing *l, http_request *request)
{
    store_error error = {0};
    l->store = request->app->store;
    l->definitions = request->app->definitions;
    store_status status = store_read_study(l->store, request->study, take_study, l, &error);
    if (status == STORE_OK)
        status = l->status;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    return status == STORE_OK;
}

static void free_text(const char *text)
{
    free((char *)(uintptr_t)text);
}

static void close_listing(listing *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free_text(l->rows[i].reason);
        free_text(l->rows[i].recorded);
    }
    for (size_t i = 0; i < l->n_amended; i++) {
        free_text(l->amended[i].reason);
        free_text(l->amended[i].recorded);
        free_text(l->amended[i].was_reason);
    }
    free(l->rows);
    free(l->amended);
    free(l->points);
    free(l->keys);
    definition_cache_release(l->definitions, l->definition);
}

static void take_row(void *arg, const store_imported *row)
{
    listing *l = arg;
    if (l->page.limit > 0 &&
        !page_take(&l->page, l->of.width * PAGE_NUMBER_BYTES + strlen(row->reason) + strlen(row->recorded)))
        return;
    if (!wire_grow(&l->rows, &l->capacity, l->n + 1, 16, sizeof *l->rows)) {
        l->status = STORE_NO_MEMORY;
        return;
    }
    l->rows[l->n] = *row;
    store_imported *kept = &l->rows[l->n++];
    kept->reason = strdup(row->reason);
    kept->recorded = strdup(row->recorded);
    if (!kept->reason || !kept->recorded)
        l->status = STORE_NO_MEMORY;
}

static void take_amendment(void *arg, const store_amendment *row)
{
    listing *l = arg;
    wire_amended *grown = realloc(l->amended, (l->n_amended + 1) * sizeof *grown);
    if (!grown) {
        l->status = STORE_NO_MEMORY;
        return;
    }
    l->amended = grown;
    wire_amended *amended = &grown[l->n_amended++];
    *amended = (wire_amended){.amended_at = row->amended_at,
                              .reason = strdup(row->reason),
                              .state = trial_state_name(row->was),
                              .has_value = row->had_value,
                              .value = row->value,
                              .repeats = row->repeats,
                              .definition = l->of.definition,
                              .recorded = strdup(row->recorded),
                              .was_reason = strdup(row->was_reason)};
    if (!amended->reason || !amended->recorded || !amended->was_reason)
        l->status = STORE_NO_MEMORY;
}

/* Reads the points and keys of all rows. */
static store_status read_points(listing *l, store_error *err)
{
    size_t width = l->of.width;
    if (l->n == 0)
        return STORE_OK;
    int64_t *candidates = malloc(l->n * sizeof *candidates);
    l->points = malloc((l->n * width + 1) * sizeof *l->points);
    l->keys = malloc(l->n * sizeof *l->keys);
    store_status status = candidates && l->points && l->keys ? STORE_OK : STORE_NO_MEMORY;
    for (size_t i = 0; candidates && i < l->n; i++)
        candidates[i] = l->rows[i].candidate;
    if (status == STORE_OK && width > 0)
        status =
            candidate_rows_at(l->points, l->store, l->study, l->definition, width, candidates, l->n, err);
    if (status == STORE_OK)
        status = candidate_keys_at(l->keys, l->store, l->study, l->has_keys, candidates, l->n, err);
    free(candidates);
    return status;
}

static wire_imported view(const listing *l, size_t i)
{
    wire_imported shown = observation_view(
        &l->rows[i], &l->of, l->of.width > 0 ? l->points + i * l->of.width : NULL, l->keys[i].text);
    shown.amended = l->amended;
    shown.n_amended = l->n_amended;
    return shown;
}

static store_status read_rows(listing *l, int64_t after, size_t limit)
{
    store_error error = {0};
    store_status status = store_read_observation_page(l->store, l->study, after, limit, take_row, l, &error);
    if (status == STORE_OK)
        status = l->status;
    return status == STORE_OK ? read_points(l, &error) : status;
}

void handle_observation_list(http_request *request)
{
    listing l = {0};
    if (page_read(&l.page, request, true, 0) && open_listing(&l, request)) {
        store_status status = read_rows(&l, l.page.after, l.page.limit + 1);
        if (status == STORE_OK) {
            wire_writer w = WIRE_WRITER_INIT;
            char token[24];
            wire_list_begin(&w);
            for (size_t i = 0; i < l.n; i++) {
                wire_imported shown = view(&l, i);
                wire_encode_imported(&w, &shown);
            }
            page_token(token, l.n ? l.rows[l.n - 1].observation : 0);
            wire_list_end(&w, l.page.more ? token : NULL);
            http_answer_json(request, 200, &w);
        } else {
            http_answer_store_problem(request, status);
        }
    }
    close_listing(&l);
}

void handle_observation_get(http_request *request)
{
    listing l = {0};
    store_error error = {0};
    if (open_listing(&l, request)) {
        store_status status = read_rows(&l, request->number - 1, 1);
        bool found = l.n > 0 && l.rows[0].observation == request->number;
        if (status == STORE_OK && found)
            status = store_read_observation_amendments(l.store, l.study, request->number, take_amendment, &l,
                                                       &error);
        if (status == STORE_OK)
            status = l.status;
        if (status == STORE_OK && found) {
            wire_writer w = WIRE_WRITER_INIT;
            wire_imported shown = view(&l, 0);
            wire_encode_imported(&w, &shown);
            http_answer_json(request, 200, &w);
        } else if (status == STORE_OK) {
            http_answer_problem(request, 404, NULL, "there is no observation %lld",
                                (long long)request->number);
        } else {
            http_answer_store_problem(request, status);
        }
    }
    close_listing(&l);
}

static void free_amendment(void *amendment)
{
    wire_amendment_free(amendment);
}

void handle_observation_amend(http_request *request)
{
    wire_amendment *amendment;
    wire_errors errors = {0};
    wire_status status = wire_decode_amendment(&amendment, request->body, request->body_size, &errors);
    if (status == WIRE_OK) {
        request->context = amendment;
        request->context_free = free_amendment;
        call_study(request, study_amend_observation);
    } else {
        http_answer_undecodable(request, status, &errors);
    }
    wire_errors_clear(&errors);
}
