/* Adds candidates. The formats are those of an upload. The body is read in pieces, and then given to the study as a
 * whole. */
#include "proto/arrays.h"
#include "proto/changes.h"
#include "proto/points.h"
#include "server/api/calls.h"
#include "server/api/candidate_upload.h"
#include "server/api/handlers.h"
#include "server/app.h"
#include "server/data/definition.h"
#include "server/http/limits.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

typedef struct adding {
    wire_points points; /* comes first: the study reads the context as this member */
    size_t capacity;    /* of its rows, in numbers */
    wire_points_reader *reader;
    wire_study *definition;
    store_status status; /* of reading the definition */
    size_t max_values;
    bool too_large, no_memory;
} adding;

static void adding_free(void *context)
{
    adding *a = context;
    wire_points_reader_free(a->reader);
    wire_study_free(a->definition);
    free(a->points.rows);
    free(a);
}

static bool take_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    adding *a = arg;
    a->too_large = first + n > a->max_values / dimension;
    if (a->too_large)
        return false;
    a->no_memory = !wire_grow(&a->points.rows, &a->capacity, (first + n) * dimension, BLOCK_ROWS * dimension,
                              sizeof *rows);
    if (a->no_memory)
        return false;
    memcpy(a->points.rows + first * dimension, rows, n * dimension * sizeof *rows);
    a->points.n = first + n;
    a->points.dimension = dimension;
    return true;
}

static void take_study(void *arg, const store_study *row)
{
    adding *a = arg;
    a->status = study_config_read(&a->definition, row->definition);
}

/* ignored: names of columns, or NULL. */
static wire_status make_reader(adding *a, wire_points_format format, const char *ignored)
{
    const wire_study *definition = a->definition;
    bool features = definition->domain_type == WIRE_DOMAIN_CANDIDATES;
    wire_status status = wire_points_reader_new(
        &a->reader, format, features ? (size_t)definition->dimension.value : 0, BLOCK_ROWS, take_rows, a);
    if (status == WIRE_OK)
        status =
            wire_points_reader_set_names(a->reader, definition->feature_names, definition->n_feature_names);
    if (status == WIRE_OK && ignored)
        status = wire_points_reader_ignore(a->reader, ignored);
    return status;
}

/* False: the request has been answered. */
static bool open_adding(http_request *request)
{
    wire_points_format format;
    store_error error = {0};
    if (!candidate_format(request, &format))
        return false;
    adding *a = calloc(1, sizeof *a);
    if (!a) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return false;
    }
    request->context = a;
    request->context_free = adding_free;
    a->max_values = request->app->config->max_values;
    store_status status = store_read_study(request->app->store, request->study, take_study, a, &error);
    if (status == STORE_OK)
        status = a->status;
    if (status == STORE_OK && make_reader(a, format, request->query[HTTP_QUERY_IGNORE]) != WIRE_OK)
        status = STORE_NO_MEMORY;
    if (status == STORE_NOT_FOUND)
        http_answer_problem(request, 404, NULL, "there is no study '%s'", request->study);
    else if (status != STORE_OK)
        http_answer_store_problem(request, status);
    return status == STORE_OK;
}

static void answer_reading(http_request *request, wire_status status, const wire_errors *errors)
{
    const adding *a = request->context;
    if (a->too_large)
        limit_values_passed(request);
    else
        http_answer_undecodable(request, a->no_memory ? WIRE_NO_MEMORY : status, errors);
}

void handle_candidates_add_piece(http_request *request, const char *bytes, size_t n)
{
    if (!request->context && !open_adding(request))
        return;
    adding *a = request->context;
    wire_errors errors = {0};
    wire_status status = wire_points_reader_feed(a->reader, bytes, n, &errors);
    if (status == WIRE_OK)
        http_upload_continue(request);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}

void handle_candidates_add(http_request *request)
{
    if (!request->context && !open_adding(request))
        return;
    adding *a = request->context;
    wire_errors errors = {0};
    wire_status status = wire_points_reader_finish(a->reader, &errors);
    a->points.keys = wire_points_reader_keys(a->reader);
    if (status == WIRE_OK)
        call_study(request, study_add_candidates);
    else
        answer_reading(request, status, &errors);
    wire_errors_clear(&errors);
}
