/* Requests about the model's inputs and about the model itself: importance, effects, diagnostics, outlook. */
#include "proto/number.h"
#include "server/api/calls.h"
#include "server/api/handlers.h"
#include "server/http/paging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* False: the request has been answered. */
static bool read_epsilon(http_request *request, double *out)
{
    const char *text = request->query[HTTP_QUERY_EPSILON];
    *out = (double)NAN;
    if (!text)
        return true;
    if (wire_read_number(text, strlen(text), WIRE_NUMBER_LOOSE, out) == WIRE_NUMBER_FINITE && *out >= 0)
        return true;
    http_answer_problem(request, 422, NULL, "query parameter 'epsilon' must be a number of at least 0");
    return false;
}

static void ask_inputs(http_request *request, void (*run)(study *s, study_request *call))
{
    int64_t points = 0;
    double epsilon;
    if (request->query[HTTP_QUERY_POINTS] &&
        !query_integer(request, HTTP_QUERY_POINTS, "points", 2, 100, &points))
        return;
    if (!read_epsilon(request, &epsilon))
        return;
    input_query *wanted = malloc(sizeof *wanted);
    if (!wanted) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    *wanted = (input_query){.metric = request->query[HTTP_QUERY_METRIC],
                            .parameter = request->query[HTTP_QUERY_PARAMETER],
                            .with = request->query[HTTP_QUERY_WITH],
                            .points = points,
                            .epsilon = epsilon};
    request->context = wanted;
    request->context_free = free;
    call_study(request, run);
}

void handle_importance(http_request *request)
{
    ask_inputs(request, study_importance);
}

void handle_effects(http_request *request)
{
    ask_inputs(request, study_effects);
}

void handle_diagnostics(http_request *request)
{
    ask_inputs(request, study_diagnostics);
}

void handle_outlook(http_request *request)
{
    ask_inputs(request, study_outlook);
}
