/* The values of a study over its trials, and the stream of its events. */
#include "server/data/series.h"
#include "proto/arrays.h"
#include "proto/integer.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/http/paging.h"
#include "server/watch/event_streams.h"

#include <stdlib.h>
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

/* The imported values, which join the trials' by time, and the series. */
typedef struct course {
    wire_series_point *imported;
    size_t n, capacity, next;
    series *series;
    bool no_memory;
} course;

static void take_imported(void *arg, const store_imported *row)
{
    course *c = arg;
    if (!row->has_value)
        return;
    c->no_memory |= !wire_grow(&c->imported, &c->capacity, c->n + 1, 64, sizeof *c->imported);
    if (!c->no_memory)
        c->imported[c->n++] = (wire_series_point){
            .observation = row->observation, .value = row->value, .told_at = row->imported_at};
}

/* Adds the imported values up to that time that have not been added yet. */
static void add_imported(course *c, int64_t told_at)
{
    while (c->next < c->n && c->imported[c->next].told_at <= told_at)
        series_add(c->series, &c->imported[c->next++]);
}

static void take_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    course *c = arg;
    const wire_series_point point = {.trial = trial, .value = value, .told_at = told_at};
    add_imported(c, told_at);
    series_add(c->series, &point);
}

static store_status read_course(course *c, store *s, int64_t study)
{
    store_error error = {0};
    store_status status = store_read_observations(s, study, 0, INT64_MAX, take_imported, c, &error);
    if (status == STORE_OK && c->no_memory)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = store_read_values(s, study, take_value, c, &error);
    if (status == STORE_OK)
        add_imported(c, INT64_MAX);
    return status;
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
    course c = {0};
    if (status == STORE_OK)
        status = found.status;
    if (status == STORE_OK && !(c.series = series_new((size_t)points, found.minimize)))
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = read_course(&c, st, found.number);
    if (status == STORE_OK) {
        size_t n;
        int64_t count;
        wire_writer w = WIRE_WRITER_INIT;
        const wire_series_point *kept = series_finish(c.series, &n, &count);
        wire_encode_series(&w, kept, n, count);
        http_answer_json(request, 200, &w);
    } else if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    } else {
        http_answer_store_problem(request, status);
    }
    series_free(c.series);
    free(c.imported);
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
