/* Shows trials: the list, and one trial with its whole history. */
#include "proto/arrays.h"
#include "proto/trials.h"
#include "server/api/handlers.h"
#include "server/api/trial_order.h"
#include "server/app.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/definition_cache.h"
#include "server/data/study_space.h"
#include "server/data/trial_view.h"
#include "server/http/paging.h"

#include <stdlib.h>
#include <string.h>

/* A page of trials: first the rows are read, then their features together. */
typedef struct listing {
    store *store;
    int64_t study;
    definition_cache *definitions;
    const wire_study *definition; /* from the cache */
    int64_t listed;               /* as in trial_context */
    size_t width;                 /* numbers per point; 0: the domain is a kernel matrix */
    store_trial *rows;            /* copies, with their strings */
    size_t n, capacity;
    double *points;      /* n x width */
    bool has_keys;       /* some candidates of the study have keys */
    candidate_key *keys; /* n */
    page page;
    store_status status;
} listing;

static void take_study(void *arg, const store_study *row)
{
    listing *l = arg;
    l->study = row->study;
    l->listed = row->reference_candidates;
    l->has_keys = row->has_keys;
    l->status = definition_cache_read(&l->definition, l->definitions, row->definition);
    if (l->status != STORE_OK)
        return;
    l->width = candidate_width(l->definition);
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

static void close_listing(listing *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free((char *)(uintptr_t)l->rows[i].worker);
        free((char *)(uintptr_t)l->rows[i].reason);
        free((char *)(uintptr_t)l->rows[i].recorded);
        free((char *)(uintptr_t)l->rows[i].metadata);
    }
    free(l->rows);
    free(l->points);
    free(l->keys);
    definition_cache_release(l->definitions, l->definition);
}

static size_t size_of_row(const listing *l, const store_trial *row)
{
    return l->width * PAGE_NUMBER_BYTES + strlen(row->recorded) + strlen(row->metadata) + strlen(row->reason);
}

static void take_row(void *arg, const store_trial *row)
{
    listing *l = arg;
    if (l->page.limit > 0 && !page_take(&l->page, size_of_row(l, row)))
        return;
    if (!wire_grow(&l->rows, &l->capacity, l->n + 1, 16, sizeof *l->rows)) {
        l->status = STORE_NO_MEMORY;
        return;
    }
    store_trial *copy = &l->rows[l->n++];
    *copy = *row;
    copy->worker = strdup(row->worker);
    copy->reason = strdup(row->reason);
    copy->recorded = strdup(row->recorded);
    copy->metadata = strdup(row->metadata);
    if (!copy->worker || !copy->reason || !copy->recorded || !copy->metadata)
        l->status = STORE_NO_MEMORY;
}

/* Reads the features and keys of all rows. */
static void read_points(listing *l)
{
    store_error error = {0};
    if (l->status != STORE_OK || l->n == 0)
        return;
    int64_t *candidates = malloc(l->n * sizeof *candidates);
    l->points = malloc((l->n * l->width + 1) * sizeof *l->points);
    l->keys = malloc(l->n * sizeof *l->keys);
    if (!candidates || !l->points || !l->keys)
        l->status = STORE_NO_MEMORY;
    for (size_t i = 0; candidates && i < l->n; i++)
        candidates[i] = l->rows[i].candidate;
    if (l->status == STORE_OK && l->width > 0)
        l->status = candidate_rows_at(l->points, l->store, l->study, l->definition, l->width, candidates,
                                      l->n, &error);
    if (l->status == STORE_OK)
        l->status = candidate_keys_at(l->keys, l->store, l->study, l->has_keys, candidates, l->n, &error);
    free(candidates);
}

/* The i-th row as answers show it; borrows from the listing. */
static wire_trial view(const listing *l, size_t i)
{
    trial_context of = {.definition = l->definition, .listed = l->listed, .width = l->width};
    return trial_view(&l->rows[i], &of, l->width > 0 ? l->points + i * l->width : NULL, l->keys[i].text);
}

/* Do pages begin after an id? If not, they begin after a number of trials. */
static bool by_id(const trial_order *order, const trial_ranges *ranges)
{
    return trial_order_is_stored(order) && ranges->n == 0;
}

