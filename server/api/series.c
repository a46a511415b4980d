/* The values of a study over its trials, and the stream of its events. */
#include "server/data/series.h"
#include "proto/integer.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/http/paging.h"
#include "server/watch/event_streams.h"

#include <string.h>

typedef struct found_study {
    int64_t number;
    store_status status; /* of reading its definition */
    bool minimize;
} found_study;

static void take_study(void *arg, const store_study *row)
{
    found_study *found = arg;
    wire_study *definition;
    found->number = row->study;
    found->status = study_config_read(&definition, row->definition);
    if (found->status != STORE_OK)
        return;
    found->minimize = wire_objective(definition)->minimize;
    wire_study_free(definition);
}

static void take_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    series_add(arg, trial, value, told_at);
}

void handle_series(http_request *request)
{
    found_study found = {0};
    store_error error = {0};
    int64_t points = SERIES_POINTS_DEFAULT;
    if (!query_integer(request, HTTP_QUERY_POINTS, "points", SERIES_POINTS_MIN, SERIES_POINTS_MAX, &points))
        return;
    store *st = request->app->store;
    store_status status = store_read_study(st, request->study, take_study, &found, &error);
    series *s = NULL;
    if (status == STORE_OK)
        status = found.status;
    if (status == STORE_OK && !(s = series_new((size_t)points, found.minimize)))
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_read_values(st, found.number, take_value, s, &error);
    if (status == STORE_OK) {
        size_t n;
        int64_t count;
        wire_writer w = WIRE_WRITER_INIT;
        const wire_series_point *kept = series_finish(s, &n, &count);
        wire_encode_series(&w, kept, n, count);
        http_answer_json(request, 200, &w);
    } else if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    } else {
        http_answer_store_problem(request, status);
    }
    series_free(s);
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
