/* The measurements of many trials at once, for charts of their learning curves. */
#include "proto/arrays.h"
#include "proto/integer.h"
#include "proto/trials.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/http/paging.h"

#include <stdlib.h>
#include <string.h>

enum {
    POINTS_MIN = 2,
    POINTS_MAX = 100000,
    STEP_BYTES = 96,      /* the approximate size of a measurement in an answer */
    TRIALS_AT_ONCE = 5000 /* the most trials that are searched for one page */
};

typedef struct curves {
    store *store;
    int64_t study, trials; /* its trials are 1 ... trials */
    wire_step *steps;      /* of one trial */
    size_t n, capacity;
    bool no_memory;
} curves;

static void take_study(void *arg, const store_study *row)
{
    curves *c = arg;
    c->study = row->study;
    c->trials = row->trials;
}

static void take_step(void *arg, const store_measurement *row)
{
    curves *c = arg;
    if (!wire_grow(&c->steps, &c->capacity, c->n + 1, 64, sizeof *c->steps)) {
        c->no_memory = true;
        return;
    }
    c->steps[c->n++] =
        (wire_step){.attempt = row->attempt, .step = row->step, .value = row->value, .time = row->time};
}

/* Keeps `points` of the measurements, evenly spaced, including the first and the last. */
static void thin(curves *c, size_t points)
{
    if (c->n <= points)
        return;
    for (size_t i = 0; i < points; i++)
        c->steps[i] = c->steps[i * (c->n - 1) / (points - 1)];
    c->n = points;
}

/* Writes the page of the trials from first to last that have measurements. *next: the last trial that was searched. */
static store_status write_page(wire_writer *w, curves *c, page *p, int64_t first, int64_t last, size_t points,
                               int64_t *next)
{
    store_error error = {0};
    int64_t end = last < c->trials ? last : c->trials;
    int64_t trial = first > p->after + 1 ? first : p->after + 1;
    int64_t looked = 0;
    for (*next = trial - 1; trial <= end && !p->more; trial++) {
        if (looked++ == TRIALS_AT_ONCE) {
            p->more = true;
            break;
        }
        c->n = 0;
        store_status status = store_read_measurements(c->store, c->study, trial, take_step, c, &error);
        if (status == STORE_OK && c->no_memory)
            status = STORE_NO_MEMORY;
        if (status != STORE_OK)
            return status;
        thin(c, points);
        if (c->n > 0 && !page_take(p, c->n * STEP_BYTES))
            break;
        if (c->n > 0)
            wire_encode_curve(w, trial, c->steps, c->n);
        *next = trial;
    }
    return STORE_OK;
}

void handle_measurement_list(http_request *request)
{
    curves c = {.store = request->app->store};
    store_error error = {0};
    page p;
    int64_t first = 1, last = WIRE_MAX_INTEGER, points = POINTS_MAX, next = 0;
    const char *range = request->query[HTTP_QUERY_TRIALS];
    if (range && !wire_decode_range(range, strlen(range), 1, WIRE_MAX_INTEGER, &first, &last)) {
        http_answer_problem(
            request, 422, NULL,
            "query parameter 'trials' must be a trial's number or a range of them, such as 1-500");
        return;
    }
    if (!query_integer(request, HTTP_QUERY_POINTS, "points", POINTS_MIN, POINTS_MAX, &points) ||
        !page_read(&p, request, true, 0))
        return;
    wire_writer w = WIRE_WRITER_INIT;
    store_status status = store_read_study(c.store, request->study, take_study, &c, &error);
    if (status == STORE_NOT_FOUND) {
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
        return;
    }
    if (status == STORE_OK) {
        wire_list_begin(&w);
        status = write_page(&w, &c, &p, first, last, (size_t)points, &next);
    }
    if (status == STORE_OK) {
        char token[24];
        page_token(token, next);
        wire_list_end(&w, p.more ? token : NULL);
        http_answer_json(request, 200, &w);
    } else {
        wire_writer_clear(&w);
        http_answer_store_problem(request, status);
    }
    free(c.steps);
}
