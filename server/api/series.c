/* The values of a study over its trials, and the stream of its events. */
#include "proto/integer.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/base/log.h"
#include "server/data/definition.h"
#include "server/data/series_cache.h"
#include "server/data/series_read.h"
#include "server/http/paging.h"
#include "server/watch/event_streams.h"

#include <stdlib.h>
#include <string.h>

typedef struct found_study {
    int64_t number, last_seq, updated_at;
    double cost;            /* of its results */
    store_status status;    /* of reading its definition */
    wire_study *definition; /* owned */
} found_study;

static void take_study(void *arg, const store_study *row)
{
    found_study *found = arg;
    found->number = row->study;
    found->last_seq = row->last_seq;
    found->updated_at = row->updated_at;
    found->cost = row->cost;
    found->status = study_config_read(&found->definition, row->definition);
}

/* The metric that the request names, or the objective; NULL: the hypervolume of several objectives. False: the request
 * has been answered. */
static bool find_metric(http_request *request, const wire_study *definition, const wire_metric **out)
{
    const char *name = request->query[HTTP_QUERY_METRIC];
    *out = !name && wire_count_objectives(definition) > 1 ? NULL : wire_objective(definition);
    if (!name)
        return true;
    for (size_t i = 0; i < definition->n_metrics; i++) {
        *out = &definition->metrics[i];
        if (strcmp((*out)->name, name) == 0)
            return true;
    }
    http_answer_problem(request, 422, NULL, "the study has no metric '%s'", name);
    return false;
}

/* The caller frees the text. NULL: out of memory. */
static char *encode(series *s, wire_series_kind kind, size_t *size)
{
    size_t n;
    int64_t count;
    char *text;
    wire_writer w = WIRE_WRITER_INIT;
    const wire_series_point *kept = series_finish(s, &n, &count);
    wire_encode_series(&w, kind, kept, n, count);
    return wire_writer_finish(&w, &text, size) ? text : NULL;
}

/* Makes the series of a study that was found, and takes ownership of its definition. metric: as in find_metric. The
 * caller frees *text. */
static store_status compute(char **text, size_t *size, const series_key *key, store *from, found_study *found,
                            const wire_metric *metric)
{
    running_costs costs = {0};
    store_status status = STORE_OK;
    wire_series_kind kind = !metric             ? WIRE_SERIES_VOLUMES
                            : !metric->has_goal ? WIRE_SERIES_PLAIN
                                                : WIRE_SERIES_VALUES;
    series *s = series_new((size_t)key->points, metric && metric->minimize);
    if (!s)
        return STORE_NO_MEMORY;
    if (found->cost > 0.0) {
        status = running_costs_read(&costs, from, found->number);
        series_show_costs(s, &costs);
    }
    if (status == STORE_OK)
        status = series_read(s, from, found->number, &found->definition, metric);
    if (status == STORE_OK && !(*text = encode(s, kind, size)))
        status = STORE_NO_MEMORY;
    series_free(s);
    running_costs_clear(&costs);
    return status;
}

/* The state of the study is read before its values, so a kept answer is never older than its key. */
static store_status find_or_compute(http_request *request, int64_t points, found_study *found,
                                    const wire_metric *metric)
{
    app *a = request->app;
    struct http_answer *answer = &request->answer;
    const char *name = request->query[HTTP_QUERY_METRIC];
    const series_key key = {.study = found->number,
                            .last_seq = found->last_seq,
                            .updated_at = found->updated_at,
                            .points = points,
                            .metric = name ? name : ""};
    answer->body = series_cache_find(a->series, &key, &answer->size);
    if (answer->body)
        return STORE_OK;
    log_event(LOG_DEBUG, "series_read", "study", request->study, NULL);
    store_status status = compute(&answer->body, &answer->size, &key, a->store, found, metric);
    if (status == STORE_OK)
        series_cache_keep(a->series, &key, answer->body, answer->size);
    return status;
}

void handle_series(http_request *request)
{
    found_study found = {0};
    store_error error = {0};
    const wire_metric *metric = NULL;
    int64_t points = SERIES_POINTS_DEFAULT;
    if (!query_integer(request, HTTP_QUERY_POINTS, "points", SERIES_POINTS_MIN, SERIES_POINTS_MAX, &points))
        return;
    store_status status = store_read_study(request->app->store, request->study, take_study, &found, &error);
    if (status == STORE_OK)
        status = found.status;
    if (status == STORE_OK && !find_metric(request, found.definition, &metric)) {
        wire_study_free(found.definition);
        return;
    }
    if (status == STORE_OK)
        status = find_or_compute(request, points, &found, metric);
    wire_study_free(found.definition);
    if (status == STORE_OK) {
        request->answer.status = 200;
        request->answer.content_type = "application/json";
        http_answer_again(request);
    } else if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    } else {
        http_answer_store_problem(request, status);
    }
}

static void open_stream(http_request *request, int64_t after)
{
    store_status status;
    switch (events_open(request->app->events, request, after, &status)) {
    case EVENTS_OPENED:
        return;
    case EVENTS_FULL:
        request->answer.retry_after = 5;
        http_answer_problem(request, 429, NULL,
                            "this caller's event streams have used up its share of the %d that may be open",
                            EVENTS_LISTENERS_MAXIMUM);
        return;
    case EVENTS_FAILED:
        break;
    }
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else
        http_answer_store_problem(request, status);
}

void handle_events(http_request *request)
{
    int64_t after = EVENTS_FROM_NOW;
    const char *last = http_header_value(request, "Last-Event-ID");
    if (last && *last && !wire_decode_integer(last, strlen(last), 0, WIRE_MAX_INTEGER, &after))
        http_answer_problem(request, 400, NULL, "Last-Event-ID must be the id of one of this study's events");
    else
        open_stream(request, after);
}
