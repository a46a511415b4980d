/* The values of a study over its trials, and the stream of its events. */
#include "proto/integer.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/data/series_read.h"
#include "server/http/paging.h"
#include "server/watch/event_streams.h"

#include <string.h>

typedef struct found_study {
    int64_t number;
    double cost;            /* of its results */
    store_status status;    /* of reading its definition */
    wire_study *definition; /* owned */
} found_study;

static void take_study(void *arg, const store_study *row)
{
    found_study *found = arg;
    found->number = row->study;
    found->cost = row->cost;
    found->status = study_config_read(&found->definition, row->definition);
}

/* The metric that the request names, or the objective; NULL: the hypervolume of several objectives. False: answered. */
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

static void answer(http_request *request, series *s, wire_series_kind kind)
{
    size_t n;
    int64_t count;
    wire_writer w = WIRE_WRITER_INIT;
    const wire_series_point *kept = series_finish(s, &n, &count);
    wire_encode_series(&w, kind, kept, n, count);
    http_answer_json(request, 200, &w);
}

void handle_series(http_request *request)
{
    found_study found = {0};
    store_error error = {0};
    running_costs costs = {0};
    const wire_metric *metric = NULL;
    int64_t points = SERIES_POINTS_DEFAULT;
    if (!query_integer(request, HTTP_QUERY_POINTS, "points", SERIES_POINTS_MIN, SERIES_POINTS_MAX, &points))
        return;
    store *st = request->app->store;
    store_status status = store_read_study(st, request->study, take_study, &found, &error);
    series *s = NULL;
    if (status == STORE_OK)
        status = found.status;
    if (status == STORE_OK && !find_metric(request, found.definition, &metric)) {
        wire_study_free(found.definition);
        return;
    }
    wire_series_kind kind = !metric             ? WIRE_SERIES_VOLUMES
                            : !metric->has_goal ? WIRE_SERIES_PLAIN
                                                : WIRE_SERIES_VALUES;
    if (status == STORE_OK && !(s = series_new((size_t)points, metric && metric->minimize)))
        status = STORE_NO_MEMORY;
    if (status == STORE_OK && found.cost > 0.0) {
        status = running_costs_read(&costs, st, found.number);
        series_show_costs(s, &costs);
    }
    if (status == STORE_OK)
        status = series_read(s, st, found.number, &found.definition, metric);
    if (status == STORE_OK)
        answer(request, s, kind);
    else if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else
        http_answer_store_problem(request, status);
    series_free(s);
    running_costs_clear(&costs);
    wire_study_free(found.definition);
}

static void open_stream(http_request *request, int64_t after)
{
    store_status status;
    switch (events_open(request->app->events, request, after, &status)) {
    case EVENTS_OPENED:
        return;
    case EVENTS_FULL:
        request->answer.retry_after = 5;
        http_answer_problem(request, 429, NULL, "this caller's streams fill its share of the server's %d",
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