static store_status read_page(listing *l, store_trial_filter *filter, const trial_order *order,
                              const trial_ranges *ranges)
{
    store_error error = {0};
    trial_source from = {.store = l->store,
                         .study = l->study,
                         .definition = l->definition,
                         .width = l->width,
                         .filter = filter,
                         .ranges = ranges};
    int64_t *ids;
    size_t n;
    if (by_id(order, ranges)) {
        filter->after = l->page.after;
        return store_read_trials(l->store, l->study, filter, l->page.limit + 1, take_row, l, &error);
    }
    store_status status =
        trial_order_ids(&ids, &n, &from, order, (size_t)l->page.after, l->page.limit + 1, &error);
    for (size_t i = 0; i < n && status == STORE_OK && !l->page.more; i++)
        status = store_read_trial(l->store, l->study, ids[i], take_row, l, &error);
    free(ids);
    l->page.after += (int64_t)l->page.rows;
    return status;
}

void handle_trial_list(http_request *request)
{
    listing l = {0};
    trial_order order;
    trial_ranges ranges = {0};
    store_trial_filter filter = {.worker = request->query[HTTP_QUERY_WORKER]};
    const char *state_name = request->query[HTTP_QUERY_STATE];
    trial_state state;
    if (state_name && !trial_state_parse(&state, state_name)) {
        const char *names[TRIAL_STATES];
        for (int i = 0; i < TRIAL_STATES; i++)
            names[i] = trial_state_name((trial_state)i);
        query_refuse_state(request, names, TRIAL_STATES);
        return;
    }
    if (state_name)
        filter.states = 1u << state;
    if (!page_read(&l.page, request, true, 0) || !trial_order_read(&order, request))
        return;
    if (open_listing(&l, request) && trial_order_resolve(&order, l.definition, request) &&
        trial_ranges_read(&ranges, l.definition, request)) {
        store_status status = read_page(&l, &filter, &order, &ranges);
        read_points(&l);
        if (status == STORE_OK)
            status = l.status;
        if (status == STORE_OK) {
            wire_writer w = WIRE_WRITER_INIT;
            char token[24];
            wire_list_begin(&w);
            for (size_t i = 0; i < l.n; i++) {
                wire_trial shown = view(&l, i);
                wire_encode_trial(&w, &shown);
            }
            int64_t last = l.n ? l.rows[l.n - 1].trial : 0;
            page_token(token, by_id(&order, &ranges) ? last : l.page.after);
            wire_list_end(&w, l.page.more ? token : NULL);
            http_answer_json(request, 200, &w);
        } else {
            http_answer_store_problem(request, status);
        }
    }
    trial_ranges_clear(&ranges);
    close_listing(&l);
}

/* ---- one trial ----------------------------------------------------------------------------------------- */

/* The history of a trial; the lists own their strings. */
typedef struct history {
    const wire_study *definition;
    wire_attempt *attempts;
    wire_step *steps;
    wire_late_result *late, *estimate; /* at most one estimate */
    wire_amended *amended;
    size_t n_attempts, n_steps, n_late, n_estimates, n_amended;
    bool no_memory;
} history;

/* Room for one more element, zeroed. NULL: out of memory. */
static void *append(history *h, void *list, size_t *n, size_t size)
{
    void *grown = realloc(*(void **)list, (*n + 1) * size);
    h->no_memory |= !grown;
    if (!grown)
        return NULL;
    *(void **)list = grown;
    void *element = (char *)grown + (*n)++ * size;
    memset(element, 0, size);
    return element;
}

static const char *copy_text(history *h, const char *text)
{
    char *copy = strdup(text);
    h->no_memory |= !copy;
    return copy;
}

static void take_attempt(void *arg, const store_attempt *row)
{
    history *h = arg;
    wire_attempt *a = append(h, &h->attempts, &h->n_attempts, sizeof *a);
    if (!a)
        return;
    *a = (wire_attempt){.attempt = row->attempt,
                        .worker = copy_text(h, row->worker),
                        .issued_at = row->issued_at,
                        .lease_expires_at = row->lease_expires_at,
                        .ended_at = row->ended_at,
                        .outcome = copy_text(h, row->outcome)};
}

static void take_measurement(void *arg, const store_measurement *row)
{
    history *h = arg;
    wire_step *step = append(h, &h->steps, &h->n_steps, sizeof *step);
    if (step)
        *step =
            (wire_step){.attempt = row->attempt, .step = row->step, .value = row->value, .time = row->time};
}

static void take_late(void *arg, const store_late_result *row)
{
    history *h = arg;
    bool estimated = row->attempt == ESTIMATED_ATTEMPT;
    wire_late_result *late = estimated ? append(h, &h->estimate, &h->n_estimates, sizeof *late)
                                       : append(h, &h->late, &h->n_late, sizeof *late);
    if (!late)
        return;
    *late = (wire_late_result){.attempt = row->attempt,
                               .value = row->value,
                               .definition = h->definition,
                               .recorded = copy_text(h, row->recorded),
                               .metadata = copy_text(h, row->metadata),
                               .repeats = row->repeats,
                               .cost = row->cost,
                               .told_at = row->told_at};
}

static void take_amendment(void *arg, const store_amendment *row)
{
    history *h = arg;
    wire_amended *amended = append(h, &h->amended, &h->n_amended, sizeof *amended);
    if (!amended)
        return;
    *amended = (wire_amended){.amended_at = row->amended_at,
                              .reason = copy_text(h, row->reason),
                              .state = trial_state_name(row->was),
                              .has_value = row->had_value,
                              .value = row->value,
                              .repeats = row->repeats,
                              .definition = h->definition,
                              .recorded = copy_text(h, row->recorded),
                              .was_reason = copy_text(h, row->was_reason)};
}

static void free_text(const char *text)
{
    free((char *)(uintptr_t)text);
}

static void history_clear(history *h)
{
    for (size_t i = 0; i < h->n_attempts; i++) {
        free_text(h->attempts[i].worker);
        free_text(h->attempts[i].outcome);
    }
    for (size_t i = 0; i < h->n_late; i++) {
        free_text(h->late[i].recorded);
        free_text(h->late[i].metadata);
    }
    for (size_t i = 0; i < h->n_estimates; i++) {
        free_text(h->estimate[i].recorded);
        free_text(h->estimate[i].metadata);
    }
    for (size_t i = 0; i < h->n_amended; i++) {
        free_text(h->amended[i].reason);
        free_text(h->amended[i].recorded);
        free_text(h->amended[i].was_reason);
    }
    free(h->attempts);
    free(h->steps);
    free(h->late);
    free(h->estimate);
    free(h->amended);
}

static store_status read_history(const listing *l, int64_t trial, history *h)
{
    store_error error = {0};
    store_status status = store_read_attempts(l->store, l->study, trial, trial, take_attempt, h, &error);
    if (status == STORE_OK)
        status = store_read_measurements(l->store, l->study, trial, take_measurement, h, &error);
    if (status == STORE_OK)
        status = store_read_late_results(l->store, l->study, trial, 0, INT64_MAX, take_late, h, &error);
    if (status == STORE_OK)
        status = store_read_amendments(l->store, l->study, trial, 0, take_amendment, h, &error);
    return status == STORE_OK && h->no_memory ? STORE_NO_MEMORY : status;
}

void handle_trial_get(http_request *request)
{
    listing l = {0};
    store_error error = {0};
    if (open_listing(&l, request)) {
        history h = {.definition = l.definition};
        store_status status = store_read_trial(l.store, l.study, request->number, take_row, &l, &error);
        read_points(&l);
        if (status == STORE_OK)
            status = l.status;
        if (status == STORE_OK)
            status = read_history(&l, request->number, &h);
        if (status == STORE_OK) {
            wire_writer w = WIRE_WRITER_INIT;
            wire_trial shown = view(&l, 0);
            wire_history all = {.attempts = h.attempts,
                                .n_attempts = h.n_attempts,
                                .steps = h.steps,
                                .n_steps = h.n_steps,
                                .late = h.late,
                                .n_late = h.n_late,
                                .estimate = h.estimate,
                                .amended = h.amended,
                                .n_amended = h.n_amended};
            wire_encode_trial_history(&w, &shown, &all);
            http_answer_json(request, 200, &w);
        } else if (status == STORE_NOT_FOUND) {
            http_answer_problem(request, 404, NULL, "there is no trial %lld", (long long)request->number);
        } else {
            http_answer_store_problem(request, status);
        }
        history_clear(&h);
    }
    close_listing(&l);
}
